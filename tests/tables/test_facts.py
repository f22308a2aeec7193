"""What a table says beside its grades: failed calls, groupings, weights, who graded, how labels were drawn."""

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from helpers.confirmed import read_tables
from helpers.small_run import small_run
from richter.audit import shared_sample
from richter.errors import InputError
from richter.interop import FIELDS, bears_on_claims
from richter.records import Answer, Condition, Item, Rating, of_kind
from richter.store import Call, open_ledger
from richter.tables import KEY, Dataset, ReadOptions, judges_of, outcomes, severity_of, write_tables

TWO = ("old", "new")
N = 24


def crossed(n: int = N, **columns: object) -> pl.DataFrame:
    """n items under two conditions with a grade; a column is a function of the item's number and the condition."""
    rows = [
        {"item": f"q{i:03d}", "condition": c, "correct": (i * 7 + k) % 3 % 2}
        | {name: make(i, c) for name, make in columns.items()}  # type: ignore[operator]
        for (k, c), i in itertools.product(enumerate(TWO), range(n))
    ]
    return pl.DataFrame(rows)


def of_items(tables: Dataset, column: str) -> dict[str, str | None]:
    return dict(tables.answers.select("item", column).unique("item", keep="first", maintain_order=True).iter_rows())


def unused(tables: Dataset) -> str:
    """The one note on columns that are not used; "" without one."""
    found = of_kind(tables.notes, "unused columns")
    assert len(found) <= 1
    return found[0] if found else ""


def mapped(**columns: str) -> ReadOptions:
    return ReadOptions(map=columns)


# ------------------------------------------------------------------ failed calls


def with_failures(n_failed: int, **columns: object) -> pl.DataFrame:
    return crossed(
        severity=lambda i, c: (i * 5) % 4 + (c == "new") * 0.5,
        error=lambda i, c: "timeout" if c == "new" and i < n_failed else "",
        **columns,
    )


@pytest.mark.parametrize("graded", [True, False])
def test_severities_of_failed_calls_are_not_used_as_their_grades_are_not(graded: bool) -> None:
    frame = with_failures(10)
    tables = read_tables(frame if graded else frame.drop("correct"))
    accuracy, severe = outcomes(tables, "accuracy"), outcomes(tables, "mean_severity")
    assert len(accuracy.value) == len(severe.value) == 2 * N - 10
    assert severity_of(tables).filter(condition="new")["item"].min() == "q010"
    assert len(outcomes(tables, "failure_rate").value) == 2 * N
    (note,) = of_kind(tables.notes, "failed")
    assert note.startswith("10 failed calls")


def test_ratings_by_several_raters_of_failed_calls_are_not_used() -> None:
    frame = with_failures(3).drop("correct")
    both = pl.concat([frame.with_columns(rater=pl.lit(name), kind=pl.lit("judge")) for name in ("smol", "gemma")])
    tables = read_tables(both)
    assert len(tables.ratings) == 2 * (2 * N - 3)
    assert len(outcomes(tables, "mean_severity").value) == 2 * N - 3
    assert [note[0] for note in of_kind(tables.notes, "failed")] == ["3"]


# ------------------------------------------------------------------ severities in words

WORDS = {0.0: ("none", "no-error", "No issue"), 1.0: ("minor", "low"), 2.0: ("moderate", "Medium"),
         3.0: ("severe", "major", "high"), 4.0: ("critical", "fatal")}  # fmt: skip


