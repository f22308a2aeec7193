"""Judge a run's answers: by rules, by a panel of models, or both; and say what the ratings are worth."""

import dataclasses
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Unpack

import numpy as np

from richter.audit._rating import with_text
from richter.audit._results import JUDGING_NOTE
from richter.errors import InputError
from richter.models import Price, price_of, read_prices, resolve
from richter.ratings import (
    Agreement,
    JudgeReport,
    PanelFailures,
    SelfJudging,
    agreement,
    audit_self_judging,
    judge_report,
    panel_failures,
    rubric,
    tabulate,
)
from richter.records import Answer, Condition, Item, Rating, Result
from richter.store import Ledger, RunLike, open_ledger
from richter_audit.bench import read_gazetteer
from richter_audit.judge import (
    REPLY_TOKENS,
    RuleJudge,
    deal,
    judge_detail,
    judge_messages,
    rate_answer,
    rule_label,
)
from richter_audit.llm import BATCH_CONCURRENCY, Asker, CallOptions, Model, at_once, check_models, with_models
from richter_audit.stages._ask_stage import BYTES_PER_TOKEN, AskProgress, progress_of

__all__ = ["JudgingEstimate", "JudgingResult", "estimate_judging", "judge_run"]

GAZETTEER_NAME = "facts.gazetteer.json.gz"
AT_ONCE = 200  # ratings that go into the ledger together


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class JudgingResult(Result):
    """What was rated, by whom, and how far it can be trusted."""

    run: str
    n_answers: int
    n_rule: int
    n_judge: int
    n_missing: int
    rule_labels: dict[str, dict[str, int]]  # condition -> label -> answers
    mean_severity: dict[str, dict[str, float]]  # kind -> condition -> mean
    panel: Agreement | None
    judges: JudgeReport | None
    self_judging: SelfJudging | None
    failures: PanelFailures | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class JudgingEstimate(Result):
    """What a panel would cost: two calls an answer, three where the two differ; None where a price is unknown."""

    n_answers: int
    calls_least: int
    calls_most: int
    tokens_most: int
    money_usd_most: float | None


def estimate_judging(
    run: RunLike,
    *,
    judges: Sequence[Condition],
    allow_self: bool = False,
    limit: int | None = None,
    items: Collection[str] | None = None,
    prices: Mapping[str, Price] | None = None,
) -> JudgingEstimate:
    """Count and price a panel's calls before any is made; `items` names those whose answers it would rate."""
    with open_ledger(run) as ledger:
        known = {item.id: item for item in ledger.items()}
        conditions = {c.name: c for c in ledger.conditions()}
        wanted = [a for a in ledger.answers() if items is None or a.item in items]
        chosen = _spread(with_text(wanted, ledger.name), limit)
    dealt = [
        (
            known[a.item],
            a.text,
            deal(judges, conditions[a.condition], turn, allow_self=allow_self),
        )
        for turn, a in enumerate(chosen)
    ]
    return price_panel(dealt, prices)


def price_panel(
    dealt: Sequence[tuple[Item, str, Sequence[Condition]]], prices: Mapping[str, Price] | None
) -> JudgingEstimate:
    """What it would cost at most to have answers rated, each by the judges it was dealt to: the first three of them."""
    prices = read_prices() if prices is None else prices
    money: float | None = 0.0
    least = most = tokens = 0
    for item, text, judges in dealt:
        least, most = least + min(2, len(judges)), most + min(3, len(judges))
        for judge in judges[:3]:
            messages = judge_messages(item, text, detail=judge_detail(judge), system=judge.system)
            length = sum(len(m["content"]) for m in messages) // BYTES_PER_TOKEN
            tokens += length + REPLY_TOKENS
            price = price_of(judge.model, prices)
            money = None if price is None or money is None else money + price.cost(length, REPLY_TOKENS)
    return JudgingEstimate(
        n_answers=len(dealt), calls_least=least, calls_most=most, tokens_most=tokens, money_usd_most=money
    )


