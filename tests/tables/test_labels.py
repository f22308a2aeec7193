"""People's labels on a run that others rated: by row, with the strata in which they were drawn."""

import dataclasses
from pathlib import Path
from zlib import crc32

import numpy as np
import polars as pl
import pytest

from helpers.small_run import small_run
from richter.audit import compare_tables, shared_sample, weigh_scores
from richter.claims import difference_evidence
from richter.errors import InputError
from richter.records import Rating
from richter.store import open_ledger
from richter.tables import ReadOptions, judges_of, outcomes, read_tables, severity_of


def label(run: Path, keys: list[tuple[str, str, int]], severity: float = 0.0) -> None:
    with open_ledger(run, mode="write") as ledger:
        ledger.add_ratings(
            [Rating(item=i, condition=c, draw=d, rater="anna", kind="human", severity=severity) for i, c, d in keys]
        )


def test_labels_and_their_design_reach_the_outcomes(tmp_path: Path, rng: np.random.Generator) -> None:
    run = small_run(tmp_path / "run", rng)
    plain = outcomes(read_tables(run), "accuracy")
    assert plain.label is None
    with open_ledger(run, mode="write") as ledger:
        sample = shared_sample(ledger, n=60, seed=0)
    label(run, list(sample.chosen))
    tables = read_tables(run)
    found = outcomes(tables, "accuracy")
    assert found.label is not None
    assert found.layer is not None
    assert int((~np.isnan(found.label)).sum()) == 60
    assert set(found.label[~np.isnan(found.label)].tolist()) == {1.0}  # severity 0 is right
    assert len(np.unique(found.layer)) == len(set(sample.strata.values()))
    chance = dict(tables.ratings.filter(kind="human").select("item", "inclusion").iter_rows())
    item, condition, _ = key = sample.chosen[0]
    size = sum(s == sample.strata[key] for s in sample.strata.values())
    drawn = sum(sample.strata[k] == sample.strata[key] for k in sample.chosen)
    assert chance[item] == drawn / size or condition == "new"
    evidence = difference_evidence(found, "old", "new")
    assert "corrected by 60 human labels (drawn by stratum)" in evidence.notes[-1]
    assert abs(evidence.estimate) < 1e-12  # people find all of them right
    catastrophic = outcomes(tables, "catastrophic_rate")
    assert np.nanmax(catastrophic.label) == 0


def test_labels_that_nobody_drew_stand_for_themselves_only(tmp_path: Path, rng: np.random.Generator) -> None:
    run = small_run(tmp_path / "run", rng)
    with open_ledger(run, mode="write") as ledger:
        sample = shared_sample(ledger, n=60, seed=0)
    label(run, list(sample.chosen))
    others = [key for key in sample.strata if key not in set(sample.chosen)][:7]
    label(run, others, severity=4.0)
    found = outcomes(read_tables(run), "mean_severity")
    assert np.nanmax(found.label) == 0
    assert "7 labels of answers that were not drawn for labelling are left out" in found.notes


def test_without_a_known_design_labels_are_taken_as_they_come(tmp_path: Path, rng: np.random.Generator) -> None:
    run = small_run(tmp_path / "run", rng)
    label(run, [(f"q{i}", c, 0) for i in range(20) for c in ("old", "new")])
    found = outcomes(read_tables(run), "accuracy")
    assert found.layer is None
    assert "how they were drawn is not known" in difference_evidence(found, "old", "new").notes[-1]


