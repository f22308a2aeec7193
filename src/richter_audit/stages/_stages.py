"""The stages of an audit: ask, judge, draw, score, search. Each resumes from its ledger; measuring asks nothing.

A run has a ledger for what was asked and judged; its parts `draws` and `search*` have their own. The
budget is held over all of them together. Doing the same again pays only for what is missing.
"""

import dataclasses
import functools
import hashlib
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Unpack

import numpy as np
import polars as pl

from richter import store
from richter.audit._plan import read_plan
from richter.audit._plan_lock import check_plan
from richter.audit._results import STOP_NOTE
from richter.audit._series import CANARIES
from richter.errors import BudgetExhausted, InputError
from richter.floors import StopRule
from richter.interop import export_table, read_frame
from richter.models import resolve
from richter.records import Claim, Condition, Decoding, Item, Rating, RatingKind
from richter.tables import read_tables, scores_table
from richter.tables._confidence_source import confidences
from richter.tables._read_run import first_confidences
from richter.texts import choose_graders, is_refusal
from richter_audit.ascent import SearchSettings, StepSummary, run_search
from richter_audit.bench import read_gazetteer
from richter_audit.judge import RuleJudge, deal
from richter_audit.knowledge import open_base
from richter_audit.llm import Budget, CallOptions, check_models
from richter_audit.stages._ask_stage import AskProgress, ask_run, name_conditions
from richter_audit.stages._draw_stage import draw_run, tabulate_draws
from richter_audit.stages._grading import GradingResult, grade_ledger
from richter_audit.stages._judging import find_gazetteer, judge_run, rate_by_rules
from richter_audit.stages._score import answers_of, own_nll, score_nll
from richter_audit.stages._sequential import Outcome, SequentialAudit, ask_until

__all__ = ["AuditSettings", "StagesResult", "adopt_plan", "draw_conditions", "run_stages"]

STAGES = ("ask", "judge", "draw", "score", "search")
# what each section of the results is measured from
_NEEDS = {
    "severity": ("ask", "judge"),
    "floors": ("ask", "judge"),
    "judges": ("ask", "judge"),
    "calibration": ("ask", "judge", "draw"),
    "tail": ("ask", "score"),
    "search": ("search",),
}
SEARCH_TOKENS = 256  # of an answer in a search; doubled where one is cut off
CLOZE_TOKENS = 16
SCORES, PLAN_NAME = "scores.csv", "plan.toml"
MOST_CANARIES = 100

Progress = Callable[[AskProgress], None]
Watch = Callable[[str], AbstractContextManager[Progress]]  # a stage's name -> where its progress goes


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AuditSettings:
    """What an audit asks, of whom. A stage with nothing to do (no judges, no draws, no base) is left out.

    `judged` is how many answers go to the judge models (None: all); rules rate every answer where there is a gazetteer.
    `grader` grades right or wrong from the references ("auto": whichever fits each); where neither rules nor judges
    can rate, that is what is done.
    `drawn` items are drawn `draws` times under `draw_conditions`. `nll` names the local model that scores every answer
    for the tail. `base` is searched with `search_calls` calls for each model. `canaries` is a run whose answers are
    rated anew, so that `richter watch` can tell judges that drift from a model that does.
    """

    conditions: tuple[Condition, ...]
    bench: str = ""
    gazetteer: str | None = None
    grader: str | None = None
    tolerance: float | None = None
    judges: tuple[Condition, ...] = ()
    allow_self: bool = False
    judged: int | None = None
    draws: int = 20
    drawn: int = 60
    draw_conditions: tuple[Condition, ...] = ()
    nll: str | None = None
    base: str | None = None
    search_calls: int = 600
    canaries: Path | None = None
    search: SearchSettings = dataclasses.field(default_factory=SearchSettings)
    seed: int = 0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StagesResult:
    """Which stages ran, how early stopping ended (None: not asked for), and why the asking ended early if it did."""

    stages: tuple[str, ...]
    sequential: SequentialAudit | None
    stopped: BudgetExhausted | None
    grading: GradingResult | None = None


def stages_for(settings: AuditSettings, *, only: Collection[str] | None = None) -> tuple[str, ...]:
    """The stages that the sections in `only` (all, if None) need, less those that the settings leave nothing to do."""
    unknown = [name for name in only or () if name not in _NEEDS]
    if unknown:
        raise InputError(f"There is no section {unknown[0]!r}.", remedy=f"There are {', '.join(_NEEDS)}.")
    wanted = {stage for name in (_NEEDS if only is None else only) for stage in _NEEDS[name]}
    idle = {
        "draw": not (settings.draws and settings.drawn and settings.draw_conditions),
        "score": settings.nll is None,
        "search": settings.base is None,
    }
    for section, stage, remedy in (("tail", "score", "--nll smollm2"), ("search", "search", "--kb BASE")):
        if only is not None and section in only and idle[stage]:
            raise InputError(f"Nothing says how to get the section {section!r}.", remedy=f"Give {remedy}.")
    return tuple(stage for stage in STAGES if stage in wanted and not idle.get(stage, False))


