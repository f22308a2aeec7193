"""What `richter size` and its commands print: the items that a claim needs, and what published scores show."""

import math
from collections.abc import Sequence
from typing import Any

import click
from rich.console import Console

from richter import floors
from richter.audit import (
    check_expectations,
    inflate_for_clusters,
    published_scores,
    size_from_expectation,
    size_from_pilot,
)
from richter.cli._io import COMMANDLINE, PLAIN, listing, publish, split_sources
from richter.evidence import Policy
from richter.records import counted, printable
from richter.stats import wilson
from richter.stats._proportion import MIN_EVENTS
from richter.tables import ReadOptions, read_tables
from richter.tail import size_tail as size_of_tail
from richter.words import describe_gap_size, describe_pilot_size


def size(
    published: str | None,
    rate: float | None,
    half_width: float | None,
    below: float | None,
    errors: int,
    **options: Any,
) -> int | None:
    """Print and write the items for a claim on an error rate, where one is given, else on a gap of two conditions.

    Of published scores it decides the pairs; the exit status is theirs.
    """
    if published is not None:
        _refuse_beside_published()
        return _decide_board(published, level=options["level"], json_path=options["json_path"])
    reading = options["reading"]
    if (reading.weight or reading.macro) and not options["sources"]:
        raise click.UsageError("--weight and --macro need data.")
    if below is None and rate is None and half_width is None:
        size_gap(**options)
        return None
    shared = {name: options[name] for name in ("level", "json_path", "cluster_size", "intraclass")}
    size_error_rate(rate=rate, half_width=half_width, below=below, errors=errors, **shared)
    return None


def _refuse_beside_published() -> None:
    """Refuse what somebody typed beside a table of published scores: all but the level and where to write."""
    context = click.get_current_context()
    own = [p for p in context.command.params if p.name not in ("published", "level", "json_path")]
    typed = [p.human_readable_name if isinstance(p, click.Argument) else p.opts[0] for p in own
             if p.name is not None and context.get_parameter_source(p.name) is COMMANDLINE]  # fmt: skip
    if typed:
        raise click.UsageError(f"--published takes --level and --json only: leave out {', '.join(typed)}.")


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
            alone = "; with so few errors each cluster counts once"
        else:
            n = inflate_for_clusters(n, **clusters, tail=1 - level)
        asked: dict[str, float] = {"below": below, "errors": errors}
        allowed = f"at most {counted(errors, 'error')}" if errors else "no error"
        message = f"You need {n:,} questions with {allowed} to show a rate below {100 * below:g}% "
        message += f"(one-sided {at}, exact{alone})."
    elif rate is None or half_width is None:
        raise click.UsageError("Use --below 1%, or --rate 5% --half-width 2pt.")
    else:
        single = floors.proportion_labels(half_width, rate, level=level)
        n, span = (
            inflate_for_clusters(single, **clusters, tail=(1 - level) / 2),
            wilson(rate * single, single, level=level),
        )
        asked = {"rate": rate, "half_width": half_width}
        message = f"You need {n:,} questions to measure a rate of {100 * rate:g}% within {100 * half_width:g} points "
        message += f"({at} CI {100 * span.low:.3g}% to {100 * span.high:.3g}%)."
    publish({"labels": n, **asked, "level": level}, json_path).print(message, soft_wrap=True)


