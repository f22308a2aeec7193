import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from richter.audit import GateReport, compare_tables, margin_plan, read_plan, run_gate
from richter.cli import main
from richter.errors import PlanError
from richter.evidence import Policy
from richter.records import Verdict
from richter.tables import read_tables


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(list(args))
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def write_plan(folder: Path, rules: str, **settings: str) -> Path:
    path = folder / "plan.toml"
    path.unlink(missing_ok=True)
    Path(f"{path}.lock").unlink(missing_ok=True)
    given = {"candidate": "new", "baseline": "old", "require": rules} | settings
    with pytest.raises(SystemExit) as stop:
        main(["plan", "new", "gate", "-o", str(path), *(f"--set={k}={v}" for k, v in given.items())])
    assert not stop.value.code
    return path


def frame(rng: np.random.Generator, n: int, **accuracy: float) -> pl.DataFrame:
    """Simulated grades and severities: wrong answers share their items and are 0.5 to 4 severe."""
    luck = rng.random(n)
    wrong = {name: luck > level for name, level in accuracy.items()}
    rows = [
        {
            "item": i,
            "condition": name,
            "correct": int(not wrong[name][i]),
            "severity": float(rng.integers(1, 9)) / 2 if wrong[name][i] else 0.0,
            "confidence": float(rng.uniform(0.6, 1)),
        }
        for name in accuracy
        for i in range(n)
    ]
    return pl.DataFrame(rows)


NO_WORSE = '[{metric="accuracy", rule="no_worse", limit=0.03}]'


@pytest.mark.parametrize(
    ("new", "n", "code", "word"),
    [(0.85, 2000, 0, "PASS: "), (0.75, 2000, 3, "FAIL: "), (0.84, 60, 4, "INCONCLUSIVE: ")],
)
def test_exit_says_met_violated_undecided(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    rng: np.random.Generator,
    new: float,
    n: int,
    code: int,
    word: str,
) -> None:
    plan = write_plan(tmp_path, NO_WORSE)
    data = tmp_path / "grades.csv"
    frame(rng, n, old=0.85, new=new).write_csv(data)
    got, out, _ = run(capsys, "gate", str(plan), str(data))
    assert got == code
    assert word in out


def test_single_items_that_flip_do_not_decide(tmp_path: Path, rng: np.random.Generator) -> None:
    plan = read_plan(write_plan(tmp_path, NO_WORSE), kind="gate")
    table = frame(rng, 3000, old=0.85, new=0.85)
    flips = pl.when((pl.col("condition") == "new") & (pl.col("item") < 20)).then(0).otherwise(pl.col("correct"))
    report = run_gate(plan, read_tables(table.with_columns(correct=flips)))
    assert report.outcome is Verdict.VERIFIED


def test_catastrophic_rate_by_hand(tmp_path: Path) -> None:
    # No catastrophic error in 300: the exact one-sided limit is 1 - 0.05^(1/300) = 0.00994.
    table = pl.DataFrame({"item": range(300), "condition": "new", "correct": 1.0, "severity": 0.0})
    for limit, verdict in ((0.01, Verdict.VERIFIED), (0.009, Verdict.UNDECIDED)):
        plan = write_plan(tmp_path, f'[{{metric="catastrophic_rate", rule="below", limit={limit}}}]', baseline='""')
        result = run_gate(read_plan(plan), read_tables(table)).claims[0]
        assert result.verdict is verdict
        assert result.interval is not None
        assert result.interval.high == pytest.approx(1 - 0.05 ** (1 / 300))
    assert result.needed is not None
    assert result.needed > 300


def test_what_cannot_be_measured_is_not_met(tmp_path: Path, rng: np.random.Generator) -> None:
    plan = read_plan(write_plan(tmp_path, '[{metric="mean_severity", rule="below", limit=1.0}]'))
    report = run_gate(plan, read_tables(frame(rng, 100, old=0.8, new=0.8).drop("severity")))
    assert report.claims[0].verdict is Verdict.UNTESTABLE
    assert report.exit_code == 4


