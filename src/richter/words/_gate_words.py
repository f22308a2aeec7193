"""What a gate says: PASS, FAIL or INCONCLUSIVE with its limit, and what that does not show."""

from collections.abc import Sequence

from richter.claims._measures import claim_words
from richter.records import Claim, Verdict
from richter.words._claim_sentences import describe_gap
from richter.words._spans import describe_ends, describe_span, digits_by_width

__all__ = ["describe_gate", "describe_gate_context"]

CANNOT = "Can't "  # how the sentence of an inconclusive requirement begins


def describe_gate(
    candidate: str,
    claims: Sequence[Claim],
    requirements: Sequence[str],
    *,
    outcome: Verdict,
    is_judge_only: bool,
    obstacles: Sequence[str] = (),
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
    """What a met requirement on a difference says about being better: with the two-sided interval beside the limit."""
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
