"""`richter watch`: a series from files and runs, alarms, what changed beside it, and what is odd about the series."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from richter.audit import read_series, watch_series
from richter.audit._series import CANARIES
from richter.audit._watch import (
    _change_fields,
    _followed_values,
    _Watched,
)
from richter.audit._watch_days import Day
from richter.audit._watch_windows import ItemValues, deployments, sampling_noise, window_start
from richter.claims import METRICS, Evidence
from richter.cli import main
from richter.errors import InputError
from richter.records import Answer, Condition, Interval, Item, Rating
from richter.report import history_section
from richter.store import Call, open_ledger

ITEMS = [f"q{k}" for k in range(100)]


def series(folder: Path, rates: list[float], *, items: list[str] | None = None, seed: int = 0) -> Path:
    """One file a day; each item is wrong with the day's rate."""
    rng = np.random.default_rng(seed)
    folder.mkdir(exist_ok=True)
    for day, rate in enumerate(rates):
        date = np.datetime64("2026-01-01") + day
        chosen = items or ITEMS
        right = 1 - rng.binomial(1, rate, len(chosen))
        table = pl.DataFrame({"item": chosen, "condition": "bot", "correct": right})
        table.write_csv(folder / f"{date}.csv")
    return folder


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in arguments])
    return int(stop.value.code or 0)


