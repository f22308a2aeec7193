"""The pytest plugin: a gate plan's requirements as a fixture or a marker.

pytest loads this file in every run of everyone who has Richter installed, so it imports pytest alone; the audit loads
when a gate is checked.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from richter.audit import GateReport
    from richter.records import RatingKind

__all__ = ["GateUndecided", "richter_gate"]


class GateUndecided(pytest.PytestWarning):
    """A requirement is not shown either way, and the plan lets that pass."""


def pytest_configure(config: pytest.Config) -> None:
    """Say what the marker is, so that `--strict-markers` knows it."""
    config.addinivalue_line(
        "markers",
        "richter_gate(plan, *sources, ratings=None, require_locked=False): fail unless a gate plan is met",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """Check the gates of a marked test before its own lines."""
    __tracebackhide__ = True
    for marker in item.iter_markers("richter_gate"):
        _check(item, *marker.args, **marker.kwargs)


@pytest.fixture
def richter_gate(request: pytest.FixtureRequest) -> Callable[..., GateReport]:
    """`richter_gate("plan.toml", "old=main.csv", "new=branch.csv")`: fails the test unless the plan is met.

    Sources are as for `richter gate`: a table, a run, `NAME=FILE`s; or one frame. Relative paths start at pytest's
    root folder. It returns the report. What is not shown either way fails too, or warns where the plan says so. With
    `require_locked` only a locked plan from which nothing differs passes.
    """

    def check(
        plan: str | Path, *sources: Any, ratings: RatingKind | None = None, require_locked: bool = False
    ) -> GateReport:
        __tracebackhide__ = True
        return _check(request.node, plan, *sources, ratings=ratings, require_locked=require_locked)

    return check


def _check(
    item: pytest.Item,
    plan: str | Path,
    *sources: Any,
    ratings: RatingKind | None = None,
    require_locked: bool = False,
) -> GateReport:
    __tracebackhide__ = True
    from richter.audit import apply_gate_plan
    from richter.errors import RichterError
    from richter.records import printable
    from richter.tables import ReadOptions, read_tables

    try:
        if not sources:
            raise RichterError("No data are given to the gate.", remedy="Name a table, a run, or NAME=FILEs.")
        plan = item.config.rootpath / plan
        files = [_place_path(source, item.config.rootpath) for source in sources]
        tables = read_tables(*files, options=ReadOptions(ratings=ratings))
        report = apply_gate_plan(plan, tables, require_locked=require_locked)
    except RichterError as error:
        pytest.fail(f"The gate cannot be checked. {printable(str(error))}", pytrace=False)
    text = "\n".join([report.sentence, *(f"  {c.sentence}" for c in report.claims)])
    text = "\n".join(printable(line) for line in text.splitlines())
    item.add_report_section("call", "richter gate", text)
    item.user_properties += zip(report.requirements, (c.verdict.value for c in report.claims), strict=True)
    if report.exit_code:
        pytest.fail(text, pytrace=False)
    if report.outcome.value == "undecided":
        warnings.warn(GateUndecided(text), stacklevel=2)
    return report


def _place_path(source: Any, root: Path) -> Any:
    """A path, bare or after `NAME=`, from the root folder; a frame as it is."""
    if not isinstance(source, str | Path):
        return source
    name, equals, path = str(source).partition("=")
    if equals and not (root / str(source)).exists():
        return f"{name}={root / path}"
    return str(root / source)
