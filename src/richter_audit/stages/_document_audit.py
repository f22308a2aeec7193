"""One audit of a folder of documents: questions are written, asked, judged and drawn until claims are settled; then
errors are searched for and weighed.

Everything is done by the stages of any other audit, into one run under one budget. What comes next while claims are
open is the rule of `settle_claims`.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from richter import store
from richter.audit._results import DRAWS_NAME, STOP_NOTE
from richter.errors import BudgetExhausted, InputError
from richter.floors import parse_claim
from richter.interop import read_frame
from richter.models import price_of, read_prices, resolve
from richter.records import Claim, Condition, Decoding, Item
from richter_audit import knowledge
from richter_audit.ascent import SearchSettings, failing_questions, generate_questions
from richter_audit.ascent._outcome import paragraph_items
from richter_audit.knowledge._stored_questions import CALLS
from richter_audit.llm import Budget, CallOptions
from richter_audit.stages._ask_stage import BYTES_PER_TOKEN, name_conditions
from richter_audit.stages._settle_claims import Goal, Need, Order, SettledAudit, goal_of, settle_claims
from richter_audit.stages._stages import (
    CLOZE_TOKENS,
    AuditSettings,
    StagesResult,
    StagesRunner,
    Watch,
    draw_conditions,
    first_severities,
)

__all__ = ["DocumentAudit", "audit_documents", "default_claims", "model_conditions"]

BASE_NAME = "base.kb"
QUESTIONS_SHARE = 0.25  # of the budget at most, for writing questions
SETTLING_SHARE = 0.7  # of what is left then, for settling claims; the rest is for the search
ANSWER_TOKENS = 200
JUDGES_EACH = 2  # calls of judges an answer


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DocumentAudit:
    """What is audited on which documents, by whom, and which claims are to be settled (none: the usual)."""

    documents: Path
    conditions: tuple[Condition, ...]
    generator: str
    judges: tuple[Condition, ...]
    claims: tuple[str, ...] = ()
    questions: int = 400  # paragraphs that questions are written for, at most
    draws: int = 10
    search_calls: int = 600
    nll: str | None = None
    batch: int = 25
    order: Order = "choose"
    seed: int = 0

    @property
    def names(self) -> list[str]:
        """The audited conditions by name."""
        return [condition.name for condition in self.conditions]

    @property
    def texts(self) -> tuple[str, ...]:
        """The claims to settle, in words."""
        return self.claims or default_claims(self.names, is_judged=bool(self.judges))

    def check(self) -> None:
        """Refuse claims that nothing would decide, before anything is paid for."""
        for goal in (goal_of(parse_claim(text), self.names) for text in self.texts):
            for need in goal.needs:
                if need.condition not in self.names:
                    raise InputError(
                        f"{goal.rule.text!r} names {need.condition}.", remedy=f"There are {', '.join(self.names)}."
                    )
                if need.kind == "judge" and not self.judges:
                    raise InputError(f"{goal.rule.text!r} needs judges.", remedy="Give --judges MODEL,MODEL.")


def default_claims(conditions: Sequence[str], *, is_judged: bool = True) -> tuple[str, ...]:
    """What an audit settles unless told: which of two models is better, and of each how often its errors are severe
    (where judges say so) and how far its confidence is off."""
    pairs = [f"{a} better than {b}" for k, a in enumerate(conditions) for b in conditions[k + 1 :]]
    severe = [f"catastrophic_rate({name}) < 0.1" for name in conditions if is_judged]
    return (*pairs, *severe, *(f"ece({name}) < 0.15" for name in conditions))


def model_conditions(models: Sequence[str], *, seed: int = 0) -> tuple[Condition, ...]:
    """Each model as it is asked about documents: local ones complete a sentence, others choose among listed options."""
    conditions: list[Condition] = []
    for model in dict.fromkeys(models):
        is_local = resolve(model).backend == "local"
        decoding = Decoding(
            max_tokens=CLOZE_TOKENS * 2 if is_local else ANSWER_TOKENS, seed=seed if is_local else None, logprobs=True
        )
        conditions += name_conditions([model], decoding=decoding, style="cloze" if is_local else "choice")
    return tuple(conditions)


class AuditedDocuments(NamedTuple):
    """What the stages of an audit of documents did, and the claims that it settled."""

    result: StagesResult
    settled: SettledAudit


def audit_documents(
    run: store.RunLike,
    audit: DocumentAudit,
    *,
    watch: Watch | None = None,
    tell: Callable[[str], None] = lambda _: None,
    **calls: Unpack[CallOptions],
) -> AuditedDocuments:
    """Make a base and questions of the documents, settle the claims, search for errors and weigh what it finds.

    Everything goes on where it stopped; the budget covers all of it. Writing questions may take a quarter of it,
    settling claims seven tenths of the rest.
    """
    audit.check()
    limits = calls.get("budget") or Budget()
    if not limits.is_limited:
        raise InputError("An audit of documents needs a budget.", remedy="Give --budget 20usd or 5000calls.")
    folder = Path(run)
    base = _build_base(folder / BASE_NAME, audit.documents, tell)
    tell(f"writing questions about {min(len(base), audit.questions):,} of {len(base):,} paragraphs")
    items, written = _write_questions(base, audit, {**calls, "budget": _share(limits, QUESTIONS_SHARE)})
    left = _less(limits, written)
    settings = AuditSettings(
        conditions=audit.conditions,
        grader="auto",
        judges=audit.judges,
        draws=audit.draws,
        drawn=len(items),
        draw_conditions=draw_conditions(audit.conditions, items),
        nll=audit.nll,
        base=str(base.folder),
        search_calls=audit.search_calls,
        seed=audit.seed,
    )
    settling = StagesRunner(Path(run), items, settings, watch, {**calls, "budget": _share(left, SETTLING_SHARE)})
    settling.check(("ask", "judge", "draw", "search"))
    store.open_ledger(run, mode="write").close()
    settled = _settle(settling, audit, tell)
    _keep_stop(run, audit, settled, [item.id for item in items])
    rest = StagesRunner(Path(run), items, settings, watch, {**calls, "budget": left})
    stopped = _search_and_weigh(rest, audit, tell)
    stages = ("ask", "judge", "draw", *(("score",) if audit.nll else ()), "search")
    result = StagesResult(stages=stages, sequential=None, stopped=stopped, grading=settling.grading)
    return AuditedDocuments(result, settled)


def _build_base(folder: Path, documents: Path, tell: Callable[[str], None]) -> knowledge.KnowledgeBase:
    """The base of the documents; made where it is not there."""
    if not folder.exists():
        tell(f"reading {documents}")
    knowledge.write_base(
        folder, knowledge.read_documents(documents), name=documents.name, sources={"folder": documents.name}
    )
    return knowledge.open_base(folder)


def _write_questions(
    base: knowledge.KnowledgeBase, audit: DocumentAudit, calls: CallOptions
) -> tuple[list[Item], store.Usage]:
    """One question a paragraph, in random order of paragraphs, and what writing them has used."""
    rng = np.random.default_rng(audit.seed)
    there = int(base.askable.sum())
    if there < min(audit.questions, len(base)):
        generate_questions(
            base, resolve(audit.generator).name, per_paragraph=1, limit=audit.questions - there, rng=rng, **calls
        )
        base = knowledge.open_base(base.folder)
    rows = [int(row) for row in np.random.default_rng(audit.seed).permutation(np.flatnonzero(base.askable))]
    if not rows:
        raise InputError(
            f"{audit.generator} wrote no question that can be asked about {audit.documents}.",
            remedy="Use another --generator, or a larger --budget.",
        )
    one = SearchSettings(questions=1, phrasings=1)
    items = [paragraph_items(row, p, one)[0] for row, p in zip(rows, base.paragraphs(rows), strict=True)]
    calls_of = base.folder / CALLS
    return items, store.run_used(calls_of) if store.is_run(calls_of) else store.Usage()


def _settle(runner: StagesRunner, audit: DocumentAudit, tell: Callable[[str], None]) -> SettledAudit:
    """Ask, judge and draw until every claim is settled or the budget for it is used."""
    goals = [goal_of(parse_claim(text), audit.names) for text in audit.texts]

    def report(step: str, claims: Sequence[Claim]) -> None:
        tell(f"{step}: {sum(claim.decided for claim in claims)} of {len(claims)} claims settled")

    collector = _StageCollector(runner, audit)
    return settle_claims(
        goals,
        collector,
        available=len(runner.items),
        costs=_item_costs(audit, runner.calls),
        batch=audit.batch,
        order=audit.order,
        watch=report,
    )


def _item_costs(audit: DocumentAudit, calls: CallOptions) -> Callable[[Need], float]:
    """What one item costs of each kind: in money where every price is known, else in calls."""
    prices = calls.get("prices") or read_prices()
    models = {condition.name: condition.model for condition in audit.conditions}
    judged = [price_of(judge.model, prices) for judge in audit.judges]
    known = [price_of(model, prices) for model in models.values()]
    counts = {"ask": 1, "judge": JUDGES_EACH, "draw": audit.draws}
    if any(price is None or not price.input_usd for price in (*judged, *known)):
        return lambda need: float(counts[need.kind])
    typical = 800 // BYTES_PER_TOKEN, ANSWER_TOKENS // 4
    of_judge = float(np.mean([price.cost(*typical) for price in judged if price is not None] or [0.0]))
    of_model = {name: price.cost(*typical) for name, price in zip(models, known, strict=True) if price is not None}
    return lambda need: counts[need.kind] * (of_judge if need.kind == "judge" else of_model[need.condition])


class _StageCollector:
    """Asks, judges and draws the next items of the random order, by the stages."""

    def __init__(self, runner: StagesRunner, audit: DocumentAudit) -> None:
        self._runner, self._audit = runner, audit
        self._conditions = {condition.name: condition for condition in audit.conditions}
        self._drawing = {
            condition.name: draw_conditions([condition], runner.items)[0] for condition in audit.conditions
        }
        self._done: dict[Need, int] = {}

    def extend(self, targets: Mapping[Need, int]) -> None:
        """Bring each kind to so many items; answers before what judges them."""
        order = ("ask", "judge", "draw")
        for need, n in sorted(targets.items(), key=lambda pair: order.index(pair[0].kind)):
            items = self._runner.items[self._done.get(need, 0) : n]
            if need.kind == "ask":
                self._runner.ask_items(items, [self._conditions[need.condition]])
                self._runner.judge_without_model([item.id for item in items])
            elif need.kind == "judge":
                self._runner.judge_items([item.id for item in items], [need.condition])
            else:
                self._runner.draw_items(self._runner.items[:n], [self._drawing[need.condition]])
            self._done[need] = n

    def values(self, goal: Goal, n: int) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """The numbers of the first n items; missing ones are NaN."""
        ids = [item.id for item in self._runner.items[:n]]
        if goal.needs[0].kind == "draw":
            return self._agreement(ids, self._drawing[goal.needs[0].condition].name)
        columns = [self._column(ids, need) for need in goal.needs]
        return columns[0], columns[1] if goal.rule.other else None

    def _column(self, ids: Sequence[str], need: Need) -> NDArray[np.float64]:
        with store.open_ledger(self._runner.run) as ledger:
            if need.kind == "judge":
                found: Mapping[tuple[str, str], float | None] = first_severities(ledger.ratings(), "judge")
            else:
                found = {
                    (g.item, g.condition): None if g.correct is None else float(g.correct)
                    for g in ledger.grades()
                    if g.main and g.draw == 0
                }
        values = [found.get((item, need.condition)) for item in ids]
        return np.array([np.nan if value is None else value for value in values])

    def _agreement(self, ids: Sequence[str], condition: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Whether the most frequent answer to each item is right, and the share of draws that give it."""
        path = store.run_file(self._runner.run / "draws", DRAWS_NAME)
        rows = pl.DataFrame() if path is None else read_frame(path).filter(pl.col("condition") == condition)
        right, share = dict[str, float](), dict[str, float]()
        for (item,), own in rows.group_by("item") if len(rows) else ():
            sizes = own.group_by("cluster", maintain_order=True).agg(pl.len(), pl.col("correct").first())
            best = sizes.sort("len", descending=True, maintain_order=True).row(0, named=True)
            if best["correct"] is not None:
                right[str(item)], share[str(item)] = float(best["correct"]), best["len"] / len(own)
        return tuple(np.array([of.get(item, np.nan) for item in ids]) for of in (right, share))  # type: ignore[return-value]


