"""Labels of a run that references graded: they reach every claim, weighted, and the loop of sheets goes on."""

import asyncio
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from richter.audit import compare_tables, import_ratings, labelling_of, shared_sample, weigh_scores, write_sheet
from richter.claims import Question
from richter.evidence import evidence
from richter.interop import EXPORTS
from richter.records import Answer, Condition, Grade, Item, Note, Rating, call_key
from richter.store import Call, open_ledger
from richter.tables import is_label_sample, outcomes, read_tables

N = 200
FEW = {"n_resamples": 200}


def graded_run(folder: Path, rights: dict[str, np.ndarray]) -> Path:
    """A run whose answers were graded by references."""
    conditions = [Condition(name=name, model=f"openai/{name}") for name in rights]
    items = [Item(id=f"q{i:03d}", prompt=f"Question {i}?", reference=f"R{i}") for i in range(N)]

    async def fill() -> None:
        with open_ledger(folder, mode="write") as ledger:
            ledger.add_items(items)
            ledger.add_conditions(conditions)
            calls, grades = [], []
            for c in conditions:
                for item, right in zip(items, rights[c.name], strict=True):
                    answer = Answer(text=f"an answer to {item.id}", item=item.id, condition=c.name)
                    key = call_key(c.model, [{"role": "user", "content": item.prompt}], c.decoding, 0)
                    calls.append(Call(key=key, model=c.model, request="{}", answer=answer))
                    grades.append(Grade(item=item.id, condition=c.name, draw=0, scorer="includes", value=float(right),
                                        correct=bool(right), main=True))  # fmt: skip
            await asyncio.gather(*(ledger.record(call) for call in calls))
            ledger.add_grades(grades)

    asyncio.run(fill())
    return folder


def fill_sheet(run: Path, sheet: Path, truth: dict[tuple[str, str], float], **options: object) -> int:
    """Write the next sheet, fill it in and import it; how many answers it held."""
    rows = write_sheet(run, sheet, rater="anna", **options)
    if rows:
        with open_ledger(run) as ledger:
            sample = ledger.note("rating sample")
        assert sample is not None
        from richter.audit._rating import _code
        from richter.ratings import Sample

        own = Sample.from_dict(sample)
        names = {_code(own, i): key for i, key in enumerate(own.chosen)}
        frame = pl.read_csv(sheet)
        severity = [truth[names[code][:2]] for code in frame["id"]]
        frame.with_columns(pl.Series("severity", severity)).write_csv(sheet)
        import_ratings(run, sheet, rater="anna")
    return rows


@pytest.fixture
def run(tmp_path: Path) -> Path:
    rng = np.random.default_rng(1)
    return graded_run(tmp_path / "run", {"old": rng.random(N) < 0.9, "new": rng.random(N) < 0.75})


def test_sixty_labels_reach_accuracy_and_contradict_the_grades(run: Path, tmp_path: Path) -> None:
    """Every labelled answer is right: what the references call wrong is another spelling."""
    truth = {(f"q{i:03d}", name): 0.0 for i in range(N) for name in ("old", "new")}
    before = compare_tables(read_tables(run), **FEW).of("accuracy")[0]
    assert before.verdict == "refuted" or before.estimate < -0.1
    assert fill_sheet(run, tmp_path / "one.csv", truth, n=60) == 60
    tables = read_tables(run)
    assert is_label_sample(tables)
    report = compare_tables(tables, **FEW)
    (claim,) = report.of("accuracy")
    assert claim.verdict == "undecided"
    assert min(claim.values) > 0.95
    (conflict,) = report.label_conflicts  # of `old` so few are graded wrong that labels do not contradict it
    assert (conflict.condition, conflict.graded < 0.8, conflict.corrected > 0.99) == ("new", True, True)
    assert any(isinstance(note, Note) and note.kind == "label conflict" for note in claim.notes)
    own = tables.ratings.filter(pl.col("condition") == "new").height
    assert report.to_dict()["label_conflicts"][0]["labels"] == own


