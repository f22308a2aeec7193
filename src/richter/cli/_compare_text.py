"""A comparison in words and tables, for a terminal and for Markdown."""

from rich.console import Console
from rich.table import Table

from richter.audit import CompareReport
from richter.floors import ConditionSummary, GapFinding, PairResult
from richter.records import Verdict, markdown_safe, printable

__all__ = ["findings_of", "markdown", "show", "verdict_note"]

SHOWN_PAIRS = 40


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}%"


def _p(value: float) -> str:
    """A p-value; below one in ten thousand its size says nothing."""
    return "<0.0001" if value < 1e-4 else f"{value:.2g}"


def _rate(summary: ConditionSummary) -> str:
    """An error rate; with no error seen its upper limit, never 0."""
    if summary.error_rate is None or summary.error_interval is None:
        return "-"
    if summary.error_rate == 0:
        return f"< {100 * summary.error_interval.high:.2g}%"
    low, high = summary.error_interval.low, summary.error_interval.high
    return f"{100 * summary.error_rate:.1f}% [{100 * low:.1f}, {100 * high:.1f}]"


def findings_of(report: CompareReport, pair: PairResult) -> dict[str, GapFinding]:
    """The decided differences of a pair, by metric."""
    found = {"accuracy": pair.accuracy}
    if pair.calibration is not None:
        found["calibration"] = pair.calibration
    return found | report.severity.get((pair.a, pair.b), {})


def verdict_note(finding: GapFinding) -> str:
    """The verdict; a refuted one with the claim that it refutes, since the sentence states what is so."""
    if finding.verdict is Verdict.REFUTED:
        return f"refuted: '{printable(finding.claim)}'"
    return finding.verdict.value


def show(out: Console, report: CompareReport) -> None:
    """Print the comparison: sentences, then numbers."""
    comparison = report.comparison
    if len(comparison.conditions) == 2:
        for pair in comparison.pairs:
            for finding in findings_of(report, pair).values():
                out.print(f"{printable(finding.sentence)} ({verdict_note(finding)})")
            for row in report.shapes.get((pair.a, pair.b), {}).values():
                out.print(f"{printable(row['sentence'])} ({row['verdict']})")
            out.print()
            _pair_numbers(out, report, pair)
    else:
        out.print(printable(leaderboard_sentence(report)))
        for number, members in enumerate(comparison.groups, 1):
            out.print(f"  set {number}: {', '.join(printable(m) for m in members)}")
        out.print()
        _pair_table(out, report)
    for refusal in comparison.refused:
        out.print(f"Refused: {printable(refusal.a)} and {printable(refusal.b)}: {printable(refusal.reason)}.")
    out.print()
    _condition_table(out, report)
    for name, warnings in _warnings(report).items():
        for warning in warnings:
            out.print(f"  {printable(name)}: {printable(warning)}")
    for note in report.notes:
        out.print(f"  {printable(note)}")
    level = 1 - (1 - comparison.level) / comparison.tried
    small = f"Intervals at {100 * level:.4g}%; verdicts hold over all pairs of a metric together (Holm)"
    if comparison.tried > 1:
        small += f" and allow for the best of {comparison.tried} attempts"
    out.print(small + ". Exploratory: no locked plan (richter plan new gate).")


def leaderboard_sentence(report: CompareReport) -> str:
    """How many pairs are told apart, and into how many sets the conditions fall."""
    comparison = report.comparison
    verdicts = [p.accuracy.verdict for p in comparison.pairs]
    apart = sum(v in (Verdict.VERIFIED, Verdict.REFUTED) for v in verdicts)
    same = sum(v is Verdict.EQUIVALENT for v in verdicts)
    text = (
        f"{len(comparison.conditions)} conditions on {comparison.n_items:,} items: {apart} of {len(verdicts)} pairs "
        f"differ in accuracy, {same} are equivalent, {len(verdicts) - apart - same} are undecided"
    )
    if comparison.refused:
        text += f", {len(comparison.refused)} are refused"
    return text + ". Sets in which no pair is told apart (they may overlap, and are not ranks):"


def _warnings(report: CompareReport) -> dict[str, list[str]]:
    found = {c.name: list(c.warnings) for c in report.comparison.conditions}
    for name, more in report.warnings.items():
        found[name] += more
    return {name: texts for name, texts in found.items() if texts}


def _pair_numbers(out: Console, report: CompareReport, pair: PairResult) -> None:
    detail = pair.accuracy.gap.detail
    table = Table("", "b - a", "interval", "p", "visible gap", "floor", "labels needed", box=None, pad_edge=False)
    for metric, finding in findings_of(report, pair).items():
        gap = finding.gap
        needed = (
            "-"
            if finding.verdict is not Verdict.UNDECIDED or gap.labels_needed is None
            else (f"{gap.labels_needed:,} for {gap.labels_needed_for:g}")
        )
        table.add_row(
            metric.replace("_", " "),
            f"{gap.delta:+.4f}",
            f"[{gap.interval.low:+.4f}, {gap.interval.high:+.4f}]",
            _p(finding.p_familywise),
            "-" if gap.visible is None else f"{gap.visible:.4f}",
            "-" if gap.floor is None else f"{gap.floor:.4f}",
            needed,
        )
    out.print(table)
    decided = [f for f in findings_of(report, pair).values() if f.verdict is not Verdict.UNDECIDED]
    if any(f.gap.floor is not None and abs(f.gap.delta) < f.gap.floor for f in decided):
        out.print(
            "  A gap below its floor may be decided: floors are rough figures from theory, the interval is measured."
        )
    worth = detail.get("worth_unpaired")
    text = f"{pair.n_paired:,} items paired: {detail['fixed']} fixed, {detail['broken']} broken"
    if worth is not None:
        text += f"; worth {worth:,.0f} unpaired items a side"
    out.print(f"  {text}")
    boot = detail["bootstrap_interval"]
    out.print(f"  {detail['method']}; paired bootstrap [{boot.low:+.4f}, {boot.high:+.4f}]")
    items = pair.items
    if items["only_a"] or items["only_b"]:
        filled = items["missing_as_wrong"]
        out.print(
            f"  not shared: {items['only_a']} items of {printable(pair.a)}, {items['only_b']} of {printable(pair.b)}; "
            f"counted as wrong they would give {filled['delta']:+.4f} "
            f"[{filled['interval']['low']:+.4f}, {filled['interval']['high']:+.4f}]"
        )
        for side, name in (("a", pair.a), ("b", pair.b)):
            left = items.get(f"dropped_from_{side}")
            if left and (left["harder"] or left["easier"]):
                word = "harder" if left["harder"] else "easier"
                out.print(
                    f"  the {left['n']} items left out of {printable(name)} are {word}: "
                    f"{_percent(left['accuracy'])} right against {_percent(left['accuracy_of_paired'])} "
                    f"(p {_p(left['p'])})"
                )
    for flag in pair.flags:
        out.print(f"  flag: {printable(flag)}")


