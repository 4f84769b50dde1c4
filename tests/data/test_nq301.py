"""NQ301 on four small files of our own: rows joined by position, quotes as they come, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from datafiles import put

from judgelab.data.nq301 import BEM, DAVINCI, GPT4, HUMAN, load_nq301
from judgelab.errors import UsageError
from judgelab.items import GradedAnswer

FILES = {
    HUMAN: (
        "id\tQuestion\tModel answer\tAcceptable?\tannotator1\tannotator2\tannotator3\n"
        '1\twho dug it\t"Ode" dug it\tYes\tYes\tNo\tYes\n'
        "1\twho dug it\tmoor\tNo\tNo\t\tNo\n"
        "2\twhen was it\t1900\tNo\tNo\tNo\t\n"
    ),
    BEM: (
        "id\tQuestion\tGold answers\tModel answer\tAcceptable?\tBEM probs per gold answer\n"
        '1\twho dug it\t"Ode | Ode Moor"\tOde dug it\tYes\t"[[0.1, 0.9]]"\n'
        '2\twho dug it\t"Ode | Ode Moor"\tmoor\tYes\t"[[0.1, 0.9]]"\n'
        '3\twhen was it\t1901\t1900\tNo\t"[[0.9, 0.1]]"\n'
    ),
    GPT4: (
        "id\tQuestion\tModel answer\tAcceptable?\tgpt-4\n"
        '1\twho dug it\t"Ode" dug it\tYes\tYes, "right".\n'
        "1\twho dug it\tmoor\t\tCannot say.\n"
        "2\twhen was it\t1900\tNo\tNo.\n"
    ),
    DAVINCI: (
        "id\tQuestion\tModel answer\tAcceptable?\ttext-davinci-003\n"
        '1\twho dug it"Ode" dug it\tNo\tNo.\n'
        "1\twho dug itmoor\tNo\tNo.\n"
        "2\twhen was it1900\tYes\tYes.\n"
    ),
}


def folder(tmp_path: Path, **changed: str) -> Path:
    for name, content in FILES.items():
        put(tmp_path, name, changed.get(name, content))
    return tmp_path


def test_four_files_are_one_set(tmp_path: Path) -> None:
    one, two, three = load_nq301(folder(tmp_path)).values
    assert one == GradedAnswer(
        "1",
        "who dug it",
        one.group,
        '"Ode" dug it',
        answers=("Ode", "Ode Moor"),
        human=True,
        annotators=(True, False),
        published={"GPT-4": True, "text-davinci-003": False, "BEM": True},
    )
    assert (two.item_id, two.annotators, two.published) == ("2", (False,), {"text-davinci-003": False, "BEM": True})
    assert (three.answers, three.human) == (("1901",), False)
    assert one.group == two.group != three.group


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        (HUMAN, "\tNo\tNo\t\tNo\n", "\tPerhaps\tNo\t\tNo\n", "human.tsv:3: Acceptable?: true or false is expected"),
        (HUMAN, "\tNo\tNo\t\tNo\n", "\t\tNo\t\tNo\n", "human.tsv:3: Acceptable?: missing"),
        (BEM, "2\twho dug it", "2\twho else", f"human.tsv:3: Question: differs from that of the same row in {BEM}"),
        (GPT4, "2\twhen", "3\twhen", f"human.tsv:4: id: differs from that of the same row in {GPT4}"),
        (DAVINCI, "2\twhen was it1900\tYes\tYes.\n", "", f"{DAVINCI}: has 2 answers where {HUMAN} has 3"),
        (DAVINCI, "2\twhen was it1900\tYes\tYes.\n", "2\tx\n", f"{DAVINCI}:4: row: has 2 cells where at least 3"),
        (BEM, "Gold answers", "Gold", f"{BEM}:1: column `Gold answers` is missing"),
    ],
)
def test_refuses(tmp_path: Path, file: str, old: str, new: str, message: str) -> None:
    assert old in FILES[file]
    with pytest.raises(UsageError) as caught:
        load_nq301(folder(tmp_path, **{file: FILES[file].replace(old, new)}))
    assert message in str(caught.value)
    assert "dataset.path" in str(caught.value)