def draw_conditions(conditions: Sequence[Condition], items: Sequence[Item]) -> tuple[Condition, ...]:
    """What repeated draws are drawn from: the audited conditions, at temperature 1 where they are greedy.

    A local model that answers freely chooses among the options of a cloze where items have them: its free answers
    rarely agree, and say little of how sure it is.
    """
    cloze = any(item.stem and item.options for item in items)
    by_name: dict[str, Condition] = {}
    for condition in conditions:
        warm = condition.decoding.temperature or 1.0
        if cloze and condition.style != "cloze" and resolve(condition.model).backend == "local":
            decoding = dataclasses.replace(condition.decoding, max_tokens=CLOZE_TOKENS)
            (chosen,) = name_conditions([condition.model], temperatures=[warm], decoding=decoding, style="cloze")
        elif condition.decoding.temperature:
            chosen = condition
        else:
            decoding = dataclasses.replace(condition.decoding, temperature=warm)
            chosen = dataclasses.replace(condition, name=f"{condition.name} t={warm:g}", decoding=decoding)
        by_name.setdefault(chosen.name, chosen)
    return tuple(by_name.values())


def adopt_plan(run: store.RunLike, plan: str | Path) -> str | None:
    """Copy a plan and its lock into the run before anything is asked; the reasons why it confirms nothing."""
    read_plan(plan)
    own = store.run_file(run, PLAN_NAME)
    if own is not None:
        if read_plan(own).hash != read_plan(plan).hash:
            raise InputError(f"{own} is another plan than {plan}.", remedy="Audit into a new run, or leave --plan out.")
    else:
        if (lock := Path(f"{plan}.lock")).exists():
            _keep_file(run, f"{PLAN_NAME}.lock", lock.read_bytes())
        own = _keep_file(run, PLAN_NAME, Path(plan).read_bytes())
    status = check_plan(own)
    return None if status.confirmatory else "; ".join(status.reasons)


def _keep_file(run: store.RunLike, name: str, content: bytes) -> Path:
    return store.write_file(Path(run) / name, content, into_new=True, remedy="Choose another folder.")


def run_stages(
    run: store.RunLike,
    items: Sequence[Item],
    settings: AuditSettings,
    *,
    only: Collection[str] | None = None,
    stop_when: StopRule | None = None,
    watch: Watch | None = None,
    on_batch: Callable[[Claim], None] | None = None,
    **calls: Unpack[CallOptions],
) -> StagesResult:
    """Run the stages that the wanted sections need, one after another, each where it stopped the last time.

    What would fail later is said before the first call. Where the budget is used up the asking ends, what is there is
    still judged by rules, and the result says so.
    """
    wanted = stages_for(settings, only=only)
    audit = StagesRunner(Path(run), list(items), settings, watch, calls)
    audit.check(wanted)
    sequential, stopped = None, None
    store.open_ledger(run, mode="write").close()  # the parts' spending is counted with it
    try:
        if stop_when is not None and "ask" in wanted:
            sequential = audit.ask_until(stop_when, on_batch)
        for stage in wanted:
            if stage == "judge":
                audit.judge_without_model()
            getattr(audit, stage)()
    except BudgetExhausted as error:
        stopped = error
        if "judge" in wanted and audit.has_answers:
            audit.judge_without_model()
    return StagesResult(stages=wanted, sequential=sequential, stopped=stopped, grading=audit.grading)


