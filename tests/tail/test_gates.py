"""Each gate on either side of its limit, by hand: what passes, what fails, what is only short of data."""

import dataclasses
from types import SimpleNamespace
from typing import Any

import pytest

from richter.records import Gate, Interval, Verdict
from richter.tail import TailPlan, decide_pair, evaluate_gates

PLAN = TailPlan(tolerance_mean=0.1, tolerance_tvar=0.3)
MOVED = SimpleNamespace(largest_move=0.9, low=-0.4, high=0.5, chance=0.0001)
NEEDED = 1570  # eq. (2): 2 (2.8016 / 0.1)^2


def span(low: float, high: float, level: float = 0.95) -> Interval:
    return Interval(low=low, high=high, level=level, method="t")


def side(name: str, **more: Any) -> Any:
    """One condition as the gates see it: everything passes unless said."""
    stable = SimpleNamespace(largest_move=0.01, low=0.1, high=0.12, chance=0.5)
    fit = {"gof": SimpleNamespace(p=0.4, method="eigen", tied=0.0), "stability": stable, "bounded": None}
    usual = {"name": name, "n": 40_000, "q": 0.95, "n_exc": 2000, "mean": 1.0, "tvar": 3.0, "xi": 0.0}
    given = {"n_groups": None, **usual, **fit, **more}
    return SimpleNamespace(apart=given["n_exc"] if given["n_groups"] is None else given["n_groups"], **given)


def gates(first: dict[str, Any] | None = None, second: dict[str, Any] | None = None, **more: Any) -> dict[str, Gate]:
    usual = {
        "mean_difference": span(-0.05, 0.05),
        "tvar_difference": span(-0.2, 0.2),
        "shapes": (span(-0.1, 0.05), span(0.1, 0.3)),
        "shapes_single": (span(-0.1, 0.05), span(0.1, 0.3)),
    }
    found = evaluate_gates(
        side("a", **(first or {})), side("b", **{"xi": 0.2, **(second or {})}), PLAN, **{**usual, **more}
    )
    assert [g.name for g in found] == ["G1", "G2", "G3", "G4", "G5", "P1", "P2"]
    return {g.name: g for g in found}


def bounded(contaminates: bool) -> SimpleNamespace:
    return SimpleNamespace(contaminates=contaminates, kind="a ceiling", bound=4.0)


@pytest.mark.parametrize(
    ("gate", "passed", "how"),
    [
        ("G1", True, {"mean_difference": span(-0.099, 0.099)}),
        ("G1", False, {"mean_difference": span(-0.1, 0.05)}),  # as far as the tolerance is not within it
        ("G1", False, {"mean_difference": span(-0.101, 0.05)}),
        ("G1", False, {"mean_difference": span(-0.05, 0.101)}),
        ("G2", True, {"tvar_difference": span(-0.299, 0.299)}),
        ("G2", False, {"tvar_difference": span(-0.05, 0.3)}),
        ("G2", False, {"tvar_difference": span(0.1, 0.31)}),
        ("G3", True, {"first": {"n_exc": NEEDED}, "second": {"n_exc": NEEDED}}),
        ("G3", None, {"first": {"n_exc": NEEDED - 1}}),
        ("G3", None, {"second": {"n_exc": 500}}),
        ("G3", False, {"second": {"n_exc": 499}}),
        ("G3", False, {"first": {"n_groups": 499}, "second": {"n_groups": 499}}),  # however many exceedances they have
        ("G4", True, {"first": {"bounded": bounded(False)}}),
        ("G4", False, {"first": {"bounded": bounded(True)}}),
        ("G4", False, {"second": {"gof": SimpleNamespace(p=0.05, method="eigen", tied=0.0)}}),
        ("G4", True, {"second": {"gof": SimpleNamespace(p=0.051, method="eigen", tied=0.0)}}),
        ("G4", None, {"first": {"gof": None}}),
        ("G5", False, {"first": {"stability": SimpleNamespace(largest_move=0.05, low=0.1, high=0.1, chance=0.5)}}),
        ("G5", True, {"first": {"stability": SimpleNamespace(largest_move=0.049, low=0.1, high=0.1, chance=0.5)}}),
        ("G5", False, {"second": {"stability": SimpleNamespace(largest_move=0.0, low=None, high=0.1, chance=0.5)}}),
        ("G5", False, {"second": {"stability": SimpleNamespace(largest_move=0.0, low=0.1, high=None, chance=0.5)}}),
        ("G5", None, {"first": {"stability": None}}),
        ("G5", None, {"second": {"stability": None}}),
        ("P1", True, {}),
        ("P1", True, {"shapes": (span(0.1, 0.3), span(-0.1, 0.05))}),
        ("P1", False, {"shapes": (span(-0.1, 0.1), span(0.1, 0.3))}),
        ("P1", False, {"shapes": (span(0.1, 0.3), span(-0.1, 0.1))}),
        ("P1", None, {"shapes": None}),
        ("P1", None, {"shapes_single": None}),
        ("P2", True, {"second": {"xi": 0.101}}),
        ("P2", True, {"second": {"xi": -0.101}}),
        ("P2", False, {"second": {"xi": 0.1}}),
        ("P2", False, {"first": {"xi": 0.25}, "second": {"xi": 0.2}}),
        ("P2", None, {"second": {"xi": float("nan")}}),
    ],
)
def test_each_gate_at_its_limit_by_hand(gate: str, passed: bool | None, how: dict[str, Any]) -> None:
    assert gates(**how)[gate].passed is passed


