"""Two people label an answer differently and a third settles it: who sees what, and what then counts everywhere."""

from pathlib import Path

import numpy as np
import pytest

from judge.test_rating import judged_run
from richter.audit import compare_tables, label_page, labelling_of, shared_sample
from richter.audit._labelling import labels_of
from richter.errors import InputError
from richter.ratings import Sample, find_disagreements
from richter.records import Rating
from richter.store import open_ledger
from richter.tables import read_tables

KEY = ("q", "c", 0)


def rating(rater: str, severity: float | None, at: float | None = None) -> Rating:
    return Rating(item="q", condition="c", rater=rater, kind="human", severity=severity, ended_at=at)


@pytest.mark.parametrize(
    ("one", "two", "differ"),
    [
        (0.0, 0.0, False),
        (0.0, 0.5, True),  # right against wrong
        (0.5, 1.0, False),
        (1.0, 2.0, True),  # a whole level
        (2.5, 3.0, True),  # severe against not
        (3.0, 3.5, False),
        (4.0, 0.0, True),
    ],
)
def test_what_two_labels_differ_on_by_hand(one: float, two: float, differ: bool) -> None:
    found = find_disagreements([rating("anna", one), rating("ben", two)], [KEY])
    assert [d.raters for d in found] == ([("anna", "ben")] if differ else [])
    assert all(d.ends == (min(one, two), max(one, two)) for d in found)


def test_the_first_two_labels_by_time_are_held_against_each_other() -> None:
    labels = [rating("carl", 1.0, 30.0), rating("anna", 0.0, 20.0), rating("ben", 3.0, 10.0), rating("dora", None)]
    (found,) = find_disagreements(labels, [KEY, ("other", "c", 0)])
    assert found.raters == ("ben", "anna")
    assert found.third is not None
    assert found.third.rater == "carl"
    assert find_disagreements(labels, [("other", "c", 0)]) == []


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """anna labels the truth; ben the same, but for every tenth answer he calls right what is wrong, and the reverse."""
    run, truth = judged_run(tmp_path / "run", np.random.default_rng(11), gap=0.1)
    with open_ledger(run, mode="write") as ledger:
        sample = shared_sample(ledger, n=60, seed=0)
        for at, rater in enumerate(("anna", "ben"), start=1):
            ledger.add_ratings(
                Rating(
                    item=key[0],
                    condition=key[1],
                    draw=key[2],
                    rater=rater,
                    kind="human",
                    severity=3.0 - truth[key] if rater == "ben" and k % 10 == 0 else truth[key],
                    ended_at=float(at),
                )
                for k, key in enumerate(sample.chosen)
            )
    return run


def test_a_third_label_settles_and_counts_in_every_claim(run: Path) -> None:
    def accuracy() -> tuple[float, float, float]:
        claim = compare_tables(read_tables(run), conditions=["old", "new"], n_resamples=100).of("accuracy")[0]
        assert claim.plain_interval is not None
        assert claim.estimate is not None
        return claim.estimate, claim.plain_interval.low, claim.plain_interval.high

    before = accuracy()
    with open_ledger(run, mode="write") as ledger:
        page = label_page(ledger, "carl")
        assert page.state()["disagreements"] == 6
        rows = page.disagreements()["rows"]
        assert [sorted(label["severity"] for label in row["labels"]) for row in rows] == [[0.0, 3.0]] * 6
        for row in rows:
            anna = next(label["severity"] for label in row["labels"] if label["rater"] == "anna")
            left = page.settle({"answer": row["number"], "severity": anna})
        assert [row["settled_by"] for row in left["rows"]] == ["carl"] * 6
        assert page.state()["disagreements"] == 0
        assert {r["name"]: r["done"] for r in page.state()["raters"]} == {"anna": 60, "ben": 60, "carl": 6}
        assert left["effect"] is not None
    after = accuracy()
    assert after != before
    with open_ledger(run, mode="write") as ledger:  # as if ben had never looked: carl sides with anna each time
        sample = Sample.from_dict(ledger.note("rating sample") or {})
        alone = [r for r in ledger.ratings(kind="human") if r.rater == "anna"]
        plan = labelling_of(read_tables(run), sample, on="accuracy")
        assert plan is not None
        state = plan.state(labels_of(alone, sample))
        assert state.interval is not None
        assert (state.estimate, state.interval.low, state.interval.high) == pytest.approx(after)


