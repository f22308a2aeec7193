"""What each measure of a watched series is made of: its entries, its judges' drift, its window and its margin."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import polars as pl
import pytest
from scipy.stats import linregress, t

from richter.audit import watch_series
from richter.audit._watch import _ece_series
from richter.audit._watch_days import Day
from richter.claims import METRICS

ITEMS = [f"q{k}" for k in range(50)]


def entries(n: int, *, step: int = 1, judged: bool = False, **columns: float | None) -> list[Day]:
    """Entries with random errors of the same items, and with other measures of one value each."""
    rng = np.random.default_rng(3)
    made = []
    for k in range(n):
        values = {"item": ITEMS, "weight": 1.0, "error_rate": rng.binomial(1, 0.3, len(ITEMS)) * 1.0} | columns
        at = str(np.datetime64("2026-01-05") + step * k)
        made.append(Day(at=at, name=at, values=pl.DataFrame(values), judged=judged, made={}))
    return made


@pytest.mark.parametrize(("step", "within"), [(1, 7), (2, 8), (7, 14), (30, 60)])
def test_a_window_is_a_week_or_two_entries_by_hand(step: int, within: float) -> None:
    """Every second day four entries are the nearest to a week."""
    assert watch_series("bot", entries(12, step=step)).series[0].within_days == within


@pytest.mark.parametrize(
    ("judged", "measure", "is_corrected"),
    [(True, "error_rate", True), (False, "error_rate", False), (True, "refusal_rate", False)],
)
def test_the_judges_drift_is_taken_out_of_what_judges_gave_by_hand(
    judged: bool, measure: str, is_corrected: bool
) -> None:
    """The fixed answers are all right at first and all wrong later: values less that, about its mean."""
    days = entries(12, judged=judged, refusal_rate=0.2)
    days = [dataclasses.replace(day, judge=dict.fromkeys(ITEMS, 2.0 * (k >= 6))) for k, day in enumerate(days)]
    found = next(s for s in watch_series("bot", days).series if s.metric == measure).values
    own = np.array([day.values[measure].mean() for day in days])
    drift = np.where(np.arange(12) < 6, -0.5, 0.5) if is_corrected else 0.0
    assert found == pytest.approx(own - drift)


@pytest.mark.parametrize(("margin", "shown"), [(None, "0.2"), (1.0, "1")])
def test_a_margin_is_a_twentieth_of_the_scale_unless_it_is_stated_by_hand(margin: float | None, shown: str) -> None:
    scale = dataclasses.replace(METRICS["mean_score"], low=1.0, high=5.0)
    rng = np.random.default_rng(1)
    days = [
        dataclasses.replace(
            day,
            values=day.values.select("item", "weight").with_columns(
                mean_score=pl.Series(rng.uniform(1, 5, len(ITEMS)))
            ),
            metrics={"mean_score": scale},
        )
        for day in entries(12)
    ]
    assert f"with a margin of {shown} holds" in watch_series("bot", days, margin=margin).reliance


def test_the_noise_of_a_calibration_is_the_mean_of_its_entries_so_far_by_hand() -> None:
    rows = pl.DataFrame({"item": ITEMS, "weight": 1.0, "confidence": 0.8, "correct": [1.0, 0.0] * 25})
    one = _ece_series([dataclasses.replace(day, graded=rows) for day in entries(3)], None)
    assert one is not None
    assert one.noise.tolist() == pytest.approx([one.noise[0]] * 3)


@pytest.mark.parametrize(("spread", "code"), [(0.05, 0), (1.0, 4)])
def test_a_bill_of_which_no_rise_of_a_half_could_be_told_is_too_short(spread: float, code: int) -> None:
    rng = np.random.default_rng(7)
    days = []
    for day in entries(12):
        money = pl.Series(np.exp(rng.normal(0, spread, len(ITEMS))))
        days.append(dataclasses.replace(day, values=day.values.select("item", "weight").with_columns(money=money)))
    report = watch_series("bot", days)
    assert (report.exit_code, report.series[0].detectable > 0.5) == (code, code == 4)


def wrong_by(rates: list[float], n: int = 1000) -> list[Day]:
    """Entries of the same n items, each wrong with its entry's rate."""
    rng, items = np.random.default_rng(3), [f"q{k}" for k in range(n)]
    made = []
    for k, rate in enumerate(rates):
        values = pl.DataFrame({"item": items, "weight": 1.0, "error_rate": rng.binomial(1, rate, n) * 1.0})
        at = str(np.datetime64("2026-01-05") + k)
        made.append(Day(at=at, name=at, values=values, judged=False, made={}))
    return made


