"""`richter size`: items for claims about rates, gaps, calibration, groups and pipelines."""

import math
from typing import Any

import click
from rich.table import Table
from scipy.special import ndtri

from richter import floors
from richter.claims import METRICS, as_sample, cheapest_design, check_margin, variance_shares
from richter.cli._compare import parse_margin, parse_share
from richter.cli._output import console, json_option, write_json
from richter.cli._reading import reading_options, split_sources
from richter.errors import InputError
from richter.records import plain
from richter.tables import ReadOptions, outcomes, read_tables

RATE = "rate, constant 1"

level_option = click.option("--level", type=click.FloatRange(0.5, 0.9999), default=0.95)
power_option = click.option("--power", type=click.FloatRange(0.05, 0.9999), default=0.8)


def correlation_options(command: Any) -> Any:
    """Options for items that come in clusters."""
    command = click.option("--intraclass", type=float, help="Correlation of items within a cluster.")(command)
    return click.option("--cluster-size", type=float, help="Items a cluster (passage, template, dialogue).")(command)


def _inflation(cluster_size: float | None, intraclass: float | None) -> float:
    if cluster_size is None and intraclass is None:
        return 1.0
    return 1 / floors.effective_n(1, cluster_size=cluster_size, intraclass=intraclass)


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
    cluster_size: float | None,
    intraclass: float | None,
    level: float,
    json_path: str | None,
) -> None:
    """Items to measure an error rate, or to show that it is below a limit.

    \b
    richter size error-rate --rate 0.1 --half-width 2pt
    richter size error-rate --below 0.01 --errors 2
    """
    inflation = _inflation(cluster_size, intraclass)
    out = console(json_path)
    if below is not None:
        n = math.ceil(floors.zero_error_labels(below, errors=errors, level=level) * inflation)
        write_json({"labels": n, "below": below, "errors": errors, "level": level}, json_path)
        out.print(
            f"{n:,} items with at most {errors} errors show a rate below {below:g} "
            f"({100 * level:g}%, exact, one-sided)."
        )
        return
    if rate is None or half_width is None:
        raise click.UsageError("Give --below, or --rate and --half-width.")
    n = math.ceil(floors.proportion_labels(half_width, rate, level=level) * inflation)
    write_json({"labels": n, "rate": rate, "half_width": half_width, "level": level}, json_path)
    out.print(f"{n:,} items give {rate:g} +- {half_width:g} ({100 * level:g}%).")


@click.command("gap")
@click.argument("sources", nargs=-1, metavar="[FILE|RUN A B]")
@click.option("--margin", type=parse_margin, required=True, metavar="2pt", help="The gap that matters.")
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
    margin: float,
    discordance: float | None,
    accuracy: tuple[float, float] | None,
    phi: float,
    pairs: int,
    on: str | None,
    cost_item: float,
    cost_draw: float,
    cluster_size: float | None,
    intraclass: float | None,
    reading: ReadOptions,
    power: float,
    level: float,
    json_path: str | None,
) -> None:
    """Items, asked of both conditions, that settle a gap as large as the margin.

    With data of two conditions the spread comes from them: from groups, items and draws apart, with what is cheaper,
    more items or more draws of each.

    \b
    richter size gap --margin 2pt --accuracy 0.85 0.87 --phi 0.4
    richter size gap --margin 1pt --discordance 0.12 --pairs 10
    richter size gap pilot.csv old new --margin 2pt --cost-item 0.5 --cost-draw 0.01
    """
    alpha = (1 - level) / pairs
    if sources:
        _gap_from_data(
            sources, reading, margin=margin, alpha=alpha, power=power, on=on, costs=(cost_item, cost_draw),
            json_path=json_path,
        )  # fmt: skip
        return
    if discordance is None:
        if not accuracy:
            raise click.UsageError("Give data of two conditions, --discordance, or --accuracy A B.")
        p, q = accuracy
        both = p * q + phi * math.sqrt(p * (1 - p) * q * (1 - q))
        discordance = p + q - 2 * both
        if discordance <= 0 or both > min(p, q):
            raise InputError(f"phi={phi:g} is not possible with these accuracies.", remedy="Give a smaller --phi.")
    check_margin(METRICS["accuracy"], margin)
    inflation = _inflation(cluster_size, intraclass)
    differ = math.ceil(floors.paired_gap_labels(margin, discordance, alpha=alpha, power=power) * inflation)
    same = math.ceil(
        floors.paired_gap_labels(margin, discordance, alpha=alpha, power=power, equivalence=True) * inflation
    )
    payload = {
        "labels": max(differ, same),
        "to_show_the_gap": differ,
        "to_show_equivalence": same,
        "margin": margin,
        "discordance": discordance,
        "pairs": pairs,
        "power": power,
        "level": level,
    }
    write_json(payload, json_path)
    out = console(json_path)
    out.print(f"{max(differ, same):,} items, asked of both, settle a gap of {100 * margin:g} points either way.")
    out.print(f"  {differ:,} to show a true gap of that size, {same:,} to show equivalence if there is none")
    out.print(
        f"  power {power:g}, {100 * level:g}% over {pairs} pair{'s' * (pairs > 1)}, discordance {discordance:.3f}"
    )


