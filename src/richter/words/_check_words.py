"""What checks of the data say: why a question is blocked, what lifts the block, and notes that go with a claim."""

from collections.abc import Mapping, Sequence

from richter.records import counted, printable

__all__ = [
    "ALIGNMENT",
    "BLOCK_REASONS",
    "CHECK_NOTES",
    "REMEDIES",
    "UNCHECKED",
    "describe_few_groups",
    "describe_few_shared",
    "describe_lacking",
    "describe_raters_of",
]

BLOCK_REASONS = {  # filled from fields by `format`
    "reading": "Richter inferred how to read the file, and nobody confirmed it",
    "order": "their questions are in another order",
    "no values": "{name} has no question with a value of {noun}",
    "baseline": "{name} has no graded question in common with {baseline}",
    "missing": "{number:,} of {total:,} grades are missing{of}, and {why}",
    "no worst value": "{noun} has no worst value",
    "proxy labels": "people rated a sample of the answers, and {noun} can't use its weights",
    "judges": "the references contradict the judges: {found}",
    "groups": "questions are grouped in two ways, and {noun} allows for one grouping here",
    "runs": "runs vary beside questions, and {noun} does not allow for that",
    "total": "the total of {name} is 0 ({noun})",
}
REMEDIES = {  # by the gate that blocks, and by what lets it pass
    "reading": "Confirm it: name the columns with --map, or run once with --save-reading.",
    "items": "Export them again with question ids, or compare without pairs: --unpaired.",
    "shared": "Compare files with the same questions, or compare without pairs: --unpaired.",
    "baseline": "Give the answers to the same questions, or say that they differ: --unpaired.",
    "missing": "Ask the missing answers again.",
    "raters": "Let the same raters rate both.",
    "raters, missing": "Rate the missing answers, or state `--missing at-random` to compare within raters.",
    "labels": "Add a column `stratum` or `inclusion` for every answer, also for those without a label.",
    "judges": "Read answers that judges and references grade differently, or label some: richter label.",
    "range": "Correct the values, or leave the column out.",
    "groups": "Name the grouping that counts: --map group=COLUMN.",
    "runs": "Read the runs as repeats of a question: --map draw=COLUMN.",
    "total": "Leave this measure out, or give the amounts that were paid.",
}
CHECK_NOTES = {  # filled from fields by `format`
    "reading": "Reading not confirmed: columns were inferred.",
    "contests": "each two are compared in the questions in which they met",
    "unpaired": "the two are compared as if on different questions (--unpaired)",
    "own questions": "{reason}; if these are the same questions, use the same IDs",
    "missing shared": "only the questions that both answered count (--missing shared)",
    "missing at-random": "the missing grades count as lost by chance (--missing at-random)",
    "trusted raters": "{reason}; taken as equally lenient (--trust-raters)",
    "trusted labels": "{reason}; taken as a random sample (--trust-labels)",
    "trusted judges": "{reason}; judges are trusted (--trust-raters)",
    "label conflict": "human labels contradict the grades of {name}: graded {graded}, by labels {corrected}",
    "large group": "Group {name} holds {share:.0%} of the questions: more groups narrow the interval.",
    "many missing": "More than 5% of the grades are missing: if one model lost mostly right answers, a difference "
    "shown here may be false.",
    "board": "Each of {number:,} models has one comparison: with the best one that beats it, else with the best. "
    "Intervals are adjusted for all {pairs:,} pairs.",
    "chosen": "{number} models, 2 compared: did you choose one after looking? Then add --tried {others}.",
}
ALIGNMENT = {  # whether ids mean the same questions; filled from fields by `format`
    "remedy": "export them again with the questions' ids, go on with --trust-ids, or compare them without pairs: "
    "--unpaired",
    "unsure": "{name}: {found}; its grades may be near chance, so it is compared all the same",
    "reworded": "{name}: different prompt text under {number:,} of {total:,} IDs",
    "trusted": "the IDs of {names} are trusted: {found}",
    "displaced": "another question stands under {number:,} of {total:,} IDs (match by the text instead: "
    "--map item=QUESTION)",
    "unchecked": "assuming that question IDs match for {names}: no question text confirms it{why}",
    "order": "in another order than the other {others}",
    "shifted": " (moved by {rows:+d} rows they fit)",
    "part": "fits the other {others} elsewhere but not around questions {first} to {last}",
}
UNCHECKED = {  # why the order of answers cannot be checked by grades
    "two sets": "",  # it is so of every two files without texts
    "few": "too few questions to tell",
    "no agreement": "no two of them agree with each other",
    "few shared": "fewer than {number} questions are shared",
    "near chance": "the grades are near chance",
    "possibly near chance": "the grades are possibly near chance",
    "habits": "some agree less than by chance, as with habits of position",
}
LACKING = {  # why a grade is missing, or why one that is does not count
    "failed": "failed calls", "ungraded": "not graded", "absent": "absent", "both": "where the other has none either",
}  # fmt: skip


def describe_lacking(name: str, kinds: Mapping[str, int]) -> str:
    """How many grades a condition lacks, and why: 'new lacks 30 grades (30 not graded)'."""
    named = LACKING | ({"failed": "failed call"} if kinds.get("failed") == 1 else {})
    parts = ", ".join(f"{n:,} {named[kind]}" for kind, n in kinds.items() if n)
    return f"{name} lacks {counted(sum(kinds.values()), 'grade')} ({parts})"


def describe_few_shared(both: int, either: int, *, least: float, examples: Sequence[str]) -> str:
    """Why two conditions share too few questions; with one of each where they share none."""
    if both == 0:
        one, two = (printable(item, limit=40) for item in examples)
        return f"they have no graded question in common (one has {one}, the other {two})"
    share = f"{100 * both / either:.0f}%; at least {100 * least:.0f}% are needed"
    return f"only {both:,} of {either:,} questions are graded in both ({share})"


def describe_raters_of(raters: Mapping[str, Mapping[str, int]], *, is_shared: bool) -> str:
    """That other raters rated one condition than the other; the three who rated most of each, with how many ratings."""
    most = {condition: sorted(of.items(), key=lambda pair: -pair[1])[:3] for condition, of in raters.items()}
    who = " and ".join(
        f"{condition} by {', '.join(f'{name}: {n:,}' if is_shared else name for name, n in of)}"
        for condition, of in most.items()
    )
    return f"{'raters differ between the two' if is_shared else 'no rater rated both'} ({who})"


def describe_few_groups(number: int, *, is_gate: bool) -> str:
    """What few groups cannot show: that none of them fails wholly."""
    if is_gate:
        return f"There are only {number} groups. The limit allows for one group in eight where every question fails."
    share = 1 - 0.05 ** (1 / number)
    return f"There are only {number} groups: up to {share:.0%} of such groups could fail wholly without showing here."