def test_the_next_sheet_goes_on_with_what_is_unlabelled(run: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    truth = {(f"q{i:03d}", name): float(rng.integers(0, 3)) for i in range(N) for name in ("old", "new")}
    assert fill_sheet(run, tmp_path / "one.csv", truth, n=40) == 40
    assert fill_sheet(run, tmp_path / "two.csv", truth, n=40, batch=15) == 15
    with open_ledger(run) as ledger:
        assert len({(r.item, r.condition) for r in ledger.ratings(kind="human")}) == 55


def test_severities_of_a_drawn_sample_are_weighted_and_gates_see_it(run: Path, tmp_path: Path) -> None:
    """Wrong answers are drawn more often: the plain mean of labels is far too high."""
    grades = outcomes(read_tables(run), "accuracy")
    rng = np.random.default_rng(3)
    truth = {}
    for item, condition, right in zip(grades.item, grades.condition, grades.value, strict=True):
        level = 0.0 if right else float(rng.choice([1.0, 2.0, 3.0]))
        truth[grades.items[item], grades.conditions[condition]] = level
    fill_sheet(run, tmp_path / "one.csv", truth, n=80)
    tables = read_tables(run)
    (claim,) = compare_tables(tables, on=["mean_severity"], **FEW).of("mean_severity")
    for k, name in enumerate(("old", "new")):
        every = np.mean([level for (_, condition), level in truth.items() if condition == name])
        given = tables.ratings.filter(pl.col("condition") == name)["severity"].mean()
        assert abs(claim.values[k] - every) < 0.15
        assert given > every + 0.1
    blocked = compare_tables(tables, on=["severity_given_error"], **FEW).of("severity_given_error")
    assert {c.blocked_by for c in blocked} == {"labels"}
    report = weigh_scores(tables, require=["severity>=1 below 500000 per million"], **FEW)
    for name in ("old", "new"):
        rate = 1e6 * np.mean([level >= 1 for (_, condition), level in truth.items() if condition == name])
        row = report.human[name].at(1.0)
        assert row.lower < rate < row.upper
        assert abs(row.per_million - rate) < 60_000


def test_a_state_says_how_many_labels_would_settle_it(run: Path) -> None:
    """A stricter level takes more labels; all that there are may not do."""
    with open_ledger(run, mode="write") as ledger:
        sample = shared_sample(ledger, n=40, seed=0)
    tables = read_tables(run)
    plan = labelling_of(tables, sample, most=200)
    assert plan is not None
    grades = outcomes(tables, "accuracy")
    graded = {
        (grades.items[i], grades.conditions[c]): bool(v)
        for i, c, v in zip(grades.item, grades.condition, grades.value, strict=True)
    }
    labels = {key: (0.0 if graded[key[:2]] else 4.0,) for key in sample.chosen}
    state = plan.state(labels)
    assert not state.decided
    assert state.to_settle is not None
    assert 0 < state.to_settle < 2 * N - 40
    asked = evidence(plan._labelled(labels), Question(measure="accuracy", conditions=("old", "new"))).known
    assert asked.labels_to_settle is not None
    by_level = [asked.labels_to_settle(level) for level in (0.8, 0.95, 0.99)]
    assert by_level == sorted(by_level, key=lambda count: 10**9 if count is None else count)
    assert str(state.to_settle) in state.sentence.replace(",", "")


def test_exported_ratings_keep_how_labels_were_drawn(run: Path, tmp_path: Path) -> None:
    """A ratings table of a run that judges rated gives the run's own corrected figure."""
    rng = np.random.default_rng(5)
    answers = [(f"q{i:03d}", c) for c in ("old", "new") for i in range(N)]
    truth = {key: float(rng.choice([0.0, 0.5, 1.0, 2.0, 3.0])) for key in answers}
    with open_ledger(run, mode="write") as ledger:
        over = dict(zip(answers, rng.choice([0.0, 0.5], len(answers)), strict=True))
        judged = {key: min(4.0, truth[key] + float(over[key])) for key in answers}
        ledger.add_ratings(
            [Rating(item=i, condition=c, rater="gpt", kind="judge", severity=s) for (i, c), s in judged.items()]
        )
    fill_sheet(run, tmp_path / "one.csv", truth, n=80)
    with open_ledger(run) as ledger:
        EXPORTS["ratings"](ledger).write_csv(tmp_path / "ratings.csv")
    own = read_tables(run)
    (claim,) = compare_tables(own, on=["mean_severity"], **FEW).of("mean_severity")
    (again,) = compare_tables(read_tables(tmp_path / "ratings.csv"), on=["mean_severity"], **FEW).of("mean_severity")
    values = [dict(zip(c.conditions, c.values, strict=True)) for c in (claim, again)]
    assert values[1] == pytest.approx(values[0])
    widths = [c.interval.half_width for c in (claim, again) if c.interval is not None]
    assert widths[1] == pytest.approx(widths[0])


def test_only_the_conditions_that_are_compared_are_drawn(tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    rights = {name: rng.random(N) < 0.6 for name in ("old", "new", "other", "fourth")}
    run = graded_run(tmp_path / "run", rights)
    with open_ledger(run, mode="write") as ledger:
        sample = shared_sample(ledger, n=40, seed=0, conditions=("old", "new"))
        assert {condition for _, condition, _ in sample.chosen} == {"old", "new"}
        assert len(sample.chosen) == 40
        assert len(sample.strata) == 4 * N  # every answer has a stratum: what was not drawn is known, too
        assert shared_sample(ledger, n=40, seed=0, conditions=("new", "old")).chosen == sample.chosen
        later = shared_sample(ledger, n=40, seed=0, conditions=("new", "other"))
        assert later.chosen[:40] == sample.chosen
        assert {condition for _, condition, _ in later.chosen[40:]} == {"other"}
        assert len(later.chosen) == 60
        assert shared_sample(ledger, n=40, seed=0).chosen == later.chosen


def test_a_third_condition_without_labels_is_as_graded_and_not_corrected(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    rights = {name: rng.random(N) < 0.6 for name in ("old", "new", "other")}
    run = graded_run(tmp_path / "run", rights)
    truth = {(f"q{i:03d}", name): 0.0 if right[i] else 4.0 for name, right in rights.items() for i in range(N)}
    fill_sheet(run, tmp_path / "sheet.csv", truth, n=60, conditions=("old", "new"))
    claims = {c.conditions: c for c in compare_tables(read_tables(run), **FEW).claims if c.measure == "accuracy"}
    assert claims["old", "new"].labels == 60
    assert claims["old", "other"].labels == claims["new", "other"].labels == 0
    assert claims["old", "other"].estimate == pytest.approx(np.mean(rights["other"]) - np.mean(rights["old"]))
