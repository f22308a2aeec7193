"""`richter size`: how many items a claim will need, on rates, gaps, calibration, groups and tails."""

import dataclasses
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import click
import numpy as np

from richter import floors
from richter.claims import (
    METRICS,
    Asked,
    Blocked,
    Evidence,
    Question,
    Shares,
    cheapest_design,
    check_margin,
    reach_of,
    units_for,
    units_needed,
    variance_shares,
)
from richter.cli._io import PLAIN, grid, json_option, publish, reading_options, split_sources
from richter.cli._main import LazyGroup
from richter.cli._margins import level_option, margin_option, margins_on_scale, parse_share
from richter.errors import InputError
from richter.evidence import evidence, outcomes_of, sample_of
from richter.models import price_of, read_prices
from richter.records import printable
from richter.stats import wilson
from richter.stats._proportion import MIN_EVENTS
from richter.tables import Dataset, ReadOptions, read_tables
from richter.tail import size_tail as size_of_tail

RATE = "rate, constant 1"
TABLE = {
    "calibration": ("_size_command", "size_calibration", "Labels to estimate or detect a calibration error."),
    "error-rate": ("_size_command", "size_error_rate", "Items to measure an error rate, or to bound it."),
    "gap": ("_size_command", "size_gap", "Items, asked of both, that settle a gap in accuracy."),
    "groups": ("_size_command", "size_groups", "Labels to verify calibration in every group."),
    "tail": ("_size_command", "size_tail", "Items for a claim about tail shape."),
}


@click.group(cls=LazyGroup, table=TABLE)
def size() -> None:
    """How many items a claim will need, before anyone asks a model.

    \b
    Examples:
      richter size gap --margin 2pt --discordance 0.12
      richter size error-rate --rate 0.1 --half-width 2pt
    """


power_option = click.option("--power", type=click.FloatRange(0.05, 0.9999), default=0.8)


def correlation_options(command: Any) -> Any:
    """Options for items that come in clusters."""
    command = click.option("--intraclass", type=float, help="Correlation of items within a cluster.")(command)
    return click.option("--cluster-size", type=float, help="Items a cluster (passage, template, dialogue).")(command)


def _inflated(labels: int, clusters: dict[str, Any], *, tail: float, power: float = 0.5) -> int:
    """So many labels where items come in clusters: by their design effect, and by t of as many clusters in place of z.

    `tail` and `power` are those at which z gave the labels.
    """
    if set(clusters.values()) == {None}:
        return labels
    variance = labels / floors.effective_n(1, **clusters) / reach_of(math.inf, tail, power) ** 2
    return units_for(variance, 1.0, tail=tail, power=power, freedom=1 / clusters["cluster_size"])


@click.command("error-rate")
@click.option("--rate", type=parse_share, metavar="2%", help="The error rate expected.")
@click.option("--half-width", type=parse_share, metavar="2pt", help="The interval wanted around it.")
@click.option("--below", type=parse_share, metavar="1%", help="Show the rate to be below this.")
@click.option("--errors", type=click.IntRange(min=0), default=0, help="Errors allowed with --below.")
@correlation_options
@level_option
@json_option
def size_error_rate(
    rate: float | None,
    half_width: float | None,
    below: float | None,
    errors: int,
    level: float,
    json_path: str | None,
    **clusters: Any,
) -> None:
    """Items to measure an error rate, or to show that it is below a limit.

    \b
    Examples:
      richter size error-rate --rate 0.1 --half-width 2pt
      richter size error-rate --below 0.01 --errors 2
    """
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