def test_what_gates_say_by_hand() -> None:
    found = gates({"n_exc": 1000, "mean": 1.2, "tvar": 3.5}, {"n": 30_000})
    assert found["G1"].detail == "-0.2 (95% CI -0.05 to +0.05)"
    assert found["G2"].detail == "-0.5 (95% CI -0.2 to +0.2)"
    assert [found[name].n for name in ("G1", "G2", "G3", "G4", "G5", "P1", "P2")] == [30_000] * 2 + [1000] * 5
    assert found["G3"].detail == "1,000 exceedances; 1,570 are needed, 31,400 questions for each side"
    assert found["G3"].rule == "at least 1,570 exceedances on each side; under 500 blocks"
    assert found["G4"].detail == "p = 0.4, 0.4"
    assert found["G5"].detail == "moves 0.010, 0.010; noise alone lets 25% pass"
    assert found["P1"].detail == "95% CI -0.100 to +0.050 and 95% CI +0.100 to +0.300"
    assert found["P2"].detail == "+0.200"
    assert gates()["G3"].detail == "2,000 exceedances"
    wide = gates(shapes=(span(-0.1, 0.15, 0.98), span(0.1, 0.3, 0.98)))["P1"]
    assert wide.detail == "98% CI -0.100 to +0.150 and 98% CI +0.100 to +0.300; at 95% they are disjoint"
    assert (wide.passed, wide.observed["passed_single"]) == (False, True)
    single = (span(-0.1, 0.2), span(0.1, 0.3))
    assert gates(shapes=(span(-0.1, 0.05, 0.98), span(0.1, 0.3, 0.98)), shapes_single=single)["P1"].detail.endswith(
        "; at 95% they are not disjoint"
    )
    assert gates({"bounded": bounded(True)})["G4"].detail == "p = 0.4, 0.4; a: a ceiling at 4"
    assert gates({"gof": None})["G4"].detail == "not run: too few exceedances to fit"
    open_ended = {"stability": SimpleNamespace(largest_move=0.0, low=None, high=None, chance=1.0)}
    assert gates(open_ended)["G5"].detail == "no threshold in the band has enough exceedances on either side of q"
    assert gates(second={"xi": float("nan")})["P2"].detail == "not run: no fit"


@pytest.mark.parametrize(
    ("how", "verdict", "blocked_by"),
    [
        ({}, Verdict.VERIFIED, None),
        ({"mean_difference": span(-1, 1)}, Verdict.BLOCKED, "G1"),
        ({"mean_difference": span(-1, 1), "tvar_difference": span(-1, 1)}, Verdict.BLOCKED, "G1"),
        ({"tvar_difference": span(-1, 1), "first": {"n_exc": 1000}}, Verdict.BLOCKED, "G2"),
        ({"first": {"n_exc": 1000}}, Verdict.UNDECIDED, None),
        ({"first": {"n_exc": 1000}, "second": {"xi": 0.05}}, Verdict.UNDECIDED, None),
        ({"first": {"stability": None}}, Verdict.UNDECIDED, None),
        ({"shapes": None}, Verdict.UNDECIDED, None),
        ({"first": {"n_exc": 1000, "stability": MOVED}}, Verdict.BLOCKED, "G5"),  # failed, whatever is short of data
        ({"first": {"n_exc": 1000}, "shapes": (span(-0.1, 0.2), span(0.1, 0.3))}, Verdict.UNDECIDED, None),
        ({"shapes": (span(-0.1, 0.2), span(0.1, 0.3))}, Verdict.BLOCKED, "P1"),
        ({"second": {"xi": 0.05}}, Verdict.BLOCKED, "P2"),
    ],
)
def test_the_verdict_of_gates_by_hand(how: dict[str, Any], verdict: Verdict, blocked_by: str | None) -> None:
    assert decide_pair(list(gates(**how).values())) == (verdict, blocked_by)


def test_levels_are_printed_as_they_are_by_hand() -> None:
    found = gates(mean_difference=span(-0.05, 0.05, 0.999), shapes=(span(0, 1, 0.975), span(2, 3, 0.975)))
    assert "(99.9% CI " in found["G1"].detail
    assert found["P1"].detail.startswith("97.5% CI +0.000 to +1.000")


@pytest.mark.parametrize(
    ("rule", "n", "passed"),
    [
        ("both", 499, False), ("both", 500, None), ("both", 1500, None), ("both", 1570, True),
        ("floor", 499, False), ("floor", 500, True), ("floor", 1500, True),
        ("bound", 1500, False), ("bound", 1569, False), ("bound", 1570, True),
    ],
)  # fmt: skip
def test_named_rules_of_g3_against_paper(rule: str, n: int, passed: bool | None) -> None:
    """The paper's design has 1,500 exceedances: above its floor of 500, below the 1,570 of its eq. (2)."""
    plan = dataclasses.replace(PLAN, exceedances=rule, floor_exceedances=500, delta=0.1, power=0.8, xi_expected=0.0)
    spans = {"mean_difference": span(-0.05, 0.05), "tvar_difference": span(-0.2, 0.2)}
    spans |= {"shapes": (span(-0.1, 0.05), span(0.1, 0.3)), "shapes_single": (span(-0.1, 0.05), span(0.1, 0.3))}
    found = evaluate_gates(side("a", n_exc=n), side("b", n_exc=2000), plan, **spans)
    assert next(gate.passed for gate in found if gate.name == "G3") is passed
