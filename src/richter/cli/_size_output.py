"""What `richter size` and `richter size tail` print: the items that a claim on a rate, a gap or a tail needs."""

import dataclasses
import functools
import math
from collections.abc import Mapping
from typing import Any

import click

from richter import floors
from richter.claims import (
    METRICS,
    Asked,
    Blocked,
    Design,
    Evidence,
    Question,
    Shares,
    cheapest_design,
    check_margin,
    linearised,
    reach_of,
    units_for,
    units_needed,
    variance_shares,
)
from richter.cli._io import publish, split_sources
from richter.cli._margins import margins_on_scale
from richter.errors import InputError
from richter.evidence import CHOSEN, evidence, outcomes_of, sample_of
from richter.models import price_of, read_prices
from richter.records import of_kind, printable
from richter.stats import wilson
from richter.stats._proportion import MIN_EVENTS
from richter.tables import Dataset, ReadOptions, read_tables
from richter.tail import size_tail as size_of_tail


def size(rate: float | None, half_width: float | None, below: float | None, errors: int, **options: Any) -> None:
    """Print and write the items for a claim on an error rate, where one is given, else on a gap of two conditions."""
    if below is None and rate is None and half_width is None:
        size_gap(**options)
        return
    shared = {name: options[name] for name in ("level", "json_path", "cluster_size", "intraclass")}
    size_error_rate(rate=rate, half_width=half_width, below=below, errors=errors, **shared)


def _inflated(labels: int, clusters: dict[str, Any], *, tail: float, power: float = 0.5) -> int:
    """So many labels where items come in clusters: by their design effect, and by t of as many clusters in place of z.

    `tail` and `power` are those at which z gave the labels.
    """
    if set(clusters.values()) == {None}:
        return labels
    variance = labels / floors.effective_n(1, **clusters) / reach_of(math.inf, tail, power) ** 2
    return units_for(variance, 1.0, tail=tail, power=power, freedom=1 / clusters["cluster_size"])


def size_error_rate(
    rate: float | None,
    half_width: float | None,
    below: float | None,
    errors: int,
    level: float,
    json_path: str | None,
    **clusters: Any,
) -> None:
    """Items to measure an error rate, or to show that it is below a limit."""
    at = f"{100 * level:g}%"
    if below is not None:
        n, alone = floors.zero_error_labels(below, errors=errors, level=level), ""
        if clusters["intraclass"] and errors < MIN_EVENTS:
            floors.effective_n(1, **clusters)  # both of them, in their range
            n = math.ceil(n * clusters["cluster_size"])
            alone = "; so few errors do not tell how they crowd: each cluster counts once"
        else:
            n = _inflated(n, clusters, tail=1 - level)
        asked: dict[str, float] = {"below": below, "errors": errors}
        said = f"{n:,} items with at most {errors} errors show a rate below {below:g} ({at}, exact, one-sided{alone})."
    elif rate is None or half_width is None:
        raise click.UsageError("Give --below, or --rate and --half-width.")
    else:
        single = floors.proportion_labels(half_width, rate, level=level)
        n, span = _inflated(single, clusters, tail=(1 - level) / 2), wilson(rate * single, single, level=level)
        asked = {"rate": rate, "half_width": half_width}
        said = f"{n:,} items give {rate:g} +- {half_width:g} ({at}): [{span.low:.3g}, {span.high:.3g}]."
    publish({"labels": n, **asked, "level": level}, json_path).print(said)