def judge_run(
    run: RunLike,
    *,
    judges: Sequence[Condition] = (),
    rules: bool = False,
    gazetteer: str | Path | None = None,
    allow_self: bool = False,
    limit: int | None = None,
    items: Collection[str] | None = None,
    conditions: Collection[str] | None = None,
    seed: int = 0,
    watch: Callable[[AskProgress], None] | None = None,
    **calls: Unpack[CallOptions],
) -> JudgingResult:
    """Rate a run's answers by rules, by a panel of judge conditions, or both, into its ledger.

    `limit` takes that many answers for the panel, spread evenly over items and conditions; `items` and `conditions`
    name those whose answers it rates (None: all). Doing the same again asks only what is missing. Which model each
    judge was is kept in the run, so that self-judging can be audited later.
    """
    if not rules and not judges:
        raise InputError("No judge given.", remedy="Use --rules, --judges MODEL,MODEL, or both.")
    if len({judge.name for judge in judges}) < len(judges):
        raise InputError("Two judges have the same name.", remedy="Give each judge condition its own name.")
    check_models([judge.model for judge in judges], calls)
    with open_ledger(run, mode="write") as ledger:
        known = {item.id: item for item in ledger.items()}
        audited = {c.name: c for c in ledger.conditions() if conditions is None or c.name in conditions}
        answers = list(ledger.answers())
        if not answers:
            raise InputError(f"{ledger.name} holds no answers.", remedy="Run `richter audit --only ask` on it first.")
        if rules:
            rate_by_rules(ledger, RuleJudge(read_gazetteer(_gazetteer_path(ledger, Path(run), gazetteer))))
        if judges:
            wanted = [a for a in answers if a.condition in audited and (items is None or a.item in items)]
            chosen = _spread(with_text(wanted, ledger.name), limit)
            dealt = _deal_answers(chosen, list(known), audited, judges, allow_self=allow_self)
            _note_judges(ledger, judges, allow_self=allow_self)
            few: CallOptions = {"concurrency": 16, "slots": 4, **calls}
            if calls.get("batch"):
                few["concurrency"] = BATCH_CONCURRENCY  # what waits together goes out together
            _ask_panel(ledger, known, dealt, judges, watch, few)
        return _result(ledger, ledger.name, len(answers), rng=np.random.default_rng(seed))


def _deal_answers(
    answers: Sequence[Answer],
    items: Sequence[str],
    audited: Mapping[str, Condition],
    judges: Sequence[Condition],
    *,
    allow_self: bool,
) -> list[tuple[Answer, list[Condition]]]:
    """Each answer with its judges, by its item's place in the run."""
    places = {item: i for i, item in enumerate(items)}
    return [(a, deal(judges, audited[a.condition], places[a.item] + a.draw, allow_self=allow_self)) for a in answers]


def _note_judges(ledger: Ledger, judges: Sequence[Condition], *, allow_self: bool) -> None:
    """Keep who judged, beside those who did before."""
    note = ledger.note(JUDGING_NOTE) or {}
    known = {row["name"]: row for row in note.get("judges", [])} | {j.name: j.to_dict() for j in judges}
    facts = {"judges": list(known.values()), "pool": [j.name for j in judges], "self_allowed": allow_self}
    ledger.set_note(JUDGING_NOTE, {**facts, "rubric": rubric().version})


def _mean_severities(ratings: Sequence[Rating]) -> dict[str, float]:
    """The mean severity of each condition that has one."""
    scores: dict[str, list[float]] = {}
    for rating in sorted(ratings, key=lambda r: r.condition):
        if rating.severity is not None:
            scores.setdefault(rating.condition, []).append(rating.severity)
    return {condition: float(np.mean(own)) for condition, own in scores.items()}


def rate_by_rules(ledger: Ledger, judge: RuleJudge, *, items: Collection[str] | None = None) -> None:
    """Rate every answer in the ledger by rules, or those to some items."""
    known = {item.id: item for item in ledger.items()}
    ledger.add_ratings([judge.rate(known[a.item], a) for a in ledger.answers() if items is None or a.item in items])


def _gazetteer_path(ledger: Ledger, run: Path, given: str | Path | None) -> Path:
    bench = str((ledger.note("bench") or {}).get("path", ""))
    path = Path(given) if given is not None else find_gazetteer(run, bench)
    if path is None:
        raise InputError(
            f"The rules need the gazetteer that `richter bench facts` wrote; it is not beside {bench or run}.",
            remedy="Say where it is with --gazetteer PATH, or let models judge: --judges MODEL,MODEL.",
        )
    return path


