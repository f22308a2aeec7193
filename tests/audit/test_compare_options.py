"""`richter compare` with a control, subgroups, tries, and a quality kept at a lower cost."""

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from richter.audit import compare_tables
from richter.cli import main
from richter.errors import InputError
from richter.records import Verdict
from richter.tables import read_tables


def board(folder: Path, rng: np.random.Generator, levels: dict[str, float], n: int = 300, draws: int = 1) -> Path:
    """Grades of conditions that fail on the same hard items, in three subjects, with what each answer cost."""
    rows = []
    for i in range(n):
        hard = rng.normal(0, 1.5)
        for name, able in levels.items():
            for d in range(draws):
                right = int(rng.random() < 1 / (1 + np.exp(hard - able)))
                cost = float(np.exp(rng.normal(-0.5 if name == "new" else 0.0, 0.3)))
                rows.append((f"q{i}", name, d, right, ["math", "code", "law"][i % 3], cost))
    path = folder / "board.csv"
    pl.DataFrame(rows, schema=["item", "condition", "draw", "correct", "area", "usd"], orient="row").write_csv(path)
    return path


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main(list(args))
    out, err = capsys.readouterr()
    return int(stop.value.code or 0), out, err


def test_subgroups_are_a_family_of_their_own_and_tested_once(
    tmp_path: Path, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    path = board(tmp_path, rng, {"old": 0.0, "new": 1.5}, n=600)
    code, out, _ = run(capsys, "compare", str(path), "old", "new", "--by", "area", "--json", "-")
    row = json.loads(out)
    assert code == 0
    measures = {c["measure"]: c for c in row["claims"]}
    assert not measures["accuracy:math"]["primary"]
    assert measures["accuracy"]["primary"]
    assert measures["accuracy:math"]["family"]["name"] == "subgroup"
    assert measures["accuracy:math"]["family"]["size"] == 3
    assert measures["accuracy:math"]["n"] == 200
    assert {s["name"] for s in row["subgroups"][0]["subgroups"]} == {"math", "code", "law"}


def test_costs_by_subgroup_have_the_words_of_the_comparison(
    tmp_path: Path, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    path = board(tmp_path, rng, {"old": 0.0, "new": 1.5})
    shown = ("--map", "money_usd=usd", "--on", "money")
    _, out, _ = run(capsys, "compare", str(path), "old", "new", *shown, "--by", "area")
    assert "domain" not in out.partition("Next: ")[0]
    _, row, _ = run(capsys, "compare", str(path), "old", "new", *shown, "--json", "-")
    cheaper = next(c for c in json.loads(row)["claims"] if c["measure"] == "money")["estimate"]
    assert f"{100 * cheaper:+.1f}% (95% CI" in out


def test_of_ratios_the_table_of_pairs_says_better_over_worse_by_hand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """b costs twice as much as a on every item, c four times: a is cheaper than b by half, than c by three quarters."""
    rows = [
        (f"q{k}", name, 1, (1 + 0.01 * k) * times * (1 + 0.02 * (k % 3)))
        for k in range(60)
        for name, times in (("a", 1.0), ("b", 2.0 + 0.001 * k), ("c", 4.0 + 0.001 * k))
    ]
    path = tmp_path / "costs.csv"
    pl.DataFrame(rows, schema=["item", "condition", "correct", "usd"], orient="row").write_csv(path)
    _, out, _ = run(capsys, "compare", str(path), "--map", "money_usd=usd", "--on", "money", "--verbose")
    shown = {line.split("  ")[0].strip(): line for line in out.splitlines() if "better than" in line}
    assert float(re.findall(r"(-[\d.]+)%", shown["a better than b"])[0]) == pytest.approx(-50, abs=1)
    assert float(re.findall(r"(-[\d.]+)%", shown["a better than c"])[0]) == pytest.approx(-75, abs=1)


def test_tries_come_from_draws(tmp_path: Path, rng: np.random.Generator) -> None:
    path = board(tmp_path, rng, {"old": 0.0, "new": 1.5}, draws=4)
    found = compare_tables(read_tables(path), conditions=("old", "new"), on=("pass^4",))
    claim = found.claims[0]
    assert claim.measure == "pass^4"
    assert claim.primary
    with pytest.raises(InputError, match="fewer than 5 draws"):
        compare_tables(read_tables(path), conditions=("old", "new"), on=("pass@5",))


def test_a_control_is_one_family(tmp_path: Path, rng: np.random.Generator) -> None:
    path = board(tmp_path, rng, {"base": 0.0, **{f"p{k}": 0.05 * k for k in range(6)}})
    found = compare_tables(read_tables(path), control="base")
    assert {c.conditions[0] for c in found.of("accuracy")} == {"base"}
    assert {c.family.method for c in found.of("accuracy") if c.family} == {"max t"}
    assert not found.groups


def test_long_names_stay_distinct_and_the_best_comes_first(
    tmp_path: Path, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]
) -> None:
    long = "organisation/a-very-long-family-of-models-"
    path = board(tmp_path, rng, {long + "7b": -1.5, long + "70b": 2.5, long + "13b": 0.5}, n=600)
    out = run(capsys, "compare", str(path), "--verbose")[1]
    assert f"{long}70b" in out.splitlines()[0]
    lines = [line for line in out.splitlines() if " better than …" in line]
    assert lines[0].startswith("…70b better than …7b")
    assert "+" in lines[0]
    assert len(lines) == 3


def test_grades_missing_on_hard_items_are_counted_both_ways(tmp_path: Path, rng: np.random.Generator) -> None:
    """60 of new's grades are absent where old is wrong: shown only with them ignored and with them wrong."""
    frame = pl.read_csv(board(tmp_path, rng, {"old": -1.0, "new": 1.0}, n=600))
    hard = frame.filter((pl.col("condition") == "old") & (pl.col("correct") == 0))["item"].to_list()[:60]
    less = frame.filter(~((pl.col("condition") == "new") & pl.col("item").is_in(hard)))
    (claim,) = compare_tables(read_tables(less), conditions=("old", "new"), n_resamples=100).of("accuracy")
    assert claim.missing == {"old": 0, "new": 60}
    assert "new lacks 60 grades (60 absent)" in claim.notes
    wrong = pl.when((pl.col("condition") == "new") & pl.col("item").is_in(hard)).then(0).otherwise(pl.col("correct"))
    filled = compare_tables(read_tables(frame.with_columns(correct=wrong)), conditions=("old", "new"), n_resamples=100)
    shared = compare_tables(read_tables(less), conditions=("old", "new"), missing="shared", n_resamples=100)
    ends = [c.interval for found in (filled, shared) for c in found.of("accuracy")]
    assert claim.interval is not None
    assert claim.interval.low == pytest.approx(min(i.low for i in ends if i))
    assert claim.interval.high == pytest.approx(max(i.high for i in ends if i))
    assert shared.options["missing"] == "shared"


def test_texts_of_the_questions_decide_on_order(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for name, shift in (("one", 0), ("two", 0), ("three", 1)):
        rows = [
            {"item": str(i), "prompt": f"question {(i + shift) % 60}", "correct": int(rng.random() < 0.7)}
            for i in range(60)
        ]
        pl.DataFrame(rows).write_csv(tmp_path / f"{name}.csv")
    tables = read_tables(*(f"{n}={tmp_path / f'{n}.csv'}" for n in ("one", "two", "three")))
    if not tables.asked:
        pytest.skip("tables keep no texts of questions")
    found = compare_tables(tables)
    assert any("three" in r.conditions and "another question stands under" in r.reason for r in found.refused)
    assert not any(c.verdict is Verdict.VERIFIED and "three" in c.conditions for c in found.claims)


def test_a_group_in_two_domains_is_refused(rng: np.random.Generator) -> None:
    frame = pl.DataFrame(
        {
            "item": np.repeat(np.arange(60), 2),
            "condition": ["a", "b"] * 60,
            "correct": rng.integers(0, 2, 120),
            "group": np.repeat(np.arange(60) // 10, 2),
            "domain": np.repeat(np.where(np.arange(60) % 2 == 0, "x", "y"), 2),
        }
    )
    with pytest.raises(InputError, match="6 of 6 groups span several domains"):
        compare_tables(read_tables(frame), by="domain")
    with pytest.raises(InputError, match="a group is one unit"):
        compare_tables(read_tables(frame), by="group")


def test_a_comparison_of_which_every_pair_is_refused_ends_with_4(tmp_path: Path) -> None:
    path = tmp_path / "apart.csv"
    path.write_text("item,condition,correct\n1,a,1\n2,a,0\n3,a,0\n3,b,1\n4,b,0\n")
    with pytest.raises(SystemExit) as stop:
        main(["compare", str(path)])
    assert stop.value.code == 4
    with pytest.raises(SystemExit) as stop:
        main(["compare", str(path), "--unpaired"])
    assert stop.value.code == 0
    path.write_text("item,condition,correct\n1,a,1\n2,a,0\n1,b,1\n2,b,0\n")
    with pytest.raises(SystemExit) as stop:
        main(["compare", str(path)])
    assert stop.value.code == 0


def test_attempts_are_allowed_for_in_claims_on_slopes_too(rng: np.random.Generator) -> None:
    """Every claim of the page but these had its level divided."""
    n, levels = 8000, np.arange(1, 9) / 2
    laws = [10 ** (-b * levels) for b in (0.7, 0.3)]  # Gutenberg and Richter's
    graver = np.stack([rng.choice(levels, n, p=law / law.sum()) for law in laws], axis=1)
    severity = np.where(rng.random((n, 2)) < [0.4, 0.5], graver, 0.0)
    frame = pl.DataFrame(
        [(f"q{i}", "ab"[k], float(severity[i, k])) for i in range(n) for k in range(2)],
        schema=["item", "condition", "severity"], orient="row",
    )  # fmt: skip
    tables = read_tables(frame)
    (one,), (four,) = (compare_tables(tables, tried=tried, n_resamples=100).of("b") for tried in (1, 4))
    assert one.interval is not None
    assert four.interval is not None
    assert 4 * (1 - four.interval.level) == pytest.approx(1 - one.interval.level)
