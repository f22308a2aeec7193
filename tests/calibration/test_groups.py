import numpy as np
import polars as pl
import pytest

from richter.audit import measure_calibration, measure_phase, measure_pipeline
from richter.calibration import grader_error, study_confidence, study_groups
from richter.errors import InputError, TooFewErrors
from richter.stats import ece


def test_pooling_beats_each_group_alone_recovers_truth() -> None:
    rng = np.random.default_rng(0)
    own = pooled = 0.0
    covered = total = 0
    for _ in range(20):
        rate = rng.beta(8, 32, 30)
        group = np.repeat(np.arange(30), rng.integers(10, 60, 30))
        a = (rng.random(len(group)) >= rate[group]).astype(float)
        rows = study_groups(np.full(len(group), 0.8), a, group).rows
        order = {r.group: r for r in rows}
        for g in range(30):
            row = order[str(g)]
            own += (row.error_rate - rate[g]) ** 2
            pooled += (row.pooled_error_rate - rate[g]) ** 2
            covered += rate[g] in row.pooled_error_interval
            total += 1
    assert pooled < 0.8 * own
    assert covered / total > 0.90


def test_equal_groups_are_drawn_to_one_value() -> None:
    rng = np.random.default_rng(1)
    c = rng.uniform(0.3, 0.9, 4000)
    study = study_groups(c, (rng.random(4000) < c).astype(float), np.arange(4000) % 20)
    raw = np.std([r.error_rate for r in study.rows])
    assert np.std([r.pooled_error_rate for r in study.rows]) < 0.5 * raw
    assert study.spread_ece < 0.03


def test_small_groups_are_joined() -> None:
    c = np.full(103, 0.5)
    study = study_groups(c, np.arange(103) % 2, ["a"] * 50 + ["b"] * 50 + ["c", "d", "e"])
    assert [(r.group, r.n) for r in study.rows] == [("a", 50), ("b", 50), ("others", 3)]
    assert study.joined == 3


def test_a_group_counts_by_its_units_by_hand() -> None:
    """Three items of four draws are three units, too few to stand alone; draws that vary freely are worth as many."""
    c, item = np.full(60, 0.8), np.r_[np.repeat(np.arange(3), 4), np.arange(3, 51)]
    group = ["a"] * 12 + ["b"] * 48
    a = np.r_[np.ones(8), np.zeros(4), np.tile([1.0, 1.0, 1.0, 0.0], 12)]
    assert [r.group for r in study_groups(c, a, group, unit=item).rows] == ["b", "others"]
    c, item = np.full(400, 0.8), np.repeat(np.arange(20), 20)
    free = (np.random.default_rng(9).random(400) < 0.75).astype(float)
    alike = np.repeat(np.r_[np.ones(15), np.zeros(5)], 20)  # 15 of 20 items are right in all of them
    names = ["a", "b"] * 10
    spans = [
        study_groups(c, a, np.repeat(names, 20), unit=item).rows[0].pooled_error_interval.half_width
        for a in (free, alike)
    ]
    assert spans[1] > 2 * spans[0]
    weighted = study_groups(c, free, np.repeat(names, 20), unit=item, weight=np.where(free == 1, 1.0, 3.0)).rows[0]
    wrong = 1 - free[np.repeat(names, 20) == "a"].mean()
    assert weighted.error_rate == pytest.approx(3 * wrong / (1 + 2 * wrong))


def _copied(rows: dict[str, list[object]], times: int) -> pl.DataFrame:
    """Each row `times` times over: draws that say nothing new."""
    return pl.DataFrame({name: [v for v in values for _ in range(times)] for name, values in rows.items()})