class StagesRunner:
    """The stages of one audit on its way, and what they share."""

    def __init__(
        self, run: Path, items: list[Item], settings: AuditSettings, watch: Watch | None, calls: CallOptions
    ) -> None:
        self.run, self.items, self.settings = run, items, settings
        self.limits = calls.get("budget") or Budget()
        self.calls: CallOptions = {**calls, "budget": self.limits}
        self.watch: Watch = watch or (lambda _: nullcontext(lambda _: None))
        self.gazetteer = settings.gazetteer or find_gazetteer(run, settings.bench)
        self.grading: GradingResult | None = None

    @property
    def rules(self) -> bool:
        """Whether rules can judge."""
        return self.gazetteer is not None

    @property
    def grader(self) -> str | None:
        """Who grades from references: as asked, or whoever fits where nobody else can judge."""
        if self.settings.grader is not None or self.rules or self.settings.judges:
            return self.settings.grader
        return "auto" if any(item.reference.strip() for item in self.items) else None

    @property
    def has_answers(self) -> bool:
        """Whether there is anything to judge."""
        return _read_spent(self.run).answers > 0

    def check(self, stages: Sequence[str]) -> None:
        """Everything that would fail after calls were paid for."""
        settings = self.settings
        models = [c.model for c in settings.conditions]
        if "judge" in stages:
            self._check_judging()
            models += [j.model for j in settings.judges]
        check_models(models, self.calls)
        if "draw" in stages and not drawn_items(self.items, settings):
            raise InputError(
                "No item can be drawn repeatedly: none has a reference answer"
                + (", a cloze stem and options." if any(c.style == "cloze" for c in settings.draw_conditions) else "."),
                remedy="Give --draws 0, or a benchmark with them.",
            )
        if "search" in stages and settings.base is not None:
            open_base(settings.base)

    def _check_judging(self) -> None:
        settings = self.settings
        if not self.rules and not settings.judges and self.grader is None:
            raise InputError(
                "No judge given: no judge model is named, there is no gazetteer to judge by rules, and no item has a "
                "reference to grade by.",
                remedy="Give --judges MODEL,MODEL, or add a reference column.",
            )
        choose_graders(self.items, None if self.grader == "auto" else self.grader)
        for condition in settings.conditions if settings.judges else ():
            deal(settings.judges, condition, 0, allow_self=settings.allow_self)

    # -- the stages ----------------------------------------------------------------------------------------

    def ask(self) -> None:
        """Ask every condition every item, or those that were asked before a claim was decided."""
        before = self._items_asked_before()
        with self.watch("ask") as tell:
            self._ask([item for item in self.items if before is None or item.id in before], tell)

    def _ask(self, items: Sequence[Item], tell: Progress) -> None:
        settings = self.settings
        ask_run(self.run, items, settings.conditions, bench=settings.bench, watch=tell, **self._within())

    def _within(self, **more: Unpack[CallOptions]) -> CallOptions:
        """How a stage makes its calls: each counts against a budget of its own, which starts from what is spent."""
        return {**self.calls, "budget": dataclasses.replace(self.limits), **more}

    def _items_asked_before(self) -> set[str] | None:
        """The items that were asked before a claim was decided; None where nothing was stopped."""
        if not store.is_run(self.run):
            return None
        with store.open_ledger(self.run) as ledger:
            note = ledger.note(STOP_NOTE)
        return None if note is None else set(note["items"])

    def ask_until(self, claim: StopRule, on_batch: Callable[[Claim], None] | None) -> SequentialAudit:
        """Ask and judge a batch at a time until the claim is decided; keep what decided it in the ledger."""
        by_id = {item.id: item for item in self.items}
        names = [c.name for c in self.settings.conditions]
        kind = "rule" if self.rules else "judge" if self.settings.judges else "grader"

        with self.watch("ask") as tell:

            def batch(items: Sequence[str], conditions: Sequence[str]) -> list[Outcome]:
                self._ask([by_id[name] for name in items], tell)
                if kind == "judge":
                    self._judge(tell, limit=None)
                else:
                    self.judge_without_model(items)
                return list(self._outcomes(set(items), set(conditions), kind))

            rng = np.random.default_rng(self.settings.seed)
            groups = {item.id: item.group for item in self.items}
            audit = ask_until(claim, list(by_id), batch, conditions=names, rng=rng, groups=groups, on_batch=on_batch)
        asked = sorted(audit.items)
        with store.open_ledger(self.run, mode="write") as ledger:
            ledger.set_note(STOP_NOTE, audit.to_dict() | {"items": asked, "ratings": kind})
        return audit

    def _outcomes(self, items: set[str], conditions: set[str], kind: str) -> Iterator[Outcome]:
        """What came of a batch: failures, refusals, grades, severities, and confidences stated or of the tokens."""
        with store.open_ledger(self.run) as ledger:
            answers = [a for a in ledger.answers() if a.draw == 0 and a.item in items and a.condition in conditions]
            grades = {(g.item, g.condition): g for g in ledger.grades() if g.main and g.draw == 0 and kind == "grader"}
            severities = first_severities(ledger.ratings(), kind)
            given = {k: v for k, v in first_confidences(ledger).items() if k[0] in items and k[1] in conditions}
        texts = [((a.item, a.condition, 0), a.text, a.tokens, a.logprobs) for a in answers if not a.error]
        sure = {(item, name): value for item, name, _, _, value in confidences(given, texts).iter_rows()}
        for a in answers:
            key = (a.item, a.condition)
            severity, grade = severities.get(key), grades.get(key)
            correct = None if grade is None or grade.correct is None else float(grade.correct)
            yield Outcome(
                item=a.item,
                condition=a.condition,
                failed=bool(a.error),
                refused=None if a.error else is_refusal(a.text),
                correct=float(severity == 0) if severity is not None else correct,
                score=None if grade is None else grade.value,
                severity=severity,
                confidence=sure.get(key),
            )

    @functools.cached_property
    def _rule_judge(self) -> RuleJudge:
        return RuleJudge(read_gazetteer(str(self.gazetteer)))

    def judge_without_model(self, items: Collection[str] | None = None) -> None:
        """Rate every answer, or those to some items, from the facts behind the question, or grade by the reference."""
        with store.open_ledger(self.run, mode="write") as ledger:
            if self.rules:
                rate_by_rules(ledger, self._rule_judge, items=items)
            if self.grader is not None:
                chosen, tolerance = None if self.grader == "auto" else self.grader, self.settings.tolerance
                self.grading = grade_ledger(ledger, grader=chosen, tolerance=tolerance, items=items)

    def ask_items(self, items: Sequence[Item], conditions: Sequence[Condition]) -> None:
        """Ask some conditions some items."""
        with self.watch("ask") as tell:
            ask_run(self.run, items, conditions, bench=self.settings.bench, watch=tell, **self._within())

    def judge_items(
        self, items: Collection[str], conditions: Collection[str] | None, *, run: Path | None = None
    ) -> None:
        """Have the judge models rate the answers of some conditions (all: None) to some items, here or in a part."""
        if items:
            with self.watch("judge") as tell:
                self._judge(tell, limit=None, run=run, items=items, conditions=conditions)

    def write_scores(self) -> None:
        """Write the scores table."""
        _write_scores(self.run, source="rule" if self.rules else "judge")

    def judge(self) -> None:
        """Rate answers by the judge models, and write the scores table."""
        if self.settings.judges:
            with self.watch("judge") as tell:
                self._judge(tell, limit=self.settings.judged)
        self.write_scores()
        if self.settings.canaries is not None:
            self._rate_canaries(self.settings.canaries)

    def _rate_canaries(self, source: Path) -> None:
        """Rate the fixed answers of another run anew, in a part of this one: what changes in them is the judges'."""
        part = self.run / CANARIES
        with store.open_ledger(source) as ledger:
            items, conditions = {item.id: item for item in ledger.items()}, ledger.conditions()
            fixed = [a for a in ledger.answers() if a.draw == 0 and not a.error and a.item in items]
        fixed.sort(key=lambda a: hashlib.sha256(f"{a.condition}\0{a.item}".encode()).digest())
        fixed = fixed[:MOST_CANARIES]
        with store.open_ledger(part, mode="write") as ledger:
            ledger.add_items([items[name] for name in sorted({a.item for a in fixed})])
            ledger.add_conditions(conditions)
            known = {(c.name, item) for c in conditions for item, _ in ledger.answered_draws(c.name)}
            ledger.add_calls(
                [
                    store.Call(key=f"canary {a.condition} {a.item}", model=a.condition, request="canary", answer=a)
                    for a in (dataclasses.replace(a, money_usd=0.0) for a in fixed)
                    if (a.condition, a.item) not in known
                ]
            )
            if self.rules:
                rate_by_rules(ledger, self._rule_judge)
        if self.settings.judges:
            with self.watch("judge") as tell:
                self._judge(tell, limit=None, run=part)

    def _judge(
        self,
        tell: Progress,
        *,
        limit: int | None,
        run: Path | None = None,
        items: Collection[str] | None = None,
        conditions: Collection[str] | None = None,
    ) -> None:
        settings, few = self.settings, self._within(concurrency=16, slots=4)
        judge_run(
            run or self.run,
            judges=settings.judges,
            allow_self=settings.allow_self,
            limit=limit,
            items=items,
            conditions=conditions,
            watch=tell,
            **few,
        )

    def draw_items(self, items: Sequence[Item], conditions: Sequence[Condition]) -> None:
        """Draw repeated answers of some conditions to some items; the table holds whatever was drawn before, too."""
        settings, part = self.settings, self.run / "draws"
        with self.watch("draw") as tell:
            ask_run(part, items, conditions, draws=settings.draws, watch=tell, **self._within())
        every, names = [item.id for item in self.items], [c.name for c in settings.draw_conditions]
        tabulate_draws(part, every, names, settings.draws)

    def draw(self) -> None:
        """Draw repeated answers to some of the items."""
        settings, part = self.settings, self.run / "draws"
        with self.watch("draw") as tell:
            draw_run(
                part,
                drawn_items(self.items, settings),
                settings.draw_conditions,
                draws=settings.draws,
                bench=settings.bench,
                watch=tell,
                **self._within(),
            )

    def score(self) -> None:
        """Give every answer its mean token NLL under a model."""
        model = str(self.settings.nll)
        with self.watch("score") as tell:
            frame = score_nll(
                answers_of(self.run),
                model,
                self.run,
                known=own_nll(self.run, model),
                watch=tell,
                **self._within(),
            )
        _write_scores(self.run, source="rule" if self.rules else "judge", nll=frame)

    def search(self) -> None:
        """Search the base for errors of each model."""
        settings = self.settings
        base = open_base(str(settings.base))
        models = list(dict.fromkeys(c.model for c in settings.conditions))
        for model in models:
            part = self.run / f"search-{re.sub(r'[^A-Za-z0-9.]+', '-', model)}"
            style = "cloze" if resolve(model).backend == "local" else "choice"
            (condition,) = name_conditions([model], decoding=Decoding(max_tokens=SEARCH_TOKENS), style=style)
            calls = settings.search_calls
            if self.limits.calls is not None:
                calls = min(calls, self.limits.calls - store.run_used(self.run).calls + _read_spent(part).calls)
            if calls < settings.search.questions * settings.search.phrasings:
                raise BudgetExhausted("The budget has no calls left for a search.", remedy="Raise --budget.")
            with self.watch("search") as tell:
                within = self._within(budget=dataclasses.replace(self.limits, own_calls=calls))
                run_search(part, base, condition, settings.search, watch=_steps(part, calls, tell), **within)


