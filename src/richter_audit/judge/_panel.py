"""The judge panel: who judges which answer, how scores become one, and the proof that nobody judged themselves."""

import dataclasses
import functools
import hashlib
import re
import statistics
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from richter.errors import CallFailed, InputError, UnknownProvider
from richter.judge._prompt import Detail, judge_messages, read_reply, reply_schema
from richter.llm import BUILT_IN, Asks, Job, Model, resolve
from richter.records import Answer, Condition, Decoding, Item, Rating, Result, storable

__all__ = [
    "AGREE_WITHIN",
    "REPLY_TOKENS",
    "RULES",
    "PanelFailures",
    "PanelScore",
    "Rule",
    "SelfJudging",
    "aggregate",
    "audit_self_judging",
    "deal",
    "judge_decoding",
    "judge_detail",
    "model_identity",
    "panel_failures",
    "rate_answer",
]

Rule = Literal["mean", "primary", "secondary", "max", "min"]
RULES: tuple[Rule, ...] = ("mean", "primary", "secondary", "max", "min")
AGREE_WITHIN = 1.0
REPLY_TOKENS = 160
QUOTED = 80  # characters of an unreadable reply that are shown

_QUANTISATION = re.compile(r"[-._](?:i?q\d\w*|f16|bf16|f32|fp8|fp16|int4|int8|awq|gptq|gguf)$")
_RELEASE = re.compile(r"[-@:](?:\d{4}-?\d{2}-?\d{2}|\d{4}|latest|free|preview|v\d+:\d+)$")


@functools.cache
def model_identity(name: str) -> str:
    """One name for one model, whoever serves it and however it is spelt.

    `openai/gpt-4o`, `openrouter/openai/gpt-4o-2024-08-06` and `http://host/v1#GPT-4o` are one model; so are a GGUF
    file and its copies (by their content, where the file is at hand) and its quantisations (by name). It errs on the
    side of calling two releases of one model the same: they share their mistakes. A model that no provider here can
    reach (from another tool's log, or simulated) goes by its name alone.
    """
    try:
        spec = resolve(name)
    except UnknownProvider:
        return _plain_name(name)
    if spec.backend == "local" and spec.name != BUILT_IN and Path(spec.model).is_file():
        with Path(spec.model).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest.startswith("b179c9523d0e6a0f"):  # the built-in weights under another name
            return "smollm2-135m-instruct"
        return f"sha256:{digest}"
    if spec.name == BUILT_IN:
        return "smollm2-135m-instruct"
    return _plain_name(spec.model)


def _plain_name(model: str) -> str:
    """A model's last name without its quantisation and release."""
    last = re.split(r"[/\\#]", model.lower().rstrip("/"))[-1].removesuffix(".gguf")
    while True:
        shorter = _RELEASE.sub("", _QUANTISATION.sub("", last))
        if shorter == last:
            return last
        last = shorter


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
    two = [s for s in (primary, secondary) if s is not None]
    three = [*two, *([third] if third is not None else [])]

    def score(severity: float | None, how: str) -> PanelScore:
        return PanelScore(severity=severity, how=how, primary=primary, secondary=secondary, third=third)

    if not three:
        return score(None, "no judge gave a score")
    if rule in ("primary", "secondary"):
        chosen = primary if rule == "primary" else secondary
        return score(chosen, f"{rule} judge" if chosen is not None else f"{rule} judge gave no score")
    if rule == "max":
        return score(max(two or three), "higher of two")
    if rule == "min":
        return score(min(two or three), "lower of two")
    if len(two) == 2 and abs(two[0] - two[1]) <= AGREE_WITHIN:
        return score(sum(two) / 2, "mean of two that agree")
    if len(three) == 3:
        return score(statistics.median(three), "median of three")
    if len(three) == 2:
        return score(sum(three) / 2, "mean of two, no third score")
    return score(three[0], "one score only")


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


async def _ask_judge(asker: Asks, model: Model, judge: Condition, item: Item, answer: Answer) -> Rating:
    detail = judge_detail(judge)
    messages = judge_messages(item, answer.text, detail=detail, system=judge.system)
    decoding = dataclasses.replace(
        judge.decoding,
        json_schema=reply_schema(detail),
        max_tokens=min(judge.decoding.max_tokens, REPLY_TOKENS),
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
        said = f" It says {storable(reply.text)[:QUOTED]!r}." if reply.text.strip() else ""
        reason = f"no score: {error.what}{said}"
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


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SelfJudging(Result):
    """Which ratings were given by the audited model itself, under whatever name. Zero is what a report may rest on."""

    n_judge_ratings: int
    n_self: int
    pairs: tuple[tuple[str, str], ...]  # (judge, condition) that share a model


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PanelFailures(Result):
    """Judges' replies that gave no score: how many, of how many, by judge, and the first with its reason."""

    failed: int
    asked: int
    by_judge: dict[str, int]
    first: str

    def __str__(self) -> str:
        if not self.failed:
            return f"all {self.asked:,} judge replies were read"
        who = ", ".join(f"{name} {n:,}" for name, n in self.by_judge.items())
        every = "; no answer has a verdict" if self.failed == self.asked else ""
        return f"{self.failed:,} of {self.asked:,} judge replies gave no score ({who}){every}. The first: {self.first}"


def panel_failures(ratings: Iterable[Rating]) -> PanelFailures | None:
    """What judges failed to score; None where no judge was asked."""
    given = [r for r in ratings if r.kind == "judge"]
    failed = [r for r in given if r.severity is None]
    if not given:
        return None
    return PanelFailures(
        failed=len(failed),
        asked=len(given),
        by_judge=dict(Counter(r.rater for r in failed).most_common()),
        first=failed[0].reason.removeprefix("no score: ") if failed else "",
    )


def audit_self_judging(
    ratings: Iterable[Rating], conditions: Iterable[Condition], judges: Iterable[Condition]
) -> SelfJudging:
    """Count the judge ratings whose judge and audited condition are the same model; needs every judge to be known."""
    audited = {c.name: model_identity(c.model) for c in conditions}
    judging = {j.name: model_identity(j.model) for j in judges}
    given = [r for r in ratings if r.kind == "judge"]
    unknown = sorted({r.rater for r in given} - set(judging))
    if unknown:
        raise InputError(
            f"The run does not say which model the judge {unknown[0]!r} was.",
            remedy="Without it nobody can prove that no model judged itself; judge again with `richter judge`.",
        )
    own = [r for r in given if judging[r.rater] == audited.get(r.condition)]
    return SelfJudging(
        n_judge_ratings=len(given), n_self=len(own), pairs=tuple(sorted({(r.rater, r.condition) for r in own}))
    )


def judge_decoding() -> Decoding:
    """Greedy, with room for a reply."""
    return Decoding(temperature=0.0, max_tokens=REPLY_TOKENS)
