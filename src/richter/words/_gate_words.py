"""What a gate says: PASS, FAIL or INCONCLUSIVE with its limit, and what that does not show."""

from collections.abc import Sequence

from richter.claims._measures import claim_words
from richter.records import Claim, Verdict
from richter.words._advice import MORE_RUNS, NamedData
from richter.words._claim_sentences import describe_gap, describe_label_change
from richter.words._spans import count_units, describe_ends, describe_span, digits_by_width, round_up_to_two_figures

__all__ = ["describe_gate", "describe_gate_context", "describe_gate_next", "describe_registration"]

CANNOT = "Can't "  # how the sentence of an inconclusive requirement begins


def describe_gate(
    candidate: str,
    claims: Sequence[Claim],
    requirements: Sequence[str],
    *,
    outcome: Verdict,
    is_judge_only: bool,
    obstacles: Sequence[str],
) -> str:
    """The outcome of all requirements in one headline; with what stops the gate whatever the data show."""
    text = _describe_outcome(candidate, claims, requirements, outcome=outcome, is_judge_only=is_judge_only)
    if not obstacles:
        return text
    word = "FAIL" if outcome is Verdict.REFUTED else "INCONCLUSIVE"
    return f"{word}: {' '.join(obstacles)} The data alone say {text}"


def _describe_outcome(
    candidate: str, claims: Sequence[Claim], requirements: Sequence[str], *, outcome: Verdict, is_judge_only: bool
) -> str:
    """What the data say of all requirements; of a single one with its limit."""
    word = {Verdict.VERIFIED: "PASS", Verdict.REFUTED: "FAIL"}.get(outcome, "INCONCLUSIVE")
    if is_judge_only:
        return f"{word}: {candidate} passes by the judge's grades only, and nobody checked the judge."
    if len(claims) == 1:
        text = claims[0].sentence
        text = f"can't {text.removeprefix(CANNOT)}" if text.startswith(CANNOT) else text
        return f"{word}: {text}"
    if outcome is Verdict.VERIFIED:
        return f"{word}: {candidate} meets all {len(claims)} requirements."
    wanted = Verdict.REFUTED if outcome is Verdict.REFUTED else Verdict.VERIFIED
    named = [
        name
        for name, claim in zip(requirements, claims, strict=True)
        if (claim.verdict is wanted) == (outcome is Verdict.REFUTED)
    ]
    verb = "violates" if outcome is Verdict.REFUTED else "does not yet meet"
    return f"{word}: {candidate} {verb} {len(named)} of {len(claims)} requirements: {'; '.join(named)}."


def describe_gate_context(claim: Claim) -> str:
    """What labels changed, and what a met requirement on a difference says about being better."""
    changed = describe_label_change(claim, claim_words(claim))
    return " ".join(filter(None, (changed, _describe_beside_limit(claim))))


def _describe_beside_limit(claim: Claim) -> str:
    """The two-sided interval of a met requirement on a difference, and that it does not show a gain."""
    span = claim.plain_interval
    if len(claim.conditions) != 2 or claim.verdict is not Verdict.VERIFIED or span is None or claim.estimate is None:
        return ""
    second, words = claim.conditions[1], claim_words(claim)
    numbers = describe_span(words, claim.estimate, span, is_difference=True)
    if 0 in span:
        return f"This does not show that {second} is better: {numbers}."
    if (claim.estimate > 0) == (claim.better == "higher"):
        shown = digits_by_width(words, span.low, span.high)
        gap = describe_gap(shown, claim.conditions, claim.estimate)
        gap = f"The {gap[4:]}" if gap.startswith("the ") else gap
        return f"{gap} ({describe_ends(shown, span, is_difference=True)})."
    return f"{second} is worse, but not by more than you allow: {numbers}."


def describe_gate_next(
    claims: Sequence[Claim],
    *,
    outcome: Verdict,
    is_judge_only: bool,
    obstacles: Sequence[str],
    data: NamedData,
    is_pair: bool,
) -> str:
    """The one thing to do after a gate; without a command where none can read the data.

    `is_pair`: the data hold both that are compared, so that a size can be told from them.
    """
    if outcome is Verdict.VERIFIED:
        return "Next: you can merge. This gate asks for nothing else."
    if outcome is Verdict.REFUTED:
        return f"Next: do not merge. See what broke{_command('report', data, '-o page.html')}"
    check = data.describe_check() if is_judge_only else ""
    size = _command("size", data) if is_pair else "."
    return f"Next: do not merge yet. {_describe_open_step(claims, check, obstacles, size)}"


def _describe_open_step(claims: Sequence[Claim], check: str, obstacles: Sequence[str], size: str) -> str:
    """What would settle a gate that neither passes nor fails."""
    waiting = [claim for claim in claims if claim.verdict is not Verdict.VERIFIED]
    if obstacles and not waiting:
        return "Settle what the first line says about the plan, then run the gate again."
    if check:
        return f"{check[0].upper()}{check[1:]}. Or accept its grades: --accept-judge"
    blocked = next((claim for claim in waiting if claim.remedy and claim.estimate is None), None)
    if blocked is not None:
        return f"{blocked.remedy.rstrip('.')}."
    lacking = sum(max((claim.missing for claim in waiting), key=lambda m: sum(m.values()), default={}).values())
    if any(claim.without_missing is not None for claim in waiting):
        return f"Ask the {lacking:,} missing questions again. If right or wrong has no part in why: --missing at-random"
    if labels := max((claim.labels for claim in waiting), default=0):
        return f"Label more answers by hand: the limit rests on {labels:,} labels."
    return _describe_more(waiting, size)


def _describe_more(waiting: Sequence[Claim], size: str) -> str:
    """How many questions would settle the claims that wait; where runs vary, too, no number of them alone would."""
    if any(claim.unit == "run" for claim in waiting):
        return f"{MORE_RUNS[0].upper()}{MORE_RUNS[1:]}."
    needed = [claim for claim in waiting if claim.needed is not None and claim.needed > claim.units]
    if not needed:
        return f"Add questions{size}"
    most = max(needed, key=lambda claim: claim.needed or 0)
    total = count_units(round_up_to_two_figures(most.needed or 0), most.unit)
    return f"Add questions until there are about {total}{size}"


def _command(name: str, data: NamedData, options: str = "") -> str:
    """': richter NAME DATA OPTIONS'; a full stop where no command can read the data."""
    return f": {' '.join(filter(None, ('richter', name, data.asked, options)))}" if data.again else "."


def describe_registration(*, is_registered: bool, vouched: str = "", reasons: Sequence[str] = ()) -> str:
    """Whether the rules were fixed before the data were seen, which is what pre-registered means."""
    if is_registered:
        return f"Pre-registered: {vouched}."
    why = "; ".join(reasons) or "the rules were not fixed in a plan before the data were seen"
    return f"Not pre-registered: {why}."