@st.composite
def severity_tables(draw: st.DrawFn) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A random table of severities in numbers and the same in words, rows in any order, some cells empty."""
    names = draw(st.lists(st.sampled_from(("old", "new", "zeta", "alpha")), min_size=2, max_size=4, unique=True))
    items = draw(st.integers(3, 9))
    keys = draw(st.permutations([(f"q{i}", c) for i in range(items) for c in names]))
    sizes = draw(st.lists(st.sampled_from((0.0, 1.0, 2.0, 3.0, 4.0, None)), min_size=len(keys), max_size=len(keys)))
    sizes[:2] = [0.0, 3.0]  # a table of severities has some
    spelled = draw(st.permutations([0, 1, 2]))[0]
    more: dict[str, list[object]] = {"item": [i for i, _ in keys], "condition": [c for _, c in keys]}
    if draw(st.booleans()):
        more["passage"] = [f"p{int(i[1:]) // 2}" for i, _ in keys]
    if draw(st.booleans()):
        more["category"] = [f"kind {int(i[1:]) % 3}" for i, _ in keys]
    words = [None if s is None else WORDS[s][spelled % len(WORDS[s])] for s in sizes]
    return pl.DataFrame({**more, "severity": sizes}), pl.DataFrame({**more, "severity": words})


@settings(deadline=None)
@given(severity_tables())
def test_severities_in_numbers_and_in_words_give_the_same_tables(both: tuple[pl.DataFrame, pl.DataFrame]) -> None:
    numbers, words = (read_tables(frame) for frame in both)
    assert numbers.conditions == words.conditions == tuple(both[0]["condition"].unique(maintain_order=True))
    for name in ("answers", "scores", "ratings"):
        assert_frame_equal(getattr(numbers, name), getattr(words, name))


def test_the_worst_of_several_errors_leaves_conditions_in_the_order_of_the_file() -> None:
    rows = [("q1", "old", "none"), ("q1", "new", "critical"), ("q2", "new", "minor"), ("q2", "old", "major"),
            ("q2", "old", "critical"), ("q3", "new", "critical"), ("q3", "old", "none")]  # fmt: skip
    tables = read_tables(pl.DataFrame(rows, schema=["item", "condition", "severity"], orient="row"))
    assert tables.conditions == TWO
    assert tables.ratings.filter(condition="old").sort("item")["severity"].to_list() == [0.0, 4.0, 0.0]
    late = [("q1", "old", "minor"), ("q2", "new", "critical"), ("q2", "old", "none"), ("q1", "new", "none"),
            ("q1", "old", "critical")]  # fmt: skip
    tables = read_tables(pl.DataFrame(late, schema=["item", "condition", "severity"], orient="row"))
    assert tables.conditions == TWO  # though the row that counts stands last


# ------------------------------------------------------------------ groupings


@pytest.mark.parametrize("name", FIELDS["group"])
def test_every_documented_name_is_a_grouping(name: str) -> None:
    tables = read_tables(crossed(**{name: lambda i, c: f"g{i // 3}"}))
    assert of_items(tables, "group") == {f"q{i:03d}": f"g{i // 3}" for i in range(N)}
    assert tables.answers["group_2"].null_count() == 2 * N
    assert tables.conditions == TWO
    assert unused(tables) == ""


def test_two_groupings_are_read_and_a_third_is_named() -> None:
    frame = crossed(
        passage=lambda i, c: f"p{i // 2}", user_id=lambda i, c: i % 5, template=lambda i, c: f"t{i % 4}"
    ).sample(fraction=1, shuffle=True, seed=3)
    tables = read_tables(frame)
    assert of_items(tables, "group")["q007"] == "p3"
    assert of_items(tables, "group_2")["q007"] == "t3"
    assert "user_id" in unused(tables)
    assert "passage" not in unused(tables).partition("user_id")[0]
    own = read_tables(frame, options=mapped(group="user_id", group_2="passage"))
    assert (of_items(own, "group")["q007"], of_items(own, "group_2")["q007"]) == ("2", "p3")
    assert "template" in unused(own)
    second = read_tables(frame.drop("template", "passage").with_columns(pl.col("user_id").alias("who")).drop("user_id"),
                         options=mapped(group_2="who"))  # fmt: skip
    assert of_items(second, "group")["q007"] == "2"  # the only one is the first


@pytest.mark.parametrize(
    "make", [lambda i, c: "all", lambda i, c: f"{c}{i}", lambda i, c: f"s{i}"], ids=["constant", "row", "item"]
)
def test_a_constant_and_a_value_of_its_own_for_every_row_are_no_grouping(make: Callable[[int, str], str]) -> None:
    tables = read_tables(crossed(session=make, author=lambda i, c: i % 6))
    assert of_items(tables, "group")["q008"] == "2"
    assert tables.answers["group_2"].null_count() == 2 * N
    constant = make(0, "old") == make(1, "new")
    assert ("session" in unused(tables)) == constant
    own = read_tables(crossed(session=make), options=mapped(group="session")) if constant else tables
    assert own.answers["group"].null_count() == 0  # one value is one group where it is mapped


def test_a_column_of_which_an_item_has_several_values_is_no_grouping_and_is_named() -> None:
    frame = crossed(user=lambda i, c: f"u{(i + (c == 'new')) % 6}", author=lambda i, c: i % 6)
    tables = read_tables(frame)
    assert of_items(tables, "group")["q008"] == "2"
    assert "user (" in unused(tables)
    with pytest.raises(InputError, match="24 questions have several"):
        read_tables(frame, options=mapped(group="user"))


def test_items_without_a_group_are_counted_and_one_that_some_rows_name_has_it() -> None:
    frame = crossed(passage=lambda i, c: None if i < 4 or c == "new" else f"p{i // 2}")
    tables = read_tables(frame)
    assert tables.answers.filter(condition="new", item="q009")["group"].to_list() == ["p4"]
    assert tables.answers["group"].null_count() == 8
    assert any(note.startswith("4 questions name no group") for note in tables.notes)


def test_groupings_of_several_files_are_judged_together(tmp_path: Path) -> None:
    frame = crossed(passage=lambda i, c: f"p{i // 8}", author=lambda i, c: f"a{i % 3}")
    for k in range(3):  # one passage in each file
        frame.filter(pl.col("passage") == f"p{k}").write_csv(tmp_path / f"part{k}.csv")
    tables = read_tables(tmp_path)
    assert len(tables.item_ids) == N
    assert tables.answers["group"].n_unique() == 3
    assert tables.answers["group_2"].n_unique() == 3
    twice = [frame.filter(condition=c).drop("condition") for c in TWO]
    twice[1] = twice[1].with_columns(passage=pl.col("passage").reverse())
    for name, own in zip(TWO, twice, strict=True):
        own.write_csv(tmp_path / f"{name}.csv")
    apart = read_tables(*(f"{name}={tmp_path / name}.csv" for name in TWO))
    assert "passage (" in unused(apart)  # the files differ in it
    assert apart.answers["group"].unique().sort().to_list() == ["a0", "a1", "a2"]


@pytest.mark.parametrize(("groups", "n"), [(("p", "p", "r", "r"), 2), (("p",) * 4, 1), (("p", "", "p", ""), 2)])
def test_the_groups_of_a_runs_items_are_read(tmp_path: Path, groups: tuple[str, ...], n: int) -> None:
    items = [Item(id=f"q{k}", prompt=f"{k}?", reference="r", domain="d", group=g) for k, g in enumerate(groups)]
    with open_ledger(tmp_path / "run", mode="write") as ledger:
        # one that nobody was asked groups nothing
        ledger.add_items([*items, Item(id="z", prompt="z?", reference="r", domain="d", group="z")])
        ledger.add_conditions([Condition(name="old", model="m")])
        answers = [Answer(text="so", item=item.id, condition="old") for item in items]
        ledger.add_calls([Call(key=a.item, model="m", request="", answer=a) for a in answers])
    found = read_tables(tmp_path / "run").answers.sort("item")["group"]
    assert found.n_unique() == n
    assert found.to_list() == ([None] * 4 if n == 1 else [g or None for g in groups])


# ------------------------------------------------------------------ weights, and columns that look alike


def test_of_two_weights_the_first_is_used_and_the_other_named() -> None:
    frame = crossed(sample_weight=lambda i, c: 1 + i % 3, weight=lambda i, c: 5 + i % 2)
    tables = read_tables(frame)
    assert of_items(tables, "weight")["q004"] == 5
    assert unused(tables) == "Columns not used: sample_weight."
    told = read_tables(frame, options=mapped(weight="sample_weight"))
    assert of_items(told, "weight")["q004"] == 2
    assert unused(told) == "Columns not used: weight."


LOOKALIKES = ("age_group", "survey_weight", "stratum", "propensity", "annotator", "run_label", "human_label",
              "confidence_2")  # fmt: skip


@pytest.mark.parametrize("name", LOOKALIKES)
def test_a_column_that_looks_as_if_it_changed_claims_is_named_where_it_is_not_used(name: str) -> None:
    assert bears_on_claims(name)
    tables = read_tables(crossed(**{name: lambda i, c: f"v{(i + (c == 'new')) % 3}" if "prob" not in name
                                    and name != "propensity" else 0.1 + (i % 3) / 10}))  # fmt: skip
    assert name in unused(tables)
    assert tables.conditions == TWO
    assert len(outcomes(tables, "accuracy").value) == 2 * N


# ------------------------------------------------------------------ labels with their design


def labelled(**columns: object) -> pl.DataFrame:
    """Every third answer has a label; the design is known of all."""
    return crossed(
        human=lambda i, c: (i + (c == "new")) % 2 if i % 3 == 0 else None,
        stratum=lambda i, c: f"s{i % 2}", inclusion=lambda i, c: 0.25 if i % 2 else 0.5, **columns,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("stratum", "inclusion"),
    [("stratum", "inclusion"), ("strata", "inclusion_probability"), ("label_stratum", "sampling_probability")],
)
def test_strata_and_chances_beside_peoples_grades_are_read_for_every_row(stratum: str, inclusion: str) -> None:
    tables = read_tables(labelled().rename({"stratum": stratum, "inclusion": inclusion}))
    expected = labelled().with_columns(pl.col("human").cast(pl.Float64), draw=pl.lit(0, dtype=pl.Int64))
    found = tables.answers.select(*KEY, pl.col("layer").alias("stratum"), "inclusion", "human")
    assert_frame_equal(found, expected.select(found.columns))
    assert unused(tables) == ""


def rated(field: str, texts: bool) -> pl.DataFrame:
    """A judge's row of 40 answers, people's of ten with the wrong ones turned about; only a judge's row has a text."""
    rows = []
    for name in ("old", "new"):
        for i in range(40):
            right = int(i % 4 > 0)
            rows.append((f"q{i}", name, f"text {i}" if texts else None, "gpt-judge", "judge", right, None, None))
            if i % 4 == 0:
                rows += [(f"q{i}", name, None, rater, "human", 1, "flagged", 0.5) for rater in ("anna", "ben")]
    names = ["item", "condition", "answer", "rater", "kind", field, "stratum", "inclusion"]
    return pl.DataFrame(rows, schema=names, orient="row")