def test_labels_weigh_by_chances_and_an_unknown_chance_is_a_fault(tmp_path: Path, rng: np.random.Generator) -> None:
    run = small_run(tmp_path / "run", rng)
    with open_ledger(run, mode="write") as ledger:
        sample = shared_sample(ledger, n=60, seed=0)
    label(run, list(sample.chosen))
    tables = read_tables(run)
    assert tables.ratings.filter(kind="human")["inclusion"].n_unique() > 1
    bare = tables.answers.with_columns(pl.lit(None, dtype=pl.String).alias("layer"))
    found = outcomes(dataclasses.replace(tables, answers=bare), "accuracy")
    assert found.chance is not None
    assert np.array_equal(np.isnan(found.chance), np.isnan(found.label))
    first = (pl.col("item") == sample.chosen[0][0]) & (pl.col("condition") == sample.chosen[0][1])
    lost = tables.ratings.with_columns(pl.when(~first).then("inclusion").alias("inclusion"))
    assert outcomes(dataclasses.replace(tables, answers=bare, ratings=lost), "accuracy").label_fault
    assert not outcomes(tables, "accuracy").label_fault


def test_a_column_of_peoples_grades_corrects_the_comparison(rng: np.random.Generator) -> None:
    right = rng.random((2, 400)) < 0.7
    frame = pl.DataFrame(
        {
            "item": [f"q{k:03d}" for k in range(400)] * 2,
            "condition": ["old"] * 400 + ["new"] * 400,
            "correct": np.concatenate([right[0], right[1] | (rng.random(400) < 0.5)]).astype(int),  # kind to the new
            "human": [int(x) if k % 4 == 0 else None for k, x in enumerate(right.ravel())],
        }
    )
    found = outcomes(read_tables(frame), "accuracy")
    assert found.label is not None
    assert int((~np.isnan(found.label)).sum()) == 200
    assert found.label[~np.isnan(found.label)].tolist() == right.ravel()[::4].astype(float).tolist()  # 1 is right
    evidence = difference_evidence(found, "old", "new")
    assert "human labels" in evidence.notes[-1]
    alone = difference_evidence(outcomes(read_tables(frame.drop("human")), "accuracy"), "old", "new")
    assert alone.estimate > 0.1 > evidence.estimate  # the judge's kindness, and what people say


def test_peoples_grades_on_another_scale_are_refused_and_not_taken_as_wrong() -> None:
    frame = pl.DataFrame({"item": ["q1", "q2"] * 2, "condition": ["a", "a", "b", "b"], "correct": [1, 0, 1, 1],
                          "human": [5, 1, None, 0]})  # fmt: skip
    with pytest.raises(InputError, match="human has 1 value that is neither 0 nor 1, as 5"):
        read_tables(frame)


def test_judges_are_told_from_graders_by_hand(tmp_path: Path) -> None:
    """Raters of that kind, scores whose names say it, parts of a joined score; not rules, people or references."""
    rows = [(f"q{i}", c, i % 2) for i in range(4) for c in ("old", "new")]
    for name, judges in {
        "correct": (), "exact_match": (), "llm_judge": ("llm_judge",), "model_graded_qa": ("model_graded_qa",),
    }.items():  # fmt: skip
        path = tmp_path / f"{name}.csv"
        pl.DataFrame(rows, schema=["item", "condition", name], orient="row").write_csv(path)
        tables = read_tables(path, options=ReadOptions(map={"score": name}))
        assert judges_of(tables, "accuracy") == outcomes(tables, "accuracy").judges == judges
        assert judges_of(tables, "latency") == ()
    for kind, judges in {"judge": ("gemma", "smol"), "human": (), "rule": ()}.items():
        path = tmp_path / f"{kind}.csv"
        rated = [(i, c, rater, kind, 2.0 * k) for i, c, k in rows for rater in ("smol", "gemma")]
        schema = ["item", "condition", "rater", "kind", "severity"]
        pl.DataFrame(rated, schema=schema, orient="row").write_csv(path)
        tables = read_tables(path)
        assert [judges_of(tables, m) for m in ("accuracy", "mean_severity")] == [judges, judges]
    part = {"item": "q0", "condition": "old", "draw": 0, "metric": "pass/1 llm-rubric", "value": 1.0}
    tables = read_tables(tmp_path / "correct.csv")
    joined = dataclasses.replace(
        tables, scored_by=("pass",), scores=pl.concat([tables.scores, pl.DataFrame([part])], how="diagonal")
    )
    assert judges_of(joined, "accuracy") == ("llm-rubric",)


