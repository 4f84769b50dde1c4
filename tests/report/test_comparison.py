from __future__ import annotations

from pathlib import Path

import pytest
import synthetic

from judgelab.comparison import as_table, compare, print_comparison
from judgelab.errors import JudgelabError, UsageError
from judgelab.frames import nuggets
from judgelab.settings import AnalysisConfig
from judgelab.status import Watch

FEW = AnalysisConfig(resamples=100)


def test_what_a_run_lacks_and_how_it_died_stands_beside_its_figures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = synthetic.records(12)
    whole = synthetic.run_directory(tmp_path, made, caveat="plumbing check")
    part = synthetic.run_directory(tmp_path, made[:16], judge="[red]other", n_items=12, caveat="")
    with pytest.raises(JudgelabError), Watch(part.path, None):
        raise JudgelabError("no free GPU memory")
    comparison = compare([whole, part], FEW)
    print_comparison(comparison)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1] == "run 1     judge=[red]other"
    assert lines[2:4] == [
        "WARNING: baseline: plumbing check",
        "WARNING: run 1: incomplete: 4 of 12 items have records",
    ]
    assert lines[4].startswith("WARNING: run 1: failed: no free GPU memory (process ")
    (row,) = as_table(comparison).to_dict("records")
    assert (row["part"], row["common"], row["flipped"], comparison.flipped) == ("all", 16, 0, 0)
    assert row["caveats"].startswith("plumbing check; incomplete: 4 of 12 items have records; failed: no free")


def test_runs_without_a_common_judgment_cannot_be_compared(tmp_path: Path) -> None:
    made = synthetic.records(8)
    first, second = (
        synthetic.run_directory(tmp_path, some, judge=name) for name, some in (("a", made[:16]), ("b", made[16:]))
    )
    with pytest.raises(UsageError, match="have no item and cell in common"):
        compare([first, second], FEW)


def test_a_difference_in_one_part_is_not_thinned_by_the_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the battles turn by nuggets, none by the pairwise judge."""
    import pandas as pd

    def judged(outcomes: str) -> pd.DataFrame:
        rows = [
            {"item_id": f"i{k}", "cell": cell, "part": part, "group": f"i{k}", "verdict": verdict, "right": right}
            for k, outcome in enumerate(outcomes)
            for cell, part, verdict, right in (
                ("nuggets", "nuggets", outcome, float(outcome == "a")),
                ("ab", "pairwise judge", "a", 1.0),
                ("ba", "pairwise judge", "a", 1.0),
            )
        ]
        return pd.DataFrame(rows)

    runs = [synthetic.run_directory(tmp_path, synthetic.records(2), judge=name, name="nuggets") for name in "xy"]
    frames = iter([judged("abababab"), judged("aaaaaaaa")])
    monkeypatch.setattr("judgelab.comparison._judgments", lambda *_: next(frames))
    one, two = compare(runs, FEW).pairs
    assert (one.part, one.flips.rate.value, one.flips.differences["acc"].value) == ("nuggets", 0.5, 50.0)
    assert (two.part, two.flips.rate.value, two.flips.differences["acc"].value) == ("pairwise judge", 0.0, 0.0)
    assert nuggets.judgments(nuggets.battles([]), nuggets.labels([]), []).columns[2] == "part"
