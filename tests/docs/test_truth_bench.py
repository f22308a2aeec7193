"""The truth bench: its contract, its scoring, its rule for open worlds, and its page."""

import importlib
import json
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BENCH = ROOT / "benchmarks" / "truth"
MODULES = ("make", "page", "play", "run", "score")


@pytest.fixture(scope="module")
def bench() -> Iterator[Any]:
    sys.path.insert(0, str(BENCH))
    try:
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in MODULES})
    finally:
        sys.path.remove(str(BENCH))
        for name in MODULES:
            sys.modules.pop(name, None)


@pytest.mark.parametrize("name", ["richter", "t_test"])
@pytest.mark.parametrize("world", ["equal-60", "medium-400"])
def test_contestants_keep_the_contract_and_estimate_the_difference_by_hand(bench: Any, name: str, world: str) -> None:
    module = bench.play.load(BENCH / "contestants" / f"{name}.py")
    spec = bench.make.world(world)
    table = bench.make.table(spec, 0)
    asked = {"question": spec["question"]}
    record = bench.play.played(module, asked, table.to_dict(as_series=False), bench.run.contestants()[name]["ways"][0])
    (told,) = record["claims"]
    assert set(told) == {"claim", "verdict", "estimate", "low", "high"}
    assert told["verdict"] in ("yes", "no")
    first, second = (table.filter(condition=c)["correct"].mean() for c in ("first", "second"))
    assert told["estimate"] == pytest.approx(second - first, abs=1e-12)
    assert (told["verdict"] == "yes") == (told["low"] > 0 or told["high"] < 0)


def test_a_refusal_a_crash_and_an_absence_are_told_apart(bench: Any) -> None:
    def answer(world: Any, table: Any, way: str) -> None:
        if way == "declines":
            raise bench.play.Refused("no")
        if way == "falls":
            raise ZeroDivisionError("x")

    module = SimpleNamespace(answer=answer)
    kinds = [set(bench.play.played(module, {}, {}, way)) for way in ("declines", "falls", "other")]
    assert kinds == [{"refused", "seconds"}, {"crashed", "seconds"}, {"absent"}]


def test_who_has_no_way_of_looking_looks_every_day_until_a_claim(bench: Any) -> None:
    seen = []

    def answer(world: Any, table: Any, way: str) -> Any:
        seen.append(len(table["item"]))
        return [bench.play.claim(len(seen) == 3, 1.0)]

    table = {"item": list("abcde"), "day": [1, 2, 3, 4, 5]}
    bench.play.played(SimpleNamespace(answer=answer), {}, table, "default")
    assert seen == [1, 2, 3]


def test_rows_that_did_not_run_again_stay(bench: Any) -> None:
    def row(world: str, n: int, false: int) -> dict[str, Any]:
        return {"world": world, "contestant": "richter", "way": "default", "n": n, "false": false}

    committed = [row("a", 2000, 1), row("b", 2000, 2), row("c", 20, 3)]
    found = bench.score.merged(committed, [row("b", 99, 4), row("c", 20, 5), row("d", 10, 6)])
    assert [(r["world"], r["false"]) for r in found] == [("a", 1), ("b", 2), ("c", 5), ("d", 6)]
    assert bench.score.merged(committed, [row("a", 100, 7)])[0]["false"] == 7


def test_scores_by_hand(bench: Any) -> None:
    judged = bench.score.judged
    null = {"question": "difference", "truth": 0.0}
    real = {"question": "difference", "truth": 0.06}
    yes = {"claims": [["second", "yes", 0.05, 0.01, 0.09]]}
    wrong = {"claims": [["second", "yes", -0.05, -0.09, -0.01]]}
    no = {"claims": [["second", "no", 0.02, -0.02, 0.06]]}
    assert [judged(null, r)["false"] for r in (yes, wrong, no)] == [1, 1, 0]
    assert [judged(null, r)["covered"] for r in (yes, wrong, no)] == [0, 0, 1]
    assert [judged(real, r)["hits"] for r in (yes, wrong, no)] == [1, 0, 0]
    assert [judged(real, r)["false"] for r in (yes, wrong, no)] == [0, 1, 0]  # the wrong direction
    assert [judged(real, r)["covered"] for r in (yes, wrong, no)] == [1, 0, 1]
    assert judged(real, yes)["width"] == pytest.approx(0.08)
    several = {"question": "some-better", "truth": ["p1"], "effect": 0.04}
    both = {"claims": [["p1", "yes", 0.05, 0.01, 0.09], ["p2", "yes", 0.05, 0.01, 0.09], ["p3", "no", 0, -1, 1]]}
    assert {k: judged(several, both)[k] for k in ("hits", "false", "covered", "intervals")} == {
        "hits": 1, "false": 1, "covered": 2, "intervals": 3,
    }  # fmt: skip
    beside = {"claims": [["other:a", "yes", 0.2, 0.1, 0.3], ["other:b", "no", 0.2, -0.1, 0.5]]}
    assert [judged(real | {"others": o}, beside)["others_false"] for o in ({}, {"a": 0.1}, {"a": -0.1})] == [1, 0, 1]
    sure = {"claims": [["second", "yes", 1.0, math.nan, math.nan]]}
    assert judged({"question": "miscalibrated", "truth": True}, sure)["hits"] == 1
    assert judged({"question": "miscalibrated", "truth": False}, sure)["false"] == 1
    assert judged(null, {"refused": "no"}) == dict.fromkeys((*bench.score.COUNTS, "width"), 0.0) | {
        "n": 1,
        "refused": 1,
    }