def _pair_table(out: Console, report: CompareReport) -> None:
    """The pairs that are not told apart; of the others --json has all."""
    alike = (Verdict.UNDECIDED, Verdict.EQUIVALENT)
    order = sorted(
        (p for p in report.comparison.pairs if p.accuracy.verdict in alike), key=lambda p: -abs(p.accuracy.gap.delta)
    )
    table = Table("not told apart", "", "points", "interval", "p*", "visible", "labels for", box=None, pad_edge=False)
    for pair in order[:SHOWN_PAIRS]:
        finding = pair.accuracy
        gap = finding.gap
        table.add_row(
            printable(f"{pair.b} and {pair.a}", limit=60),
            finding.verdict.value,
            f"{100 * gap.delta:+.1f}",
            f"[{100 * gap.interval.low:+.1f}, {100 * gap.interval.high:+.1f}]",
            _p(finding.p_familywise),
            "-" if gap.visible is None else f"{100 * gap.visible:.1f}",
            f"{gap.labels_needed:,}" if finding.verdict is Verdict.UNDECIDED and gap.labels_needed else "",
        )
    if order:
        out.print(table)
        aim = 100 * order[0].accuracy.gap.labels_needed_for
        out.print(
            "  points: first minus second. p*: over all pairs together. visible: the smallest gap these items show "
            f"with 80% power. labels for: items that settle a gap of {aim:g} points."
        )
    if len(order) > SHOWN_PAIRS:
        out.print(f"  … and {len(order) - SHOWN_PAIRS} pairs more (--json has all)")
    calibration = [p.calibration for p in report.comparison.pairs if p.calibration is not None]
    if calibration:
        apart = sum(c.verdict not in alike for c in calibration)
        out.print(f"In calibration {apart} of {len(calibration)} pairs differ (--json has all).")
    for pair in report.comparison.pairs:
        for flag in pair.flags:
            out.print(f"  flag: {printable(pair.a)} and {printable(pair.b)}: {printable(flag)}")


def _condition_table(out: Console, report: CompareReport) -> None:
    table = Table("condition", "n", "accuracy", "error rate", "ECE (debiased)", "ECE interval", "L", "floor", box=None)
    conditions = sorted(report.comparison.conditions, key=lambda c: (c.error_rate is None, c.error_rate))
    for c in conditions:
        table.add_row(
            printable(c.name, limit=30),
            f"{c.n:,}",
            _percent(None if c.error_rate is None else 1 - c.error_rate),
            _rate(c),
            "-" if c.ece is None else f"{c.ece.ece:.3f} ({c.ece.debiased:.3f})",
            "-" if c.ece is None else f"[{c.ece.interval.low:.3f}, {c.ece.interval.high:.3f}]",
            "-" if c.lipschitz is None else f"{c.lipschitz.estimate:.2f}",
            "-" if c.floor is None else f"{c.floor:.3f}",
        )
    out.print(table)
    out.print("  floor: (L e / n)^(1/3), a rate with constant 1; the intervals decide.")


def markdown(report: CompareReport) -> str:
    """A short report for a pull request: the sentences, one table, the warnings."""
    comparison = report.comparison
    lines = ["## Comparison", ""]
    if len(comparison.conditions) == 2:
        for pair in comparison.pairs:
            lines += [
                f"- **{f.verdict.value}** {markdown_safe(f.sentence)}"
                + (f" (refuted: {markdown_safe(f.claim)})" if f.verdict is Verdict.REFUTED else "")
                for f in findings_of(report, pair).values()
            ]
    else:
        lines.append(markdown_safe(leaderboard_sentence(report)))
        lines += [f"- {', '.join(markdown_safe(m) for m in members)}" for members in comparison.groups]
    lines += [
        f"- **refused** {markdown_safe(r.a)} and {markdown_safe(r.b)}: {markdown_safe(r.reason)}."
        for r in comparison.refused
    ]
    lines += ["", "| condition | n | accuracy | error rate |", "|---|---|---|---|"]
    for c in comparison.conditions:
        accuracy = _percent(None if c.error_rate is None else 1 - c.error_rate)
        lines.append(f"| {markdown_safe(c.name)} | {c.n:,} | {accuracy} | {_rate(c)} |")
    warnings = [
        f"- {markdown_safe(name)}: {markdown_safe(text)}" for name, texts in _warnings(report).items() for text in texts
    ]
    if warnings:
        lines += ["", *warnings]
    return "\n".join(lines) + "\n"
