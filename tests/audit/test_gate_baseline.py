"""A gate against a baseline of which only its rate is known, and what a gate's plan may say: by hand."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import richter
from helpers.outcomes import dataset_of, outcomes
from richter.audit import (
    apply_gate_plan,
    lock_plan,
    margin_plan,
    new_plan,
    read_plan,
    run_gate,
    stated_gate,
    stated_result,
)
from richter.audit._plan_gate import faults
from richter.errors import InputError, PlanError
from richter.evidence import Policy
from richter.records import Verdict
from richter.stats import Floats


def graded(right: int, n: int, conditions: int = 1) -> Floats:
    """The first `right` of n items are right, in every condition."""
    return np.repeat((np.arange(n) < right).astype(float)[:, None], conditions, axis=1)


def results(folder: Path, *rates: tuple[float, int], method: str = "wilson", schema: str = "richter/results") -> Path:
    """A results document with the error rates of conditions, each on n answers."""
    rows: list[dict[str, Any]] = [{"name": "old", "how_often": None}]
    rows += [
        {"name": "new", "how_often": {"estimate": rate, "n": n, "interval": {"method": method}}} for rate, n in rates
    ]
    path = folder / "results.json"
    path.write_text(json.dumps({"schema": schema, "conditions": rows}))
    return path


def wilson_ends(right: int, n: int, z: float = 1.644854) -> tuple[float, float]:
    p, share = right / n, z**2 / n
    half = z * math.sqrt(p * (1 - p) / n + share / (4 * n))
    return (p + share / 2 - half) / (1 + share), (p + share / 2 + half) / (1 + share)


def newcombe(first: int, second: int, n: int) -> tuple[float, float]:
    """90% limits of the difference of two independent rates on n each (Newcombe 1998, method 10)."""
    (low_1, high_1), (low_2, high_2), p, q = wilson_ends(first, n), wilson_ends(second, n), first / n, second / n
    return p - q - math.hypot(p - low_1, high_2 - q), p - q + math.hypot(high_1 - p, q - low_2)


def test_a_stated_rate_is_a_count_of_answers_by_hand(tmp_path: Path) -> None:
    assert stated_result(results(tmp_path, (0.25, 40))) == (30, 40)
    assert stated_result(results(tmp_path, (1 / 3, 300))) == (200, 300)
    assert stated_result(results(tmp_path, (0.25, 40), method="clopper-pearson upper")) == (30, 40)


def test_what_states_no_single_rate_is_refused(tmp_path: Path) -> None:
    for path in (results(tmp_path), results(tmp_path, (0.25, 40), (0.5, 40)), results(tmp_path, (0.2, 40), method="t")):
        with pytest.raises(InputError, match="no single rate"):
            stated_result(path)
    for rate in (0.26, 0.2501):  # 29.6 and 29.996 of 40
        with pytest.raises(InputError, match="not a count of its answers"):
            stated_result(results(tmp_path, (rate, 40)))


def test_a_file_that_is_no_results_document_states_nothing(tmp_path: Path) -> None:
    assert stated_result(results(tmp_path, (0.25, 40), schema="other")) is None
    assert stated_result(tmp_path / "none.json") is None


def test_a_stated_baseline_is_an_independent_rate_by_hand() -> None:
    """320 of 400 against 300 of 400 stated: 5 points more; the limits are near Newcombe's of two Wilson intervals."""
    report = stated_gate(dataset_of(outcomes(graded(320, 400))), 0.02, right=300, n=400)
    (claim,) = report.claims
    assert claim.interval is not None
    assert claim.estimate == pytest.approx(0.05)
    assert claim.values == (pytest.approx(0.75), pytest.approx(0.80))
    low, high = newcombe(320, 300, 400)
    assert claim.interval.low == pytest.approx(low, abs=0.01)
    assert claim.interval.high == pytest.approx(high, abs=0.01)
    assert (report.outcome, report.exit_code, report.tried) == (Verdict.VERIFIED, 0, 1)
    worse = stated_gate(dataset_of(outcomes(graded(240, 400))), 0.02, right=300, n=400)
    assert (worse.outcome, worse.exit_code) == (Verdict.REFUTED, 3)