def test_items_in_another_order_block(tmp_path: Path, rng: np.random.Generator) -> None:
    """Among six conditions that fail on the same items, a candidate in another order is seen; with two it is not."""
    plan = read_plan(write_plan(tmp_path, NO_WORSE))
    table = frame(rng, 2000, old=0.85, new=0.85, c=0.84, d=0.86, e=0.85, f=0.83)
    moved = pl.when(pl.col("condition") == "new").then((pl.col("item") * 7 + 11) % 2000).otherwise(pl.col("item"))
    report = run_gate(plan, read_tables(table.with_columns(item=moved)))
    assert report.claims[0].verdict is Verdict.BLOCKED
    assert "another order" in report.claims[0].sentence
    assert report.exit_code == 4
    alone = table.with_columns(item=moved).filter(pl.col("condition").is_in(["old", "new"]))
    two = run_gate(plan, read_tables(alone))
    assert any("assuming that question IDs match" in note for note in two.notes)
    assert two.claims[0].verdict is not Verdict.BLOCKED


def test_draws_are_no_items_and_claims_are_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, rng: np.random.Generator
) -> None:
    """100 items x 10 draws at the limit: counted as 1,000 items this error rate would pass too often."""
    plan = write_plan(tmp_path, '[{metric="error_rate", rule="below", limit=0.25}]', baseline='""')
    rate = rng.beta(0.5, 1.5, size=100)
    rows = [
        {"item": i, "condition": "new", "draw": k, "correct": int(rng.random() > rate[i])}
        for i in range(100)
        for k in range(10)
    ]
    data = tmp_path / "draws.csv"
    pl.DataFrame(rows).write_csv(data)
    capsys.readouterr()
    _, out, _ = run(capsys, "gate", str(plan), str(data), "--json", "-")
    row = json.loads(out)
    assert row["schema"] == "richter/gate"
    claim = row["claims"][0]
    assert (claim["n"], claim["units"], claim["unit"]) == (100, 100, "item")
    assert claim["hypothesis"] == {"relation": "below", "value": 0.25}
    assert claim["interval"]["level"] == pytest.approx(0.9)
    wide = claim["interval"]["high"] - claim["interval"]["low"]
    assert wide > 2 * 1.645 * (0.25 * 0.75 / 1000) ** 0.5  # what 1,000 independent answers would give


@pytest.mark.slow
def test_false_pass_rate_recovers_truth(tmp_path: Path) -> None:
    # The candidate is worse by exactly the limit: a pass is an error, allowed in 5%. 150 gates of 400 items: more
    # than 17 have probability 0.0005 at 5%.
    plan = read_plan(write_plan(tmp_path, '[{metric="accuracy", rule="no_worse", limit=0.05}]'))
    rng = np.random.default_rng(11)
    passes = 0
    for _ in range(150):
        both = rng.random((400, 2)) < [0.85, 0.80]
        table = pl.DataFrame(
            {
                "item": np.tile(np.arange(400), 2),
                "condition": ["old"] * 400 + ["new"] * 400,
                "correct": np.concatenate((both[:, 0], both[:, 1])).astype(float),
            }
        )
        passes += run_gate(plan, read_tables(table)).outcome is Verdict.VERIFIED
    assert passes <= 17


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ("[]", "asks nothing"),
        ('[{metric="accuracy", rule="no_worse", limit=0}]', "no number of items"),
        ('[{metric="accuracy", rule="below", limit=0.5}]', "more is better"),
        ('[{metric="ece", rule="above", limit=0.5}]', "more is worse"),
        ('[{metric="speed", rule="below", limit=0.5}]', "speed"),
        ('[{metric="accuracy", rule="no_worse", limit=2}]', "not below 1"),
    ],
)
def test_impossible_plans_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, rules: str, words: str
) -> None:
    path = tmp_path / "plan.toml"
    path.write_text(f'kind = "gate"\ncandidate = "new"\nbaseline = "old"\nrequire = {rules}\n')
    code, _, err = run(capsys, "gate", str(path), "x.csv")
    assert code == 1
    assert words in err