def _steps(part: Path, calls: int, tell: Progress) -> Callable[[StepSummary], None]:
    """Steps of a search as progress in calls."""
    before, started = _read_spent(part).answers, time.monotonic()

    def watch(step: StepSummary) -> None:
        spent = _read_spent(part)
        tell(
            AskProgress(
                total=calls,
                done=min(spent.calls, calls),
                answered=spent.answers - before,
                failed=spent.calls - spent.answers,
                retries=0,
                elapsed_s=time.monotonic() - started,
                tokens=spent.tokens,
                money_usd=spent.money_usd,
                unpriced=spent.unpriced,
            )
        )

    return watch


def _read_spent(place: Path) -> store.Spent:
    if not store.is_run(place):
        return store.Spent(calls=0, answers=0, tokens=0, money_usd=0.0, unpriced=0)
    with store.open_ledger(place) as ledger:
        return ledger.spent()


def drawn_items(items: Sequence[Item], settings: AuditSettings) -> list[Item]:
    """The items that are drawn repeatedly: evenly spaced over those that every drawing condition can be asked."""
    cloze = any(c.style == "cloze" for c in settings.draw_conditions)
    able = [item for item in items if item.reference and (not cloze or (item.stem and item.options))]
    places = np.linspace(0, len(able) - 1, min(settings.drawn, len(able))).astype(int)
    return [able[i] for i in places]