def size_gap(
    sources: tuple[str, ...],
    margin: dict[str, float],
    discordance: float | None,
    accuracy: tuple[float, float] | None,
    phi: float | None,
    on: str | None,
    cost_item: float,
    cost_draw: float,
    reading: ReadOptions,
    json_path: str | None,
    cluster_size: float | None,
    intraclass: float | None,
    pairs: int,
    power: float,
    level: float,
    **vouched: Any,
) -> None:
    """Print and write the questions that settle a gap as large as the margin."""
    clusters: dict[str, Any] = {"cluster_size": cluster_size, "intraclass": intraclass}
    shared: dict[str, Any] = {"pairs": pairs, "power": power, "level": level}
    if not sources:
        stated = margin.get("accuracy", margin.get(""))
        expected: dict[str, Any] = {"discordance": discordance, "accuracy": accuracy, "phi": phi}
        found = size_from_expectation(stated, unpaired=vouched["unpaired"], **expected, **clusters, **shared)
        _print_lines(publish(found, json_path), describe_gap_size(found))
        return
    check_expectations(
        has_data=True, unpaired=vouched["unpaired"], accuracy=accuracy, discordance=discordance, phi=phi, **clusters
    )
    files, names = split_sources(sources)
    tables = read_tables(*files, options=reading)
    dataset = tables.select(names) if names else tables
    costs: dict[str, Any] = {"cost_item": cost_item, "cost_draw": cost_draw}
    pilot = size_from_pilot(dataset, margins=margin, on=on, policy=Policy(**vouched), **costs, **shared)
    _print_lines(publish(pilot, json_path, inputs=files), describe_pilot_size(pilot))


def _print_lines(out: Console, lines: Sequence[str]) -> None:
    """Print the answer, and below it what belongs to it."""
    for k, line in enumerate(lines):
        out.print(f"{'  ' * (k > 0)}{printable(line)}", highlight=False, soft_wrap=True)


FLOOR = 500  # of exceedances, by G3


def size_tail(
    delta: float,
    usd_per_call: float | None,
    json_path: str | None,
    **asked: Any,
) -> None:
    """Items per condition for a claim that two tail shapes differ."""
    size = size_of_tail(delta, usd_per_call=usd_per_call, **asked)
    out = publish(size, json_path)
    cost = "" if size.money_usd is None else f", {size.money_usd:,.2f} USD"
    out.print(
        f"You need about {size.items:,} questions for each of {asked['conditions']} models "
        f"({size.calls:,} answers{cost}) to show a difference of {size.true:g} in the shape of the tail, "
        f"where {delta:g} matters."
    )
    out.print(
        f"  {size.exceedances:,} exceedances of the {asked['q']:g} quantile each: {size.chance:.0%} of studies pass "
        "G3 to G5, P1 and P2; of these"
    )
    out.print(f"  {size.exceedances_z:>9,}  for G3: a z-test of {delta:g} (eq. 2; {size.items_z:,} items)")
    out.print(f"  {size.exceedances_p1:>9,}  for disjoint intervals (P1) at {1 - size.alpha:.4g} alone")
    if size.pairs > 1:
        level = 1 - size.alpha / size.pairs
        out.print(f"  {size.exceedances_p1_family:>9,}  for them at the level {level:.4g} of {size.pairs} pairs")
    out.print(f"  {FLOOR:>9,}  for the floor")
    family = "" if size.pairs == 1 else f" ({size.p1_chance_family:.0%} at the family-wise level)"
    out.print(
        f"  With eq. 2's exceedances alone the intervals come out disjoint in {size.p1_chance:.0%} of studies{family}."
    )
    out.print(
        f"  Of a true difference of {delta:g} itself at most half pass, whatever their size: P2 asks the estimate to "
        "exceed it."
    )


def _decide_board(file: str, *, level: float, json_path: str | None) -> int:
    """Print and write the decisions on all pairs of a table of scores; the exit status."""
    board = floors.published_board(published_scores(file), level=level)
    out = publish(board, json_path, inputs=[file])
    out.print(board.sentence)
    columns = "benchmark: {r.name}|pairs: {r.pairs:,}|shown: {r.shown:,}|not shown: {r.undecided:,}|"
    out.print(listing(columns + "below the paper's floor: {r.below:,}", board.benchmarks, **PLAIN))
    for claim in [c for c in board.claims if not c.decided][:10]:
        out.print(printable(f"  {claim.sentence}"))
    return 0 if all(c.decided for c in board.claims) else 4