def test_conditions_of_the_plan_must_be_there(tmp_path: Path, rng: np.random.Generator) -> None:
    plan = read_plan(write_plan(tmp_path, NO_WORSE))
    with pytest.raises(PlanError, match="the data hold"):
        run_gate(plan, read_tables(frame(rng, 50, a=0.8, b=0.8)))


# ------------------------------------------------------------------ what a gate must not lose on its way


def report_of(tmp_path: Path, table: pl.DataFrame, rules: str = NO_WORSE, **policy: Any) -> GateReport:
    return run_gate(read_plan(write_plan(tmp_path, rules)), read_tables(table), policy=Policy(**policy))


LEVEL = '[{metric="error_rate", rule="below", limit=0.2}]'


@pytest.mark.parametrize("rules", [NO_WORSE, LEVEL])
def test_a_candidate_whose_wrong_answers_are_absent_does_not_pass(
    tmp_path: Path, rng: np.random.Generator, rules: str
) -> None:
    table = frame(rng, 800, old=0.85, new=0.75)
    assert report_of(tmp_path, table, rules).exit_code == 3
    is_lost = (pl.col("condition") == "new") & (pl.col("correct") == 0) & (pl.col("item") % 2 == 0)
    for less in (
        table.filter(~is_lost),
        table.with_columns(correct=pl.when(is_lost).then(None).otherwise(pl.col("correct"))),
    ):
        report = report_of(tmp_path, less, rules)
        assert report.outcome is not Verdict.VERIFIED
        (claim,) = report.claims
        assert claim.missing["new"] == less.filter(pl.col("condition") == "old").height - int(
            less.filter(pl.col("condition") == "new")["correct"].count()
        )
        assert any("new lacks" in note for note in claim.notes)


def test_attempts_divide_the_level_of_a_gate(tmp_path: Path, rng: np.random.Generator) -> None:
    table = read_tables(frame(rng, 400, old=0.85, new=0.85))
    once, ten = (
        run_gate(read_plan(write_plan(tmp_path, NO_WORSE, tried=str(tried))), table).claims[0] for tried in (1, 10)
    )
    assert once.interval is not None
    assert ten.interval is not None
    assert (once.interval.level, ten.interval.level) == pytest.approx((0.9, 0.99))
    assert once.p_adjusted is not None
    assert ten.p_adjusted == pytest.approx(min(1.0, 10 * once.p_adjusted))


def test_the_level_of_a_plan_decides_its_gate(tmp_path: Path, rng: np.random.Generator) -> None:
    table = read_tables(frame(rng, 400, old=0.85, new=0.85))
    (claim,) = run_gate(read_plan(write_plan(tmp_path, NO_WORSE, level="0.99")), table).claims
    assert claim.interval is not None
    assert claim.interval.level == pytest.approx(0.98)


def test_limits_of_a_gate_never_fall_short_by_hand(tmp_path: Path) -> None:
    """3 of 100 wrong: Clopper and Pearson's upper limit at 95% is 0.0757, Wilson's 0.0718."""
    table = pl.DataFrame({"item": range(100), "condition": "new", "correct": [0.0] * 3 + [1.0] * 97})
    for limit, verdict in ((0.0758, Verdict.VERIFIED), (0.0755, Verdict.UNDECIDED)):
        plan = write_plan(tmp_path, f'[{{metric="error_rate", rule="below", limit={limit}}}]', baseline='""')
        assert run_gate(read_plan(plan), read_tables(table)).claims[0].verdict is verdict


