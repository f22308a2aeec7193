"""`richter label agreement`: how far raters and judges agree, and what that is worth."""

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from richter.audit import JudgeBias, JudgeStudy, JudgeTrust, LoneRater, SlopeRanks, measure_agreement, study_judges
from richter.cli._io import PLAIN, console, grid, write_json
from richter.errors import InputError
from richter.ratings import Agreement, Correction, JudgeReport, LabelNoise, Undefined
from richter.records import Interval, Verdict, counted, printable
from richter.stats import Corrected, Kappa, LabelAgreement, Leniency, Screening
from richter.tables import Dataset, RatingsFile, ReadOptions, ratings_of, read_tables
from richter.words import describe_ci


def label_agreement(file: str, level: float, reading: ReadOptions, json_path: str | None, **options: Any) -> None:
    """Print and write how far raters and judges agree, and what that is worth."""
    out = console(json_path)
    rng = np.random.default_rng(0)
    tables = read_tables(file, options=reading)
    trust = study_judges(tables, level=level)
    source = _ratings_in(tables, file, is_needed=trust is None)
    report = measure_agreement(source, rng=rng, file=str(Path(file)), level=level, **options)
    report = dataclasses.replace(report, trust=trust)
    out.print(f"Intervals are at {100 * level:.4g}%.")
    if trust is not None:
        print_trust(out, trust)
        out.print()
    for name, found in report.kinds.items():
        if isinstance(found, LoneRater):
            out.print(
                f"{name} ratings: one rater ({printable(found.raters[0])}), {counted(found.n_answers, 'answer')}."
            )
            continue
        print_agreement(out, found)
        if report.by and name in report.groups:
            print_groups(out, report.by, report.groups[name])
    for name, judged in report.references.items():
        print_judges(out, judged)
        if name in report.corrected:
            print_corrections(out, report.corrected[name], kind=name, stratified=report.stratified)
    if isinstance(report.slopes, SlopeRanks):
        out.print(
            f"Slopes by people and by judges: rank correlation {report.slopes.correlation:.2f} over "
            f"{len(report.slopes.people)} conditions (p = {report.slopes.p_value:.2g})."
        )
    write_json(report, json_path, inputs=[file])


def print_trust(out: Console, trust: JudgeTrust) -> None:
    """Whether each judge can be trusted: agreement with labels, biases, and scores as people would grade."""
    for study in trust.judges:
        out.print(f"Can I trust the judge {printable(study.judge, limit=40)}?")
        if study.agreement is None:
            out.print("  Fewer than 10 human labels: agreement with people is not known. Next: richter label")
        else:
            _print_label_agreement(out, study.agreement, study)
        for bias in study.biases:
            _print_bias(out, bias, study)
        for kind, why in study.unmeasured.items():
            out.print(f"  {kind}: not measured. {why}")
    if trust.position is not None:
        _print_position(out, trust.position)
    for score in trust.corrected:
        out.print(
            f"  {printable(score.condition, limit=40)}: {score.measure} {score.estimate:.3f} "
            f"{describe_ci(score.interval)} as people would grade, by {counted(score.labels, 'label')}."
        )


def _print_label_agreement(out: Console, found: LabelAgreement, study: JudgeStudy) -> None:
    out.print(f"  Against {counted(found.n, 'human label')} on right and wrong:")
    rows = [("Cohen's kappa", found.kappa, found.kappa_interval), ("Gwet's AC1", found.ac1, found.ac1_interval),
            ("agreement", found.agreement, found.agreement_interval)]  # fmt: skip
    for name, value, interval in rows:
        out.print(f"    {name:24s} {value:6.2f}  {describe_ci(interval)}")
    for name, share in (("wrong answers caught", study.sensitivity), ("right answers passed", study.specificity)):
        if share is not None:
            out.print(f"    {name:24s} {_share(share)}")