@pytest.mark.parametrize("texts", [True, False])
def test_peoples_rows_beside_a_judges_are_labels_and_no_further_repeats(texts: bool) -> None:
    """`correct` by judges and people in one column was averaged, so that people's grades counted as the judge's."""
    tables = read_tables(rated("correct", texts))
    found = tables.answers.filter(pl.col("human").is_not_null())
    assert (len(tables.answers), len(found), found["human"].unique().to_list()) == (80, 20, [1.0])
    assert tables.scores["value"].mean() == pytest.approx(0.75)
    assert (found["layer"].unique().to_list(), found["inclusion"].unique().to_list()) == (["flagged"], [0.5])
    assert tables.graded_by == ("gpt-judge",)


@pytest.mark.parametrize("wrong", [0.0, -0.1, 1.5, 30.0])
def test_chances_that_are_none_are_refused_with_the_number_of_rows(wrong: float) -> None:
    frame = labelled().with_columns(
        pl.when(pl.col("item") < "q003").then(wrong).otherwise("inclusion").alias("inclusion")
    )
    with pytest.raises(InputError, match=r"inclusion is not a probability .* in 6 rows"):
        read_tables(frame)
    empty = frame.with_columns(pl.when(pl.col("item") >= "q003").then("inclusion").alias("inclusion"))
    assert read_tables(empty).answers["inclusion"].null_count() == 6


