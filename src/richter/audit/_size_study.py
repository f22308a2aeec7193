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
    Evidence,
    Metric,
    Question,
    Shares,
    cheapest_design,
    check_margin,
    equivalence_size,
    linearised,
    margin_on,
    min_detectable_difference,
    reach_of,
    units_for,
    units_needed,
    variance_shares,
)
from richter.errors import InputError
from richter.evidence import CHOSEN, Policy, evidence, metric_of, outcomes_of, sample_of
from richter.records import DEFAULT_LEVEL, Note, Result, of_kind
from richter.tables import Dataset
from richter.words._numbers import among

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

    `margin` is the difference that they are for, and `stated` says whether the user gave it. `steps` are sizes for
    other differences, `detectable` is what the pilot itself could have shown with 80% power. `items_of_each` are the
    sides of a study without pairs.
    """

    schema: ClassVar = "richter/size"
    named: ClassVar = {"items": "labels", "design": "cheapest"}
    unwritten: ClassVar = ("words",)

    items: int
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
    and there is no `discordance`.
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
    """The questions that settle a gap in accuracy as large as the margin either way.

    Both answer them; with `unpaired` each has questions of its own. How often exactly one of the two is right
    (`discordance`) follows from their accuracies and the correlation `phi` of their grades (0.3 unless stated). What
    nobody states is assumed, and listed in `assumed`.
    """
    check_expectations(has_data=False, unpaired=unpaired, accuracy=accuracy, discordance=discordance, phi=phi)
    assumed = []
    if margin is None and accuracy is not None and accuracy[0] != accuracy[1]:
        margin = abs(accuracy[1] - accuracy[0])
        assumed.append(f"the true difference is {100 * margin:.3g} points, as between your two rates")
    elif margin is None:
        margin = METRICS["accuracy"].default_margin or 0.02
        assumed.append(f"a difference of {100 * margin:g} points matters (margin)")
    gap, alpha = margin_on(margin, METRICS["accuracy"]), (1 - level) / pairs
    check_margin(METRICS["accuracy"], gap)
    correlation = EXPECTED_PHI if phi is None else phi
    if accuracy is None and discordance is None:
        correlated = "" if unpaired else f", and their grades correlate by {correlation:g} (phi)"
        assumed.append(f"both are right in about {EXPECTED[0]:.0%} (accuracy){correlated}")
    elif phi is None and discordance is None and not unpaired:
        assumed.append(f"their grades correlate by {correlation:g} (phi)")
    expected = accuracy or EXPECTED
    if unpaired:
        sides = functools.partial(floors.unpaired_gap_labels, gap, expected, alpha=alpha, power=power)
        counts = [2 * sides(equivalence=is_equivalence) for is_equivalence in (False, True)]
    else:
        discordance = discordance_of(*expected, phi=correlation) if discordance is None else discordance
        both = functools.partial(floors.paired_gap_labels, gap, discordance, alpha=alpha, power=power)
        counts = [both(equivalence=is_equivalence) for is_equivalence in (False, True)]
    tests = ((alpha / 2, power), equivalence_size(alpha, power))
    differ, same = (
        inflate_for_clusters(count, cluster_size=cluster_size, intraclass=intraclass, tail=tail, power=each)
        for count, (tail, each) in zip(counts, tests, strict=True)
    )
    side = math.ceil(max(differ, same) / 2)
    return GapSize(
        items=2 * side if unpaired else max(differ, same), to_show_the_gap=differ, to_show_equivalence=same, margin=gap,
        discordance=discordance, pairs=pairs, power=power, level=level,
        items_of_each=(side, side) if unpaired else None, assumed=tuple(assumed),
    )  # fmt: skip


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
    """Questions and repeats, as many as show a true gap of the margin by the test that `compare` decides by.

    The evidence is that of `compare`, so that groups, draws, weights, labels and missing grades count. Of amounts that
    are paid it is on the ratio of totals: the margin is relative, the spread that of linearised amounts. Without a
    margin the size is for a difference of two points, or 2% of an amount. `policy` says what the user vouches for.
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
    costs = (cost_item, cost_draw)
    found = _size_from_evidence(dataset, asked, margin, alpha=alpha, power=power, costs=costs)
    reach = min_detectable_difference(asked.known, asked.metric, tail=alpha / 2)
    return PilotSize(
        items=found.items,
        draws=found.draws,
        measure=measure,
        margin=margin,
        stated=stated is not None,
        power=power,
        level=level,
        alpha=alpha,
        detectable=reach,
        steps=tuple(
            Step(
                difference=d, items=_size_from_evidence(dataset, asked, d, alpha=alpha, power=power, costs=costs).items
            )
            for d in _ladder(metric)
        ),
        words=asked.words,
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
    dataset: Dataset, asked: Asked, margin: float, *, alpha: float, power: float, costs: tuple[float, float]
) -> _SizeFromData:
    """The size by the evidence that `compare` decides by; with missing grades the larger of both ways."""
    gap = math.log1p(margin) if asked.known.relative else margin
    known = [asked.known.ignoring or asked.known]
    known += [asked.known.as_worst] if asked.known.as_worst else []
    known = [_with_spread_of_labels(found) for found in known]
    if any(not found.standard_error for found in known):
        raise InputError(
            f"These data do not say how much {asked.words.noun} varies.", remedy="Give a pilot in which answers differ."
        )
    items = max(_items_of(found, margin, alpha=alpha, power=power) for found in known)
    if asked.known.sides:
        one, two = (math.ceil(items * side / sum(asked.known.sides)) for side in asked.known.sides)
        return _SizeFromData(items=one + two, draws=1, items_of_each=(one, two))
    labelled = f"people label as large a share of the answers as here ({asked.known.labels:,} labels)"
    notes: tuple[str, ...] = (labelled,) if asked.known.labels else ()
    if asked.metric.estimator != "mean":
        return _SizeFromData(items=items, draws=1, notes=notes)
    shares = _shares(dataset, asked.question, is_ratio=asked.known.relative)
    if shares.groups_2 is not None:
        text = "New questions must come in new groups of both groupings, with as many questions in each as here."
        notes = (*notes, Note(text, "two groupings"))
    now = max(1, round(shares.draws_per_item))
    if _is_plain_rate(dataset, asked, shares):  # one answer each: counts decide, not t
        items = floors.paired_gap_labels(gap, min(shares.items + gap**2, 1.0), alpha=alpha, power=power)
    by_shares = functools.partial(shares.items_for, gap, alpha=alpha, power=power)
    factor = items / by_shares(now)  # weights, labels and missing grades, which shares do not know
    design = cheapest_design(
        shares, gap, cost_item=costs[0], cost_draw=costs[1], needed=lambda draws: math.ceil(factor * by_shares(draws))
    )
    return _SizeFromData(items=items, draws=now, shares=shares, design=design, notes=notes)