def _print_bias(out: Console, bias: JudgeBias, study: JudgeStudy) -> None:
    """One bias: its size in points, and the comparison that it moves most."""
    claim = bias.claim
    span = claim.plain_interval or claim.interval
    ends = "" if span is None else f" ({100 * span.level:.4g}% CI {100 * span.low:+.1f} to {100 * span.high:+.1f})"
    is_shown = claim.verdict in (Verdict.VERIFIED, Verdict.REFUTED)
    known = "" if study.is_true else ", beyond what that judge shares"
    out.print(
        f"  {bias.kind}: {claim.conditions[1]} score {100 * (claim.estimate or 0.0):+.1f} points{ends}, "
        f"given the same correctness by {printable(study.reference, limit=40)}{known}; "
        f"{'a bias' if is_shown else 'no bias shown'}."
    )
    if is_shown and bias.shifts:
        pair, shift = max(bias.shifts.items(), key=lambda row: abs(row[1]))
        out.print(f"    It moves {printable(pair, limit=80)} by {100 * shift:+.1f} points.")


def _print_position(out: Console, bias: JudgeBias) -> None:
    """How much more often than half the answer that is shown first wins."""
    claim, span = bias.claim, bias.claim.plain_interval or bias.claim.interval
    ends = "" if span is None else f" ({100 * span.level:.4g}% CI {100 * span.low:+.1f} to {100 * span.high:+.1f})"
    is_shown = claim.verdict in (Verdict.VERIFIED, Verdict.REFUTED)
    out.print(
        f"Position: the answer shown first wins {100 * (claim.estimate or 0.0):+.1f} points{ends} more often than half "
        f"of the time, by {claim.n:,} pairs in both orders; {'a bias' if is_shown else 'no bias shown'}."
    )


def _ratings_in(tables: Dataset, file: str, *, is_needed: bool) -> RatingsFile:
    """The ratings of a dataset; none are an error where no judge graded either."""
    found = ratings_of(tables)
    if not found.ratings and is_needed:
        raise InputError(
            f"{file} holds no ratings.", remedy="Run `richter audit --only judge` or `richter label` on it first."
        )
    return found


KINDS = {"human": "People", "judge": "Judges", "rule": "Rules"}


def _word(value: float) -> str:
    """Cicchetti's words for a reliability; taken at the lower limit, so that the data show it."""
    return next((w for w, limit in (("excellent", 0.75), ("good", 0.6), ("fair", 0.4)) if value >= limit), "poor")


def print_agreement(out: Console, a: Agreement) -> None:
    """Agreement within one kind: a sentence, then each measure with its interval."""
    k = len(a.raters)
    if isinstance(a.icc, Undefined):
        out.print(f"{KINDS[a.kind]}: their agreement is not known. {printable(a.icc.why)}")
    else:
        single, mean = _word(a.icc.single_interval.low), _word(a.icc.average_interval.low)
        both = f"One score is {single} in reliability, the mean of {a.icc.n_raters} is {mean}"
        both = f"Reliability is {single}, of one score and of the mean of {a.icc.n_raters}" if single == mean else both
        out.print(f"{KINDS[a.kind]}: {both[0].lower()}{both[1:]} (by the low end of the interval).")
    who = {"human": "people", "judge": "judges", "rule": "rules"}[a.kind]
    dealt = (
        "every one's score"
        if a.design == "crossed"
        else f"{counted(a.each, 'score')} each ({who} in turn); all of them count"
    )
    out.print(
        f"  {k} {who}, {counted(a.n_ratings, 'rating')} of {a.n_answers:,} answers, {a.n_complete:,} with {dealt}."
    )
    if a.twice:
        out.print(
            f"  {counted(a.twice, 'answer was', 'answers were')} rated again by the same rater: the last rating counts."
        )
    if a.moved:
        out.print(f"  Scores between half steps, put on the nearest: {a.moved:,}.")
    if a.weighted:
        out.print("  Labels were drawn by stratum: kappas are weighted back to all answers, ICC and alpha are not.")
    if isinstance(a.noise, LabelNoise):
        share = f"{a.noise.differ:.0%} {describe_ci(a.noise.differ_interval)}"
        out.print(
            f"  They differ on {share} of {a.noise.answers:,} answers. One rating varies by {a.noise.spread:.2f} "
            "levels; corrected intervals include it."
        )
    for name, value, interval in _agreement_measures(a):
        out.print(f"  {name:48s} {value:6.3f}  {describe_ci(interval)}")
    out.print()