def _write_scores(run: Path, *, source: RatingKind, nll: pl.DataFrame | None = None) -> None:
    """The run's scores.csv: severities as far as there are ratings, and `nll`, new or as it was."""
    path, keys = store.run_file(run, SCORES), ["item", "condition"]
    tables = read_tables(run)
    rated = tables.ratings.filter(pl.col("kind") == source, pl.col("severity").is_not_null()).height > 0
    if nll is None and path is not None:
        old = read_frame(path)
        nll = old if {*keys, "nll"} <= set(old.columns) else None
    frames = [] if nll is None else [nll.select(pl.col(keys).cast(pl.String), pl.col("nll").cast(pl.Float64))]
    if rated:
        frames.insert(0, scores_table(dataclasses.replace(tables, counting=source)))
    if frames:
        table = frames[0] if len(frames) == 1 else frames[0].join(frames[1], on=keys, how="full", coalesce=True)
        export_table(table, run / SCORES)


def first_severities(ratings: Iterable[Rating], kind: str) -> dict[tuple[str, str], float]:
    """The median severity that raters of a kind gave each first answer, as `tables.severity_of` has it."""
    severities: dict[tuple[str, str], list[float]] = {}
    for r in ratings:
        if r.kind == kind and r.draw == 0 and r.severity is not None:
            severities.setdefault((r.item, r.condition), []).append(r.severity)
    return {key: float(np.median(own)) for key, own in severities.items()}