def size_gap(
    sources: tuple[str, ...],
    margin: dict[str, float],
    discordance: float | None,
    accuracy: tuple[float, float] | None,
    phi: float,
    pairs: int,
    on: str | None,
    cost_item: float,
    cost_draw: float,
    reading: ReadOptions,
    power: float,
    level: float,
    json_path: str | None,
    **clusters: Any,
) -> None:
    """Items, asked of both conditions, that settle a gap as large as the margin."""
    alpha = (1 - level) / pairs
    few = "Data say themselves how items vary together; leave --cluster-size and --intraclass out."
    if sources and any(clusters.values()):
        raise click.UsageError(few)
    if sources:
        _gap_from_data(
            sources, reading, margins=margin, alpha=alpha, level=level, power=power, on=on,
            costs=(cost_item, cost_draw), json_path=json_path,
        )  # fmt: skip
        return
    gap = float(_margin_of("accuracy", margin))
    if discordance is None:
        if not accuracy:
            raise click.UsageError("Give data of two conditions, --discordance, or --accuracy A B.")
        p, q = accuracy
        both = p * q + phi * math.sqrt(p * (1 - p) * q * (1 - q))
        discordance = p + q - 2 * both
        if discordance <= 0 or both > min(p, q):
            raise InputError(f"phi={phi:g} is not possible with these accuracies.", remedy="Give a smaller --phi.")
    check_margin(METRICS["accuracy"], gap)
    differ, same = (
        _inflated(
            floors.paired_gap_labels(gap, discordance, alpha=alpha, power=power, equivalence=e),
            clusters,
            tail=alpha if e else alpha / 2,
            power=(1 + power) / 2 if e else power,
        )
        for e in (False, True)
    )
    payload = {
        "labels": max(differ, same),
        "to_show_the_gap": differ,
        "to_show_equivalence": same,
        "margin": gap,
        "discordance": discordance,
        "pairs": pairs,
        "power": power,
        "level": level,
    }
    out = publish(payload, json_path)
    out.print(f"{max(differ, same):,} items, asked of both, settle a gap of {100 * gap:g} points either way.")
    out.print(f"  {differ:,} to show a true gap of that size, {same:,} to show equivalence within it if there is none")
    out.print(
        f"  power {power:g}, {100 * level:g}% over {pairs} pair{'s' * (pairs > 1)}, discordance {discordance:.3f}"
    )


def _margin_of(measure: str, margins: Mapping[str, float]) -> float:
    """The margin of the measure that is sized; that without a name is this measure's."""
    for name in (measure, ""):
        if name in margins:
            return margins[name]
    raise click.UsageError(f"Give the gap that matters: --margin 2pt, or --margin {measure}=2pt.")


def _gap_from_data(
    sources: tuple[str, ...],
    reading: ReadOptions,
    *,
    margins: Mapping[str, float],
    alpha: float,
    level: float,
    power: float,
    on: str | None,
    costs: tuple[float, float],
    json_path: str | None,
) -> None:
    """Items and draws from a pilot: as many as show a true gap of the margin by the test that `compare` decides by.

    The evidence is that of `compare`, so that groups, draws, weights, labels and missing grades count. Of amounts that
    are paid it is on the ratio of totals: the margin is relative, the spread that of linearised amounts.
    """
    files, names = split_sources(sources)
    tables = read_tables(*files, options=reading)
    chosen = list(names) or list(tables.conditions)
    if len(chosen) != 2:
        raise InputError(
            f"{len(chosen)} conditions are no pair ({', '.join(chosen)}).", remedy="Name two of them after the file."
        )
    dataset = tables.select(chosen)
    measure = on or dataset.metric or "accuracy"
    margin = margins_on_scale({measure: _margin_of(measure, margins)}, dataset)[measure]
    asked = evidence(dataset, Question(measure=measure, conditions=(chosen[0], chosen[1]), margin=margin))
    if isinstance(asked.evidence, Blocked):
        raise InputError(f"{asked.evidence.reason}.", remedy=asked.evidence.remedy)
    found = _size_from_evidence(dataset, asked, margin, alpha=alpha, power=power, costs=costs)
    own = [note for note in asked.notes if note not in of_kind(asked.notes, CHOSEN)]  # a size claims nothing
    notes = tuple(dict.fromkeys((*dataset.notes, *own, *asked.known.notes_at(level), *found.notes)))
    row = {
        "labels": found.items, "draws": found.draws, "measure": measure, "margin": margin, "power": power,
        "level": level, "alpha": alpha, "shares": found.shares, "cheapest": found.design,
        "understood": dataset.understood, "basis": asked.who_graded, "notes": notes,
    }  # fmt: skip
    out = publish(row, json_path, inputs=files)
    out.print(
        f"{found.items:,} items, {found.who}, show a true gap of "
        f"{asked.words.amount(margin)}{asked.words.suffix} (power {power:g}, {100 * level:g}%)."
    )
    lines = [] if found.shares is None or found.design is None else [found.shares.sentence(), found.design.sentence]
    for line in (*lines, dataset.understood, *notes):
        if line:
            out.print(f"  {printable(line)}", highlight=False)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _SizeFromData:
    """The items of a next study, who is asked them, and where the spread comes from where draws and groups tell."""

    items: int
    draws: int
    who: str
    shares: Shares | None = None
    design: Design | None = None
    notes: tuple[str, ...] = ()


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
        return _SizeFromData(items=one + two, draws=1, who=f"{one:,} of the first and {two:,} others of the second")
    labelled = f"people label as large a share of the answers as here ({asked.known.labels:,} labels)"
    notes = (labelled,) if asked.known.labels else ()
    if asked.metric.estimator != "mean":
        return _SizeFromData(items=items, draws=1, who="asked of both with 1 draw each", notes=notes)
    shares = _shares(dataset, asked.question, is_ratio=asked.known.relative)
    now = max(1, round(shares.draws_per_item))
    if _is_plain_rate(dataset, asked, shares):  # one answer each: counts decide, not t
        items = floors.paired_gap_labels(gap, min(shares.items + gap**2, 1.0), alpha=alpha, power=power)
    by_shares = functools.partial(shares.items_for, gap, alpha=alpha, power=power)
    factor = items / by_shares(now)  # weights, labels and missing grades, which shares do not know
    design = cheapest_design(
        shares, gap, cost_item=costs[0], cost_draw=costs[1], needed=lambda draws: math.ceil(factor * by_shares(draws))
    )
    who = f"asked of both with {now} draw{'s' * (now > 1)} each"
    return _SizeFromData(items=items, draws=now, who=who, shares=shares, design=design, notes=notes)


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