def _with_spread_of_labels(found: Evidence) -> Evidence:
    """Evidence that labels correct, with half of its interval at one standard error as its standard error."""
    if not found.labels:
        return found
    return dataclasses.replace(found, standard_error=found.interval(math.erf(math.sqrt(0.5))).half_width)


def _items_of(found: Evidence, gap: float, *, alpha: float, power: float) -> int:
    """Items that show a gap: units like these, with as many items each."""
    return math.ceil(units_needed(found, gap, tail=alpha / 2, power=power) * found.n / max(found.units, 1))


def _shares(dataset: Dataset, question: Question, *, is_ratio: bool) -> Shares:
    """Where the spread of a pair's difference comes from; of a ratio of totals, that of linearised amounts."""
    if not is_ratio:
        return variance_shares(sample_of(dataset, question.measure), *question.conditions)
    return variance_shares(linearised(sample_of(dataset, question.measure), question.conditions), *question.conditions)


def _is_plain_rate(dataset: Dataset, asked: Asked, shares: Shares) -> bool:
    """Whether paired right and wrong answers are all there is: no draws, groups, weights, labels or missing grades."""
    found, known = outcomes_of(dataset, asked.question.measure), asked.known
    plain = found.weight is None and not known.labels and not known.missing and not known.sides
    return plain and asked.metric.kind == "binary" and shares.draws is None and shares.groups is None