def test_copies_of_an_answer_narrow_nothing() -> None:
    """ECE with and without refusals, the floor, people's labels: all by item, as many draws as it may have."""
    rng = np.random.default_rng(8)
    c = rng.uniform(0.4, 0.95, 700)
    rows: dict[str, list[object]] = {
        "item": [f"q{k}" for k in range(700)], "condition": ["m"] * 700, "confidence": c.tolist(),
        "correct": (rng.random(700) < c - 0.1).astype(int).tolist(), "refused": [k < 20 for k in range(700)],
        "human": [*(rng.random(150) < c[:150] - 0.15).astype(int).tolist(), *([None] * 550)],
    }  # fmt: skip
    once, often = (measure_calibration(_copied(rows, n), rng=np.random.default_rng(1)).conditions[0] for n in (1, 5))
    for name in ("kept", "left_out"):
        one, five = getattr(once.refusals, name), getattr(often.refusals, name)
        assert five.debiased == pytest.approx(one.debiased, abs=0.003)
        assert five.interval.half_width == pytest.approx(one.interval.half_width, rel=0.05)
    assert often.floor == pytest.approx(once.floor, rel=0.01)
    assert often.grader.accuracy_interval.half_width == pytest.approx(
        once.grader.accuracy_interval.half_width, rel=0.05
    )
    assert often.grader.wrong_interval.half_width == pytest.approx(once.grader.wrong_interval.half_width, rel=0.05)
    assert often.grader.ece_interval.half_width == pytest.approx(once.grader.ece_interval.half_width, rel=0.1)


@pytest.mark.slow
def test_grader_error_is_carried_along_recovers_truth() -> None:
    # a grader that calls 15% of wrong answers right; ECE of people's grades is 0.1
    rng = np.random.default_rng(2)
    covered = plain = accurate = 0
    for _ in range(150):
        c = rng.uniform(0.3, 0.9, 1500)
        h = (rng.random(1500) < c - 0.1).astype(float)
        g = np.where((h == 0) & (rng.random(1500) < 0.15), 1.0, h)
        seen = rng.permutation(1500) < 300
        found = grader_error(c, g, np.where(seen, h, np.nan))
        covered += 0.1 in found.ece_interval
        accurate += 0.5 in found.accuracy_interval
        plain += 0.1 in ece(c, g).interval
    assert covered >= 135
    assert accurate >= 135
    assert plain < 110


def test_grader_error_needs_labels() -> None:
    with pytest.raises(TooFewErrors, match="graded by people"):
        grader_error(np.full(50, 0.5), np.ones(50), np.full(50, np.nan))


def test_labels_reach_grades_and_draws() -> None:
    rng = np.random.default_rng(3)
    rows = [
        {"item": str(k), "condition": "m", "correct": int(g), "confidence": c, "human": int(h) if k < 60 else None}
        for k, (c, g, h) in enumerate(
            zip(rng.uniform(0.3, 0.9, 120), rng.random(120) < 0.7, rng.random(120) < 0.6, strict=True)
        )
    ]
    (condition,) = measure_calibration(pl.DataFrame(rows), rng=rng).conditions
    assert condition.grader is not None
    assert condition.grader.labelled == 60
    draws = [{**r, "draw": d, "answer": "x" if d else "y"} for r in rows for d in range(3)]
    (condition,) = measure_calibration(pl.DataFrame(draws), rng=rng).conditions
    assert condition.grader is not None
    assert condition.grader.labelled == 60


def test_pipeline_by_hand() -> None:
    rng = np.random.default_rng(4)
    n = 4000
    c1, c2 = rng.uniform(0.5, 1, n), rng.uniform(0.5, 1, n)
    a1, a2 = rng.random(n) < c1, rng.random(n) < c2 - 0.2
    frame = pl.DataFrame(
        {"item": range(n), "correct_1": a1, "confidence_1": c1, "correct_2": a2, "confidence_2": c2 * 100}
    )
    (found,) = measure_pipeline(frame, rng=rng).conditions
    first, second, whole = found.stages
    assert whole.result.accuracy == pytest.approx(np.mean(a1 & a2))
    assert found.independent == pytest.approx(np.mean(a1) * np.mean(a2))
    assert whole.result.mean_confidence == pytest.approx(np.mean(c1 * c2))
    assert second.result.debiased == pytest.approx(0.2, abs=0.03)
    assert first.result.debiased < 0.03
    assert "too sure" in found.sentence
    assert found.claim.verdict.value == "verified"
    with pytest.raises(InputError, match=r"1 stage[ .]"):
        measure_pipeline(frame.drop("correct_2"), rng=rng)


