"""What a results document says beside its claims: one condition's answer, checks, next steps, what can be signed."""

from collections.abc import Mapping, Sequence

from richter.claims._measures import METRICS
from richter.records import Interval, at_most, counted, odd_characters, printable
from richter.words._spans import describe_level

__all__ = [
    "CORRECTED",
    "CORRECTED_MEANS",
    "SECTION_LACKS",
    "TEXTLESS_REMEDIES",
    "describe_alone",
    "describe_bound",
    "describe_counts_by_name",
    "describe_document_question",
    "describe_look_alike",
    "describe_merged_names",
    "describe_missing_section",
    "describe_names",
    "describe_population",
    "describe_rated",
    "describe_raters",
    "describe_searched",
    "describe_settings",
    "describe_stop",
]

CORRECTED = "*"  # the mark of a figure that human labels corrected
CORRECTED_MEANS = f"{CORRECTED} corrected by human labels; figures without it are as graded"
CATASTROPHIC = METRICS["catastrophic_rate"].at or 3.0
SECTION_QUESTIONS = {  # what a section that is not there would tell
    "severity": "how bad the errors are",
    "tail": "how bad the worst errors are",
    "calibration": "if it knows when it is wrong",
    "floors": "which is better, ask a second model the same questions",
    "search": "where else it fails",
    "judges": "if the judges agree",
}

SECTION_LACKS = {  # why a section is not there; filled from fields by `format`
    "not asked": "It was not asked for.",
    "empty": "The run holds no answers.",
    "ungraded": "Nobody has graded the answers.",
    "severity": "Severity not measured: your data says right or wrong only. Add a judge or human ratings.",
    "one model": "There is only one model or prompt ({name}); a comparison needs two.",
    "right or wrong": "No answer is graded right or wrong, so nothing says if confidence fits.",
    "repeats": "No question was asked several times.",
    "confidence": "No graded answer has a confidence.",
    "one rater": "There is one rater only, and nobody to agree with.",
    "tail": "No continuous severity was scored: half-step ratings have no continuous tail.",
    "search": "No search for errors was run.",
    "search package": "The package that reads searches is not installed.",
}
TEXTLESS_REMEDIES = {  # what grades alone lack for a section
    "severity": "add a column `severity` (0 right to 4 worst), or `answer` with the texts, to be rated",
    "tail": "add a column with a continuous score, or `answer` with the texts, to be scored",
    "calibration": "add a column `confidence` (0 to 1)",
    "judges": "add the severities of two raters (`judge_1`, `judge_2`), or `answer` with the texts, to be rated",
}


def describe_document_question(names: Sequence[str]) -> str:
    """What a document asks, in one sentence."""
    shown = [printable(name, limit=60) for name in names]
    if not shown:
        return "Which ones fail, how badly, and do they know it?"
    if len(shown) == 1:
        return f"How often and how badly does {shown[0]} fail, and does it know it?"
    if len(shown) == 2:
        return f"Is {shown[1]} better or worse than {shown[0]}, how badly do they fail, and do they know it?"
    return f"Which of these {len(shown)} fail more, how badly do they fail, and do they know it?"


def describe_look_alike(shown: str, name: str) -> str:
    """That a name looks like another one, and what it is written with."""
    odd = odd_characters(name)
    more = f" and {len(odd) - 2} more" if len(odd) > 2 else ""
    return f"{shown} looks like another name: it is written with {' and '.join(odd[:2])}{more}."


def describe_settings(options: Sequence[str]) -> str:
    """That nobody typed these options of reading."""
    return f"richter.toml sets how the data are read: {printable(' '.join(options), limit=200)}."


def describe_merged_names(name: str) -> str:
    """That names were taken as one."""
    return f"{printable(name, limit=60)} is written with and without spaces around it: read as one name."


