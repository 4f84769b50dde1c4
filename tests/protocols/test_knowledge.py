from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from judgelab.data.dataset import Dataset
from judgelab.engines.base import Answer, Choice, Completion, Request
from judgelab.errors import RequestError
from judgelab.items import QAItem
from judgelab.protocols.knowledge import Belief, believe, clean_answer
from judgelab.protocols.swapped import CELLS, Swapped
from judgelab.protocols.swaps import Substitute
from judgelab.protocols.verdicts import Way
from judgelab.records import Reason, Record, Unscored
from judgelab.settings import Swap, SwappedConfig, VerdictForm

ITEM = QAItem("1", "who painted it?", ("Rembrandt van Rijn",), ("Rembrandt",), "PERSON")


class Believer:
    """Answers the probes from lists (bare, then forced) and says which answers mean the same."""

    def __init__(self, bare: list[str], forced: list[str], same: frozenset[str] = frozenset()) -> None:
        self.answers = {False: bare, True: forced}
        self.same = same
        self.requests: list[Request] = []

    async def ask(self, request: Request) -> Answer:
        self.requests.append(request)
        user = request.messages[-1].content
        if request.purpose == "probe":
            text = self.answers["best guess" in request.messages[0].content][request.sampling.sample]
        elif request.purpose == "equivalence":
            if "lost" in user:
                raise RequestError("lost")
            text = "A" if any(f"\n{answer}\n" in user for answer in self.same) else "B"
            text = "?" if "garbled" in user else text
        else:
            assert isinstance(request.output, Choice)
            facts = request.facts
            assert facts is not None
            text = "A" if facts.candidate == facts.memory else "B"
        finish = "length" if text.endswith("~") else "stop"
        return Answer(Completion(text, finish, 9, 3), "key", cached=False)


def belief(asker: Believer, item: QAItem = ITEM) -> Belief:
    return asyncio.run(believe(item, asker, 3, 0.6, Way(VerdictForm.label)))


IDK = "I don't know."
KEEN = ["Frans Hals"] * 3


@pytest.mark.parametrize(
    ("bare", "forced", "expected", "known", "forced_known"),
    [
        (["Frans Hals", "frans hals.", "Vermeer"], KEEN, "Frans Hals", 0, 0),
        ([IDK] * 3, ["Vermeer", "Frans Hals", "the Frans Hals"], "Frans Hals", 0, 0),
        ([IDK] * 3, ["Vermeer", "Frans Hals", IDK], "Vermeer", 0, 0),
        (["Rembrandt", "Vermeer", "Vermeer"], ["Vermeer"] * 3, "Vermeer", 1 / 3, 0),
        (["Rembrandt"] * 3, ["Rembrandt van Rijn", "rembrandt.", "Vermeer"], Reason.NO_CANDIDATE, 1, 2 / 3),
        (["Rembrandt"] * 3, ["Vermeer"] * 3, Reason.NO_CANDIDATE, 1, 0),
        ([IDK] * 3, ["", "unknown", "N/A"], Reason.NO_CANDIDATE, 0, 0),
        ([IDK] * 3, ["It was him~"] * 3, Reason.NO_CANDIDATE, 0, 0),
        (["the Dutch master"] * 3, ["Vermeer", IDK, IDK], Reason.NO_CANDIDATE, 1, 0),
        (["garbled"] * 3, ["garbled"] * 3, Reason.NO_CANDIDATE, 0, 0),
        (["van Rijn"] * 3, [IDK] * 3, Reason.NO_CANDIDATE, 0, 0),
        (["van Rijn"] * 3, ["Vermeer", IDK, IDK], "Vermeer", 0, 0),
    ],
)
def test_belief(bare: list[str], forced: list[str], expected: str | Reason, known: float, forced_known: float) -> None:
    found = belief(Believer(bare, forced, frozenset({"the Dutch master"})))
    if isinstance(expected, Reason):
        assert isinstance(found.substitute, Unscored)
        assert found.substitute.reason is expected
        assert found.substitute.detail
    else:
        assert found.substitute == Substitute(expected, (expected,))
    assert (found.known, found.forced) == (pytest.approx(known), pytest.approx(forced_known))


def test_what_is_asked() -> None:
    asker = Believer(["Vermeer"] * 3, ["Rembrandt", "Vermeer", IDK])
    found = belief(asker)
    probes = [r for r in asker.requests if r.purpose == "probe"]
    assert sorted(r.sampling.sample for r in probes) == [0, 0, 1, 1, 2, 2]
    assert {r.sampling.temperature for r in probes} == {0.6}
    assert all("Rembrandt" not in r.messages[-1].content for r in probes), "closed book"
    equivalence = [r for r in asker.requests if r.purpose == "equivalence"]
    assert len(equivalence) == 1, "one question a distinct answer, none where an alias matches"
    assert len(found.calls) == 7


def test_a_lost_comparison_is_not_an_answer() -> None:
    with pytest.raises(RequestError, match="lost"):
        belief(Believer(["lost"] * 3, ["Vermeer"] * 3))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Frans Hals", "Frans Hals"),
        (' "Frans Hals". ', "Frans Hals"),
        ("The answer is Frans Hals.", "Frans Hals"),
        ("Answer: 1642", "1642"),
        ("My best guess is Vermeer", "Vermeer"),
        ("The Answer", "The Answer"),
        ("the U.S.", "the U.S."),
        (".", None),
        ("\n\nVermeer\nHe lived in Delft.", "Vermeer"),
        ("", None),
        ("I don’t know", None),
        ("I'm not sure.", None),
        ("It is unknown.", None),
        ("As an AI, I have no view", None),
        ("I cannot answer that", None),
        ("It was painted in the year 1642 by a master who lived in Amsterdam for long", None),
    ],
)
def test_clean_answer(text: str, expected: str | None) -> None:
    assert clean_answer(text) == expected


def run(asker: Believer) -> tuple[Record, ...]:
    settings = SwappedConfig(swap=Swap.evaluator_knowledge, mass_probes=0)
    protocol = Swapped(settings, Dataset.of("set", (replace(ITEM, entity_type=None),)), 0)
    return asyncio.run(protocol.judge(ITEM, asker))


def test_the_judges_own_answer_becomes_the_reference() -> None:
    records = run(Believer(["Vermeer", "Vermeer", "Rembrandt"], ["Vermeer"] * 3))
    assert {r.subject.swapped for r in records} == {"Vermeer"}
    assert {(r.extra["known"], r.extra["known_forced"]) for r in records} == {(1 / 3, 0)}
    right = {r.cell: r.verdict == r.subject.truth for r in records}
    assert right == {"oo": False, "os": False, "so": True, "ss": True}, "a judge that follows its own wrong belief"
    assert [c.purpose for c in records[0].calls] == ["probe"] * 6 + ["equivalence", "grade"]


def test_items_the_judge_knows_are_left_out_and_say_how_well() -> None:
    records = run(Believer(["Rembrandt"] * 3, ["Rembrandt"] * 3))
    assert [r.cell for r in records] == list(CELLS)
    assert {r.unscored.reason for r in records if r.unscored} == {Reason.NO_CANDIDATE}
    assert {r.extra["known"] for r in records} == {1}
    assert len(records[0].calls) == 6


def test_a_lost_probe_is_an_engine_error_of_the_item() -> None:
    records = run(Believer(["lost"] * 3, ["lost"] * 3))
    assert {r.unscored.reason for r in records if r.unscored} == {Reason.ENGINE_ERROR}