@pytest.mark.parametrize("rater", ["judge-a", "gpt-4o", "anna"])
def test_a_named_rater_beside_peoples_own_column_is_a_judge_as_without_the_name(rater: str) -> None:
    """Read as a second person, the judge outvoted 237 labels of people."""
    rng = np.random.default_rng(7)
    keys = pl.DataFrame({"condition": np.repeat(["old", "new"], 60), "item": np.tile([f"q{i}" for i in range(60)], 2)})
    severity = rng.integers(0, 3, 120)
    labelled = np.where(rng.random(120) < 0.4, np.minimum(severity + 1, 4), -1)
    plain = keys.with_columns(
        severity=pl.Series(severity),
        human_severity=pl.Series(labelled).replace(-1, None),
    )
    named = read_tables(plain.with_columns(rater=pl.lit(rater)))
    assert dict(named.ratings.group_by("kind").len().iter_rows()) == {"judge": 120, "human": int((labelled >= 0).sum())}
    assert named.counting == "judge"
    assert named.rows["severity"].sum() == read_tables(plain).rows["severity"].sum()


def test_raters_without_a_kind_are_people_but_for_names_of_models() -> None:
    names = ["anna", "ben", "GPT-4o", "claude-sonnet", "llm_judge", "Claudette", "o3"]
    frame = pl.DataFrame(
        [{"condition": "a", "item": f"q{i}", "rater": name, "severity": 1} for i in range(6) for name in names]
    )
    kinds = dict(read_tables(frame, confirm=True).ratings.select("rater", "kind").unique().iter_rows())
    people = {name for name, kind in kinds.items() if kind == "human"}
    assert people == {"anna", "ben", "Claudette"}
    assert {*kinds} == {*names}


def test_every_measure_has_one_severity_of_an_answer_that_two_rated_by_hand() -> None:
    """The rater of an item's turn decides right or wrong, and severe or not; of two that agree the mean counts."""
    pairs = [(0.0, 2.0), (1.0, 2.0), (2.0, 4.0), (0.0, 0.0), (3.0, 4.0), (0.0, 4.0), (2.0, 3.0), (1.0, 0.0)] * 20
    rows = [
        {"item": f"q{k}", "condition": m, "rater": who, "kind": "human", "severity": severity}
        for k, pair in enumerate(pairs)
        for m in ("old", "new")
        for who, severity in zip(("anna", "ben"), pair, strict=True)
    ]
    tables = read_tables(pl.DataFrame(rows))
    own = [pair[crc32(f"q{k}".encode()) % 2] for k, pair in enumerate(pairs)]
    expected = [
        one if len({(x > 0, x >= 3) for x in pair}) > 1 else sum(pair) / 2 for one, pair in zip(own, pairs, strict=True)
    ]
    found = severity_of(tables).filter(condition="old")
    assert dict(zip(found["item"], found["severity"], strict=True)) == {f"q{k}": x for k, x in enumerate(expected)}
    wrong, severe = np.mean(np.array(expected) > 0), np.mean(np.array(expected) >= 3)
    for measure, value in (
        ("accuracy", 1 - wrong),
        ("mean_severity", np.mean(expected)),
        ("catastrophic_rate", severe),
    ):
        assert compare_tables(tables, on=(measure,)).claims[0].values[0] == pytest.approx(value)
    study = weigh_scores(tables, n_resamples=100).study.conditions["old"]
    assert (study.error_rate, study.mean_given_error) == pytest.approx((wrong, np.sum(expected) / (160 * wrong)))
    assert study.per_million["3.0"].per_million == pytest.approx(1e6 * severe)
    by_rater = np.array(pairs)
    assert abs(wrong - np.mean(by_rater > 0)) < 3 * 0.5 * (0.5 / 160) ** 0.5  # as often as one rater says on average