@click.command("gap")
@click.argument("sources", nargs=-1, metavar="[FILE|RUN A B]")
@margin_option
@click.option(
    "--discordance",
    type=parse_share,
    metavar="12%",
    help="Share of items on which exactly one is right; else from --accuracy and --phi.",
)
@click.option("--accuracy", nargs=2, type=parse_share, metavar="A B", help="The two accuracies expected.")
@click.option("--phi", type=float, default=0.3, help="Correlation of their grades over items.")
@click.option("--pairs", type=click.IntRange(min=1), default=1, help="Pairs judged together.")
@click.option("--on", metavar="METRIC", help="With data: the measure that the gap is in.")
@click.option("--cost-item", type=float, default=0.0, help="With data: a new item's own cost.")
@click.option("--cost-draw", type=float, default=1.0, help="With data: the cost of a draw.")
@correlation_options
@reading_options
@power_option
@level_option
@json_option
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
    """Items, asked of both conditions, that settle a gap as large as the margin.

    With data of two conditions the spread comes from them: from groups, items and draws apart, with what is cheaper,
    more items or more draws of each.

    \b
    Examples:
      richter size gap --margin 2pt --accuracy 0.85 0.87 --phi 0.4
      richter size gap --margin 1pt --discordance 0.12 --pairs 10
      richter size gap pilot.csv old new --margin 2pt --cost-item 0.5 --cost-draw 0.01
    """
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

    The evidence is that of `compare`, so that groups, draws, weights, labels and missing grades count. Of amounts above
    0 (money, seconds) it is on the ratio of geometric means: the margin is relative, the spread that of logarithms.
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
    gap, words, shares, design = margin, asked.words, None, None
    known = [asked.known.ignoring or asked.known, *([asked.known.as_worst] if asked.known.as_worst else [])]
    if asked.known.relative:
        gap = math.log1p(margin)
        known = [_of_logarithms(found) for found in known]
    if any(not found.standard_error for found in known):
        raise InputError(
            f"These data do not say how much {words.noun} varies.", remedy="Give a pilot in which answers differ."
        )
    # with missing grades a verdict must hold both ways: the larger of the two sizes
    items = max(_items_of(found, gap, alpha=alpha, power=power) for found in known)
    now = 1
    if asked.metric.estimator == "mean":
        shares = _shares(dataset, measure, chosen, is_ratio=asked.known.relative)
        now = max(1, round(shares.draws_per_item))
        if _is_plain_rate(dataset, asked, shares):  # one answer each: counts decide, not t
            items = floors.paired_gap_labels(gap, min(shares.items + gap**2, 1.0), alpha=alpha, power=power)
        by_shares = functools.partial(shares.items_for, gap, alpha=alpha, power=power)
        factor = items / by_shares(now)  # weights, labels and missing grades, which shares do not know
        design = cheapest_design(
            shares,
            gap,
            cost_item=costs[0],
            cost_draw=costs[1],
            needed=lambda draws: math.ceil(factor * by_shares(draws)),
        )
    notes = tuple(dict.fromkeys((*dataset.notes, *asked.notes, *asked.known.notes)))
    row = {
        "labels": items, "draws": now, "measure": measure, "margin": margin, "power": power, "level": level,
        "alpha": alpha, "shares": shares, "cheapest": design, "understood": dataset.understood,
        "basis": asked.who_graded, "notes": notes,
    }  # fmt: skip
    out = publish(row, json_path, inputs=files)
    out.print(
        f"{items:,} items, asked of both with {now} draw{'s' * (now > 1)} each, show a true gap of "
        f"{words.amount(margin)}{words.suffix} (power {power:g}, {100 * level:g}%)."
    )
    lines = [] if shares is None or design is None else [shares.sentence(), design.sentence]
    for line in (*lines, dataset.understood, *notes):
        if line:
            out.print(f"  {printable(line)}", highlight=False)


def _of_logarithms(found: Evidence) -> Evidence:
    """Evidence on a ratio as that on the difference of logarithms."""
    error = None if found.standard_error is None else found.standard_error / (1 + found.estimate)
    return dataclasses.replace(found, standard_error=error)


def _items_of(found: Evidence, gap: float, *, alpha: float, power: float) -> int:
    """Items that show a gap: units like these, with as many items each."""
    return math.ceil(units_needed(found, gap, tail=alpha / 2, power=power) * found.n / max(found.units, 1))


def _shares(dataset: Dataset, measure: str, chosen: Sequence[str], *, is_ratio: bool) -> Shares:
    """Where the spread of a pair's difference comes from; of a ratio, that of logarithms."""
    if not is_ratio:
        return variance_shares(sample_of(dataset, measure), chosen[0], chosen[1])
    found = outcomes_of(dataset, measure)
    return variance_shares(dataclasses.replace(found, value=np.log(found.value)), chosen[0], chosen[1])


def _is_plain_rate(dataset: Dataset, asked: Asked, shares: Shares) -> bool:
    """Whether paired right and wrong answers are all there is: no draws, groups, weights, labels or missing grades."""
    found, known = outcomes_of(dataset, asked.question.measure), asked.known
    plain = found.weight is None and not known.labels and not known.missing and not known.sides
    return plain and asked.metric.kind == "binary" and shares.draws is None and shares.groups is None


