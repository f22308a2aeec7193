"""How many questions a comparison needs: by the evidence of a pilot, or by what is expected."""

import dataclasses
import functools
import math
from collections.abc import Mapping
from typing import ClassVar

from richter import floors
from richter.claims import (
    METRICS,
    SIZE_STEPS,
    Asked,
    Blocked,
    Design,
    Metric,
    Question,
    Shares,
    cheapest_design,
    check_margin,
    equivalence_size,
    linearised,
    margin_on,
    min_detectable_difference,
    needed_units,
    reach_of,
    units_for,
    variance_shares,
)
from richter.errors import InputError
from richter.evidence import CHOSEN, Policy, evidence, metric_of, sample_of
from richter.records import DEFAULT_LEVEL, Note, Result, Unit, of_kind
from richter.tables import Dataset
from richter.words._spans import among

__all__ = [
    "GapSize",
    "PilotSize",
    "check_expectations",
    "inflate_for_clusters",
    "size_from_expectation",
    "size_from_pilot",
]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Step(Result):
    """The questions that show a true difference of this size."""

    difference: float
    items: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PilotSize(Result):
    """The questions (`items`) and repeats (`draws`) of a next study, by the spread that a pilot shows.

    `margin` is the difference that they are for, and `stated` says whether the user gave it: they then show also that
    both are within it, and `to_show_the_gap` would show a gap that large alone. `steps` are sizes for other
    differences, `detectable` is what the pilot itself shows with this power. `pilot_items` are its questions, in
    `units` of which each varies by itself. `items_of_each` are the sides of a study without pairs.
    """

    schema: ClassVar = "richter/size"
    named: ClassVar = {"items": "labels", "design": "cheapest"}
    unwritten: ClassVar = ("words",)

    items: int
    to_show_the_gap: int
    draws: int
    measure: str
    margin: float
    stated: bool
    power: float
    level: float
    alpha: float
    detectable: float | None
    steps: tuple[Step, ...]
    words: Metric
    pairs: int
    pilot_items: int
    units: int
    unit: Unit
    items_of_each: tuple[int, int] | None = None
    shares: Shares | None = None
    design: Design | None = None
    understood: str = ""
    basis: str = ""
    notes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GapSize(Result):
    """The questions that settle a gap in accuracy that is only expected.

    They are asked of both; without pairs `items_of_each` are the sides, all other counts are of both sides together,
    and there is no `discordance`. With a margin that somebody stated, `items` are enough for either answer; else they
    show the gap, and `steps` are sizes for the gaps that people ask about.
    """

    schema: ClassVar = "richter/size"
    named: ClassVar = {"items": "labels"}

    items: int
    to_show_the_gap: int
    to_show_equivalence: int
    margin: float
    discordance: float | None
    pairs: int
    power: float
    level: float
    stated: bool = True
    steps: tuple[Step, ...] = ()
    items_of_each: tuple[int, int] | None = None
    assumed: tuple[str, ...] = ()


def inflate_for_clusters(
    labels: int, *, cluster_size: float | None, intraclass: float | None, tail: float, power: float = 0.5
) -> int:
    """So many labels where items come in clusters: by their design effect, and by t of as many clusters in place of z.

    `tail` and `power` are those at which z gave the labels.
    """
    if cluster_size is None and intraclass is None:
        return labels
    effective = floors.effective_n(1, cluster_size=cluster_size, intraclass=intraclass)
    assert cluster_size is not None
    variance = labels / effective / reach_of(math.inf, tail, power) ** 2
    return units_for(variance, 1.0, tail=tail, power=power, freedom=1 / cluster_size)


EXPECTED_PHI = 0.3  # correlation of the grades of two models over questions
EXPECTED = (0.8, 0.8)  # accuracies of two good models, where nobody says what to expect


def check_expectations(
    *,
    has_data: bool,
    unpaired: bool,
    accuracy: tuple[float, float] | None,
    discordance: float | None,
    phi: float | None,
    **clusters: float | None,
) -> None:
    """Refuse expectations that would not count: all of them beside data, those on pairs where nothing is paired."""
    stated = {"accuracy": accuracy, "discordance": discordance, "phi": phi, **clusters}
    named = ", ".join(f"--{name.replace('_', '-')}" for name, value in stated.items() if value is not None)
    if has_data and named:
        raise InputError(
            f"The data say what to expect, and you state it too: {named}.",
            remedy="Leave out either. The difference that matters is --margin 4pt.",
        )
    if unpaired and (discordance is not None or phi is not None):
        raise InputError(
            "Only two that answer the same questions have --discordance and --phi.",
            remedy="Without pairs, leave them out and give --accuracy.",
        )