def test_phase_on_data_rises_with_labels_and_keeps_the_level() -> None:
    rng = np.random.default_rng(5)
    c = rng.uniform(0.4, 0.95, 1200)
    for gap, last in ((0.12, (0.8, 1.0)), (0.0, (0.0, 0.25))):
        frame = pl.DataFrame(
            {"item": [str(k) for k in range(1200)], "condition": "m", "confidence": c,
             "correct": (rng.random(1200) < c - gap).astype(int)}
        )  # fmt: skip
        (points,) = measure_phase(frame, rng=rng, runs=20).values()
        assert [p.n for p in points] == sorted(p.n for p in points)
        assert points[0].shown <= 0.35  # ten labels show next to nothing
        assert last[0] <= points[-1].shown <= last[1]
        assert points[-1].half_width < points[0].half_width


def test_phase_on_draws_counts_items() -> None:
    """A calibrated model of 100 items with 12 draws alike: half of them show it to be wrong no more often than 5%."""
    rng = np.random.default_rng(6)
    c = rng.uniform(0.4, 0.95, 100)
    rows: dict[str, list[object]] = {
        "item": [str(k) for k in range(100)], "condition": ["m"] * 100, "confidence": c.tolist(),
        "correct": (rng.random(100) < c).astype(int).tolist(),
    }  # fmt: skip
    (points,) = measure_phase(_copied(rows, 12), rng=rng, runs=20).values()
    assert points[-1].n == 50
    assert all(p.shown <= 0.25 for p in points)  # six of 20 at 5%: less than 1 in 2,000


def test_weights_count_for_what_they_say() -> None:
    # a weight of 3 is an item that is there three times: the same estimate
    rng = np.random.default_rng(6)
    c, w = rng.uniform(0.4, 0.95, 200), rng.integers(1, 4, 200)
    a = (rng.random(200) < c - 0.1).astype(float)
    weighted = study_confidence(c, a, rng=rng, weight=w, n_resamples=99)
    repeated = ece(np.repeat(c, w), np.repeat(a, w))
    assert weighted.result.ece == pytest.approx(repeated.ece)
    assert weighted.result.brier == pytest.approx(repeated.brier)
    assert weighted.result.accuracy == pytest.approx(repeated.accuracy)
    assert weighted.result.auroc == pytest.approx(repeated.auroc)
    assert weighted.result.interval.half_width > repeated.interval.half_width  # and is still one item


def test_draws_without_their_texts_are_answers_with_a_confidence_each_not_agreement() -> None:
    """Nobody can tell whether draws agree of which only grades are known: that was 52 points too sure of itself."""
    rng = np.random.default_rng(0)
    c = np.round(rng.uniform(0.4, 1, 160), 2)
    rows = {"item": [f"q{k // 4}" for k in range(160)], "model": "a", "draw": [0, 1, 2, 3] * 40}
    frame = pl.DataFrame({**rows, "confidence": c, "correct": (rng.random(160) < c).astype(int)})
    report = measure_calibration(frame, rng=np.random.default_rng(1))
    study = report.conditions[0].study
    assert report.kind == "grades"
    assert study is not None
    assert (study.scores.n, study.scores.units) == (160, 40)
    assert study.result.mean_confidence == pytest.approx(float(c.mean()))


def test_labels_drawn_with_different_chances_are_no_random_sample_of_the_answers() -> None:
    rng = np.random.default_rng(2)
    rows = {"item": [f"q{k}" for k in range(60)], "condition": "a", "confidence": rng.uniform(0.5, 1, 60).round(2)}
    rows |= {"correct": rng.integers(0, 2, 60), "severity": rng.integers(0, 2, 60), "rater": "p", "kind": "human"}
    even, uneven = (
        measure_calibration(pl.DataFrame({**rows, "inclusion": chance}), rng=np.random.default_rng(1)).conditions[0]
        for chance in ([0.5] * 60, [0.2] * 30 + [0.9] * 30)
    )
    assert even.grader is not None
    assert uneven.grader is None
    assert any("drawn for people with different chances" in note for note in uneven.notes)