def test_the_server_draws_no_batch_when_it_asks_whether_all_is_done(run: Path) -> None:
    """A request that is being answered may be drawing it: one that was drawn twice ended the command."""
    with open_ledger(run, mode="write") as ledger:
        page = label_page(ledger, "anna")  # who has labelled all of the first sample
        before = page.sample
        assert not page.is_finished()
        assert page.sample is before
        assert page.state()["task"] is not None  # the next batch
        assert len(page.sample.chosen) > len(before.chosen)
        assert not page.is_finished()


def test_settling_the_last_disagreement_ends_it(run: Path) -> None:
    with open_ledger(run, mode="write") as ledger:
        page = label_page(ledger, "carl")
        page._more = page._claim = None
        first, *others = page.disagreements()["rows"]
        for key in page.sample.chosen:  # carl labels what nobody disputes
            if key not in {page.sample.chosen[row["number"]] for row in (first, *others)}:
                number = next(n for n in range(len(page.order)) if page._key(n) == key)
                page.rate({"task": number, "severity": 0})
        for row in others:
            page.settle({"answer": row["number"], "severity": 0})
        assert not page.is_finished()
        page.settle({"answer": first["number"], "severity": 0})
        assert page.is_finished()


def test_the_label_loop_says_what_compare_says_where_people_differ(run: Path) -> None:
    with open_ledger(run) as ledger:
        sample = Sample.from_dict(ledger.note("rating sample") or {})
        labels = labels_of(ledger.ratings(kind="human"), sample)
    tables = read_tables(run)
    plan = labelling_of(tables, sample, on="accuracy")
    claim = compare_tables(tables, conditions=["old", "new"], n_resamples=100).of("accuracy")[0]
    assert plan is not None
    assert plan.state(labels).estimate == pytest.approx(claim.estimate)


def test_who_labelled_an_answer_neither_sees_nor_settles_its_disagreement(run: Path) -> None:
    with open_ledger(run, mode="write") as ledger:
        page = label_page(ledger, "ben")
        assert page.state()["disagreements"] == 0
        found = page.disagreements()
        assert (found["rows"], found["yours"]) == ([], 6)
        with pytest.raises(InputError, match="not yours"):
            page.settle({"answer": 0, "severity": 1.0})


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"answer": 0, "severity": 4.0}, "between"),
        ({"answer": 0, "severity": 1.2}, "needs a severity"),
        ({"answer": 0, "severity": True}, "needs a severity"),
        ({"answer": 0}, "needs a severity"),
        ({"answer": 1, "severity": 1.0}, "not yours"),  # nobody differs there
        ({"answer": 10**9, "severity": 1.0}, "does not exist"),
        ({"answer": "0", "severity": 1.0}, "does not exist"),
        ({"answer": True, "severity": 1.0}, "does not exist"),
    ],
)
def test_what_does_not_settle_is_refused_and_nothing_is_stored(run: Path, body: dict, words: str) -> None:
    with open_ledger(run, mode="write") as ledger:
        page = label_page(ledger, "carl")
        assert page._disputed(ledger.ratings(kind="human"))[0].key == page.sample.chosen[0]
        with pytest.raises(InputError, match=words):
            page.settle(body)
        assert len(ledger.ratings(kind="human")) == 120


def test_a_settled_answer_is_changed_by_who_settled_it_only(run: Path) -> None:
    with open_ledger(run, mode="write") as ledger:
        carl = label_page(ledger, "carl")
        number = carl.disagreements()["rows"][0]["number"]
        carl.settle({"answer": number, "severity": 3.0})
        carl.settle({"answer": number, "severity": 1.5})
        with pytest.raises(InputError, match="not yours"):
            label_page(ledger, "dora").settle({"answer": number, "severity": 0.0})
        own = [r.severity for r in ledger.ratings(kind="human") if r.rater == "carl"]
    assert own == [1.5]