def _agreement_measures(a: Agreement) -> Iterator[tuple[str, float, Interval | None]]:
    """Each measure of agreement that is defined: its name, value and interval."""
    if not isinstance(a.icc, Undefined):
        yield "ICC(2,1), one rater", a.icc.single, a.icc.single_interval
        yield f"ICC(2,{a.icc.n_raters}), their mean", a.icc.average, a.icc.average_interval
    if not isinstance(a.alpha, Undefined):
        yield "Krippendorff's alpha, ordinal", a.alpha.estimate, a.alpha.interval
    if not isinstance(a.fleiss, Undefined):
        yield "Fleiss' kappa (same level or not)", a.fleiss.estimate, a.fleiss.interval
    if isinstance(a.mechanisms, Kappa):
        yield "Fleiss' kappa, mechanisms", a.mechanisms.estimate, a.mechanisms.interval
    for title, kappas in (("linear", a.kappa_linear), ("quadratic", a.kappa_quadratic)):
        for pair, kappa in list(kappas.items())[:6]:
            if not isinstance(kappa, Undefined):
                yield f"kappa, {title}, {printable(pair, limit=40)}", kappa.estimate, kappa.interval


def print_groups(out: Console, by: str, groups: Mapping[str, Agreement]) -> None:
    """Agreement for each condition or domain."""
    rows = []
    for name, a in groups.items():
        told = ["undefined", "undefined"]
        if not isinstance(a.icc, Undefined):
            both = (a.icc.single, a.icc.single_interval), (a.icc.average, a.icc.average_interval)
            told = [f"{value:.2f} {describe_ci(interval)}" for value, interval in both]
        ordinal = (
            "undefined" if isinstance(a.alpha, Undefined) else f"{a.alpha.estimate:.2f} {describe_ci(a.alpha.interval)}"
        )
        rows.append([printable(name, limit=40), f"{a.n_answers:,}", *told, ordinal])
    out.print(grid(f"{by}|answers|ICC(2,1)|ICC(2,k)|alpha", rows, **PLAIN))
    out.print()


def _share(s: Any) -> str:
    return "none" if s.estimate is None else f"{s.estimate:.2f} {describe_ci(s.interval)} of {s.n}"


def print_judges(out: Console, r: JudgeReport) -> None:
    """Judges against their reference, in plain words."""
    panel = r.screening.get("panel")
    if panel is None or isinstance(panel, Undefined):
        out.print(f"We can't say how far to trust the {r.kind}s. {panel.why if panel else ''}")
    else:
        _print_panel(out, r, panel)
    if not isinstance(r.leniency, Undefined):
        _print_leniency(out, r, r.leniency)
    _print_missing(out, r)
    out.print()


def _print_panel(out: Console, r: JudgeReport, panel: Screening) -> None:
    """The judges' mean against the reference: bias, overcalls, and how often it is right at each severity."""
    side = "harsher" if panel.bias > 0 else "more lenient"
    whose = "people" if r.reference == "human" else "rules"
    span = "" if panel.bias_interval is None else f" {describe_ci(panel.bias_interval, sign=True)}"
    judged = "judges' mean is" if r.kind == "judge" else "rules are"
    by = f"{side} by {abs(panel.bias):.2f}{span} on average"
    out.print(f"Compared with {whose} on {counted(panel.n, 'answer')}, the {judged} {by}.")
    if r.weighted:
        out.print(
            "  Labels were drawn by stratum; sensitivity, PPV and overcall are weighted back to all judged answers."
        )
    elif r.reference == "human":
        out.print("  These figures are about the labelled answers only: it is not known how they were drawn.")
    overcall = r.overcall["panel"]
    if not isinstance(overcall, Undefined) and overcall.estimate is not None:
        out.print(
            f"  Of {counted(overcall.n, 'answer')} scored 2.0, the reference finds {overcall.estimate:.0%} "
            f"{describe_ci(overcall.interval)} harmless (at most 0.5): overcalls."
        )
    known = {name: share for name, share in r.overcall_by_condition.items() if not isinstance(share, Undefined)}
    parts = [f"{printable(n, limit=30)} {s.estimate:.0%} of {s.n}" for n, s in known.items() if s.estimate is not None]
    if len(parts) > 1:
        out.print(f"  Overcalls by model or prompt: {', '.join(parts)}.")
    rows = ([f"{row.threshold:.1f}", _share(row.sensitivity), _share(row.ppv)] for row in panel.rows)
    out.print(grid("severity >=|caught (sensitivity)|right when flagged (PPV)", rows, **PLAIN))


