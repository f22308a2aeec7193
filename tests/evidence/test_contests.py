"""Contests of two among several models: each two are compared in the questions in which they met, by hand counts."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest

from richter.claims import Evidence, Question
from richter.evidence import Policy, are_contests, evidence
from richter.tables import Dataset, ReadOptions, read_tables

NAMES = ("ash", "birch", "cedar")


def contests(n: int = 40) -> tuple[Dataset, pl.DataFrame]:
    """The table as read, and as it was written; each two meet n times."""
    rng = np.random.default_rng(3)
    pairs = [pair for pair in combinations(NAMES, 2) for _ in range(n)]
    rows = [
        {"question_id": f"q{i}", "model_a": a, "model_b": b, "winner": "model_a" if rng.random() < 0.7 else "model_b"}
        for i, (a, b) in enumerate(pairs)
    ]
    written = pl.DataFrame(rows)
    return read_tables(written, options=ReadOptions(layout=("preferences",)), confirm=True), written


@pytest.mark.parametrize("pair", list(combinations(NAMES, 2)))
def test_two_of_several_are_compared_in_their_own_contests(pair: tuple[str, str]) -> None:
    dataset, written = contests()
    found = evidence(dataset, Question(measure="win_rate", conditions=pair), Policy())
    met = written.filter(pl.col("model_a") == pair[0], pl.col("model_b") == pair[1])
    won = met.filter(pl.col("winner") == "model_b").height
    assert isinstance(found.evidence, Evidence)
    assert found.evidence.n == met.height == 40
    assert found.evidence.estimate == pytest.approx((won - (40 - won)) / 40)  # second minus first
    assert not found.evidence.missing


def test_a_gate_counts_contests_without_the_candidate_as_lost() -> None:
    """A candidate could lose the contests that it would have lost."""
    dataset, _ = contests()
    found = evidence(dataset, Question(measure="win_rate", conditions=NAMES[:2]), Policy(is_gate=True))
    assert isinstance(found.evidence, Evidence)
    assert found.evidence.missing["birch"] == 40  # those of ash and cedar


def test_ordinary_answers_of_several_models_are_no_contests() -> None:
    rows = [{"item": f"q{i}", "model": m, "correct": i % 2} for i in range(20) for m in NAMES[: 2 + i % 2]]
    assert not are_contests(read_tables(pl.DataFrame(rows)))
    assert are_contests(contests()[0])