def size_from_expectation(
    margin: float | None = None,
    *,
    discordance: float | None = None,
    accuracy: tuple[float, float] | None = None,
    phi: float | None = None,
    unpaired: bool = False,
    pairs: int = 1,
    cluster_size: float | None = None,
    intraclass: float | None = None,
    power: float = 0.8,
    level: float = DEFAULT_LEVEL,
) -> GapSize:
    """The questions that settle a gap in accuracy as large as the margin either way; without one, that show a gap.

    Both answer them; with `unpaired` each has questions of its own. How often exactly one of the two is right
    (`discordance`) follows from their accuracies and the correlation `phi` of their grades (0.3 unless stated). What
    nobody states is assumed, and listed in `assumed`.
    """
    check_expectations(has_data=False, unpaired=unpaired, accuracy=accuracy, discordance=discordance, phi=phi)
    metric, stated = METRICS["accuracy"], margin is not None
    assumed: list[str] = []
    ladder: tuple[float, ...] = ()
    if margin is None and accuracy is not None and accuracy[0] != accuracy[1]:
        margin = abs(accuracy[1] - accuracy[0])
        assumed.append(f"the true difference is {100 * margin:.3g} points, as between your two rates")
    elif margin is None:
        ladder = _ladder(metric)
        margin = ladder[-1]
    gap, alpha = margin_on(margin, metric), (1 - level) / pairs
    check_margin(metric, gap)
    correlation, expected = EXPECTED_PHI if phi is None else phi, accuracy or EXPECTED
    if discordance is None:
        assumed += _assumed_of_grades(accuracy, phi, correlation, unpaired=unpaired)
    if not unpaired and discordance is None:
        discordance = discordance_of(*expected, phi=correlation)

    def count(size: float, *, equivalence: bool = False) -> int:
        """The items that show a gap of this size, or that there is none, in clusters where there are any."""
        if discordance is None:
            n = 2 * floors.unpaired_gap_labels(size, expected, alpha=alpha, power=power, equivalence=equivalence)
        else:
            n = floors.paired_gap_labels(size, discordance, alpha=alpha, power=power, equivalence=equivalence)
        tail, each = equivalence_size(alpha, power) if equivalence else (alpha / 2, power)
        n = inflate_for_clusters(n, cluster_size=cluster_size, intraclass=intraclass, tail=tail, power=each)
        return 2 * math.ceil(n / 2) if unpaired else n

    differ, same = count(gap), count(gap, equivalence=True)
    items = max(differ, same) if stated else differ
    return GapSize(
        items=items, to_show_the_gap=differ, to_show_equivalence=same, margin=gap, discordance=discordance,
        pairs=pairs, power=power, level=level, stated=stated,
        steps=tuple(Step(difference=step, items=count(step)) for step in ladder),
        items_of_each=(items // 2, items // 2) if unpaired else None, assumed=tuple(assumed),
    )  # fmt: skip


def _assumed_of_grades(
    accuracy: tuple[float, float] | None, phi: float | None, correlation: float, *, unpaired: bool
) -> list[str]:
    """What is assumed of the two accuracies and of the correlation of grades, where nobody states it."""
    if accuracy is None:
        correlated = "" if unpaired else f", and their grades correlate by {correlation:g} (phi)"
        return [f"both are right in about {EXPECTED[0]:.0%} (accuracy){correlated}"]
    return [] if unpaired or phi is not None else [f"their grades correlate by {correlation:g} (phi)"]


def discordance_of(p: float, q: float, *, phi: float) -> float:
    """The share of questions on which exactly one of two models is right, by their accuracies and correlation."""
    both = p * q + phi * math.sqrt(p * (1 - p) * q * (1 - q))
    discordance = p + q - 2 * both
    if discordance <= 0 or both > min(p, q):
        raise InputError(f"phi={phi:g} is not possible with these accuracies.", remedy="Give a smaller --phi.")
    return discordance


def size_from_pilot(
    dataset: Dataset,
    *,
    margins: Mapping[str, float] | None = None,
    on: str | None = None,
    policy: Policy | None = None,
    pairs: int = 1,
    cost_item: float = 0.0,
    cost_draw: float = 1.0,
    power: float = 0.8,
    level: float = DEFAULT_LEVEL,
) -> PilotSize:
    """Questions and repeats, as many as settle a gap of the margin by the tests that `compare` decides by.

    The evidence is that of `compare`, so that groups, draws, weights, labels and missing grades count. Of amounts that
    are paid it is on the ratio of totals: the margin is relative, the spread that of linearised amounts. Without a
    margin the size shows a difference of two points, or 2% of an amount. `policy` says what the user vouches for.
    """
    if len(dataset.conditions) != 2:
        raise InputError(
            f"A size is for two, and the data hold {len(dataset.conditions)} ({among(dataset.conditions)}).",
            remedy="Name two after the file: richter size FILE A B. Without data: richter size --accuracy 0.8 0.84"
            if len(dataset.conditions) > 2
            else "Give both: richter size old.csv new.csv. Without data: richter size --accuracy 0.8 0.84",
        )
    measure, alpha = on or dataset.metric or "accuracy", (1 - level) / pairs
    metric = metric_of(dataset, measure)
    stated = (margins or {}).get(measure, (margins or {}).get(""))
    margin = _usual_margin(metric) if stated is None else margin_on(stated, metric)
    check_margin(metric, margin)
    first, second = dataset.conditions
    asked = evidence(dataset, Question(measure=measure, conditions=(first, second), margin=margin), policy)
    if isinstance(asked.evidence, Blocked):
        raise InputError(f"{asked.evidence.reason}.", remedy=asked.evidence.remedy)
    sized = functools.partial(
        _size_from_evidence, dataset, asked, alpha=alpha, power=power, costs=(cost_item, cost_draw)
    )
    found = sized(margin, stated=stated is not None)
    return PilotSize(
        items=found.items,
        to_show_the_gap=sized(margin, stated=False).items,
        draws=found.draws,
        measure=measure,
        margin=margin,
        stated=stated is not None,
        power=power,
        level=level,
        alpha=alpha,
        detectable=min_detectable_difference(asked.known, asked.metric, tail=alpha / 2, power=power),
        steps=tuple(Step(difference=step, items=sized(step, stated=False).items) for step in _ladder(metric)),
        words=asked.words,
        pairs=pairs,
        pilot_items=asked.known.n,
        units=asked.known.units,
        unit=asked.known.unit,
        items_of_each=found.items_of_each,
        shares=found.shares,
        design=found.design,
        understood=dataset.understood,
        basis=asked.who_graded,
        notes=tuple(
            dict.fromkeys((*dataset.notes, *_notes_of_data(asked), *asked.known.notes_at(level), *found.notes))
        ),
    )


def _ladder(metric: Metric) -> tuple[float, ...]:
    """Differences that people ask about: 5 and 2 points of the range, or per cent of an amount."""
    if metric.is_cost:
        return SIZE_STEPS
    if metric.kind == "real" or metric.low is None or metric.high is None:
        return ()
    return tuple(share * (metric.high - metric.low) for share in SIZE_STEPS)


def _usual_margin(metric: Metric) -> float:
    ladder = _ladder(metric)
    if not ladder:
        raise InputError(
            f"The range of {metric.noun} is not known, so that no usual difference is.",
            remedy="Give the difference that matters: --margin 0.5",
        )
    return ladder[-1]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _SizeFromData:
    """The items of a next study, by side where nothing is paired, and where the spread comes from."""

    items: int
    draws: int
    items_of_each: tuple[int, int] | None = None
    shares: Shares | None = None
    design: Design | None = None
    notes: tuple[str, ...] = ()


def _notes_of_data(asked: Asked) -> list[str]:
    """The notes but for the one on attempts: a size claims nothing."""
    asks = of_kind(asked.notes, CHOSEN)
    return [note for note in asked.notes if note not in asks]


def _size_from_evidence(
    dataset: Dataset,
    asked: Asked,
    margin: float,
    *,
    stated: bool,
    alpha: float,
    power: float,
    costs: tuple[float, float],
) -> _SizeFromData:
    """The size by the evidence that `compare` decides by; with missing grades the larger of both ways."""
    known = asked.known
    if known.unit == "run":
        raise InputError(
            "Runs vary beside questions, so that no number of questions alone settles a difference.",
            remedy="Read the runs as repeats of a question: --map draw=COLUMN.",
        )
    units = needed_units(known, margin, alpha=alpha, margin=stated, power=power)
    if units is None:
        raise InputError(
            f"These data do not say how much {asked.words.noun} varies.", remedy="Give a pilot in which answers differ."
        )
    items = math.ceil(units * known.n / max(known.units, 1))
    if known.sides:
        one, two = (math.ceil(items * side / sum(known.sides)) for side in known.sides)
        return _SizeFromData(items=one + two, draws=1, items_of_each=(one, two))
    labelled = f"people label as large a share of the answers as here ({known.labels:,} labels)"
    notes: tuple[str, ...] = (labelled,) if known.labels else ()
    if dataset.has_raters:
        notes = (*notes, "Every new answer has as many raters as here.")
    if asked.metric.estimator != "mean" or dataset.has_raters:
        return _SizeFromData(items=items, draws=1, notes=notes)
    shares = _shares(dataset, asked.question, is_ratio=known.relative)
    if shares.groups_2 is not None:
        text = "New questions must come in new groups of both groupings, with as many questions in each as here."
        notes = (*notes, Note(text, "two groupings"))
    now = max(1, round(shares.draws_per_item))
    gap = math.log1p(margin) if known.relative else margin
    by_shares = functools.partial(shares.items_for, gap, alpha=alpha, power=power)
    factor = items / by_shares(now)  # weights, labels, missing grades and a margin, which shares do not know
    design = cheapest_design(
        shares, gap, cost_item=costs[0], cost_draw=costs[1], needed=lambda draws: math.ceil(factor * by_shares(draws))
    )
    return _SizeFromData(items=items, draws=now, shares=shares, design=design, notes=notes)


def _shares(dataset: Dataset, question: Question, *, is_ratio: bool) -> Shares:
    """Where the spread of a pair's difference comes from; of a ratio of totals, that of linearised amounts."""
    if not is_ratio:
        return variance_shares(sample_of(dataset, question.measure), *question.conditions)
    return variance_shares(linearised(sample_of(dataset, question.measure), question.conditions), *question.conditions)
