"""Every format by name: which loader reads it, and which knobs it takes.

Invariant: a knob that a format has no use for is refused, never passed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from judgelab.data.ambigqa import load_ambigqa
from judgelab.data.answers import load_answers
from judgelab.data.battles import load_battles
from judgelab.data.crowdrag25 import load_crowdrag25
from judgelab.data.demo import load_demo, load_demo_answers, load_demo_battles
from judgelab.data.evouna import load_evouna, load_evouna_nq
from judgelab.data.files import locate
from judgelab.data.freshqa import load_freshqa
from judgelab.data.hotpotqa import hotpotqa_paragraphs, load_hotpotqa
from judgelab.data.nq301 import load_nq301
from judgelab.data.nq_open import load_nq_open
from judgelab.data.nq_typed import load_nq_typed, nq_paragraphs
from judgelab.data.nuggetizer import load_nuggetizer
from judgelab.data.plain import load_plain
from judgelab.data.popqa import load_popqa
from judgelab.data.predictions import join_predictions
from judgelab.data.rows import Loaded
from judgelab.data.sciq import load_sciq
from judgelab.data.search_arena import load_search_arena
from judgelab.data.triviaqa import load_triviaqa
from judgelab.errors import UsageError
from judgelab.items import QAItem
from judgelab.settings import DatasetConfig

QUESTIONS = ("nq_open", "nq_typed", "popqa", "freshqa", "sciq", "ambigqa", "hotpotqa", "triviaqa", "plain")
BATTLES = ("search_arena", "crowdrag25", "trec_rag24", "nuggetizer", "battles")
ANSWERS = ("evouna_nq", "evouna_tq", "nq301", "answers")
DEMOS = {"demo": "plain", "demo_battles": "battles", "demo_answers": "answers"}  # and what one's own file is then
FORMATS = (*DEMOS, *QUESTIONS, *BATTLES, *ANSWERS)


def load_items(settings: DatasetConfig) -> Loaded[Any]:
    """The items of the set that `settings` names, all of one kind.

    Questions with `predictions` become graded answers. Raises UsageError as the loaders do, and for knobs that do not
    fit the format.
    """
    name = settings.format
    if settings.predictions is not None and name not in (*QUESTIONS, "nuggetizer"):
        raise UsageError(
            f"dataset.predictions={settings.predictions}: format {name} holds its answers itself; it is for "
            f"{', '.join(QUESTIONS)}, nuggetizer"
        )
    if settings.dimension is not None and name != "crowdrag25":
        raise UsageError(f"dataset.dimension={settings.dimension}: only format crowdrag25 has several, not {name}")
    if name in DEMOS:
        return _demo(settings)
    if name in QUESTIONS:
        return _questions(settings)
    match name:
        case "search_arena":
            return load_search_arena(locate(settings.path, "dataset.path"))
        case "crowdrag25":
            return load_crowdrag25(locate(settings.path, "dataset.path", folder=True), settings.dimension)
        case "trec_rag24":
            return load_nuggetizer(locate(settings.path, "dataset.path"))
        case "nuggetizer":
            path = locate(settings.path, "dataset.path")
            given = settings.predictions
            return load_nuggetizer(path, None if given is None else locate(given, "dataset.predictions"))
        case "battles":
            return load_battles(locate(settings.path, "dataset.path"))
        case "evouna_nq":
            return load_evouna_nq(locate(settings.path, "dataset.path"))
        case "evouna_tq":
            return load_evouna(locate(settings.path, "dataset.path"))
        case "nq301":
            return load_nq301(locate(settings.path, "dataset.path", folder=True))
        case "answers":
            return load_answers(locate(settings.path, "dataset.path"))
        case unknown:
            near = get_close_matches(unknown, FORMATS, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise UsageError(
                f"dataset.format={unknown}: unknown format{hint} (knob: dataset.format, one of {', '.join(FORMATS)})"
            )


def _demo(settings: DatasetConfig) -> Loaded[Any]:
    if settings.path is not None:
        raise UsageError(
            f"dataset.path={settings.path}: the demo set takes no file "
            f"(for a file of your own: dataset={DEMOS[settings.format]} dataset.path=FILE)"
        )
    match settings.format:
        case "demo_battles":
            return load_demo_battles()
        case "demo_answers":
            return load_demo_answers()
        case _:
            return load_demo()


def _questions(settings: DatasetConfig) -> Loaded[Any]:
    path = locate(settings.path, "dataset.path")
    paragraphs: Mapping[str, str] = {}
    questions: Loaded[QAItem]
    match settings.format:
        case "nq_open":
            questions = load_nq_open(path)
        case "nq_typed":
            questions = load_nq_typed(path)
        case "popqa":
            questions = load_popqa(path)
        case "freshqa":
            questions = load_freshqa(path)
        case "sciq":
            questions = load_sciq(path)
        case "ambigqa":
            questions = load_ambigqa(path)
        case "hotpotqa":
            questions = load_hotpotqa(path)
        case "triviaqa":
            questions = load_triviaqa(path)
        case _:
            questions = load_plain(path)
    if settings.predictions is None:
        return questions
    if settings.format == "nq_typed":
        paragraphs = nq_paragraphs(path)
    elif settings.format == "hotpotqa":
        paragraphs = hotpotqa_paragraphs(path)
    return join_predictions(questions, locate(settings.predictions, "dataset.predictions"), paragraphs)
