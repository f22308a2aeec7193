"""The questions of the commands as functions: data first, options by name, in the words of the command line."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from numpy.typing import ArrayLike

from richter.audit import GapSize, PilotSize, check_expectations, size_from_expectation, size_from_pilot
from richter.evidence import MissingPolicy, Policy
from richter.notebook._opened_data import Data, Margin, Run, open_run, parsed_margins
from richter.notebook._python_words import speaks_python
from richter.notebook._shown_results import Comparison, GateResult, SizeResult
from richter.records import DEFAULT_LEVEL, Better, RatingKind
from richter.tables import ReadOptions

__all__ = ["assert_no_worse", "compare", "gate", "size"]


def _open_data(
    data: Data,
    *,
    map: Mapping[str, str] | None,  # noqa: A002
    scale: tuple[float, float] | None,
    better: Better | None,
    ratings: RatingKind | None,
    weight: str | None,
    macro: str | None,
    confirm: bool,
    options: ReadOptions | None,
) -> Run:
    return open_run(
        data, map=map, scale=scale, better=better, ratings=ratings, weight=weight, macro=macro, confirm=confirm,
        options=options,
    )  # fmt: skip


def compare(
    data: Data,
    *,
    conditions: Sequence[str] = (),
    on: str | Sequence[str] = (),
    margin: Margin = None,
    by: str | None = None,
    control: str | None = None,
    missing: MissingPolicy = "both-ways",
    unpaired: bool = False,
    tried: int = 1,
    min_shared: float = 0.5,
    trust_ids: bool = False,
    trust_raters: bool = False,
    trust_labels: bool = False,
    tail_plan: str | Path | None = None,
    level: float = DEFAULT_LEVEL,
    n_resamples: int = 2000,
    seed: int = 0,
    map: Mapping[str, str] | None = None,  # noqa: A002 - the word of the command line
    scale: tuple[float, float] | None = None,
    better: Better | None = None,
    ratings: RatingKind | None = None,
    weight: str | None = None,
    macro: str | None = None,
    confirm: bool = False,
    options: ReadOptions | None = None,
) -> Comparison:
    """Is the difference between models, prompts or variants real?

    `data` is a path, a frame, several of them in a list, a mapping of names to paths, frames or arrays of scores, or
    what `richter.open` gave. With two `conditions` the claim "the second is better" is directed. `margin` is the
    difference that would matter (0.02 or "2pt"), `on` the main measure, `by` a column to look into (the test between
    its subgroups is in `subgroups[0].p`), `control` the one
    that all others are compared with, `unpaired` that each has questions of its own, `missing` what missing grades
    mean, `tried` how many attempts the shown one is the best of. p-values are two-sided; `p_adjusted` and intervals
    allow for all pairs of a measure (Holm), so that intervals of several pairs have levels above 95%. Grouped questions
    have a column `group` (`map={"group": "passage"}`). The options from `map` on say how data are read, as in
    `richter.open`.

    >>> import richter
    >>> result = richter.compare({"old": [1, 0, 1, 0] * 50, "new": [1, 1, 1, 0] * 50})
    >>> result["old", "new"].verdict.value, result["accuracy"][0].estimate
    ('verified', 0.25)
    """
    run = _open_data(
        data, map=map, scale=scale, better=better, ratings=ratings, weight=weight, macro=macro, confirm=confirm,
        options=options,
    )  # fmt: skip
    return run.compare(
        *conditions, on=on, margin=margin, by=by, control=control, missing=missing, unpaired=unpaired,
        tried=tried, min_shared=min_shared,
        trust_ids=trust_ids, trust_raters=trust_raters, trust_labels=trust_labels, tail_plan=tail_plan, level=level,
        n_resamples=n_resamples, seed=seed,
    )  # fmt: skip


def gate(
    data: Data,
    *,
    margin: Margin = None,
    plan: str | Path | None = None,
    conditions: Sequence[str] = (),
    on: str | None = None,
    missing: MissingPolicy | None = None,
    unpaired: bool = False,
    trust_ids: bool = False,
    trust_raters: bool = False,
    trust_labels: bool = False,
    trust_reading: bool = False,
    accept_judge: bool = False,
    require_locked: bool = False,
    level: float = DEFAULT_LEVEL,
    map: Mapping[str, str] | None = None,  # noqa: A002 - the word of the command line
    scale: tuple[float, float] | None = None,
    better: Better | None = None,
    ratings: RatingKind | None = None,
    weight: str | None = None,
    macro: str | None = None,
    confirm: bool = False,
    options: ReadOptions | None = None,
) -> GateResult:
    """Is the new one not worse than the old one by `margin` or more? Or: are the requirements of a `plan` met?

    Without a plan `conditions` names the two, the old one first; without it they stand in the order of the data.
    `outcome` is a `Verdict`: its `value` is "verified" (not worse), "refuted" (worse) or "undecided". `passed` says
    whether it is verified; `exit_code` is 0 for a pass, 3 for a loss and 4 where neither is shown, as that
    of `richter gate`: sys.exit(richter.gate(..).exit_code). The options from `map` on say how data are read, as in
    `richter.open`.

    >>> import richter
    >>> result = richter.gate({"old": [1, 1, 1, 0] * 200, "new": [1, 1, 1, 0] * 200}, margin="5pt")
    >>> result.passed, result.exit_code
    (True, 0)
    """
    run = _open_data(
        data, map=map, scale=scale, better=better, ratings=ratings, weight=weight, macro=macro, confirm=confirm,
        options=options,
    )  # fmt: skip
    return run.gate(
        plan, margin=margin, conditions=conditions, on=on, missing=missing,
        unpaired=unpaired, trust_ids=trust_ids, trust_raters=trust_raters,
        trust_labels=trust_labels, trust_reading=trust_reading, accept_judge=accept_judge,
        require_locked=require_locked, level=level,
    )  # fmt: skip


@speaks_python
def size(
    data: Data = None,
    *,
    margin: Margin = None,
    conditions: Sequence[str] = (),
    on: str | None = None,
    accuracy: float | tuple[float, float] | None = None,
    discordance: float | None = None,
    phi: float | None = None,
    pairs: int = 1,
    cost_item: float = 0.0,
    cost_draw: float = 1.0,
    cluster_size: float | None = None,
    intraclass: float | None = None,
    missing: MissingPolicy = "both-ways",
    unpaired: bool = False,
    trust_ids: bool = False,
    trust_raters: bool = False,
    trust_labels: bool = False,
    power: float = 0.8,
    level: float = DEFAULT_LEVEL,
    map: Mapping[str, str] | None = None,  # noqa: A002 - the word of the command line
    scale: tuple[float, float] | None = None,
    better: Better | None = None,
    ratings: RatingKind | None = None,
    weight: str | None = None,
    macro: str | None = None,
    confirm: bool = False,
    options: ReadOptions | None = None,
) -> SizeResult:
    """How many questions does a comparison need?

    With `data` of two conditions (a pilot) the spread comes from them. Without data it follows from the expected
    `accuracy` of both and the correlation `phi` of their grades (0.3), or from the share of questions on which exactly
    one is right (`discordance`); beside data these are refused. `margin` is the difference
    that matters (0.02 or "2pt"); without one it is that between the two accuracies, else two points.
    With `unpaired` each has questions of its own: `items` counts both sides, `details.items_of_each` each.
    With a margin `items` is enough for either answer: to show the difference, or to show that it is smaller. Without
    one it shows the difference.

    >>> import richter
    >>> richter.size(margin="5pt", accuracy=(0.8, 0.85), phi=0).items
    1001
    """
    expected = (accuracy, accuracy) if isinstance(accuracy, int | float) else accuracy
    stated = parsed_margins(margin)
    by_measure = stated if isinstance(stated, dict) else {} if stated is None else {"": stated}
    if data is None:
        found: GapSize | PilotSize = size_from_expectation(
            by_measure.get("accuracy", by_measure.get("")), discordance=discordance, accuracy=expected, phi=phi,
            unpaired=unpaired, pairs=pairs, cluster_size=cluster_size, intraclass=intraclass, power=power, level=level,
        )  # fmt: skip
        return SizeResult(found)
    check_expectations(
        has_data=True, unpaired=unpaired, accuracy=expected, discordance=discordance, phi=phi,
        cluster_size=cluster_size, intraclass=intraclass,
    )  # fmt: skip
    run = _open_data(
        data, map=map, scale=scale, better=better, ratings=ratings, weight=weight, macro=macro, confirm=confirm,
        options=options,
    )  # fmt: skip
    tables = run.tables.select(conditions) if conditions else run.tables
    policy = Policy(
        missing=missing, unpaired=unpaired, trust_ids=trust_ids, trust_raters=trust_raters, trust_labels=trust_labels
    )
    found = size_from_pilot(
        tables, margins=by_measure, on=on, policy=policy, pairs=pairs, cost_item=cost_item, cost_draw=cost_draw,
        power=power, level=level,
    )  # fmt: skip
    return SizeResult(found)


def assert_no_worse(
    old: ArrayLike,
    new: ArrayLike,
    *,
    margin: float | str,
    level: float = DEFAULT_LEVEL,
    scale: tuple[float, float] | None = None,
    better: Better | None = None,
) -> None:
    """Raise `AssertionError` unless `new` is shown not to be worse than `old` by `margin` or more, for use in tests.

    Both hold one score for each question, in the same order.

    >>> import richter
    >>> richter.assert_no_worse([1, 1, 1, 0] * 200, [1, 1, 1, 0] * 200, margin="5pt")
    """
    __tracebackhide__ = True
    result = gate({"old": old, "new": new}, margin=margin, level=level, scale=scale, better=better)
    if not result.passed:
        raise AssertionError(result.sentence)