def _keep_stop(run: store.RunLike, audit: DocumentAudit, settled: SettledAudit, items: Sequence[str]) -> None:
    """Keep the claims as they were settled, for the page."""
    rows = [
        {
            "claim": text,
            "verdict": claim.verdict.value,
            "sentence": claim.sentence,
            "estimate": claim.estimate,
            "interval": None if claim.interval is None else dataclasses.asdict(claim.interval),
            "n": claim.n,
            "asked": claim.n or 0,
            "available": len(items),
        }
        for text, claim in zip(audit.texts, settled.claims, strict=True)
    ]
    note: dict[str, Any] = {"claims": rows, "claim": "; ".join(audit.texts), "counts": dict(settled.counts)}
    with store.open_ledger(run, mode="write") as ledger:
        is_saved = any((claim.n or 0) < len(items) for claim in settled.claims)
        note |= {"items": sorted(items), "saved": int(is_saved)}
        ledger.set_note(STOP_NOTE, note)


def _search_and_weigh(
    runner: StagesRunner, audit: DocumentAudit, tell: Callable[[str], None]
) -> BudgetExhausted | None:
    """Search for errors of each model, have what it finds judged, and score answers for the tail."""
    stopped = None
    try:
        runner.search()
    except BudgetExhausted as error:
        stopped = error
    try:
        for name, part in store.find_parts(runner.run).items():
            if name.startswith("search-") and audit.judges:
                wrong = [q.item.id for q in failing_questions(part).questions]
                tell(f"judging {len(wrong):,} failures that the search found")
                runner.judge_items(wrong, None, run=part)
    except BudgetExhausted as error:
        stopped = error
    runner.write_scores()
    if audit.nll:
        runner.score()
    return stopped


def _share(limits: Budget, share: float) -> Budget:
    """A part of a budget."""
    return Budget(
        calls=None if limits.calls is None else int(limits.calls * share),
        tokens=None if limits.tokens is None else int(limits.tokens * share),
        money_usd=None if limits.money_usd is None else limits.money_usd * share,
    )


def _less(limits: Budget, used: store.Usage) -> Budget:
    """What a budget leaves."""
    return Budget(
        calls=None if limits.calls is None else max(0, limits.calls - used.calls),
        tokens=None if limits.tokens is None else max(0, limits.tokens - used.tokens),
        money_usd=None if limits.money_usd is None else max(0.0, limits.money_usd - used.money_usd),
    )