def size_tail(
    delta: float,
    true: float | None,
    usd_per_call: float | None,
    model: str | None,
    tokens: tuple[int, int],
    json_path: str | None,
    **asked: Any,
) -> None:
    """Items per condition for a claim that two tail shapes differ."""
    if model is not None and usd_per_call is None:
        price = price_of(model, read_prices())
        if price is None:
            raise InputError(f"The price of {model} is unknown.", remedy="Give --usd-per-call.")
        usd_per_call = price.cost(*tokens)
    size = size_of_tail(delta, true=true, usd_per_call=usd_per_call, **asked)
    out = publish(size, json_path)
    cost = "" if size.money_usd is None else f", {size.money_usd:,.2f} USD"
    out.print(
        f"A difference of {size.true:g} in tail shape, where {delta:g} is worth a claim, needs {size.items:,} items "
        f"per condition: {size.calls:,} answers of {asked['conditions']} conditions{cost}."
    )
    out.print(
        f"  {size.exceedances:,} exceedances of the {asked['q']:g} quantile each: {size.chance:.0%} of studies pass "
        "G3 to G5, P1 and P2; of these"
    )
    out.print(f"  {size.exceedances_z:>9,}  for G3: a z-test of {delta:g} (eq. 2; {size.items_z:,} items)")
    out.print(f"  {size.exceedances_p1:>9,}  for disjoint intervals (P1) at {1 - asked['alpha']:.4g} alone")
    if size.pairs > 1:
        level = 1 - asked["alpha"] / size.pairs
        out.print(f"  {size.exceedances_p1_family:>9,}  for them at the level {level:.4g} of {size.pairs} pairs")
    out.print(f"  {asked['floor']:>9,}  for the floor")
    family = "" if size.pairs == 1 else f" ({size.p1_chance_family:.0%} at the family-wise level)"
    out.print(
        f"  With eq. 2's exceedances alone the intervals come out disjoint in {size.p1_chance:.0%} of studies{family}."
    )
    out.print(
        f"  Of a true difference of {delta:g} itself at most half pass, whatever their size: P2 asks the estimate to "
        "exceed it."
    )
