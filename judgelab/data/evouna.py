"""EVOUNA: five systems' answers to NQ-open and TriviaQA questions, each judged by people.

Invariant: every item was judged by people. Questions marked improper and answers without a text or a verdict are
left out and counted. A text that is blank counts as an answer: the system gave none, and people said what of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from judgelab.data.files import read_json_list
from judgelab.data.nq_open import load_nq_open
from judgelab.data.nq_typed import nq_paragraphs
from judgelab.data.question_key import question_group, question_key
from judgelab.data.rows import BadFieldError, Dropped, Loaded, Row, collect
from judgelab.items import GradedAnswer
from judgelab.records import content_hash
from judgelab.text import normalise

SYSTEMS = ("fid", "gpt35", "chatgpt", "gpt4", "newbing")
NQ_LISTS = Path("nq_open") / "NQ-open.dev.jsonl"
NQ_PARAGRAPHS = Path("nq_typed_entities") / "nq_ner_tagged.jsonl"


def load_evouna(path: Path) -> Loaded[GradedAnswer]:
    """The judged answers of an EVOUNA file, its one string of gold answers split at `/`."""
    return _load(path, {}, {})


def load_evouna_nq(path: Path) -> Loaded[GradedAnswer]:
    """The same for the NQ file, with gold answers and paragraphs of two files in the folder around `path`'s folder.

    An answer may itself hold a `/`, so the list of NQ_LISTS is preferred where it fits: it has the same question, and
    an answer in common with the string (one published question stands before another question's answers).
    NQ_PARAGRAPHS gives the gold paragraph. Either file may be absent. In the published file every `nan` became
    `null` (`finullce`); it is undone for the comparison alone.
    """
    root = path.absolute().parent.parent
    lists: dict[str, tuple[str, ...]] = {}
    if (root / NQ_LISTS).is_file():
        for item in load_nq_open(root / NQ_LISTS).values:
            key = question_key(item.question)
            lists[key] = tuple(dict.fromkeys((*lists.get(key, ()), *item.answers)))
    paragraphs = nq_paragraphs(root / NQ_PARAGRAPHS) if (root / NQ_PARAGRAPHS).is_file() else {}
    return _load(path, lists, paragraphs)


def _load(path: Path, lists: Mapping[str, tuple[str, ...]], paragraphs: Mapping[str, str]) -> Loaded[GradedAnswer]:
    left_out: Counter[str] = Counter()

    def parse(row: Row) -> tuple[GradedAnswer, ...] | Dropped:
        if row.optional_flag("improper"):
            return Dropped("improper question")
        question, golden = row.text("question"), row.text("golden_answer")
        key = question_key(question)
        if key not in lists:
            key = question_key(question.replace("null", "nan"))
        answers = _fitting(lists.get(key, ()), golden)
        items = []
        for system in SYSTEMS:
            human = row.optional_flag(f"judge_{system}")
            if row.values.get(f"answer_{system}") is None:
                left_out["no answer"] += 1
            elif human is None:
                left_out["no verdict"] += 1
            else:
                items.append(
                    GradedAnswer(
                        content_hash([question, golden, system]),
                        question,
                        question_group(question),
                        row.reply(f"answer_{system}"),
                        system,
                        answers,
                        human,
                        context=paragraphs.get(key),
                    )
                )
        return tuple(items)

    def key_of(row: Row, _: object) -> str:
        return content_hash([row.text("question"), row.text("golden_answer")])

    loaded = collect(path, read_json_list(path), parse, key_of)
    items = tuple(item for row in loaded.values for item in row)
    return Loaded(items, {**loaded.dropped, **left_out})


def _fitting(listed: tuple[str, ...], golden: str) -> tuple[str, ...]:
    parts = tuple(dict.fromkeys(part.strip() for part in golden.split("/") if part.strip()))
    if not parts:
        raise BadFieldError("golden_answer", f"{golden!r} holds no answer")
    whole = normalise(golden.replace("null", "nan"))
    fits = any(normalise(answer.replace("null", "nan")) in whole for answer in listed)
    return listed if fits else parts
