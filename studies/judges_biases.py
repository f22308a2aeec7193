"""How often a planted bias of a judge is found without labels, and how often one is found that is not there.

500 questions under two conditions, a judge that errs in 6% beside a reference that is right, or a second judge that
errs in 10%. Planted: 5 points for the longer half of the answers, for formatted answers (two in five) or for the
answers of the judge's own family (one of the two conditions); and none. Right answers are as long as wrong ones, or a
little longer; those of one condition are a little longer than the other's. Of pairs (500 in both orders) the answer
shown first wins more often. One table in eighty goes through `read_tables` and `study_judges` too, as `richter label
agreement` reads them, and each verdict must be the estimator's.
"""

import numpy as np
import polars as pl
from driver import Cell, run_study

from richter.audit import JudgeBias, study_judges
from richter.records import Verdict
from richter.stats import GradeDependence, grade_dependence, position_bias
from richter.tables import read_tables

N = 500
KINDS = ("length", "formatting", "family")
WHOLE = 1 / 80  # of the tables go the whole way
Columns = dict[str, np.ndarray]


def graded_answers(cell: Cell, rng: np.random.Generator) -> Columns:
    """Right and wrong by a judge and by a reference, or by a second judge that errs, with what the judge may like."""
    own = np.repeat([0.0, 1.0], N)
    hard = np.tile(rng.normal(0, 1, N), 2)
    right = hard + rng.normal(0, 1, 2 * N) < 0.9
    length = np.tile(rng.normal(0, 0.5, N), 2) + rng.normal(0, 0.5, 2 * N) + cell["longer"] * right + 0.3 * own
    tokens = np.round(200 * np.exp(length)).astype(int) + 2
    columns = {"length": tokens > np.median(tokens), "formatting": rng.random(2 * N) < 0.4, "family": own}
    judge = np.where(rng.random(2 * N) < 0.06, ~right, right)
    planted = 0.05 * columns.get(cell["bias"], np.zeros(2 * N))
    share = np.clip(planted / max(1 - float(judge.mean()), 1e-9), 0, 1)
    judge = judge | (~judge & (rng.random(2 * N) < share))
    reference = np.where(rng.random(2 * N) < cell["reference errs"], ~right, right)
    return columns | {"judge": judge, "reference": reference, "tokens": tokens}


def slopes_of(answers: Columns, *, is_true: bool) -> dict[str, GradeDependence]:
    """What the judge's grades depend on."""
    quantities = {name: answers[name].astype(float) for name in KINDS}
    item = np.tile(np.arange(N), 2)
    return grade_dependence(answers["judge"], answers["reference"], quantities, unit=item, is_true=is_true)


def rated_table(answers: Columns, *, is_true: bool) -> pl.DataFrame:
    """The answers as a file has them: a row for each rating."""
    rows = {
        "item": np.tile([f"q{i:03d}" for i in range(N)], 2), "condition": np.repeat(["claude-x", "gpt-y"], N),
        "answer": np.where(answers["formatting"], "- yes", "yes"), "tokens_out": answers["tokens"],
    }  # fmt: skip
    second = ("reference", "rule") if is_true else ("mistral-judge", "judge")
    raters = (("gpt-judge", "judge", answers["judge"]), (*second, answers["reference"]))
    return pl.concat(
        pl.DataFrame(rows | {"rater": [name] * 2 * N, "kind": [kind] * 2 * N, "severity": 2.0 * ~said})
        for name, kind, said in raters
    )


def graded(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """Whether each bias is shown, and what is estimated for the planted one."""
    is_true, answers = cell["reference errs"] == 0, graded_answers(cell, rng)
    slopes = slopes_of(answers, is_true=is_true)
    shown = {name: 0 not in slope.interval(0.95) for name, slope in slopes.items()}
    if rng.random() < WHOLE:
        trust = study_judges(read_tables(rated_table(answers, is_true=is_true)))
        assert trust is not None
        (study,) = (s for s in trust.judges if s.judge == "gpt-judge")
        assert {bias.kind: is_shown(bias) for bias in study.biases} == shown
    estimate = slopes[cell["bias"]].estimate if cell["bias"] in slopes else 0.0
    return {f"{name} %": shown[name] for name in KINDS} | {"estimate": estimate}


def judged_pairs(habit: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Whether the answer shown first won, in both orders; half of the pairs have a clear winner.

    A clear winner is not helped by its place, so that three in four judgements can move: each by habit / 0.75.
    """
    wins = np.where(rng.random(N) < 0.5, 0.5, rng.integers(0, 2, N))  # the chance of model `a`
    first, second = (rng.random(N) < np.clip(chance + habit / 0.75, 0, 1) for chance in (wins, 1 - wins))
    return first, second


def pairs_table(orders: tuple[np.ndarray, np.ndarray]) -> pl.DataFrame:
    """Pairs as a file has them."""
    names = [f"q{i:03d}" for i in range(N)]
    return pl.concat(
        pl.DataFrame({"question": names, "model_a": a, "model_b": b, "winner": np.where(won, "model_a", "model_b")})
        for a, b, won in (("a", "b", orders[0]), ("b", "a", orders[1]))
    )


def placed(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """Whether a habit of position is shown, and what is estimated."""
    orders = judged_pairs(cell["habit"], rng)
    slope = position_bias(*orders)
    shown = 0 not in slope.interval(0.95)
    if rng.random() < WHOLE:
        trust = study_judges(read_tables(pairs_table(orders), confirm=True))
        assert trust is not None
        assert trust.position is not None
        assert is_shown(trust.position) == shown
    return {"position %": shown, "estimate": slope.estimate}


def is_shown(bias: JudgeBias) -> bool:
    """Whether the study says that there is a bias."""
    return bias.claim.verdict in (Verdict.VERIFIED, Verdict.REFUTED)


CELLS: list[Cell] = [{"habit": habit} for habit in (0.0, 0.05)]
CELLS += [
    {"bias": bias, "reference errs": errs, "longer": longer}
    for errs in (0.0, 0.1)
    for longer in (0.3, 0.0)
    for bias in ("none", *KINDS)
]


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """One table of grades, or of pairs."""
    return placed(cell, rng) if "habit" in cell else graded(cell, rng)


if __name__ == "__main__":
    run_study(__file__, CELLS, trial, trials=2000)
