"""The judge panel: who judges which answer, and how scores become one."""

import dataclasses
import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Literal

from richter.errors import CallFailed, InputError
from richter.models import model_identity, resolve
from richter.records import Answer, Condition, Decoding, Item, Rating, storable
from richter.texts import normalise, read_choice, remove_thoughts
from richter_audit.judge._judge_prompt import REPLY_TOKENS, Detail, judge_messages, read_reply, reply_schema
from richter_audit.llm import Asks, Job, Model

__all__ = [
    "AGREE_WITHIN",
    "RULES",
    "PanelScore",
    "Rule",
    "aggregate",
    "deal",
    "judge_decoding",
    "judge_detail",
    "rate_answer",
]

Rule = Literal["mean", "primary", "secondary", "max", "min"]
RULES: tuple[Rule, ...] = ("mean", "primary", "secondary", "max", "min")
AGREE_WITHIN = 1.0
QUOTED = 80  # characters of an unreadable reply that are shown


def deal(judges: Sequence[Condition], audited: Condition, turn: int, *, allow_self: bool = False) -> list[Condition]:
    """The judges of one answer in order: primary, secondary, then those who may break a tie.

    Round robin over the pool by `turn` (the answer's place in the run), after leaving out every judge whose model is
    the audited one under any name. `allow_self` keeps them, for trials without another model; the audit then says so.
    """
    pool = list(judges)
    if not allow_self:
        mine = model_identity(audited.model)
        pool = [judge for judge in judges if model_identity(judge.model) != mine]
    if not pool:
        names = ", ".join(judge.name for judge in judges) or "none"
        raise InputError(
            f"No judge is left for {audited.name}: the pool ({names}) holds only the audited model.",
            remedy="Add a judge of another model, or allow self-judging and say so.",
        )
    start = turn % len(pool)
    return pool[start:] + pool[:start]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PanelScore:
    """The panel's score of one answer and how it came about; None where no judge gave one."""

    severity: float | None
    how: str
    primary: float | None
    secondary: float | None
    third: float | None


def aggregate(
    primary: float | None, secondary: float | None, third: float | None = None, *, rule: Rule = "mean"
) -> PanelScore:
    """One score from a panel (section 2): the mean of two that agree within 1.0, else the median of three.

    `primary`, `secondary`, `max` and `min` are the paper's other rules (appendix G). A missing score stays missing:
    the mean of one is that one, and the result says so.
    """
    if rule not in RULES:
        raise InputError(f"The rule {rule!r} is not known.", remedy=f"Use one of {', '.join(RULES)}.")
    severity, how = _aggregate_by(rule, primary, secondary, third)
    return PanelScore(severity=severity, how=how, primary=primary, secondary=secondary, third=third)


def _aggregate_by(
    rule: Rule, primary: float | None, secondary: float | None, third: float | None
) -> tuple[float | None, str]:
    """A panel's severity by one of the rules, and how it came about."""
    two = [s for s in (primary, secondary) if s is not None]
    three = [*two, *([third] if third is not None else [])]
    if not three:
        return None, "no judge gave a score"
    if rule in ("primary", "secondary"):
        chosen = primary if rule == "primary" else secondary
        return chosen, f"{rule} judge" if chosen is not None else f"{rule} judge gave no score"
    if rule in ("max", "min"):
        return (max(two or three), "higher of two") if rule == "max" else (min(two or three), "lower of two")
    return _mean_or_median(two, three)


def _mean_or_median(two: list[float], three: list[float]) -> tuple[float, str]:
    if len(two) == 2 and abs(two[0] - two[1]) <= AGREE_WITHIN:
        return sum(two) / 2, "mean of two that agree"
    if len(three) == 3:
        return statistics.median(three), "median of three"
    if len(three) == 2:
        return sum(three) / 2, "mean of two, no third score"
    return three[0], "one score only"


async def rate_answer(
    asker: Asks, models: Mapping[str, Model], judges: Sequence[Condition], item: Item, answer: Answer
) -> list[Rating]:
    """Ask the primary and the secondary judge, and a third when they differ by more than 1.0 or one fails.

    `judges` are in the order `deal` gave. A judge that fails is a rating with no severity and the reason why: missing,
    never 0.
    """
    ratings: list[Rating] = []
    for place, judge in enumerate(judges[:3]):
        if place == 2 and not _needs_third(ratings):
            break
        ratings.append(await _ask_judge(asker, models[judge.model], judge, item, answer))
    return ratings


def _needs_third(ratings: Sequence[Rating]) -> bool:
    scores = [r.severity for r in ratings if r.severity is not None]
    return len(scores) < 2 or abs(scores[0] - scores[1]) > AGREE_WITHIN


def judge_detail(judge: Condition) -> Detail:
    """How much a judge is told: a local model gets the brief form."""
    return "brief" if resolve(judge.model).backend == "local" else "full"


def _shown_answer(item: Item, text: str) -> str:
    """What a judge reads: the answer without its thoughts, and the option behind a letter, which it has not seen."""
    answer = remove_thoughts(text).text
    chosen = read_choice(item, text) if item.options else None
    if chosen is None or normalise(chosen) in normalise(answer):
        return answer
    return f"{answer} (that is: {chosen})"


async def _ask_judge(asker: Asks, model: Model, judge: Condition, item: Item, answer: Answer) -> Rating:
    """One judge's rating of an answer."""
    detail = judge_detail(judge)
    shown = _shown_answer(item, answer.text)
    messages = judge_messages(item, shown, detail=detail, system=judge.system)
    decoding = dataclasses.replace(
        judge.decoding,
        json_schema=reply_schema(detail),
        max_tokens=REPLY_TOKENS,
        choices=(),
    )
    started = time.time()
    reply = await asker.ask(Job(model=model, messages=messages, decoding=decoding, item=item.id))
    severity, mechanism = None, ""
    try:
        if reply.error:
            raise CallFailed(reply.error)
        severity, mechanism, reason = read_reply(reply.text)
    except CallFailed as error:
        quote = f" It says {storable(reply.text)[:QUOTED]!r}." if reply.text.strip() else ""
        reason = f"no score: {error.what}{quote}"
    except Exception as error:  # whatever a reply does to us is its rating's fault alone; the ledger keeps the reply
        reason = f"no score: the reply cannot be read ({type(error).__name__})"
    return Rating(
        item=answer.item,
        condition=answer.condition,
        draw=answer.draw,
        rater=judge.name,
        kind="judge",
        severity=severity,
        mechanism=mechanism,
        reason=reason,
        started_at=started,
        ended_at=time.time(),
    )


def judge_decoding() -> Decoding:
    """Greedy, with room for a reply."""
    return Decoding(temperature=0.0, max_tokens=REPLY_TOKENS)