def test_an_unchecked_judge_passes_a_stated_gate_only_where_it_is_accepted() -> None:
    dataset = dataset_of(outcomes(graded(380, 400), judges=("judge-1",)))
    given: dict[str, Any] = {"right": 300, "n": 400}
    assert stated_gate(dataset, 0.02, **given).exit_code == 4
    assert stated_gate(dataset, 0.02, **given, accept_judge=True).exit_code == 0


def test_what_the_user_vouches_for_holds_against_a_stated_baseline() -> None:
    """A block that names an option must be overridden by it: --trust-reading, --missing."""
    inferred = dataset_of(outcomes(graded(380, 400)), is_confirmed=False)
    given: dict[str, Any] = {"right": 300, "n": 400}
    assert stated_gate(inferred, 0.02, **given).claims[0].blocked_by == "reading"
    assert stated_gate(inferred, 0.02, **given, policy=Policy(trust_reading=True)).exit_code == 0
    table = np.where(graded(280, 400) == 1, 1.0, np.nan)
    lost = dataset_of(outcomes(table), ungraded=[(f"q{k:04d}", "a", 0) for k in range(280, 400)])
    assert stated_gate(lost, 0.02, **given).exit_code == 4
    assert stated_gate(lost, 0.02, **given, policy=Policy(missing="at-random")).exit_code == 0


def test_a_gate_without_a_plan_is_one_attempt_of_its_own() -> None:
    dataset = dataset_of(outcomes(np.tile([[0.0, 1.0], [1.0, 1.0]], (50, 1))))
    report = run_gate(margin_plan(dataset, 0.02), dataset)
    (claim,) = report.claims
    assert claim.interval is not None
    assert (report.tried, report.exit_code) == (1, 0)
    assert claim.interval.level == pytest.approx(0.9)  # one-sided 95%
    judged = dataset_of(outcomes(np.tile([[0.0, 1.0], [1.0, 1.0]], (50, 1)), judges=("judge-1",)))
    assert run_gate(margin_plan(judged, 0.02), judged).exit_code == 4
    assert run_gate(margin_plan(judged, 0.02), judged, accept_judge=True).exit_code == 0


RULE = {"metric": "accuracy", "rule": "no_worse", "limit": 0.02}


def plan_of(folder: Path, **values: Any) -> Path:
    given = {"candidate": "b", "baseline": "a", "require": [RULE]} | values
    path = folder / "plan.toml"
    path.write_text(new_plan("gate", given))
    return path


def test_attempts_of_a_plan_are_one_where_it_says_nothing(tmp_path: Path) -> None:
    dataset = dataset_of(outcomes(np.tile([[0.0, 1.0], [1.0, 1.0]], (50, 1))))
    for given, tried in (({}, 1), ({"tried": 4}, 4)):
        assert run_gate(read_plan(plan_of(tmp_path, **given)), dataset).tried == tried
    with pytest.raises(PlanError):
        plan_of(tmp_path, tried=0)


def test_faults_of_requirements_name_their_number_by_hand() -> None:
    rules = [RULE, RULE | {"limit": 1.0}, RULE | {"limit": 0.999}]
    found = list(faults({"candidate": "b", "baseline": "a", "require": rules}))
    assert len(found) == 1
    assert found[0].startswith("require[2].limit = 1 is not below 1")
    severity = {"metric": "mean_severity", "rule": "below", "limit": 4.0}
    assert len(list(faults({"candidate": "b", "baseline": "", "require": [severity, severity | {"limit": 3.9}]}))) == 1
    free = {"metric": "mean_score", "rule": "above", "limit": 50.0}  # only the data say its scale
    assert not list(faults({"candidate": "b", "baseline": "", "require": [free]}))


def test_a_limit_is_of_the_candidate_alone_by_hand(tmp_path: Path) -> None:
    """a errs in half, b in none: below 20%, which a is not."""
    dataset = dataset_of(outcomes(np.tile([[0.0, 1.0], [1.0, 1.0]], (50, 1))))
    rule = {"metric": "error_rate", "rule": "below", "limit": 0.2}
    (claim,) = run_gate(read_plan(plan_of(tmp_path, require=[rule])), dataset).claims
    assert (claim.conditions, claim.estimate, claim.verdict) == (("b",), pytest.approx(0.0), Verdict.VERIFIED)