def describe_alone(
    name: str, *, wrong: float | None, n: int, interval: Interval | None, answers: int, scored: str = ""
) -> str:
    """One condition's answer: how often it is right, with its interval; or its score; or that nobody graded it."""
    who = printable(name, limit=60)
    if wrong is None and scored:
        return f"{who} scores {scored} on {counted(n, 'question')}."
    if wrong is None or interval is None:
        return f"Can't say how good {who} is: nobody has graded its answers."
    of = counted(n, "question") if answers <= n else f"{counted(answers, 'answer')} to {counted(n, 'question')}"
    level = describe_level(interval.level)
    if wrong == 0:
        return f"{who} made no error in {of}: it is wrong in at most {at_most(100 * interval.high)}% ({level} CI)."
    low, high = 100 * (1 - interval.high), 100 * (1 - interval.low)
    return f"{who} is right in {100 * (1 - wrong):.1f}% of {of} ({level} CI {low:.1f} to {high:.1f})."


def describe_searched(name: str, *, wrong: float, n: int, severity: float | None) -> str:
    """What answers are that a search for errors chose: how many failed and how badly, and that this is not a rate."""
    who = printable(name, limit=60)
    badly = "" if severity is None else f", of mean severity {severity:.1f} (0 to 4)"
    return (
        f"A search for errors chose these {counted(n, 'question')}: {who} is wrong in {round(wrong * n):,}{badly}. "
        "They do not say how often it fails."
    )


def describe_counts_by_name(counts: Mapping[str, int]) -> str:
    """Counts with their names, five at most: 'old 3, new 12'."""
    named = [f"{printable(name, limit=40)} {n:,}" for name, n in counts.items() if n]
    return ", ".join(named[:5]) + (f" and {len(named) - 5} more" if len(named) > 5 else "")


def describe_names(names: Sequence[str]) -> str:
    """Names, three at most."""
    return ", ".join(printable(n, limit=40) for n in names[:3]) + (" and others" if len(names) > 3 else "")


def describe_missing_section(section: str, remedy: str) -> str:
    """The step that would fill a section that is not there."""
    return f"to learn {SECTION_QUESTIONS[section]}: {remedy}"


def describe_stop(claim: str) -> str:
    """That asking ended early, and for which claim limits allow for it."""
    return f"asking stopped once {claim!r} was decided; only that claim's limits allow for this"


def describe_rated(number: int, total: int, by: str) -> str:
    """How many answers are rated, and by whom."""
    return f"{number:,} of {counted(total, 'answer')} rated by {by}"


def describe_raters(by: str, answers: int, *, judges: Sequence[str], checked: int, is_human: bool) -> str:
    """Whose grades the figures rest on, and who checked them; `judges` are the models that graded."""
    given = {"your file": "grades", "the source": "severities"}.get(by)
    named = describe_names(judges)
    if given is None:
        text = f"graded by {named or by}"
    else:
        text = f"{given} by {named}, from your file" if named else f"{given} from your file"
    text = f"{text} ({counted(answers, 'answer')})"
    if is_human:
        return text
    return f"{text}; {counted(checked, 'human label')}" if checked else f"{text}; no human labels"


def describe_population(n_items: int, bench: str, domains: Sequence[str], tiers: Sequence[int]) -> str:
    """Which questions the figures speak of, and no others."""
    text = counted(n_items, "question")
    if bench:
        text += f" of {printable(bench, limit=80)}"
    if domains:
        shown = ", ".join(printable(d, limit=30) for d in domains[:8])
        text += f"; {counted(len(domains), 'domain')} ({shown}{', …' * (len(domains) > 8)})"
    if tiers:
        text += f"; difficulty {tiers[0]} to {tiers[-1]}" if len(tiers) > 1 else f"; difficulty {tiers[0]}"
    return f"{text}. The figures say nothing about other questions."


def describe_bound(name: str, upper: float, *, level: float, basis: str, seen: int, n: int, n_conditions: int) -> str:
    """The highest upper limit on catastrophic answers."""
    which = "" if n_conditions == 1 else f"; the highest of {n_conditions}"
    return (
        f"at most {at_most(100 * upper)}% of the answers of {printable(name, limit=60)} have severity "
        f"{CATASTROPHIC:g} or more (one-sided {describe_level(level)}, {basis}; {seen:,} seen in {n:,}{which})"
    )