def test_an_unconfirmed_reading_blocks_a_gate_unless_it_is_trusted(tmp_path: Path, rng: np.random.Generator) -> None:
    tables = dataclasses.replace(read_tables(frame(rng, 2000, old=0.85, new=0.85)), is_confirmed=False)
    plan = read_plan(write_plan(tmp_path, NO_WORSE))
    report = run_gate(plan, tables)
    assert (report.exit_code, report.claims[0].blocked_by, report.claims[0].override) == (
        4,
        "reading",
        "--trust-reading",
    )
    assert run_gate(plan, tables, policy=Policy(trust_reading=True)).exit_code == 0


def test_a_gate_met_by_an_unchecked_judge_alone_does_not_pass(tmp_path: Path, rng: np.random.Generator) -> None:
    plan = read_plan(write_plan(tmp_path, NO_WORSE))
    good = dataclasses.replace(read_tables(frame(rng, 2000, old=0.85, new=0.85)), scored_by=("llm_judge",))
    report = run_gate(plan, good)
    assert (report.exit_code, report.outcome) == (4, Verdict.UNDECIDED)
    assert report.claims[0].verdict is Verdict.VERIFIED
    assert report.claims[0].basis == "judge, unchecked"
    accepted = run_gate(plan, good, accept_judge=True)
    assert (accepted.exit_code, accepted.outcome) == (0, Verdict.VERIFIED)
    bad = dataclasses.replace(read_tables(frame(rng, 2000, old=0.85, new=0.7)), scored_by=("llm_judge",))
    assert run_gate(plan, bad).exit_code == 3


def test_what_a_plan_says_of_missing_grades_reaches_the_gate(tmp_path: Path, rng: np.random.Generator) -> None:
    table = frame(rng, 1000, old=0.85, new=0.85)
    less = read_tables(table.filter(~((pl.col("condition") == "new") & (pl.col("item") < 150))))
    assert run_gate(read_plan(write_plan(tmp_path, NO_WORSE)), less).outcome is not Verdict.VERIFIED
    plan = read_plan(write_plan(tmp_path, NO_WORSE, missing="at-random"))
    assert run_gate(plan, less).outcome is Verdict.VERIFIED


def test_requirements_are_one_family_and_pass_together(tmp_path: Path, rng: np.random.Generator) -> None:
    rules = (
        '[{metric="accuracy", rule="no_worse", limit=0.03}, {metric="error_rate", rule="below", limit=0.1},'
        ' {metric="mean_severity", rule="no_worse", limit=0.3}]'
    )
    report = report_of(tmp_path, frame(rng, 2000, old=0.85, new=0.85), rules)
    assert {(c.family.name, c.family.size) for c in report.claims if c.family} == {("requirement", 3)}
    assert [c.verdict for c in report.claims] == [Verdict.VERIFIED, Verdict.REFUTED, Verdict.VERIFIED]
    assert report.exit_code == 3


@pytest.mark.parametrize("fact", ["few changes", "repeats", "missing", "unpaired"])
def test_a_gate_shows_the_interval_of_a_comparison_beside_its_own_limit(fact: str, rng: np.random.Generator) -> None:
    table = frame(rng, 60, old=0.9, new=0.95).select("item", "condition", "correct")
    if fact == "repeats":
        table = pl.concat([table.with_columns(draw=pl.lit(k)) for k in range(2)])
        table = table.with_columns(pl.col("correct") * (pl.col("item") % 7 != pl.col("draw")))
    if fact == "missing":
        table = table.filter((pl.col("condition") == "old") | (pl.col("item") % 20 != 0))
    if fact == "unpaired":
        table = table.with_columns(item=pl.format("{}{}", "condition", "item"))
    tables, is_unpaired = read_tables(table), fact == "unpaired"
    plan = margin_plan(tables, 0.3)
    (own,) = run_gate(plan, tables, policy=Policy(unpaired=is_unpaired)).claims
    compared = compare_tables(tables, unpaired=is_unpaired).claims[0]
    assert own.plain_interval == compared.plain_interval
    assert own.interval is not None
    assert compared.interval is not None
    assert own.interval.method != compared.interval.method or own.interval.level != compared.interval.level
