"""Tables of ratings: kinds kept apart, judges against people, what is undefined and what is refused."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from richter.cli import main
from richter.errors import InputError
from richter.ratings import GRID, Undefined, agreement, corrections, judge_report, snap, tabulate
from richter.records import Rating
from richter.stats import weighted_kappa

HUMAN_NEW = ("human", "new")


def simulated_ratings(n: int, rng: np.random.Generator, *, labelled: int = 0, failing: bool = False) -> list[Rating]:
    """Two simulated judges (one harsh) on two conditions, and a simulated person on some answers."""
    rows = []
    for condition, shift in (("new", 0.0), ("old", 0.4)):
        for i in range(n):
            truth = float(np.clip(np.round((rng.exponential(0.9) + shift - 0.4) * 2) / 2, 0, 4))
            common = rng.normal(0, 0.4)
            for judge, bias in (("harsh", 0.6), ("mild", 0.0)):
                score = float(np.clip(np.round((truth + bias + common + rng.normal(0, 0.3)) * 2) / 2, 0, 4))
                missing = failing and judge == "mild" and condition == "old" and rng.random() < 0.2
                rows.append(
                    Rating(
                        item=f"q{i}",
                        condition=condition,
                        rater=judge,
                        kind="judge",
                        severity=None if missing else score,
                    )
                )
            if i < labelled:
                rows.append(Rating(item=f"q{i}", condition=condition, rater="person", kind="human", severity=truth))
    return rows


def test_snap_by_hand() -> None:
    assert snap([0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 3.75, 1 / 3]).tolist() == [0.0, 0.5, 0.5, 0.5, 1.0, 1.0, 3.5, 0.5]


def test_kinds_never_mix(rng: np.random.Generator) -> None:
    with pytest.raises(InputError, match="no human ratings here, only judge ratings"):
        tabulate(simulated_ratings(5, rng), "human")


def test_second_ratings_and_scores_between_steps_are_counted_by_hand() -> None:
    one = Rating(item="q", condition="c", rater="r", kind="human", severity=1.0)
    again = Rating(item="q", condition="c", rater="r", kind="human", severity=2.4)
    table = tabulate([one, again], "human")
    assert (table.twice, table.moved, table.values.tolist()) == (1, 1, [[2.5]])


def test_all_three_ratings_of_an_answer_count_against_an_independent_computation(rng: np.random.Generator) -> None:
    """Five people, three of them on each answer: ICC from the mean squares of the three columns, as pingouin has it."""
    n, truth = 80, rng.choice(GRID, 80)
    ratings = []
    for i in range(n):
        for k in rng.choice(5, 3, replace=False):
            score = float(np.clip(np.round(2 * (truth[i] + rng.normal(0, 0.7))) / 2, 0, 4))
            ratings.append(Rating(item=f"q{i:03}", condition="c", rater=f"p{k}", kind="human", severity=score))
    table = tabulate(ratings, "human")
    found = agreement(table, rng=rng)
    assert (found.design, found.each, found.n_complete, found.n_ratings) == ("in turn", 3, 80, 240)
    rows = []
    for i, values in enumerate(table.values):
        given = values[~np.isnan(values)]
        rows.append(np.roll(given, -(i % 3)))
    x = np.array(rows)
    grand, k = x.mean(), 3
    between = k * np.sum((x.mean(1) - grand) ** 2) / (n - 1)
    columns = n * np.sum((x.mean(0) - grand) ** 2) / (k - 1)
    rest = np.sum((x - x.mean(1, keepdims=True) - x.mean(0) + grand) ** 2) / ((n - 1) * (k - 1))
    assert found.icc.single == pytest.approx((between - rest) / (between + (k - 1) * rest + k * (columns - rest) / n))
    assert found.icc.average == pytest.approx((between - rest) / (between + (columns - rest) / n))
    assert found.icc.n_raters == 3


def test_judges_against_people(rng: np.random.Generator) -> None:
    ratings = simulated_ratings(600, rng, labelled=300, failing=True)
    judges, people = tabulate(ratings, "judge"), tabulate(ratings, "human")
    report = judge_report(judges, people, rng=rng)
    assert report.n_both == 600
    harsh = next(e for e in report.leniency.effects if report.judges[e.judge] == "harsh")
    assert harsh.estimate > 0.1
    assert report.missing["old"].k > 0
    assert report.missing["new"].k == 0
    assert report.missing_test.p_value < 0.001  # mild fails on the old condition only


def test_one_rater_has_no_agreement(rng: np.random.Generator) -> None:
    table = tabulate(simulated_ratings(20, rng, labelled=20), "human")
    found = agreement(table, rng=rng)
    assert isinstance(found.icc, Undefined)
    assert "two raters" in found.icc.why


def test_judges_in_turn_use_pairs(rng: np.random.Generator) -> None:
    full = simulated_ratings(100, rng)
    dealt = [
        Rating(item=r.item, condition=r.condition, rater=f"{r.rater}{i // 2 % 3}", kind="judge", severity=r.severity)
        for i, r in enumerate(full)
    ]
    found = agreement(tabulate(dealt, "judge"), rng=rng)
    assert found.design == "in turn"
    assert found.n_complete == 200
    assert 0 < found.icc.single < 1


def test_corrections_move_towards_people(rng: np.random.Generator) -> None:
    ratings = simulated_ratings(1500, rng, labelled=400)
    truth = np.mean(
        [r.severity for r in simulated_ratings(8000, rng, labelled=8000) if (r.kind, r.condition) == HUMAN_NEW]
    )
    first, second, difference = corrections(tabulate(ratings, "human"), tabulate(ratings, "judge"))
    assert (first.condition, second.condition, difference.condition) == ("new", "old", "old minus new")
    # Four standard errors, the truth's own (0.75 / sqrt(8000)) among them.
    assert abs(first.mean_severity.estimate - truth) < 4 * np.hypot(first.mean_severity.standard_error, 0.0084)
    assert first.mean_severity.judge_only > first.mean_severity.interval.high  # the judges overcall
    assert first.mean_severity.worth > 400
    assert difference.mean_severity.estimate > 0
    assert set(first.rates) == set(GRID[1:])


def write_csv(path: Path, ratings: list[Rating]) -> Path:
    names = ("item", "condition", "rater", "kind", "severity")
    pl.DataFrame([{n: getattr(r, n) for n in names} for r in ratings]).write_csv(path)
    return path


def test_command(tmp_path: Path, rng: np.random.Generator, capsys: pytest.CaptureFixture[str]) -> None:
    file = write_csv(tmp_path / "ratings.csv", simulated_ratings(200, rng, labelled=80, failing=True))
    words = ["label", "agreement", str(file), "--level", "0.9", "--by", "condition"]
    with pytest.raises(SystemExit) as stop:
        main([*words, "--json", str(tmp_path / "out.json")])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert "ICC(2,1)" in text
    assert "Some models or prompts lack more scores than others" in text
    assert "corrected" in text
    result = json.loads((tmp_path / "out.json").read_text())
    assert result["kinds"]["judge"]["icc"]["single"] > 0
    assert result["judges"]["reference"] == "human"
    assert result["corrected_judges"][0]["mean_severity"]["interval"]["low"] > 0
    assert levels_in(result) == {0.9}


def levels_in(found: object) -> set[float]:
    """The levels of all intervals in a document."""
    if isinstance(found, list):
        return set().union(*map(levels_in, found))
    if not isinstance(found, dict):
        return set()
    own = {found["level"]} if {"low", "high", "level"} <= found.keys() else set()
    return own.union(*map(levels_in, found.values()))


@pytest.mark.real_data
def test_three_raters_of_real_segments_against_an_independent_computation(
    shared_data: Path, rng: np.random.Generator
) -> None:
    """Google's MQM, worst severity of a segment by each of its three raters, through the ratings and all of them."""
    frame = pl.read_csv(shared_data / "mqm_ende_3raters.tsv", separator="\t", quote_char=None)
    frame = frame.filter(pl.col("severity") != "HOTW-test")
    worst = pl.col("severity").replace_strict({"No-error": 0.0, "Minor": 1.0, "Major": 3.0}).max().alias("worst")
    segments = frame.group_by("system", "globalSegId", "rater").agg(worst).sort("system", "globalSegId", "rater")
    ratings = [
        Rating(item=str(seg), condition=system, rater=rater, kind="human", severity=score)
        for system, seg, rater, score in segments.iter_rows()
    ]
    table = tabulate(ratings, "human")
    found = agreement(table, rng=rng)
    rows = [values[~np.isnan(values)] for values in table.values]
    assert {len(row) for row in rows} == {3}
    assert (found.each, found.n_ratings, found.n_complete) == (3, 3 * len(rows), len(rows))
    turned = len(table.raters) > 3
    x = np.array([np.roll(row, -(i % 3)) if turned else row for i, row in enumerate(rows)])
    n, k = x.shape
    bms = k * np.var(x.mean(1), ddof=1)
    jms = n * np.var(x.mean(0), ddof=1)
    ems = np.sum((x - x.mean(1, keepdims=True) - x.mean(0) + x.mean()) ** 2) / ((n - 1) * (k - 1))
    assert found.icc.single == pytest.approx((bms - ems) / (bms + (k - 1) * ems + k * (jms - ems) / n))
    assert found.icc.average == pytest.approx((bms - ems) / (bms + (jms - ems) / n))
    # ordinal alpha from the coincidences of all pairs (Krippendorff 2011), by hand
    levels, place = np.unique(x, return_inverse=True)
    place = place.reshape(x.shape)
    pairs = np.zeros((len(levels), len(levels)))
    for i in range(k):
        for j in range(k):
            if i != j:
                np.add.at(pairs, (place[:, i], place[:, j]), 1 / (k - 1))
    count = pairs.sum(1)
    apart = np.zeros_like(pairs)
    for a in range(len(levels)):
        for b in range(len(levels)):
            low, high = min(a, b), max(a, b)
            apart[a, b] = (count[low : high + 1].sum() - (count[low] + count[high]) / 2) ** 2
    chance = np.outer(count, count) - np.diag(count)
    alpha = 1 - (count.sum() - 1) * np.sum(pairs * apart) / np.sum(chance * apart)
    assert found.alpha.estimate == pytest.approx(alpha)


