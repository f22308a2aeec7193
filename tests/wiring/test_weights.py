"""`--weight` and `--macro`: every command that compares, gates, sizes or reports counts questions as they say."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import richter
from richter.cli._main import _root
from richter.errors import InputError
from richter.tables import ReadOptions, read_tables, write_tables

N = {"math": 90, "law": 40, "art": 20}
OPTIONS = [("--weight", "votes"), ("--macro", "subject")]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Two models on 150 questions of three subjects, the second better in math alone; severities 0 to 4."""
    rng, rows = np.random.default_rng(4), []
    subjects = [name for name, number in N.items() for _ in range(number)]
    for k, subject in enumerate(subjects):
        votes = int(rng.choice([1, 2, 5]))
        for name, chance in (("old", 0.6), ("new", 0.85 if subject == "math" else 0.5)):
            severity = 0.0 if rng.random() < chance else float(rng.integers(1, 9)) / 2
            rows.append({"item": f"q{k:03}", "condition": name, "correct": int(severity == 0), "severity": severity,
                         "subject": subject, "votes": votes})  # fmt: skip
    pl.DataFrame(rows).write_csv(tmp_path / "grades.csv")
    return tmp_path / "grades.csv"


def values_of(table: Path, option: str, column: str) -> tuple[pl.DataFrame, np.ndarray]:
    """The rows of old and of new side by side, and what each question counts, worked by hand."""
    rows = pl.read_csv(table)
    old, new = (rows.filter(pl.col("condition") == name) for name in ("old", "new"))
    weight = old[column].to_numpy() if option == "--weight" else 1 / old[column].replace_strict(N).to_numpy()
    return old.join(new, on="item", suffix="_new", maintain_order="left"), np.asarray(weight, dtype=float)


def difference(table: Path, option: str, column: str) -> float:
    """The weighted mean difference in accuracy."""
    rows, weight = values_of(table, option, column)
    return float(np.average((rows["correct_new"] - rows["correct"]).to_numpy(), weights=weight))