BETTER = np.tile([[0.0, 1.0], [1.0, 1.0]], (50, 1))


@pytest.mark.parametrize(("asked", "code"), [({}, 0), ({"require_locked": True}, 4)])
def test_an_unlocked_plan_stops_a_gate_only_where_a_lock_is_required(
    tmp_path: Path, asked: dict[str, bool], code: int
) -> None:
    report = apply_gate_plan(plan_of(tmp_path), dataset_of(outcomes(BETTER)), **asked)
    assert (report.exit_code, len(report.obstacles)) == (code, len(asked))
    assert report.claims[0].verdict is Verdict.VERIFIED


def test_a_plan_accepts_a_judges_grades_only_where_it_or_the_user_says_so(tmp_path: Path) -> None:
    judged = dataset_of(outcomes(BETTER, judges=("judge-1",)))
    assert apply_gate_plan(plan_of(tmp_path), judged).exit_code == 4
    assert apply_gate_plan(plan_of(tmp_path), judged, accept_judge=True).exit_code == 0
    assert apply_gate_plan(plan_of(tmp_path, accept_judge=True), judged).exit_code == 0


def test_a_claim_names_its_plan_only_where_it_was_locked_before(tmp_path: Path) -> None:
    plan, dataset = plan_of(tmp_path), dataset_of(outcomes(BETTER))
    assert apply_gate_plan(plan, dataset).claims[0].plan is None
    assert run_gate(read_plan(plan), dataset).claims[0].plan is None
    (tmp_path / "later").mkdir()
    lock_plan(locked := plan_of(tmp_path / "later"))
    report = apply_gate_plan(locked, dataset)
    assert report.confirmatory
    assert report.claims[0].plan == read_plan(locked).hash


def test_a_margin_without_a_plan_is_of_two_conditions_the_old_one_first() -> None:
    """A gate checks the second against the first: the wrong way round a loss passes as a gain."""
    with pytest.raises(InputError, match="data hold 1") as alone:
        margin_plan(dataset_of(outcomes(BETTER[:, :1], conditions=("mine",))), 0.02)
    assert "candidate=mine" in alone.value.remedy
    for first, second, is_refused in (("new", "old", True), ("old", "new", False), ("new", "x", False),
                                      ("x", "old", False)):  # fmt: skip
        dataset = dataset_of(outcomes(BETTER, conditions=(first, second)))
        if is_refused:
            with pytest.raises(InputError, match="old comes second"):
                margin_plan(dataset, 0.02)
        else:
            assert margin_plan(dataset, 0.02).values["candidate"] == second


def test_a_plan_says_that_each_condition_has_items_of_its_own(tmp_path: Path) -> None:
    value = np.ones((400, 2))
    value[:200, 0] = value[200:, 1] = np.nan
    dataset = dataset_of(outcomes(value))
    assert run_gate(read_plan(plan_of(tmp_path)), dataset).claims[0].verdict is Verdict.BLOCKED
    assert run_gate(read_plan(plan_of(tmp_path, unpaired=True)), dataset).claims[0].apart
    assert run_gate(read_plan(plan_of(tmp_path)), dataset, policy=Policy(unpaired=True)).claims[0].apart


@pytest.mark.parametrize(
    ("field", "lowest", "highest"), [("min_shared", 0.0, 1.0), ("tried", 1, 1_000_000), ("level", 0.51, 0.999)]
)
def test_the_limits_of_a_gate_plans_fields_by_hand(tmp_path: Path, field: str, lowest: float, highest: float) -> None:
    for value in (lowest, highest):
        assert read_plan(plan_of(tmp_path, **{field: value})).values[field] == value
    for value in (lowest - (0.01 if field == "level" else 1), highest + 1):
        with pytest.raises(PlanError, match=field):
            read_plan(plan_of(tmp_path, **{field: value}))


@pytest.mark.parametrize("more", [{"level": 0.9}, {"on": "accuracy"}, {"conditions": ("old", "new")}, {"margin": 0.02}])
def test_arguments_beside_a_plan_that_it_states_are_refused(more: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"Both a plan and {next(iter(more))} are given"):
        richter.gate({"old": [1, 0] * 50, "new": [1, 0] * 50}, plan=plan_of(tmp_path), **more)