def test_limits_by_hand(bench: Any) -> None:
    low, high = bench.score.limits(0, 10)
    assert low == 0
    assert high == pytest.approx(1 - 0.025**0.1)  # nobody in ten: (1 - p)^10 = 2.5%
    assert bench.score.shown_above(2, 2, 0.05, level=0.99)  # 0.05^2 = 0.25% is under 1%
    assert not bench.score.shown_above(2, 2, 0.05, level=0.99, looks=10)  # and not under 0.1%


def row(who: str, world: str, **counts: float) -> dict[str, Any]:
    zeros = dict.fromkeys(("false", "hits", "refused", "crashed", "covered", "intervals", "width"), 0.0)
    shares = {"n": 200.0, "seconds": 1.0, "shared": 200, "only_this": 0, "only_ours": 0}
    return {
        "contestant": who,
        "way": "default",
        "world": world,
        "same": False,
        "reasons": [],
        **zeros,
        **shares,
        **counts,
    }


def test_open_worlds_by_rule(bench: Any) -> None:
    specs = [
        {"name": "flat", "family": "equal", "question": "difference", "truth": 0.0},
        {"name": "steep", "family": "effects", "question": "difference", "truth": 0.1},
    ]
    ours = [row("richter", "flat", n=2000.0, false=110.0), row("richter", "steep", n=2000.0, hits=1000.0)]
    assert bench.page.open_worlds(ours, specs) == []  # 5.5% of 2,000 is not shown above 5%
    ours[0]["false"] = 150.0
    assert [name for name, _ in bench.page.open_worlds(ours, specs)] == ["flat"]
    ours[0]["false"] = 100.0
    ahead = row("rival", "steep", hits=113.0, only_this=13, only_ours=2)  # 5.5 points
    assert bench.page.open_worlds([*ours, ahead], specs) == []  # it was never seen where nothing is
    honest = row("rival", "flat", false=12.0)
    assert [name for name, _ in bench.page.open_worlds([*ours, ahead, honest], specs)] == ["steep"]
    assert bench.page.open_worlds([*ours, ahead | {"only_this": 11}, honest], specs) == []  # 4.5 points, not shown
    assert bench.page.open_worlds([*ours, ahead, honest | {"false": 30.0}], specs) == []  # its size does not hold
    assert bench.page.open_worlds([*ours, ahead, honest | {"n": 50.0}], specs) == []  # nor is it known of 50 tables


def test_each_contestant_is_one_short_file_with_a_pinned_requirement(bench: Any) -> None:
    for name, told in bench.run.contestants().items():
        assert len(told["path"].read_text(encoding="utf-8").splitlines()) < 60, name
        assert told["requires"] in (".", "pip") or "==" in told["requires"], name
        assert told["about"], name


def test_the_page_is_what_the_committed_results_make_of_it(bench: Any) -> None:
    rows = json.loads((BENCH / "results.json").read_text(encoding="utf-8"))
    specs = list(bench.make.specs())
    page = bench.page.text(rows, specs, bench.run.contestants())
    assert (ROOT / "docs" / "validation" / "truth-bench.md").read_text(encoding="utf-8") == page
    figure = (ROOT / "docs" / "images" / "truth-bench.svg").read_text(encoding="utf-8")
    assert figure == bench.page.figure(rows, specs)
    assert "Not looked into yet" not in page
    assert {r["world"] for r in rows if r["contestant"] == "richter"} == set(bench.make.names())
