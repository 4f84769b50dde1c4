from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from judgelab.pages.retrieval import Bm25

TEXTS = ("the lamp was lit by vera", "a mole in the harbour", "lamp lamp lamp", "من أضاء المصباح", "灯は誰が灯した")


def test_the_best_chunk_comes_first_and_strangers_are_no_hits() -> None:
    index = Bm25(TEXTS)
    assert index.best("who lit the lamp", 5)[0] == 0
    assert 1 not in index.best("lamp", 5)
    assert index.best("zebra", 5) == []
    assert index.best("", 5) == []


def test_other_scripts_are_found() -> None:
    assert Bm25(TEXTS).best("المصباح", 3) == [3]
    assert Bm25(TEXTS).best("誰が", 3)[0] == 4


def test_more_than_there_is_gives_what_there_is() -> None:
    assert set(Bm25(TEXTS).best("lamp", 50)) == {0, 2}
    assert Bm25(()).best("lamp", 3) == []
    assert Bm25(("", "!!", "lamp")).best("lamp", 3) == [2]


def test_equal_scores_keep_their_order() -> None:
    assert Bm25(("lamp here", "lamp here", "lamp here")).best("lamp", 2) == [0, 1]


@given(st.lists(st.text(max_size=30), max_size=8), st.text(max_size=30), st.integers(1, 10))
def test_any_text_can_be_searched(texts: list[str], question: str, k: int) -> None:
    found = Bm25(texts).best(question, k)
    assert len(found) == len(set(found)) <= k
    assert all(0 <= n < len(texts) for n in found)