@click.command("calibration")
@click.option("--delta", type=parse_share, metavar="2pt", required=True, help="The calibration error to resolve.")
@click.option("--error-rate", type=parse_share, metavar="5%", required=True, help="The error rate expected.")
@click.option("--lipschitz", type=float, default=1.0)
@click.option("--stages", type=click.IntRange(min=1), default=1, help="Equal stages of a pipeline, each with L.")
@power_option
@json_option
def size_calibration(
    delta: float, error_rate: float, lipschitz: float, stages: int, power: float, json_path: str | None
) -> None:
    """Labels to estimate or detect a calibration error.

    \b
    Examples:
      richter size calibration --delta 0.02 --error-rate 0.05
      richter size calibration --delta 0.05 --error-rate 0.05 --lipschitz 2 --stages 3
    """
    smooth = lipschitz if stages == 1 else lipschitz**stages + 1
    result = floors.labels_needed(delta, error_rate, lipschitz=smooth, power=power)
    out = publish(result.to_dict() | {"labels": result.estimation}, json_path)
    out.print(f"{result.estimation:,} labels estimate calibration error to {delta:g} (L e / d^3; {RATE}).")
    if result.detection_claim is not None:
        out.print(
            f"  {result.detection_claim:,} show a constant excess error of {delta:g} as `richter calibration` tests it "
            f"(power {power:g}); {result.detection_test:,} where its place and direction are known"
        )
    out.print(f"  no method detects it with fewer than {result.detection_bound:,} (Le Cam, exact constant)")


@click.command("groups")
@click.option("--preset", type=click.Choice(sorted(floors.PRESETS)), help="The paper's reading of a regulation.")
@click.option("--groups", "count", type=click.IntRange(min=1), default=1)
@click.option("--min-share", type=float, help="Share of the smallest group.")
@click.option("--delta", type=parse_share, metavar="2pt", help="The calibration error to resolve in each.")
@click.option("--error-rate", type=parse_share, metavar="5%", help="The error rate expected.")
@click.option("--lipschitz", type=float, default=1.0)
@json_option
def size_groups(
    preset: str | None,
    count: int,
    min_share: float | None,
    delta: float | None,
    error_rate: float | None,
    lipschitz: float,
    json_path: str | None,
) -> None:
    """Labels to verify calibration in every group.

    \b
    Examples:
      richter size groups --groups 4 --min-share 0.1 --delta 0.03 --error-rate 0.05
      richter size groups --preset eu-ai-act
    """
    if preset is not None:
        result = floors.PRESETS[preset].labels()
    elif min_share is None or delta is None or error_rate is None:
        raise click.UsageError("Give --preset, or --min-share, --delta and --error-rate.")
    else:
        result = floors.group_labels(delta, error_rate, min_share=min_share, groups=count, lipschitz=lipschitz)
    out = publish(result.to_dict() | {"labels": result.total}, json_path)
    out.print(
        f"{result.total:,} labels verify {result.groups} groups one after the other to {result.delta:g} ({RATE})."
    )
    rows = [
        ("until the smallest group has enough", f"{result.smallest_group:,}", f"L e / (share d^3); {RATE}"),
        ("with chosen labels", f"{result.active_rate.value:,}", "a rate that is not proved"),
    ]
    out.print(grid("||", rows, show_header=False, **PLAIN))


@click.command("tail")
@click.option("--delta-xi", "delta", type=float, default=0.1, help="The smallest difference of shape worth a claim.")
@click.option("--true-xi", "true", type=float, help="The difference that is to be shown; else 1.5 times that.")
@click.option("--q", type=float, default=0.95, help="The threshold: only what lies above it counts.")
@click.option("--xi", type=float, default=0.0, help="The shape expected.")
@click.option("--alpha", type=float, default=0.05)
@click.option("--power", type=float, default=0.8)
@click.option("--floor", type=click.IntRange(1), default=500, help="G3's floor of exceedances.")
@click.option("--conditions", type=click.IntRange(2), default=2, help="Conditions in the matrix of pairs.")
@click.option("--usd-per-call", type=float, help="The price of one answer, to say it in money.")
@click.option("--model", help="Or a model whose price is known, with --tokens.")
@click.option(
    "--tokens", type=(click.IntRange(0), click.IntRange(0)), default=(100, 200), help="In and out, each call."
)
@json_option
def size_tail(
    delta: float,
    true: float | None,
    usd_per_call: float | None,
    model: str | None,
    tokens: tuple[int, int],
    json_path: str | None,
    **asked: Any,
) -> None:
    """Items per condition for a claim that two tail shapes differ.

    All gates of `tail test` that rest on the number of items pass with the power that is asked for. G1 and G2 (equal
    means and tail means within the plan's tolerances) rest on the scores: they are taken as passed.

    \b
    Examples:
      richter size tail --delta-xi 0.1 --q 0.95
      richter size tail --delta-xi 0.1 --true-xi 0.2 --conditions 4 --usd-per-call 0.0004
      richter size tail --delta-xi 0.15 --model openai/gpt-4o-mini --tokens 80 150
    """
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
