"""Rules that two commands apply are one function: the same data, the same decision."""

import ast
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import richter
from helpers.memory_tables import memory_tables
from richter.audit import apply_gate_plan, compare_tables, new_plan, weigh_scores
from richter.cli._main import _root
from richter.evidence import MISSING, Policy
from richter.floors import decide_claim, parse_claim
from richter.records import Claim, Verdict
from richter.tables import Dataset

NAMES = ("base", "one", "two", "three")


def weighed(seed: int = 3) -> Dataset:
    """Severities of four conditions, of which the last has the more severe errors."""
    rng = np.random.default_rng(seed)
    wrong = rng.random((300, 4)) < [0.4, 0.4, 0.4, 0.6]
    severity = np.where(wrong, np.minimum(rng.integers(1, 5, size=(300, 4)) + np.array([0, 0, 0, 1]), 4), 0).astype(
        float
    )
    return memory_tables({"accuracy": (severity == 0).astype(float)}, conditions=NAMES, severity=severity)


def by_pair(claims: Any, measure: str) -> dict[tuple[str, ...], Claim]:
    return {c.conditions: c for c in claims if c.measure == measure}


@pytest.mark.parametrize("measure", ["mean_severity", "severity_given_error"])
def test_severity_and_compare_decide_alike_against_a_control(measure: str) -> None:
    dataset = weighed()
    compared = by_pair(compare_tables(dataset, on=(measure,), control="base", n_resamples=200).claims, measure)
    weighed_claims = weigh_scores(dataset, primary=measure, control="base", n_resamples=200).claims
    alone = by_pair(weighed_claims, measure)
    assert compared.keys() == alone.keys() == {("base", name) for name in NAMES[1:]}
    for pair, claim in compared.items():
        other = alone[pair]
        assert claim.family is not None
        assert claim.family.method == "max t"
        assert (claim.verdict, claim.estimate, claim.interval, claim.p, claim.p_adjusted) == (
            other.verdict, other.estimate, other.interval, other.p, other.p_adjusted,
        )  # fmt: skip
    assert any(c.verdict is not Verdict.UNDECIDED for c in compared.values())


@pytest.mark.parametrize(("lost", "blocks"), [(10, False), (11, True)])
def test_stop_rules_and_claims_block_alike_by_missing_grades(lost: int, blocks: bool) -> None:
    """A measure without a worse end, 1,000 grades of each of two: at most 1% may be missing."""
    rng = np.random.default_rng(5)
    right, sure = (rng.random(1000) < 0.5).astype(float), np.full(1000, 0.99)
    right[:lost] = np.nan
    rule = decide_claim(parse_claim("ece > 0.05"), right, sure)
    assert (rule.blocked_by == "missing") is blocks
    assert rule.missing == {"": lost}


@pytest.mark.parametrize("option", [None, *MISSING])
@pytest.mark.parametrize("planned", MISSING)
def test_a_plan_says_where_its_word_on_missing_grades_holds(option: Any, planned: str, tmp_path: Path) -> None:
    dataset = weighed().select(["base", "one"])
    required = [{"metric": "accuracy", "rule": "no_worse", "limit": 0.05}]
    path = tmp_path / "plan.toml"
    plan = {"candidate": "one", "baseline": "base", "require": required, "missing": planned}
    path.write_text(new_plan("gate", plan))
    report = apply_gate_plan(path, dataset, policy=Policy(missing=option))
    differs = [d for d in report.reasons if "missing: plan" in d]
    assert bool(differs) is (option not in (None, planned))


def test_a_value_outside_its_range_blocks_on_every_surface(tmp_path: Path) -> None:
    """Seconds of an answer are never negative."""
    rng, n = np.random.default_rng(0), 60
    table = pl.DataFrame(
        {
            "item": [f"q{k}" for k in range(n)] * 2,
            "condition": ["old"] * n + ["new"] * n,
            "correct": rng.integers(0, 2, 2 * n),
            "latency": np.r_[rng.exponential(size=2 * n - 1), -1.0],
        }
    )
    file, out = tmp_path / "data.csv", tmp_path / "out.json"
    table.write_csv(file)
    commands = {
        "compare": ("compare", file, "old", "new", "--on", "latency"),
        "gate": ("gate", file, "old", "new", "--margin", "latency=10pt"),
    }
    for name, words in commands.items():
        result = CliRunner().invoke(_root, [*map(str, words), "--json", str(out)])
        assert isinstance(result.exception, SystemExit | None), (name, result.output)
        claims = [c for c in json.loads(out.read_text())["claims"] if c["measure"] == "latency"]
        assert [(c["verdict"], c["blocked_by"]) for c in claims] == [("blocked", "range")], name
        assert "q59 of new" in claims[0]["reason"]
    claims = richter.open(file).compare(on=["latency"]).of("latency")
    assert [c.blocked_by for c in claims] == ["range"]


def test_only_decide_gives_verdicts() -> None:
    """No call outside `claims/_decide.py` sets a verdict by its name."""
    root = Path(richter.__file__).parents[1]
    calls = [
        f"{file.relative_to(root)}:{node.lineno}"
        for file in sorted(root.glob("richter*/**/*.py"))
        if file.parts[-2:] != ("claims", "_decide.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.keyword) and node.arg == "verdict"
        and any(isinstance(x, ast.Attribute) and ast.unparse(x.value) == "Verdict" for x in ast.walk(node.value))
    ]  # fmt: skip
    assert not calls