def _print_leniency(out: Console, r: JudgeReport, found: Leniency) -> None:
    """How harsh each judge is, and what changes without it."""
    changes = () if isinstance(r.leave_one_out, Undefined) else r.leave_one_out
    rows = []
    for effect in found.effects:
        change = f"{changes[effect.judge].mean_change:+.2f}" if changes else "undefined"
        name = printable(r.judges[effect.judge], limit=40)
        rows.append([name, f"{effect.n:,}", f"{effect.estimate:+.2f} {describe_ci(effect.interval)}", change])
    out.print(grid("judge|scores|harsher than the panel by|without it, mean severity", rows, **PLAIN))
    out.print(
        f"  Equal leniency: p = {found.wald_p:.2g} within answers "
        f"(Kruskal-Wallis over raw scores: p = {found.kruskal_p:.2g})."
    )


def _print_missing(out: Console, r: JudgeReport) -> None:
    """How many answers have no score, by condition, and whether that depends on the condition."""
    lost = sum(s.k for s in r.missing.values())
    if not lost:
        return
    parts = [f"{printable(c, limit=30)} {s.estimate or 0:.1%}" for c, s in r.missing.items()]
    out.print(f"  No score on {counted(lost, 'answer')}: {', '.join(parts)}.")
    if r.missing_depends and not isinstance(r.missing_test, Undefined):
        out.print(
            f"  Some models or prompts lack more scores than others (p = {r.missing_test.p_value:.2g}), "
            "so their figures are about different kinds of answers."
        )


def print_corrections(out: Console, rows: tuple[Correction, ...], *, kind: str, stratified: bool) -> None:
    """Judge figures beside what human labels make of them."""
    how = "drawn by stratum" if stratified else "taken as a random sample of the judged answers"
    out.print(f"Figures by {kind}s, corrected by the human labels ({how}):")
    lines: list[list[str]] = []
    for row in rows:
        for i, (name, value) in enumerate(_correction_figures(row)):
            title = printable(row.condition, limit=30) if i == 0 else ""
            lines.append([title, name, *_correction_cells(value)])
    out.print(grid(f"name|figure|{kind}s say|labels alone|corrected|worth", lines, **PLAIN))


def _correction_figures(row: Correction) -> list[tuple[str, Corrected | Undefined]]:
    """The figures of a condition with their names: the mean severity, then the rates or why there are none."""
    mean: tuple[str, Corrected | Undefined] = ("mean severity", row.mean_severity)
    if isinstance(row.rates, Undefined):
        return [mean, ("rates", row.rates)]
    return [mean, *(("error rate" if s == 0.5 else f"P(S >= {s:g})", row.rates[s]) for s in (0.5, 2.0, 3.0))]


def _correction_cells(value: Corrected | Undefined) -> list[str]:
    """A figure as the judges have it, by the labels alone, corrected, and what the labels are worth."""
    if isinstance(value, Undefined):
        return ["", "", f"undefined: {printable(value.why, limit=50)}", ""]
    alone = f"{value.labels_only:.3f} {describe_ci(value.labels_only_interval)}"
    fixed = f"{value.estimate:.3f} {describe_ci(value.interval)}"
    worth = f"{counted(value.n_labelled, 'label')} -> {value.worth:.0f}"
    return [f"{value.judge_only:.3f}", alone, fixed, worth]