@pytest.mark.parametrize("name", ["human", "human_severity"])
@pytest.mark.parametrize("words", [False, True])
def test_severities_by_people_are_ratings_with_their_chance(name: str, words: bool) -> None:
    sizes = {0: "none", 1: "minor", 3: "severe"}
    levels = (0, 3, 1)
    own = {"human": lambda i, c: (sizes[levels[i % 9 // 3]] if words else levels[i % 9 // 3]) if i % 3 == 0 else None}
    frame = crossed(severity=lambda i, c: i % 4, stratum=lambda i, c: f"s{i % 2}",
                    inclusion=lambda i, c: 0.25 if i % 2 else 0.5, **own).drop("correct")  # fmt: skip
    tables = read_tables(frame.rename({"human": name}))
    people = tables.ratings.filter(kind="human")
    assert tables.counting == "given"
    assert len(people) == 16
    assert people.filter(condition="old")["severity"].to_list() == [0, 3, 1, 0, 3, 1, 0, 3]
    assert people.filter(condition="old")["inclusion"].to_list() == [0.5, 0.25] * 4
    assert tables.ratings.filter(kind="given")["inclusion"].null_count() == 2 * N
    assert tables.answers["inclusion"].null_count() == 0
    assert tables.answers["human"].null_count() == 2 * N


def test_a_run_keeps_the_chance_with_its_labels_alone(tmp_path: Path, rng: np.random.Generator) -> None:
    run = small_run(tmp_path / "run", rng)
    with open_ledger(run, mode="write") as ledger:
        sample = shared_sample(ledger, n=60, seed=0)
        others = [key for key in sample.strata if key not in set(sample.chosen)][:7]
        keys = [*sample.chosen, *others]  # labels of people's own accord have no chance
        ledger.add_ratings(
            Rating(item=i, condition=c, draw=d, rater="anna", kind="human", severity=0.0) for i, c, d in keys
        )
    tables = read_tables(run)
    assert tables.ratings.filter(kind="human")["inclusion"].null_count() == 7
    assert tables.answers["inclusion"].null_count() == len(tables.answers)


# ------------------------------------------------------------------ who graded


@pytest.mark.parametrize("name", ["judge", "grader", "graded_by", "scorer_model", "judge_model"])
def test_the_model_that_graded_is_a_fact(name: str) -> None:
    tables = read_tables(crossed(**{name: lambda i, c: "gpt-4o-2024-08-06"}))
    assert tables.graded_by == ("gpt-4o-2024-08-06",)
    assert tables.conditions == TWO
    two = read_tables(crossed(**{name: lambda i, c: "smol" if c == "old" else "gemma"}))
    assert two.graded_by == ("smol", "gemma")
    assert unused(two) == ""


def test_a_run_keeps_which_models_graded_its_table(tmp_path: Path) -> None:
    """The run of a table that a judge graded read as graded by nobody in particular: its claims lost their mark."""
    for k, grade in enumerate((lambda i, c: "mistral-large", lambda i, c: "smol" if c == "old" else "gemma")):
        tables = read_tables(crossed(graded_by=grade))
        write_tables(tables, tmp_path / f"run{k}")
        assert judges_of(read_tables(tmp_path / f"run{k}"), "accuracy") == judges_of(tables, "accuracy") != ()


def test_people_grades_and_remarks_are_no_models_that_graded() -> None:
    assert read_tables(crossed()).graded_by == ()
    assert read_tables(crossed(graded_by=lambda i, c: "human expert")).graded_by == ()
    assert read_tables(crossed(judge=lambda i, c: f"it says {i} and not {c}, which is wrong")).graded_by == ()
    assert read_tables(crossed(judge=lambda i, c: i % 2)).graded_by == ()
    assert read_tables(crossed(annotator=lambda i, c: "anna" if i % 2 else "ben")).graded_by == ()


# ------------------------------------------------------------------ ranges
