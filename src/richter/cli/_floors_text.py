"""What a grades file shows of each condition, as tables."""

from rich.console import Console
from rich.table import Table

from richter.audit import FloorsReport
from richter.records import printable


def show_floors(out: Console, report: FloorsReport) -> None:
    """Print measured values with the floors beside them."""
    for measured in report.conditions:
        s = measured.summary
        if s.error_rate is None or s.error_rate_interval is None:
            out.print(f"{printable(s.name)}: {printable('; '.join(s.warnings))}.")
            continue
        rate = f"{100 * s.error_rate:.1f}%" if s.error_rate else f"under {100 * s.error_rate_interval.high:.2g}%"
        text = f"{printable(s.name)} is wrong in {rate} of {s.n:,} items"
        if s.ece_interval is not None:
            low, high = s.ece_interval.low, s.ece_interval.high
            text += f"; ECE {s.ece_debiased:.3f} [{low:.3f}, {high:.3f}]"
        out.print(text + ".")
    out.print()
    table = Table(
        "condition", "ECE half-width", "floor*", "L (interval; noise)", "accuracy floor", "knows its gap", box=None
    )
    for measured in report.conditions:
        s, knows = measured.summary, measured.self_evaluation
        smooth = s.lipschitz_detail
        table.add_row(
            printable(s.name, limit=30),
            "-" if s.ece_interval is None else f"{s.ece_interval.half_width:.4f}",
            "-" if s.floor is None else f"{s.floor:.4f}",
            "-"
            if smooth is None
            else f"{smooth.estimate:.2f} [{smooth.interval.low:.2f}, {smooth.interval.high:.2f}; {smooth.noise:.2f}]",
            "-" if measured.accuracy_floor is None else f"{measured.accuracy_floor:.4f}",
            "-"
            if knows is None
            else f"rho {knows.rho_gap:+.2f} (p {knows.p_gap:.2g}); right/wrong {knows.rho_accuracy:+.2f} "
            f"(p {knows.p_accuracy:.2g})",
        )
    out.print(table)
    out.print("  * (L e / n)^(1/3), a rate with constant 1: the measured half-width beside it decides.")
    if report.subjects is not None:
        noise = report.subjects
        out.print(
            f"By subject: {100 * noise.share_below_floor:.0f}% of gaps lie below the accuracy floor, "
            f"{100 * noise.share_undecided:.0f}% of pairs are not told apart, {noise.unranked} of "
            f"{len(noise.subjects)} subjects rank nobody; the order changes in "
            f"{100 * noise.mean_instability:.0f}% of resamples."
        )
    for measured in report.conditions:
        for warning in measured.summary.warnings:
            out.print(f"  {printable(measured.summary.name)}: {printable(warning)}")
    for note in report.notes:
        out.print(f"  {printable(note)}")
