from __future__ import annotations

from pathlib import Path

import pytest
import synthetic

from judgelab.report.run_report import RunReport


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> RunReport:
    """A complete run of 60 items with popularities and probabilities."""
    return synthetic.report(tmp_path_factory.mktemp("plain"), synthetic.records(60, popular=True))


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> RunReport:
    """A run whose verdict form gives no probabilities and whose data has no popularities."""
    return synthetic.report(tmp_path_factory.mktemp("bare"), synthetic.records(20, probabilities=False))


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> RunReport:
    """A run in which every text field is an attack."""
    made = synthetic.records(30)
    text = synthetic.HOSTILE
    for cell, verdict in (("oo", "CORRECT"), ("os", "CORRECT"), ("so", "INCORRECT"), ("ss", None)):
        reason = None if verdict else synthetic.Reason.TRUNCATED
        made.append(
            synthetic.record(
                900,
                cell,
                verdict,
                reason,
                question=text,
                original=text,
                swapped=f"{text} \u202e swapped",
                entity_type=text,
                freshness=text,
                flags=(text,),
                candidate_source=text,
            )
        )
    root: Path = tmp_path_factory.mktemp("hostile")
    return synthetic.report(root, made, judge="$x_1$ <b>&", caveat=text)