def _gap_from_data(
    sources: tuple[str, ...],
    reading: ReadOptions,
    *,
    margin: float,
    alpha: float,
    power: float,
    on: str | None,
    costs: tuple[float, float],
    json_path: str | None,
) -> None:
    """Items and draws from a pilot: an error of margin / (z_a/2 + z_power) shows a true gap of the margin."""
    files, names = split_sources(sources)
    tables = read_tables(*files, options=reading, shown=names or None)
    chosen = list(names) or list(tables.conditions)
    if len(chosen) != 2:
        raise InputError(
            f"{len(chosen)} conditions are no pair ({', '.join(chosen)}).", remedy="Name two of them after the file."
        )
    sample = as_sample(outcomes(tables, on or tables.metric or "accuracy"))
    check_margin(sample.metric, margin)
    shares = variance_shares(sample, chosen[0], chosen[1])
    error = margin / float(ndtri(1 - alpha / 2) + ndtri(power))
    now = max(1, round(shares.draws_per_item))
    items = math.ceil((shares.error(1, now) / error) ** 2)
    design = cheapest_design(shares, error, cost_item=costs[0], cost_draw=costs[1])
    row = {"labels": items, "draws": now, "margin": margin, "power": power, "shares": plain(shares)}
    write_json(row | {"cheapest": plain(design)}, json_path)
    out = console(json_path)
    words = sample.metric
    out.print(
        f"{items:,} items, asked of both with {now} draw{'s' * (now > 1)} each, show a true gap of "
        f"{words.amount(margin)}{words.suffix} (power {power:g})."
    )
    out.print(f"  {shares.sentence()}")
    out.print(f"  {design.sentence}", highlight=False)


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
    richter size calibration --delta 0.02 --error-rate 0.05
    richter size calibration --delta 0.05 --error-rate 0.05 --lipschitz 2 --stages 3
    """
    smooth = lipschitz if stages == 1 else lipschitz**stages + 1
    result = floors.labels_needed(delta, error_rate, lipschitz=smooth, power=power)
    write_json(result.to_dict() | {"labels": result.estimation}, json_path)
    out = console(json_path)
    out.print(f"{result.estimation:,} labels estimate calibration error to {delta:g} (L e / d^3; {RATE}).")
    if result.detection_test is not None:
        out.print(f"  {result.detection_test:,} detect a constant excess error of {delta:g} (exact, power {power:g})")
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
    richter size groups --groups 4 --min-share 0.1 --delta 0.03 --error-rate 0.05
    richter size groups --preset eu-ai-act
    """
    if preset is not None:
        result = floors.PRESETS[preset].labels()
    elif min_share is None or delta is None or error_rate is None:
        raise click.UsageError("Give --preset, or --min-share, --delta and --error-rate.")
    else:
        result = floors.group_labels(delta, error_rate, min_share=min_share, groups=count, lipschitz=lipschitz)
    write_json(result.to_dict() | {"labels": result.total}, json_path)
    out = console(json_path)
    out.print(
        f"{result.total:,} labels verify {result.groups} groups one after the other to {result.delta:g} ({RATE})."
    )
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_row("until the smallest group has enough", f"{result.smallest_group:,}", f"L e / (share d^3); {RATE}")
    table.add_row("with chosen labels", f"{result.active_rate.value:,}", "a rate that is not proved")
    out.print(table)