def find_gazetteer(run: str | Path, bench: str | Path) -> Path | None:
    """The gazetteer in the run's folder, or beside its benchmark; None where there is none."""
    own, items = Path(run) / GAZETTEER_NAME, Path(bench)
    beside = items.with_name(f"{items.name.split('.')[0]}.gazetteer.json.gz") if items.name else items
    return next((path for path in (own, beside) if path.is_file()), None)


def _spread(answers: list[Answer], limit: int | None) -> list[Answer]:
    """`limit` answers, every condition alike: the same evenly spaced items of each."""
    if limit is None or limit >= len(answers):
        return answers
    by_condition: dict[str, list[Answer]] = {}
    for answer in answers:
        by_condition.setdefault(answer.condition, []).append(answer)
    each = max(1, limit // len(by_condition))
    chosen: list[Answer] = []
    for own in by_condition.values():
        chosen += [own[i] for i in np.linspace(0, len(own) - 1, min(each, len(own))).astype(int)]
    return chosen


class _RatingsKept:
    """Puts ratings into the ledger many at a time; the calls that they come from are there already, so none is lost."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._waiting: list[Rating] = []

    def add(self, found: Sequence[Rating]) -> None:
        """Keep some, now or soon."""
        self._waiting += found
        if len(self._waiting) >= AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Put in what waits."""
        waiting, self._waiting = self._waiting, []
        self._ledger.add_ratings(waiting)


def _tokens_needed(item: Item, answer: Answer, judges: Sequence[Condition]) -> int:
    """The context that local judges need for the prompt and its reply, in whole blocks."""
    prompts = (judge_messages(item, answer.text, detail="brief", system=judge.system) for judge in judges)
    longest = max(sum(len(m["content"]) for m in prompt) for prompt in prompts)
    return -(-(longest // 3 + REPLY_TOKENS + 64) // 256) * 256


def _ask_panel(
    ledger: Ledger,
    items: Mapping[str, Item],
    dealt: Sequence[tuple[Answer, list[Condition]]],
    judges: Sequence[Condition],
    watch: Callable[[AskProgress], None] | None,
    calls: CallOptions,
) -> None:
    local = [judge for judge in judges if resolve(judge.model).backend == "local"]
    needed = (_tokens_needed(items[a.item], a, local) for a, _ in dealt) if local else ()
    kept = _RatingsKept(ledger)
    queue = iter(dealt)

    async def panel(asker: Asker, models: Mapping[str, Model]) -> None:
        started, done = time.monotonic(), 0

        async def work() -> None:
            nonlocal done
            for answer, order in queue:
                found = await rate_answer(asker, models, order, items[answer.item], answer)
                kept.add(found)
                done += 1
                if watch:
                    watch(progress_of(asker, total=len(dealt), done=done, answered=done, started=started))

        try:
            await at_once(work, min(calls["concurrency"], len(dealt)))
        finally:
            kept.flush()

    with_models(
        ledger, [judge.model for judge in judges], panel, {**calls, "context_tokens": max(needed, default=None)}
    )


def _result(ledger: Ledger, run: str, n_answers: int, *, rng: np.random.Generator) -> JudgingResult:
    ratings = ledger.ratings()
    given = {kind: [r for r in ratings if r.kind == kind] for kind in ("human", "judge", "rule")}
    labels: dict[str, Counter[str]] = {}
    for r in given["rule"]:
        labels.setdefault(r.condition, Counter())[rule_label(r)] += 1
    means = {kind: own for kind, rows in given.items() if (own := _mean_severities(rows))}
    panel = judged = audit = None
    if given["judge"]:
        table = tabulate(ratings, "judge")
        reference = next((tabulate(ratings, kind) for kind in ("human", "rule") if given[kind]), None)
        panel = agreement(table, rng=rng)
        judged = judge_report(table, reference, rng=rng)
        note = ledger.note(JUDGING_NOTE) or {}
        judges = [Condition.from_dict(row) for row in note.get("judges", [])]
        audit = audit_self_judging(ratings, ledger.conditions(), judges)
    return JudgingResult(
        run=run,
        n_answers=n_answers,
        n_rule=len(given["rule"]),
        n_judge=len(given["judge"]),
        n_missing=sum(r.severity is None for r in ratings),
        rule_labels={condition: dict(own) for condition, own in labels.items()},
        mean_severity=means,
        panel=panel,
        judges=judged,
        self_judging=audit,
        failures=panel_failures(ratings),
    )