def run(*words: object) -> Any:
    result = CliRunner().invoke(_root, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code in (0, 3, 4), result.output
    return result


def accuracy_of(target: Path) -> dict[str, Any]:
    claims = json.loads(target.read_text())["claims"]
    return next(c for c in claims if c["measure"] == "accuracy" and c["conditions"] == ["old", "new"])


@pytest.mark.parametrize(("option", "column"), OPTIONS)
@pytest.mark.parametrize("command", ["compare", "gate", "report"])
def test_a_claim_is_on_the_weighted_mean_difference_by_hand(
    table: Path, tmp_path: Path, command: str, option: str, column: str
) -> None:
    target, alone = tmp_path / "out.json", tmp_path / "alone.csv"
    pl.read_csv(table).drop("severity").write_csv(alone)
    more = {"compare": [], "gate": ["--margin", "5pt"], "report": ["-o", tmp_path / "page.html"]}[command]
    run(command, alone, *more, option, column, "--json", target)
    found = accuracy_of(target)
    assert found["estimate"] == pytest.approx(difference(table, option, column))
    run(command, alone, *more, "--json", target)
    assert accuracy_of(target)["estimate"] != pytest.approx(found["estimate"])


@pytest.mark.parametrize(("option", "column"), OPTIONS)
def test_a_size_is_that_of_the_weighted_spread(table: Path, tmp_path: Path, option: str, column: str) -> None:
    """As large as of the same table with the weights in its own column `weight`."""
    _, weight = values_of(table, option, column)
    by_hand, target = tmp_path / "weighted.csv", tmp_path / "size.json"
    rows = pl.read_csv(table).drop("votes").with_columns(weight=pl.Series(np.repeat(weight, 2)))
    rows.write_csv(by_hand)
    sizes = []
    for words in ([table, option, column], [by_hand], [table]):
        run("size", *words, "--on", "accuracy", "--margin", "5pt", "--json", target)
        sizes.append(json.loads(target.read_text())["labels"])
    assert sizes[0] == sizes[1] != sizes[2]


@pytest.mark.parametrize(("option", "column"), OPTIONS)
def test_the_severity_of_errors_is_their_weighted_mean_by_hand(
    table: Path, tmp_path: Path, option: str, column: str
) -> None:
    target = tmp_path / "severity.json"
    run("severity", table, option, column, "--resamples", "200", "--json", target)
    rows, weight = values_of(table, option, column)
    means = [
        np.average(severity[severity > 0], weights=weight[severity > 0])
        for severity in (rows["severity"].to_numpy(), rows["severity_new"].to_numpy())
    ]
    claims = json.loads(target.read_text())["claims"]
    found = next(c for c in claims if c["measure"] == "severity_given_error")
    assert found["values"] == pytest.approx(means)


@pytest.mark.parametrize(("option", "column"), OPTIONS)
def test_python_takes_the_same_words(table: Path, option: str, column: str) -> None:
    given = {option.removeprefix("--"): column}
    want = pytest.approx(difference(table, option, column))
    assert richter.compare(table, on="accuracy", **given)["accuracy"][0].estimate == want  # type: ignore[arg-type]
    assert richter.open(table, **given).compare(on="accuracy")["accuracy"][0].estimate == want  # type: ignore[arg-type]
    assert richter.gate(table, margin="5pt", on="accuracy", **given).claims[0].estimate == want  # type: ignore[arg-type]
    sizes = [richter.size(table, margin="5pt", on="accuracy", **more).items for more in (given, {})]  # type: ignore[arg-type]
    assert sizes[0] != sizes[1]


@pytest.mark.parametrize(("option", "column"), OPTIONS)
def test_a_plan_states_it_and_a_document_is_made_again_with_it(
    table: Path, tmp_path: Path, option: str, column: str
) -> None:
    plan, target = tmp_path / "plan.toml", tmp_path / "out.json"
    rules = 'require=[{metric="accuracy", rule="no_worse", limit=0.05}]'
    read = f'read={{{option.removeprefix("--")}="{column}"}}'
    words = ["--set", "candidate=new", "--set", "baseline=old", "--set", rules, "--set", read]
    run("plan", "new", "gate", "-o", plan, *words)
    run("gate", plan, table, "--json", target)
    assert accuracy_of(target)["estimate"] == pytest.approx(difference(table, option, column))
    run("compare", table, option, column, "--json", target)
    assert run("verify", target, table).exit_code == 0


def test_a_macro_average_of_two_subsets_by_hand(tmp_path: Path) -> None:
    """Of 6 questions b gains 2, of 2 others it loses 1: (2 / 6 - 1 / 2) / 2; the subset is the domain, and stays it."""
    rows = [("x", 0, 1)] * 2 + [("x", 1, 1)] * 4 + [("y", 1, 0), ("y", 0, 0)]
    frame = pl.DataFrame(
        [{"item": f"q{k}", "condition": c, "correct": v, "domain": part}
         for k, (part, *both) in enumerate(rows) for c, v in zip("ab", both, strict=True)]
    )  # fmt: skip
    tables = read_tables(frame, options=ReadOptions(macro="domain"))
    assert tables.answers.group_by("domain").agg(pl.col("weight").sum())["weight"].to_list() == [8.0, 8.0]
    found = richter.open(frame, macro="domain").compare()["accuracy"][0]
    assert found.estimate == pytest.approx((2 / 6 - 1 / 2) / 2)
    assert "each domain counting alike" in tables.understood
    write_tables(read_tables(frame), tmp_path / "run")
    again = richter.open(tmp_path / "run", macro="domain").compare()["accuracy"][0]
    assert again.estimate == pytest.approx(found.estimate)


def test_values_count_alike_among_the_questions_of_those_compared() -> None:
    """c alone was asked two more questions of y: between a and b these count for nothing."""
    rows = [("x", "abc")] * 6 + [("y", "abc")] * 2 + [("y", "c")] * 2
    frame = pl.DataFrame(
        [{"item": f"q{k}", "condition": c, "correct": (k + ord(c)) % 2, "domain": part}
         for k, (part, names) in enumerate(rows) for c in names]
    )  # fmt: skip
    kept = read_tables(frame, options=ReadOptions(macro="domain")).select(["a", "b"])
    weight = kept.answers.group_by("domain").agg(pl.col("weight").sum())["weight"]
    assert weight[0] == pytest.approx(weight[1])


def test_what_two_options_say_of_one_thing_is_refused(table: Path) -> None:
    for given in (
        ReadOptions(weight="votes", macro="subject"),
        ReadOptions(map={"weight": "votes"}, macro="subject"),
        ReadOptions(map={"weight": "votes"}, weight="votes"),
    ):
        with pytest.raises(InputError, match="Two options say what a question counts"):
            read_tables(table, options=given)


def test_a_macro_average_needs_one_value_of_every_question(table: Path) -> None:
    rows = pl.read_csv(table)
    for column, fault in (
        (pl.lit("x"), None),
        (pl.when(pl.col("subject") != "art").then("subject"), "20 questions have no part"),
        (pl.col("condition"), "150 questions have several values of part"),
    ):
        frame = rows.with_columns(part=column)
        if fault is None:
            assert read_tables(frame, options=ReadOptions(macro="part")).answers["weight"].unique().to_list() == [1.0]
            continue
        with pytest.raises(InputError, match=fault):
            read_tables(frame, options=ReadOptions(macro="part"))
    with pytest.raises(InputError, match="has no column 'nothing'"):
        read_tables(table, options=ReadOptions(macro="nothing"))