def test_an_error_that_one_of_two_people_sees_counts_half_by_hand() -> None:
    """As in `compare`: the rate is of each person's decisions, not of their median of 0.25. The order is told."""
    people = [("q1", "anna", 0.0), ("q1", "ben", 0.5), ("q2", "anna", 0.0), ("q2", "ben", 0.0)]
    ratings = [
        Rating(item=item, condition=name, rater=rater, kind="human", severity=severity)
        for name in ("old", "new")
        for item, rater, severity in people
    ]
    ratings += [
        Rating(item=item, condition=name, rater="gpt", kind="judge", severity=0.0)
        for name in ("old", "new")
        for item in ("q1", "q2")
    ]
    tables = tabulate(ratings, "human"), tabulate(ratings, "judge")
    first, second, difference = corrections(*tables, order=("old", "new"))
    assert (first.condition, second.condition, difference.condition) == ("old", "new", "new minus old")
    assert not isinstance(first.rates, Undefined)
    assert first.rates[0.5].labels_only == 0.25
    assert first.rates[1.0].labels_only == 0.0


def test_kappa_of_labels_drawn_by_stratum_is_of_all_answers_by_hand() -> None:
    """3 of 30 answers that look right were rated, and all 10 others: weights 10 and 1."""
    keys = [(f"q{k}", "a", 0) for k in range(40)]
    strata = {key: "a | right" if k < 30 else "a | wrong" for k, key in enumerate(keys)}
    first, second = [0, 0, 0, *[4] * 4, *[0] * 3, *[4] * 3], [0, 0, 0, *[4] * 4, *[4] * 3, *[0] * 3]
    rated = [*keys[:3], *keys[30:]]
    ratings = [
        Rating(item=key[0], condition="a", rater=name, kind="human", severity=value)
        for name, values in (("one", first), ("two", second))
        for key, value in zip(rated, values, strict=True)
    ]
    table = tabulate(ratings, "human")
    found = agreement(table, strata=strata, rng=np.random.default_rng(0))
    worth = [10.0] * 3 + [1.0] * 10
    assert found.weighted
    assert found.kappa_linear["one / two"] == weighted_kappa(first, second, weights="linear", item_weight=worth)
    observed, expected = 34 / 40, (33 / 40) ** 2 + (7 / 40) ** 2
    assert found.fleiss.estimate == pytest.approx((observed - expected) / (1 - expected))  # type: ignore[union-attr]
    assert not agreement(table, rng=np.random.default_rng(0)).weighted
