"""Figures of a run that was really measured (on simulated answers): what they draw is what counting gives."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from helpers.simulated import simulated_run
from richter.audit import measure_run
from richter.report import Figure, figures
from richter.store import open_ledger


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return simulated_run(tmp_path_factory.mktemp("measured") / "run", conditions=2, items=300)


@pytest.fixture(scope="module")
def drawn(run: Path) -> dict[str, Figure]:
    return figures(measure_run(run).to_dict())


def severities(run: Path) -> dict[str, Counter[float]]:
    counts: dict[str, Counter[float]] = {}
    with open_ledger(run) as ledger:
        for rating in ledger.ratings(kind="rule"):
            if rating.severity is not None and rating.draw == 0:
                counts.setdefault(rating.condition, Counter())[rating.severity] += 1
    return counts


def test_shares_of_severities_by_counting(run: Path, drawn: dict[str, Figure]) -> None:
    counts = severities(run)
    rows: list[dict[str, Any]] = list(drawn["severity-distribution"].rows)
    assert {r["condition"] for r in rows} == set(counts)
    for row in rows:
        of = counts[row["condition"]]
        assert row["share"] == pytest.approx(of[row["severity"]] / of.total())
        assert row["count"] == of[row["severity"]]