def test_a_drop_is_told_with_its_day_and_exit_three(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = series(tmp_path / "days", [0.1] * 60 + [0.25] * 25)
    out = tmp_path / "watch.json"
    assert run("watch", folder, "--json", out) == 3
    assert "bot got worse: error rate +" in capsys.readouterr().out
    found = json.loads(out.read_text())
    lead = found["series"][0]
    assert lead["metric"] == "error_rate"
    assert lead["changed_between"][0] <= "2026-03-02" <= lead["changed_between"][1]
    assert lead["alarm"] > "2026-03-02"
    assert found["claims"][0]["verdict"] == "verified"
    assert found["claims"][0]["family"]["size"] == len(found["series"])
    assert "check again with data since" in found["reliance"]
    assert not list(folder.glob("*.jsonl"))  # it only reads


def test_no_change_is_exit_zero_and_says_how_long_a_verdict_holds(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("watch", series(tmp_path / "days", [0.1] * 40)) == 0
    text = capsys.readouterr().out
    assert "The data show no change of bot in 40 days" in text
    assert "holds for about" in text
    assert "at most 5%" in text


def test_too_few_days_are_exit_four(tmp_path: Path) -> None:
    assert run("watch", series(tmp_path / "days", [0.1] * 5)) == 4


def test_better_is_told_and_no_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("watch", series(tmp_path / "days", [0.3] * 60 + [0.1] * 25)) == 0
    assert "got better" in capsys.readouterr().out


@pytest.mark.parametrize(("before", "after", "more", "code"), [(4, 2, (), 3), (2, 4, (), 0), (2, 4, ("lower",), 3)])
def test_ratings_are_a_mean_score_with_its_own_way_and_no_error_rate(
    before: int, after: int, more: tuple[str, ...], code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(1)
    for day in range(60):
        score = np.clip((before if day < 40 else after) + rng.integers(-1, 2, 100), 1, 5)
        table = pl.DataFrame({"item": ITEMS, "condition": "bot", "rating": score})
        table.write_csv(tmp_path / f"{np.datetime64('2026-01-01') + day}.csv")
    out = tmp_path / "out" / "watch.json"
    out.parent.mkdir()
    assert run("watch", tmp_path, "--scale", "1:5", "--json", out, *(("--better", *more) if more else ())) == code
    assert json.loads(out.read_text())["claims"][0]["better"] == ("lower" if more else "higher")
    text = capsys.readouterr().out
    assert f"bot got {'worse' if code else 'better'}: mean score " in text
    assert "error" not in text


def test_gaps_changed_items_and_small_days_are_said(tmp_path: Path) -> None:
    folder = series(tmp_path / "days", [0.1] * 30)
    for day in ("2026-01-05", "2026-01-06"):
        (folder / f"{day}.csv").unlink()  # a gap
    pl.read_csv(folder / "2026-01-20.csv").head(10).write_csv(folder / "2026-01-20.csv")
    for day in range(21, 31):
        path = folder / f"2026-01-{day}.csv"
        pl.read_csv(path).with_columns(pl.col("item").replace("q7", "q777")).write_csv(path)
    condition, days, notes = read_series(folder)
    report = watch_series(condition, days, notes=notes)
    assert report.n_days == 27
    assert report.n_items == 99
    assert any("fewer than half of the usual questions" in n for n in report.notes)
    assert any("the questions changed on 2026-01-21: 1 new, 1 gone" in c for c in report.changes)
    assert any("has 2 gaps, the longest from 2026-01-04 to 2026-01-07" in n for n in report.notes)  # the small day too


def test_which_condition_and_which_files_is_asked(tmp_path: Path) -> None:
    folder = series(tmp_path / "days", [0.1] * 3)
    pl.DataFrame({"item": ["a"] * 2, "condition": ["x", "bot"], "correct": [1, 0]}).write_csv(folder / "2026-05-01.csv")
    assert read_series(folder)[0] == "bot"  # the one that all have
    path = folder / "2026-01-03.csv"
    pl.read_csv(path).with_columns(condition=pl.lit("bot-2")).write_csv(path)
    with pytest.raises(InputError, match="several models"):
        read_series(folder)
    condition, days, notes = read_series(folder, condition=["bot", "bot-2"])  # it was renamed
    assert (condition, len(days), notes) == ("bot", 4, ())
    assert "the model changed on 2026-01-03: bot -> bot-2" in watch_series(condition, days).changes
    assert run("watch", folder, "--condition", "bot", "--condition", "bot-2") == 4
    with pytest.raises(InputError, match="no such run"):
        read_series(tmp_path / "none")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="series is empty"):
        read_series(tmp_path / "empty")


def test_weights_and_draws_count_in_every_metric_by_hand(tmp_path: Path) -> None:
    """Three of weight 1 are right, one of weight 3 is wrong in one of two draws; confidence 0.9 everywhere."""
    rows = [(name, 1, 1) for name in "aabbcc"] + [("d", 3, 1), ("d", 3, 0)]
    for day in range(8):
        table = pl.DataFrame(rows, schema=["item", "weight", "correct"], orient="row")
        table = table.with_columns(pl.lit("bot").alias("condition"), pl.lit(0.9).alias("confidence"))
        table.with_columns(pl.int_range(pl.len()).over("item").alias("draw")).write_csv(
            tmp_path / f"2026-01-{day + 1:02d}.csv"
        )
    report = watch_series(*read_series(tmp_path)[:2])
    found = {s.metric: s.values[0] for s in report.series}
    assert found["error_rate"] == pytest.approx(0.5 * 3 / 6)
    assert found["ece"] == pytest.approx(abs(0.9 - 4.5 / 6))
    pl.DataFrame(rows, schema=["item", "weight", "correct"], orient="row").with_columns(
        pl.when(pl.col("item") != "a").then("weight").alias("weight"), pl.lit("bot").alias("condition"),
        pl.int_range(pl.len()).over("item").alias("draw"),
    ).write_csv(tmp_path / "2026-01-09.csv")  # fmt: skip
    last = read_series(tmp_path)[1][-1]
    assert "weight" in last.blocked["error_rate"].reason
    assert "error_rate" not in last.values.columns


def _judged(change: str, seed: int = 5) -> list[Day]:
    """Sixty days and thirty after them, on which the judge or the model is another; by what it is told is `change`."""
    rng = np.random.default_rng(seed)
    days = []
    for k in range(90):
        late = k >= 60
        severity = rng.binomial(1, 0.45 if late and change == "model" else 0.3, 100) * 2.0
        canaries = np.tile([0.0, 0.0, 2.0, 2.0, 0.0], 20)
        graver = 0.5 if late and change == "judge" else 0.0
        noise = rng.normal(0, 0.2, (2, 100))
        rate = np.clip(severity + (severity > 0) * (graver + noise[0]), 0, 4)
        again = np.clip(canaries + (canaries > 0) * (graver + noise[1]), 0, 4)
        values = pl.DataFrame(
            {"item": ITEMS, "weight": 1.0, "error_rate": (severity > 0).astype(float), "mean_severity": rate}
        )
        more = {"mean_score": None, "refusal_rate": None, "money": None, "tokens": None}
        values = values.with_columns(pl.lit(v, dtype=pl.Float64).alias(n) for n, v in more.items())
        at = str(np.datetime64("2026-01-01") + k)
        judge = dict(zip(ITEMS, again.tolist(), strict=True))
        made = {"judge": "j", "rubric": "1" if k < 60 else "2"}
        days.append(Day(at=at, name=at, values=values, judged=True, made=made, judge=judge))
    return days


def test_a_judge_that_drifts_is_not_taken_for_the_model() -> None:
    report = watch_series("bot", _judged("judge"))
    assert report.exit_code == 0
    assert next(s for s in report.series if s.metric == "judge").alarm is not None
    assert next(s for s in report.series if s.metric == "mean_severity").alarm is None
    assert report.changes[0].startswith("the judges rate the same answers otherwise since")
    assert any("the rubric changed on 2026-03-02: 1 -> 2" in c for c in report.changes)
    days = _judged("model")
    days[0] = dataclasses.replace(days[0], judge={})
    other = watch_series("bot", days)
    lead = other.series[0]  # on its own scale: the fixed answers' changes are taken out, not their level
    assert (lead.metric, len(lead.values)) == ("error_rate", 89)
    assert np.mean(lead.values[:59]) == pytest.approx(np.mean([d.values["error_rate"].mean() for d in days[1:60]]))
    assert any(n.endswith("fixed answers are missing: 2026-01-01") for n in other.notes)
    assert other.exit_code == 3
    assert next(s for s in other.series if s.metric == "judge").alarm is None


def test_runs_are_dated_by_their_answers_and_canaries_are_found(tmp_path: Path) -> None:
    for name in ("b", "a"):
        for place in (tmp_path / "runs" / name, Path(tmp_path / "runs" / name) / CANARIES):
            with open_ledger(place, mode="write") as ledger:
                ledger.add_items([Item(id="q", prompt="?", reference="x")])
                ledger.add_conditions([Condition(name="bot", model=f"m-{name}", system="Be brief." * (name == "a"))])
                answer = Answer(text="x", item="q", condition="bot")
                ledger.add_calls([Call(key="k", model="m", request="{}", answer=answer)])
                ledger.add_ratings([Rating(item="q", condition="bot", rater="j", kind="judge", severity=1.0)])
    condition, days, _ = read_series(tmp_path / "runs")
    assert condition == "bot"
    assert [d.judge for d in days] == [{"q": 1.0}, {"q": 1.0}]
    assert all(d.made["model"].startswith("m-") for d in days)
    report = watch_series(condition, days)
    assert any(c.startswith("the model changed on") for c in report.changes)
    said = next(c for c in report.changes if c.startswith("the system prompt changed on"))
    assert set(said.rpartition(": ")[2].split(" -> ")) == {"none", "Be brief."}  # either way: dated to the second


def test_a_folder_without_models_and_one_table_with_dates_say_what_a_folder_with_models_does(tmp_path: Path) -> None:
    """The same answers in three layouts, and by weeks: the same series, and no model that changed."""
    folder = series(tmp_path / "bot", [0.1] * 12)
    known = watch_series(*read_series(folder)[:2])
    frames = {f.stem: pl.read_csv(f) for f in sorted(folder.glob("*.csv"))}
    for name in ("bare", "weeks", "months"):
        (tmp_path / name).mkdir()
    for k, (day, frame) in enumerate(frames.items()):
        bare = frame.drop("condition")
        bare.write_csv(tmp_path / "bare" / f"{day}.csv")
        bare.write_csv(tmp_path / "weeks" / f"week_2025-W{k + 1:02}.csv")
        bare.write_csv(tmp_path / "months" / f"2025-{k + 1:02}.csv")
    pl.concat([f.drop("condition").insert_column(0, pl.lit(day).alias("date")) for day, f in frames.items()]).write_csv(
        tmp_path / "table.csv"
    )
    for source, name in ((tmp_path / "bare", "bare"), (tmp_path / "table.csv", "table")):
        found = watch_series(*read_series(source)[:2])
        assert found.condition == name
        assert found.series == known.series
        assert not found.changes
        assert found.sentence.startswith(f"The data show no change of {name} in 12 days.")
    weeks = watch_series(*read_series(tmp_path / "weeks")[:2])
    assert [s.values for s in weeks.series] == [s.values for s in known.series]
    assert weeks.series[0].days[:2] == ("2024-12-30", "2025-01-06")  # Mondays of the first two weeks of 2025
    assert weeks.step == "week"
    assert not weeks.notes
    months = watch_series(*read_series(tmp_path / "months")[:2])
    assert months.sentence.startswith("The data show no change of months in 12 months.")
    assert months.series[0].days[-1] == "2025-12-01"


def daily(tables: dict[str, pl.DataFrame], folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    for at, table in tables.items():
        table.write_csv(folder / f"{at}.csv")
    return folder


def two_metrics(days: int, change: int, *, with_money: bool) -> list[Day]:
    """Days of which the error rate steps up once; the money of each answer, if any, never changes."""
    rng, prices = np.random.default_rng(11), np.random.default_rng(12)
    found = []
    for k in range(days):
        wrong = rng.binomial(1, 0.1 if k < change else 0.2, 100).astype(float)
        columns = {"item": ITEMS, "weight": 1.0, "error_rate": wrong}
        columns |= {"money": prices.normal(1.0, 0.1, 100)} if with_money else {}
        at = str(np.datetime64("2026-01-01") + k)
        found.append(Day(at=at, name=at, values=pl.DataFrame(columns), judged=False, made={}))
    return found


def test_the_level_is_divided_over_the_watched_metrics_by_hand() -> None:
    """Evidence that is enough for one metric alone is not enough for one of two."""
    alone = watch_series("bot", two_metrics(90, 40, with_money=False))
    assert [s.limit for s in alone.series] == pytest.approx([20.0])
    both = watch_series("bot", two_metrics(90, 40, with_money=True))
    assert [s.metric for s in both.series] == ["error_rate", "money"]
    assert [s.limit for s in both.series] == pytest.approx([40.0, 40.0])
    assert [c.family.size for c in both.claims if c.family is not None] == [2, 2]
    assert [c.interval.level for c in both.claims if c.interval is not None] == pytest.approx([1 - 0.05 / 2])
    at_level = watch_series("bot", two_metrics(12, 40, with_money=True), level=0.9)
    assert [s.limit for s in at_level.series] == pytest.approx([20.0, 20.0])
    assert both.series[0].evidence == alone.series[0].evidence
    for report in (alone, both):
        lead = report.series[0]
        first = int(np.argmax(np.array(lead.evidence) >= lead.limit))
        assert (lead.detected, lead.alarm) == (lead.days[first], lead.alarm)
        assert lead.alarm is not None
        assert lead.alarm >= lead.days[first]


def test_an_alarm_holds_with_missing_grades_left_out_and_as_wrong(tmp_path: Path) -> None:
    """From day 41 on every wrong answer is a failed call: left out the model got better, as wrong nothing changed."""
    rng = np.random.default_rng(2)
    tables = {}
    for k in range(70):
        right = 1 - rng.binomial(1, 0.3, 100)
        table = pl.DataFrame({"item": ITEMS, "condition": "bot", "correct": right, "error": ""})
        if k >= 40:
            lost = pl.col("correct") == 0
            table = table.with_columns(
                pl.when(lost).then(pl.lit("timeout")).otherwise(pl.col("error")).alias("error"),
                pl.when(lost).then(None).otherwise(pl.col("correct")).alias("correct"),
            )
        tables[str(np.datetime64("2026-01-01") + k)] = table
    condition, days, notes = read_series(daily(tables, tmp_path / "days"))
    assert days[-1].missing["error_rate"] > 10
    report = watch_series(condition, days, notes=notes)
    lead = report.series[0]
    assert (lead.metric, lead.alarm, report.exit_code) == ("error_rate", None, 0)
    assert lead.missing == report.claims[0].missing["bot"] == sum(d.missing.get("error_rate", 0) for d in days)
    assert any("got better" in note for note in report.notes)
    ignoring = [dataclasses.replace(d, missing={}, worst=None) for d in days]
    assert watch_series(condition, ignoring).series[0].alarm is not None


def fixed_days(wrong: list[np.ndarray], *, step: int = 1, made: list[str] | None = None) -> list[Day]:
    """A day for each vector of wrong answers to the same items."""
    found = []
    for k, values in enumerate(wrong):
        at = str(np.datetime64("2026-01-05") + step * k)
        frame = pl.DataFrame({"item": [f"q{i}" for i in range(len(values))], "weight": 1.0, "error_rate": values * 1.0})
        found.append(Day(at=at, name=at, values=frame, judged=False, made={"model": made[k]} if made else {}))
    return found


def test_an_equally_good_replacement_changed_and_no_loss_is_shown_by_hand() -> None:
    """17 items break and 14 are fixed on day 11: by the sign test nothing is lost."""
    old = np.zeros(200, dtype=bool)
    old[:30] = True
    new = old.copy()
    new[:14], new[100:117] = False, True
    report = watch_series("bot", fixed_days([old] * 10 + [new] * 10, made=["a"] * 10 + ["b"] * 10))
    lead = report.series[0]
    assert (lead.broken, lead.fixed, lead.worse, lead.alarm) == (17, 14, None, None)
    assert lead.since == "2026-01-18"  # the last seven days
    assert lead.difference == pytest.approx(3 / 200 * 10 / 13)  # three of the thirteen days before are new ones
    assert report.exit_code == 0
    early = watch_series("bot", fixed_days([old] * 10 + [new] * 2, made=["a"] * 10 + ["b"] * 2)).series[0]
    if early.detected is not None:
        assert early.since == "2026-01-15"  # nothing from before the deployment


def test_the_window_is_fixed_by_calendar_and_deployment_by_hand() -> None:
    daily_at, weekly_at = np.arange(30.0), 7 * np.arange(9.0)
    assert window_start(daily_at, 29, []) == 23
    assert window_start(daily_at, 29, [27]) == 27
    assert window_start(daily_at, 20, [27]) == 14  # not there yet
    assert window_start(weekly_at, 8, []) == 7
    assert window_start(weekly_at, 8, [8]) == 8
    made = fixed_days([np.zeros(3, dtype=bool)] * 4, made=["a", "a", "b", "b"])
    assert deployments(made) == [2]
    assert deployments(made, ["2026-01-06"]) == [1, 2]


def test_sampling_error_of_entries_by_hand() -> None:
    """Four items, of which one differs between two entries: half of the variance of the mean difference."""
    ones = np.ones(4)
    names = ["a", "b", "c", "d"]
    first = ItemValues(names, np.array([0.0, 0, 1, 1]), ones, names)
    second = ItemValues(names, np.array([1.0, 0, 1, 1]), ones, names)
    change = np.array([1.0, 0, 0, 0])
    expected = np.sum((change - 0.25) ** 2) / 16 / 2
    assert sampling_noise([first, second], paired=True, least=0.0) == pytest.approx([expected] * 2)
    own = sampling_noise([first, second], paired=False, least=0.0)
    assert own == pytest.approx([4 * 0.25 / 16, (4 * 0.25 + 0.75) / 2 / 16])
    assert sampling_noise([first, first], paired=True, least=0.5) == pytest.approx([1 / 64] * 2)
    grouped = ["x", "x", "y", "y"]
    by_group = sampling_noise([first._replace(group=grouped)] * 2, paired=False, least=0.0)
    assert by_group[0] == pytest.approx(2 * 0.25**2)


def test_seven_good_weeks_and_two_bad_ones_are_told_recovers_truth(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    told = 0
    for _ in range(20):
        p = rng.beta(1.0, 5.0, 400)
        wrong = [rng.random(400) < np.clip(p + 0.14 * (k >= 7), 0, 1) for k in range(9)]
        told += watch_series("bot", fixed_days(wrong, step=7)).exit_code == 3
    assert told >= 12  # of 20 at 80%: fewer have probability 0.0015


def test_how_long_a_result_holds_by_a_regression_of_ones_own() -> None:
    """The margin over the slope's far limit, by the textbook's formulas of a straight line."""
    rng = np.random.default_rng(2)
    days = fixed_days([rng.random(200) < 0.2 for _ in range(20)])
    report = watch_series("bot", days)
    assert report.series[0].alarm is None
    x, y = np.arange(20.0), np.array(report.series[0].values)
    slope = np.sum((x - x.mean()) * y) / np.sum((x - x.mean()) ** 2)
    rest = y - y.mean() - slope * (x - x.mean())
    error = np.sqrt(np.sum(rest**2) / 18 / np.sum((x - x.mean()) ** 2))
    fastest = abs(slope) + 2.100922 * error  # t of 18 degrees of freedom at 97.5%, from a table
    assert f"holds for about {0.05 / fastest:,.0f} days" in report.reliance
    twice = watch_series("bot", days, margin=0.1).reliance
    assert f"holds for about {0.1 / fastest:,.0f} days" in twice


def whole_range(level: float) -> Interval:
    """An interval that says nothing."""
    return Interval(low=-1.0, high=1.0, level=level, method="")


def watched(metric: str, values: list[float], *, name: str = "", noise: float = 0.04, error: float = 0.1) -> _Watched:
    """A followed measure whose windows differ by nothing, with a standard error."""
    found = Evidence(estimate=0.0, interval=whole_range, standard_error=error)
    at = [f"2026-01-{k + 1:02d}" for k in range(len(values))]
    days = [Day(at=day, name="", values=pl.DataFrame(), judged=False, made={}) for day in at]
    return _Watched(
        name or metric, METRICS[metric], days, np.array(values), np.full(len(values), noise), lambda *_: found, None
    )


def test_amounts_are_followed_by_their_logarithms_by_hand() -> None:
    """The variance of log x is that of x over x squared."""
    values, noise = _followed_values(watched("money", [1.0, 2.0]))
    assert values.tolist() == pytest.approx([0.0, np.log(2)])
    assert noise.tolist() == pytest.approx([0.04, 0.01])
    values, noise = _followed_values(watched("accuracy", [0.2, 0.4], noise=0.0))
    assert (values.tolist(), noise.tolist()) == ([0.2, 0.4], [1e-9, 1e-9])
    _, noise = _followed_values(watched("mean_severity", [0.2, 0.4], noise=0.0))
    assert noise.tolist() == pytest.approx([16e-9, 16e-9])  # of a range of 4


def test_a_step_is_dated_by_its_first_entry_by_hand() -> None:
    at = [f"2026-01-{k + 1:02d}" for k in range(20)]
    found = _change_fields(watched("accuracy", [0.9] * 12 + [0.1] * 8), at)
    assert found["changed"] == at[12]
    assert found["changed_between"] == (at[12], at[12])
    assert (found["before"], found["after"]) == pytest.approx((0.9, 0.1))
    assert _change_fields(watched("accuracy", [0.9, 0.1]), at[:2]) == {"changed": at[1]}
    assert _change_fields(watched("accuracy", [0.9, 0.9, 0.1]), at[:3])["after"] == pytest.approx(0.1)


def test_days_depend_on_each_other_unless_it_is_stated() -> None:
    rng = np.random.default_rng(4)
    days = [
        Day(
            at=f"2026-01-{k + 1:02d}", name="", judged=False, made={},
            values=pl.DataFrame({
                "item": [f"{k}-{i}" for i in range(20)], "weight": 1.0, "error_rate": rng.binomial(1, 0.2, 20) * 1.0
            }),
        )
        for k in range(12)
    ]  # fmt: skip
    usual, dependent, independent = (
        watch_series("bot", days, **more) for more in ({}, {"independent": False}, {"independent": True})
    )
    assert usual.series[0].evidence == dependent.series[0].evidence != independent.series[0].evidence
    assert usual.n_items == 0  # each day has items of its own
    assert {(c.hypothesis.relation, c.hypothesis.value) for c in usual.claims if c.hypothesis} == {("differs", 0.0)}


def test_the_history_stands_in_the_page_and_in_the_comment(tmp_path: Path) -> None:
    folder = series(tmp_path / "days", [0.1] * 12)
    for path in folder.glob("*.csv"):  # a name that would be markup
        pl.read_csv(path).with_columns(condition=pl.lit("<b>bot</b>")).write_csv(path)
    last = folder / "2026-01-12.csv"
    page, comment, plan = tmp_path / "page.html", tmp_path / "pr.md", tmp_path / "plan.toml"
    assert run("report", last, "-o", page, "--history", folder) == 0
    text = page.read_text()
    assert '<section id="history"' in text
    assert text.count("<circle") >= 12
    assert "<b>bot</b>" not in text
    rules = '[{metric="accuracy", rule="above", limit=0.5}]'
    run("plan", "new", "gate", "-o", plan, "--set", "candidate=<b>bot</b>", "--set", f"require={rules}")
    assert run("gate", plan, last, "--md", comment, "--history", folder) == 0
    line = comment.read_text().splitlines()[-1]
    assert line.startswith("Last 10 runs, error rate: ")
    assert "<b>" not in line
    assert history_section(None) == ""