def test_eight_entries_are_enough_where_a_large_jump_would_show() -> None:
    codes = [watch_series("bot", wrong_by([0.3] * n)).exit_code for n in (7, 8)]
    assert codes == [4, 0]
    assert watch_series("bot", entries(8)).exit_code == 4  # of 50 questions a jump of 15 points would not


def test_what_could_be_told_counts_the_items_from_the_first_entry_before_the_week() -> None:
    """Of eight days the week leaves one before it: 1 / 40 beyond each end at a limit of 20, and 80% power."""
    days = entries(8)
    value = np.stack([day.values["error_rate"].to_numpy() for day in days])
    error = (value[1:].mean(axis=0) - value[0]).std(ddof=1) / np.sqrt(len(ITEMS))
    found = watch_series("bot", days).series[0]
    assert found.detectable == pytest.approx((1.9599640 + 0.8416212) * error, abs=1e-6)
    assert 0 < watch_series("bot", days[:7]).series[0].detectable < found.detectable


def test_a_measure_is_followed_where_half_of_the_entries_have_it_and_of_amounts_one() -> None:
    def followed(days: list[Day]) -> set[str]:
        return {s.metric for s in watch_series("bot", days).series}

    assert followed(entries(2)) == {"error_rate"}
    assert followed(entries(10, money=1.0, tokens=5.0)) == {"error_rate", "money"}
    refused = [entries(10, refusal_rate=0.2)[:n] + entries(10, refusal_rate=None)[n:] for n in (4, 5)]
    assert ["refusal_rate" in followed(days) for days in refused] == [False, True]


def test_items_that_broke_are_wrong_in_most_entries_since_the_last_one_among_them() -> None:
    """Of 40 items 20 are wrong from the eighteenth entry on, ten of which are right again in the one between."""
    items = [f"q{k:02d}" for k in range(40)]
    days = []
    for day in range(20):
        wrong = [k < (10 if day == 18 else 20) and day >= 17 for k in range(40)]
        values = pl.DataFrame({"item": items, "weight": 1.0, "error_rate": np.array(wrong) * 1.0})
        days.append(Day(at=f"2026-01-{day + 1:02d}", name="", judged=False, made={}, values=values))
    lead = watch_series("bot", days).series[0]
    assert (lead.changed, lead.broken, lead.fixed) == ("2026-01-18", 20, 0)
    assert lead.broken_items == tuple(items[:20])  # those that changed most first


def test_where_nothing_can_be_followed_nothing_is_decided() -> None:
    days = [dataclasses.replace(day, values=day.values.select("item", "weight")) for day in entries(9)]
    report = watch_series("bot", days)
    assert (report.exit_code, report.series, report.claims, report.reliance) == (4, (), (), "")


def test_a_result_holds_until_the_fastest_drift_that_days_allow_reaches_its_margin() -> None:
    days = wrong_by(np.linspace(0.30, 0.31, 12).tolist())
    values = [day.values["error_rate"].mean() for day in days]
    line = linregress(np.arange(12), values)
    fastest = abs(line.slope) + t.ppf(0.975, 10) * line.stderr
    said = watch_series("bot", days).reliance
    assert f"holds for about {0.05 / fastest:,.0f} days" in said
    assert f"a drift of up to {100 * fastest:.2g} points per day" in said
    assert watch_series("bot", days[:7]).reliance == ""


@pytest.mark.parametrize(("scores", "code"), [(range(1, 6), 0), ((1, 5), 4)])
def test_a_large_jump_is_a_part_of_the_scale(scores: Sequence[int], code: int) -> None:
    """Of a scale from 1 to 5 it is 0.6: more than could be told of ratings in between, less than of 1 and 5 alone."""
    scale, rng = dataclasses.replace(METRICS["mean_score"], low=1.0, high=5.0), np.random.default_rng(1)
    items = [f"q{k}" for k in range(45)]
    days = []
    for k in range(12):
        score = rng.choice(scores, 45) * 1.0
        values = pl.DataFrame({"item": items, "weight": 1.0, "mean_score": score})
        at = str(np.datetime64("2026-01-05") + k)
        days.append(Day(at=at, name=at, values=values, judged=False, made={}, metrics={"mean_score": scale}))
    report = watch_series("bot", days)
    assert (report.exit_code, report.series[0].detectable > 0.6) == (code, code == 4)
