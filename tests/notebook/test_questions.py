"""What a user of scipy or statsmodels tries first: each task in Python, its numbers held against the command line's."""

import doctest
import inspect
import json
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

import richter
from richter.audit import GapSize, new_plan
from richter.cli import main
from richter.notebook import Claims, Comparison
from richter.records import of_kind

SOURCE = Path(__file__).parents[2] / "src"
NUMBERS = ("estimate", "p", "p_adjusted", "n", "units", "verdict", "margin")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Three prompts on 300 questions in two subjects, with a second score and groups of five."""
    rng = np.random.default_rng(7)
    rows = []
    for k, name in enumerate(("old", "new", "long")):
        right = rng.random(300) < (0.6, 0.75, 0.7)[k]
        score = rng.integers(1, 6, 300)
        rows.append(
            pl.DataFrame(
                {
                    "item": [f"q{i:03d}" for i in range(300)],
                    "condition": name,
                    "correct": right.astype(int),
                    "money_usd": rng.gamma(2, 1, 300),
                    "subject": ["law", "art"] * 150,
                    "helpfulness": score,
                }
            )
        )
    path = tmp_path / "grades.csv"
    pl.concat(rows).write_csv(path)
    return path


def printed(tmp_path: Path, *args: Any) -> dict[str, Any]:
    """The document that the command line writes."""
    place = tmp_path / "by_command.json"
    with pytest.raises(SystemExit):
        main([*map(str, args), "--json", str(place)])
    document: dict[str, Any] = json.loads(place.read_text())
    return document


def numbers(claims: Any) -> list[dict[str, Any]]:
    rows = [claim if isinstance(claim, dict) else claim.to_dict() for claim in claims]
    return [{name: row[name] for name in (*NUMBERS, "interval", "conditions", "measure")} for row in rows]


OPTIONS = [
    ({}, []),
    ({"margin": "5pt"}, ["--margin", "5pt"]),
    ({"conditions": ("old", "new"), "margin": 0.05}, ["old", "new", "--margin", "0.05"]),
    ({"control": "old"}, ["--control", "old"]),
    ({"by": "subject", "conditions": ("old", "new")}, ["old", "new", "--by", "subject"]),
    ({"on": "money"}, ["--on", "money"]),
    ({"tried": 3, "level": 0.9}, ["--tried", "3", "--level", "0.9"]),
]


@pytest.mark.parametrize(("options", "words"), OPTIONS, ids=lambda value: str(value)[:40])
def test_compare_says_what_the_command_says(
    options: dict[str, Any], words: list[str], table: Path, tmp_path: Path
) -> None:
    by_command = printed(tmp_path, "compare", table, *words)
    found = richter.compare(table, **options)
    assert numbers(found.claims) == numbers(by_command["claims"])
    assert json.loads(found.to_json()) == by_command


def test_gate_says_what_the_command_says(table: Path, tmp_path: Path) -> None:
    frame = pl.read_csv(table).filter(pl.col("condition") != "long")
    frame.write_csv(tmp_path / "two.csv")
    by_command = printed(tmp_path, "gate", tmp_path / "two.csv", "--margin", "2pt")
    found = richter.gate(tmp_path / "two.csv", margin="2pt")
    assert numbers(found.claims) == numbers(by_command["claims"])
    assert found.passed
    assert found.exit_code == by_command["exit_code"] == 0


def test_what_a_plan_says_of_missing_grades_counts_in_python(table: Path, tmp_path: Path) -> None:
    frame = pl.read_csv(table).filter(pl.col("condition") != "long")
    frame.write_csv(tmp_path / "two.csv")
    old, new = frame["condition"].unique(maintain_order=True)
    rule = {"metric": "accuracy", "rule": "no_worse", "limit": 0.02}
    plan = tmp_path / "plan.toml"
    plan.write_text(new_plan("gate", {"candidate": new, "baseline": old, "missing": "shared", "require": [rule]}))
    assert richter.gate(tmp_path / "two.csv", plan=plan).reasons == ("the plan is not locked",)
    assert len(richter.gate(tmp_path / "two.csv", plan=plan, missing="at-random").reasons) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"margin": "5pt", "accuracy": (0.8, 0.85), "phi": 0.2}, "--margin 5pt --accuracy 0.8 0.85 --phi 0.2"),
        ({"margin": 0.05, "discordance": 0.2, "pairs": 3}, "--margin 0.05 --discordance 0.2 --pairs 3"),
        ({"power": 0.9}, "--power 0.9"),
    ],
)  # fmt: skip
def test_size_says_what_the_command_says(options: dict[str, Any], words: str, tmp_path: Path) -> None:
    assert json.loads(json.dumps(richter.size(**options).to_dict())) == printed(tmp_path, "size", *words.split())


def test_size_from_a_pilot_says_what_the_command_says(table: Path, tmp_path: Path) -> None:
    by_command = printed(tmp_path, "size", table, "old", "new", "--margin", "5pt")
    found = richter.size(table, conditions=("old", "new"), margin="5pt")
    assert found.to_dict() == by_command
    assert found.items == by_command["labels"]
    unstated = richter.size(table, conditions=("old", "new")).details
    assert (unstated.margin, unstated.to_dict()["stated"]) == (0.02, False)
    steps = {round(step["difference"], 3): step["items"] for step in by_command["steps"]}
    assert steps[0.05] == by_command["to_show_the_gap"] < by_command["labels"]
    assert steps[0.02] == unstated.items > 4 * steps[0.05]


def test_data_come_in_any_form(table: Path) -> None:
    """A path, a frame of polars or pandas, several files, names with arrays or frames: the same numbers."""
    pandas = pytest.importorskip("pandas")
    frame = pl.read_csv(table).filter(pl.col("condition") != "long")
    parts = {str(name): frame.filter(pl.col("condition") == name) for name in ("old", "new")}
    expected = richter.compare(frame)["accuracy"][0]
    arrays = {name: part["correct"].to_numpy() for name, part in parts.items()}
    files = {}
    for name, part in parts.items():
        files[name] = table.parent / f"{name}_file.csv"
        part.drop("condition").write_csv(files[name])
    for data in (
        pandas.DataFrame(frame.to_dict(as_series=False)),
        parts,
        files,
        [parts["old"], parts["new"]],
        richter.open(frame),
        arrays,
    ):
        claim = richter.compare(data)["accuracy"][0]
        assert (claim.conditions, claim.estimate, claim.p) == (("old", "new"), expected.estimate, expected.p)
    assert richter.paired(arrays["old"], arrays["new"]).p == pytest.approx(expected.p, rel=1e-12)


def test_paired_agrees_with_scipys_t_test_on_scores() -> None:
    rng = np.random.default_rng(3)
    a = rng.normal(size=400)
    b = a + rng.normal(0.05, 0.5, size=400)
    claim, expected = richter.paired(a, b), stats.ttest_rel(b, a)
    interval = expected.confidence_interval(0.95)
    assert claim.p == pytest.approx(expected.pvalue, rel=1e-9)
    assert claim.interval is not None
    assert (claim.interval.low, claim.interval.high) == pytest.approx((interval.low, interval.high), rel=1e-9)


def test_unpaired_agrees_with_scipys_welch_test_on_scores() -> None:
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=300), rng.normal(0.2, 2, size=200)
    claim, expected = richter.unpaired(a, b), stats.ttest_ind(b, a, equal_var=False)
    assert claim.estimate == pytest.approx(b.mean() - a.mean())
    assert claim.p == pytest.approx(expected.pvalue, rel=0.02)  # degrees of freedom may be joined in another way


def test_groups_and_weights_reach_the_claim() -> None:
    rng = np.random.default_rng(5)
    group = np.repeat(np.arange(30), 10)
    shift = rng.normal(0, 0.4, 30)[group]
    a = (rng.random(300) < 0.5).astype(float)
    b = (rng.random(300) < np.clip(0.6 + shift, 0, 1)).astype(float)
    alone, grouped = richter.paired(a, b), richter.paired(a, b, group=group)
    assert (grouped.units, grouped.unit, alone.unit) == (30, "group", "item")
    assert alone.interval is not None
    assert grouped.interval is not None
    assert grouped.interval.half_width > alone.interval.half_width
    heavy = np.where(b > a, 3.0, 1.0)
    weighted = richter.paired(a, b, weight=heavy)
    assert weighted.estimate == pytest.approx(np.average(b - a, weights=heavy))
    crossed = richter.paired(a, b, group=[group, np.tile(np.arange(10), 30)])
    assert crossed.units < 300


def test_arrays_pass_the_checks_of_every_command() -> None:
    """They had a way of their own: few groups were not said, and missing scores refused."""
    rng = np.random.default_rng(6)
    old, new = rng.integers(0, 2, 80).astype(float), rng.integers(0, 2, 80).astype(float)
    few = richter.paired(old, new, group=np.repeat(np.arange(8), 10))
    assert of_kind(few.notes, "few groups")
    lacking = new.copy()
    lacking[:9] = np.nan
    alone = richter.paired(old, lacking, names=("old", "new"))
    by_table = richter.compare({"old": old, "new": lacking}, conditions=("old", "new"))["old", "new"]
    assert alone.missing == by_table.missing == {"old": 0, "new": 9}
    assert alone.interval is not None
    assert by_table.interval is not None
    assert (alone.estimate, alone.verdict) == (by_table.estimate, by_table.verdict)
    assert (alone.interval.low, alone.interval.high) == (by_table.interval.low, by_table.interval.high)
    fewer_errors = richter.paired(old, new, better="lower")
    assert fewer_errors.estimate == pytest.approx(new.mean() - old.mean())
    assert (fewer_errors.measure, fewer_errors.better) == ("error_rate", "lower")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: richter.paired([1, 0, 1], [1, 0]), "richter.unpaired"),
        (lambda: richter.paired(["x", "y"], [1, 0]), "numbers"),
        (lambda: richter.paired([[1, 0]], [[1, 0]]), "one score for each question"),
        (lambda: richter.paired([1, 2], [3, 9], scale=(1, 5)), "scale="),
        (lambda: richter.gate({"a": [1, 0] * 9, "b": [1, 0] * 9}), 'margin="2pt"'),
        (lambda: richter.compare({"a": [1, 0] * 9, "b": "x.csv"}), "arrays beside paths"),
        (lambda: richter.open(), "No data"),
        (lambda: richter.compare([np.ones(9), np.ones(9)]), r"richter\.paired"),
        (lambda: richter.gate({n: [1, 0] * 9 for n in "abc"}, margin="2pt"), r"conditions=\('a', 'b'\)"),
        (lambda: richter.gate({n: [1, 0] * 9 for n in ("new", "old")}, margin="2pt"), r'conditions=\("old", "new"\)'),
    ],
)
def test_errors_speak_python(call: Any, message: str) -> None:
    with pytest.raises(richter.InputError, match=message) as caught:
        call()
    assert "--" not in str(caught.value)


def test_a_proposed_reading_comes_with_options_and_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    rows = [f"f{i},{name},{int(i % k > 0)}" for i in range(60) for k, name in ((2, "slow"), (3, "fast"))]
    path.write_text("sheet,flavour,thumb\n" + "\n".join(rows))
    with pytest.raises(richter.ReadingProposed) as proposed:
        richter.compare(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        confirmed = richter.compare(path, options=proposed.value.options)
    with pytest.warns(richter.UnconfirmedReading):
        taken = richter.compare(path, confirm=True)
    assert taken.claims[0].estimate == confirmed.claims[0].estimate


def test_a_result_is_looked_up_by_pair_and_measure(table: Path) -> None:
    result = richter.compare(table)
    assert isinstance(result, Comparison)
    assert isinstance(result.claims, Claims)
    assert result["old", "new"] is result.claims[0]
    assert result["accuracy"]["old", "long"].conditions == ("old", "long")
    assert [claim.measure for claim in result["helpfulness"]] == ["helpfulness"] * 3
    assert len(list(result)) == len(result) == len(result.claims)
    with pytest.raises(KeyError, match="the second minus the first"):
        result["new", "old"]
    with pytest.raises(KeyError, match="accuracy"):
        result["nothing"]


def test_a_result_shows_itself(table: Path, tmp_path: Path) -> None:
    result = richter.compare(table)
    assert len(str(result).splitlines()) == 3
    assert len(repr(result).splitlines()) == 1
    assert len(repr(result)) < 130
    assert all(claim.sentence in result.summary() for claim in result.claims[:3])
    for kind in ("forest", "tiers", "fixed"):
        assert result.plot(kind)._repr_svg_().startswith("<svg")
    assert result.plot().save(tmp_path / "forest.svg").read_text().startswith("<svg")
    with pytest.raises(richter.InputError, match="confidences"):
        result.plot("reliability")
    with pytest.raises(richter.InputError, match="End its name"):
        result.plot().save(tmp_path / "forest.gif")
    page = result.report(tmp_path / "page.html")
    assert page.read_text().startswith("<!doctype html>")
    assert result.verify().exit_code == 0


def test_an_unpaired_size_without_data_has_two_sides(tmp_path: Path) -> None:
    """R's power.prop.test(p1 = .50, p2 = .75, power = .90) gives 77 in each group."""
    found = richter.size(accuracy=(0.5, 0.75), unpaired=True, power=0.9).details
    assert isinstance(found, GapSize)
    assert found.to_show_the_gap == 2 * 77
    assert found.items_of_each == (found.items // 2, found.items // 2)
    assert found.discordance is None
    by_command = printed(tmp_path, "size", "--accuracy", "0.5", "0.75", "--unpaired", "--power", "0.9")
    assert json.loads(json.dumps(found.to_dict())) == by_command


def test_a_column_is_mapped_by_the_words_that_readings_use(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text(
        "nr,wer,punkte\n" + "\n".join(f"{i},{m},{(i + k) % 2}" for i in range(40) for k, m in enumerate("xy"))
    )
    options = {"question": "nr", "model": "wer", "score": "punkte"}
    assert richter.open(path, map=options).conditions == ("x", "y")


def test_a_gate_is_never_held_the_wrong_way_round() -> None:
    """A frame whose first rows are of `new` held old against new, and a loss of 25 points passed."""
    better, worse = [1, 1, 1, 0] * 200, [1, 0, 1, 0] * 200
    assert richter.gate({"new": worse, "old": better}, margin="2pt", conditions=("old", "new")).exit_code == 3
    with pytest.raises(richter.InputError, match="old one first"):
        richter.gate({"new": worse, "old": better}, margin="2pt")
    assert richter.gate({"a": better, "b": worse}, margin="2pt").exit_code == 3


def test_arrays_of_unlike_length_are_not_paired_by_place() -> None:
    with pytest.raises(richter.InputError, match=r"richter\.unpaired"):
        richter.compare({"a": [1, 0] * 150, "b": [1, 0] * 125})


def test_an_assertion_for_tests() -> None:
    good = [1, 1, 1, 0] * 200
    richter.assert_no_worse(good, good, margin="5pt")
    with pytest.raises(AssertionError, match="old"):
        richter.assert_no_worse(good, [1, 0, 1, 0] * 200, margin="5pt")


ALLOWED = 60


def public_names() -> dict[str, Any]:
    """What Tab lists at the top and in the modules that it names."""
    top = {name: getattr(richter, name) for name in dir(richter) if not name.startswith("_")}
    modules = [value for value in top.values() if inspect.ismodule(value)]
    return top | {f"{room.__name__}.{name}": getattr(room, name) for room in modules for name in dir(room)}


def test_the_public_surface_is_small_and_every_name_has_an_example_that_runs() -> None:
    """At most 60 names at the top and in its modules together."""
    names = public_names()
    assert len([name for name in names if name.startswith("richter.")]) > 30
    assert len(names) <= ALLOWED
    assert not {"Any", "TYPE_CHECKING", "import_module"} & set(names)
    finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner()
    for name, value in names.items():
        with warnings.catch_warnings():
            tests = finder.find(value, name, globs=vars(inspect.getmodule(value) or richter).copy())
            assert sum(len(test.examples) for test in tests) > 0, name
            assert [runner.run(test).failed for test in tests] == [0], name
        if inspect.isfunction(value) and "." not in name:
            assert all(
                p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL) or p.default is p.empty or p.name == "data"
                for p in inspect.signature(value).parameters.values()
            ), name


SCRIPT = """
import numpy as np
import richter

claim = richter.paired(np.ones(30), np.ones(30), margin="2pt", group=np.arange(30))
value: float | None = claim.estimate
result = richter.compare({"a": [1, 0] * 20, "b": [1, 1] * 20}, margin={"accuracy": 0.02}, by=None, level=0.9)
one = result["a", "b"]
first: float | None = result.claims["a", "b"].p
for each in result.claims["accuracy"]:
    text: str = each.sentence
passed: bool = richter.gate("data.csv", margin=0.02).passed
data = richter.open("data.csv", map={"score": "quality"})
data.severity()
data.calibration(bins=10)
result.plot("forest").save("x.svg")
"""


@pytest.mark.sampled(0)
@pytest.mark.slow
def test_a_users_script_is_typed(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    check = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", f"--cache-dir={tmp_path / 'cache'}"]
    done = subprocess.run(
        [*check, str(script)], capture_output=True, text=True, env={"MYPYPATH": str(SOURCE), "PATH": ""}, cwd=tmp_path
    )
    assert done.returncode == 0, done.stdout
    script.write_text(SCRIPT + "\nrichter.compare('x', margn=0.02)\nwrong: int = claim.sentence\n")
    done = subprocess.run(
        [*check, str(script)], capture_output=True, text=True, env={"MYPYPATH": str(SOURCE), "PATH": ""}, cwd=tmp_path
    )
    assert done.stdout.count("error:") == 2, done.stdout
