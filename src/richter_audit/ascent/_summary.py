"""What a search found, from its ledger alone: per step, in all, and for the whole base."""

import dataclasses
import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from richter.errors import InputError
from richter.records import Answer, Condition, Item, Result
from richter.store import Ledger, RunLike, Spent, open_ledger
from richter_audit.ascent._frame import SamplingFrame
from richter_audit.ascent._judge_answers import Judged, read_judged
from richter_audit.ascent._outcome import Outcome, last_answers, outcomes
from richter_audit.ascent._population import PopulationRate, population_rate
from richter_audit.ascent._settings import SearchSettings
from richter_audit.ascent._tasks import Task, read_archive
from richter_audit.ascent._trails import Trail, follow
from richter_audit.knowledge import KnowledgeBase

__all__ = ["CostRow", "SearchSummary", "StepSummary", "read_search", "search_failing", "summarise"]


BASE_NOTE, DROPPED_NOTE, INDEX_NOTE = "search base path", "search dropped", "search index"
REWORDED_NOTE = "search reworded"
UNASKED = Outcome()
COUNTED = ("uncorrected", "refused", "unreadable", "truncated", "empty", "failed")  # over all paragraphs


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class StepSummary:
    """One step: its error T_E and the error T_S of all steps so far (eq. 2), and the sources after it.

    An error is None where none of its paragraphs is finished.
    """

    step: int
    paragraphs: int
    error: float | None
    cumulative_error: float | None
    sources: int
    pruned: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CostRow:
    """What one model of a search cost, and what it was there for. `money_usd` is None where its price is unknown."""

    model: str
    role: str
    calls: int
    failed: int
    tokens_in: int
    tokens_out: int
    money_usd: float | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SearchSummary(Result):
    """What a search found.

    `answers` counts questions answered rightly or wrongly as first worded, `errors_found` the wrong ones among them:
    different questions, however many wordings were asked. `confirmed` of those fail in at least half of their other
    wordings too, `reworded` had others asked. `sources_found` are paragraphs whose error exceeds xi,
    `distinct_categories` the categories of the wrong questions and `effective_categories` their inverse Simpson number,
    (sum n)^2 / sum n^2: how many equally large categories would be as diverse. Refused, unreadable, truncated and empty
    answers are neither right nor wrong. `population` is the error
    rate of the paragraphs of `frame` and `by_category` of their categories, from the uniform share; the steps'
    errors say nothing of the base, being chosen for their errors.
    """

    unwritten: ClassVar = ("spent", "asked")
    derived: ClassVar = ("totals", "cost_per_error", "curves")
    named: ClassVar = {"totals": "spent", "unfinished": "unfinished_paragraphs", "dropped": "dropped_questions"}

    strategy: str
    settings: SearchSettings
    model: str
    base: Mapping[str, Any]
    budget: str
    spent: Spent
    costs: tuple[CostRow, ...]
    steps: tuple[StepSummary, ...]
    asked: tuple[tuple[int, int], ...]  # answers and wrong ones after each step
    answers: int
    errors_found: int
    reworded: int
    confirmed: int
    judged: int  # answers that are not the reference's words, which a judge was asked about
    judged_right: int  # and called right
    uncorrected: int  # wrong clozes of which the server would not say how likely the options are
    preferred: int  # right once corrected for how likely each option is without the subject (cloze)
    refused: int
    unreadable: int  # they name several options, or offer the reference beside another answer
    truncated: int
    empty: int
    failed: int
    unfinished: int
    sources_found: int
    distinct_categories: int
    effective_categories: float | None
    frame: SamplingFrame
    population: PopulationRate
    by_category: Mapping[str, PopulationRate]
    tasks: tuple[Task, ...]  # that a model proposed
    dropped: Mapping[str, int]  # questions that were not asked, by reason

    @property
    def totals(self) -> dict[str, float | None]:
        """Calls, tokens and money spent; `money` is None where no call has a known price."""
        spent = self.spent
        money = None if spent.answers and spent.unpriced == spent.answers else spent.money_usd
        return {"calls": spent.calls, "tokens": spent.tokens, "money": money}

    @property
    def cost_per_error(self) -> dict[str, float | None]:
        """Calls, tokens and money for each different question answered wrongly; None: no such, or no known price."""
        errors = self.errors_found
        return {k: v / errors if errors and v is not None else None for k, v in self.totals.items()}

    @property
    def curves(self) -> dict[str, list[float]]:
        """What was found after each step, as columns."""
        steps = {k: [getattr(step, k) for step in self.steps] for k in ("step", "error", "cumulative_error")}
        return steps | {"answers": [n for n, _ in self.asked], "errors_found": [wrong for _, wrong in self.asked]}


def read_search(run: RunLike, *, level: float = 0.95) -> SearchSummary:
    """The summary of a run folder."""
    with open_ledger(run) as ledger:
        return summarise(ledger, level=level)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SearchRecords:
    """What the ledger of a search holds: what defines it, what it asked, and what came of each paragraph.

    A paragraph without items in a step that was written is one without a usable question: it has no error. A step
    without items, and without a note of what was dropped, is still to be written.
    """

    settings: SearchSettings
    condition: Condition
    note: Mapping[str, Any]
    items: Mapping[str, Item]
    given: Mapping[str, Answer]  # each item's answer
    judged: Judged
    picks: Sequence[tuple[int, int, str]]
    edges: Sequence[tuple[int, int]]
    sample: Sequence[int]
    batches: Mapping[int, Sequence[int]]  # the paragraphs of each step
    outcomes: Mapping[int, Outcome]

    @property
    def frame(self) -> SamplingFrame:
        """The paragraphs that the random sample is drawn from."""
        return SamplingFrame.from_dict(self.note.get("frame") or {"size": sum(self.note["categories"].values())})

    @property
    def covers_frame(self) -> bool:
        """Whether every paragraph that could be asked about was."""
        return len(self.picks) >= self.frame.size

    @property
    def known_errors(self) -> dict[int, float]:
        """The error of every paragraph that has one."""
        return {row: o.error for row, o in self.outcomes.items() if o.error is not None}

    @property
    def errors(self) -> dict[int, float]:
        """The error of every paragraph; nan where it has none."""
        return {row: np.nan if o.error is None else o.error for row, o in self.outcomes.items()}

    @property
    def failing(self) -> list[int]:
        """The paragraphs whose error exceeds xi."""
        return [row for row, error in self.known_errors.items() if error > self.settings.xi]

    @property
    def finished_sample(self) -> list[int]:
        """The random sample up to the first paragraph that is still to be asked about, so that it has no gap.

        Where the whole frame was asked about, nothing was left to chance: it is the whole frame.
        """
        if self.covers_frame and not any(outcome.missing for outcome in self.outcomes.values()):
            return list(self.outcomes)
        return list(itertools.takewhile(lambda row: not self.outcomes[row].missing, self.sample))


def read_search_ledger(ledger: Ledger) -> SearchRecords:
    """What a search's ledger holds."""
    note = ledger.note("search")
    if note is None:
        raise InputError(f"{ledger.name} holds no search.", remedy="Make one with `richter search`.")
    condition = next(c for c in ledger.conditions() if c.name == note["condition"])
    settings, items, picks = SearchSettings.from_dict(note["settings"]), ledger.items(), ledger.picks()
    given, judged = last_answers(ledger.answers(condition.name)), read_judged(ledger, condition.name)
    by_row = outcomes(items, given, condition, settings, judged)
    batches: dict[int, list[int]] = defaultdict(list)
    for row, step, _ in picks:
        batches[step].append(row)
    for step, batch in batches.items():
        written = any(row in by_row for row in batch) or ledger.note(f"{DROPPED_NOTE} {step}") is not None
        for row in batch:
            by_row.setdefault(row, dataclasses.replace(UNASKED, missing=int(not written)))
    return SearchRecords(
        settings=settings,
        condition=condition,
        note=note,
        items={item.id: item for item in items},
        given=given,
        judged=judged,
        picks=picks,
        edges=ledger.retrievals(),
        sample=ledger.sample(),
        batches=batches,
        outcomes=by_row,
    )


def read_search_records(run: RunLike, base: KnowledgeBase | None = None) -> SearchRecords:
    """What the ledger of a run holds, of a search of this base where one is given."""
    with open_ledger(run) as ledger:
        search = read_search_ledger(ledger)
    if base is not None:
        check_base(search.note, base, run)
    return search


def check_base(note: Mapping[str, Any], base: KnowledgeBase, run: RunLike) -> None:
    """Refuse a base that is not the one a search went through: its row numbers would mean other paragraphs."""
    own = {key: getattr(base.info, key) for key in note["base"]}
    if own != note["base"]:
        raise InputError(f"{base.folder} is not the base of {run}.", remedy="Give the base that was searched.")


def summarise(ledger: Ledger, *, level: float = 0.95) -> SearchSummary:
    """Everything that a search's ledger says. Asks nothing."""
    search = read_search_ledger(ledger)
    settings, condition, note = search.settings, search.condition, search.note
    batches, by_row, errors = search.batches, search.outcomes, search.errors
    trails = follow(list(batches.values()), search.edges, errors, xi=settings.xi, gamma=settings.gamma)
    progress, steps, asked = Steps(), [], []
    for batch, trail in zip(batches.values(), trails, strict=True):
        steps.append(progress.add(trail, [by_row[row] for row in batch]))
        asked.append((progress.answers, progress.wrong))
    failing = Counter(o.category for o in by_row.values() for _ in o.failing)
    again = [share for o in by_row.values() for share in o.failing.values() if share is not None]
    population, by_category = _population(search, level)
    return SearchSummary(
        strategy=settings.strategy,
        settings=settings,
        model=condition.model,
        base=note["base"] | ({"index": index} if (index := ledger.note(INDEX_NOTE)) else {}),
        budget=(ledger.note("search budget") or {"text": "unlimited"})["text"],
        spent=ledger.spent(),
        costs=_costs(ledger, condition.model, note),
        steps=tuple(steps),
        asked=tuple(asked),
        answers=progress.answers,
        errors_found=progress.wrong,
        reworded=len(again),
        confirmed=sum(share >= 0.5 for share in again),
        judged=len(search.judged),
        judged_right=sum(search.judged.values()),
        preferred=sum(len(o.preferred) for o in by_row.values()),
        **{name: sum(getattr(o, name) for o in by_row.values()) for name in COUNTED},
        unfinished=sum(o.missing > 0 for o in by_row.values()),
        sources_found=len(search.failing),
        distinct_categories=len(failing),
        effective_categories=effective_number(failing.values()),
        frame=search.frame,
        population=population,
        by_category=by_category,
        tasks=tuple(read_archive(ledger, len(batches), errors)),
        dropped=_count_dropped(ledger, len(batches)),
    )


def _costs(ledger: Ledger, tested: str, note: Mapping[str, Any]) -> tuple[CostRow, ...]:
    """Generation, inference and judging apart, as the paper's table 1 has them."""
    roles = {tested: "tested"}
    for role in ("generator", "checker", "judge"):
        if name := note.get(role):
            roles[name] = f"{roles[name]} and {role}" if name in roles else role
    return tuple(
        CostRow(
            model=row.model,
            role=roles.get(row.model, ""),
            calls=row.answers + row.failed,
            failed=row.failed,
            tokens_in=row.tokens_in,
            tokens_out=row.tokens_out,
            money_usd=None if row.answers and row.unpriced == row.answers else row.money_usd,
        )
        for row in ledger.spent_by_model()
    )


def _count_dropped(ledger: Ledger, steps: int) -> dict[str, int]:
    total: Counter[str] = Counter()
    for step in range(1, steps + 1):
        for note in (DROPPED_NOTE, REWORDED_NOTE):
            total.update(ledger.note(f"{note} {step}") or {})
    return dict(total)


def search_failing(run: RunLike) -> dict[int, bool]:
    """Whether each paragraph that a run finished asking about fails (its error exceeds xi)."""
    search = read_search_records(run)
    return {row: error > search.settings.xi for row, error in search.known_errors.items()}


def effective_number(counts: Iterable[int]) -> float | None:
    """The inverse Simpson number (sum n)^2 / sum n^2 of groups of these sizes; None without any."""
    sizes = [n for n in counts if n]
    return sum(sizes) ** 2 / sum(n * n for n in sizes) if sizes else None


class Steps:
    """The summaries of steps as they come; T of eq. (2): every question counts alike."""

    def __init__(self) -> None:
        self.answers = self.wrong = 0
        self._error, self._questions = 0.0, 0

    def add(self, trail: Trail, outcomes: Sequence[Outcome]) -> StepSummary:
        """The summary of the next step, from what came of its paragraphs."""
        done = [(o.error, o.questions) for o in outcomes if o.error is not None]
        error, questions = sum(e * q for e, q in done), sum(q for _, q in done)
        self._error, self._questions = self._error + error, self._questions + questions
        self.answers += sum(o.questions for o in outcomes)
        self.wrong += sum(len(o.failing) for o in outcomes)
        return StepSummary(
            step=trail.step,
            paragraphs=len(outcomes),
            error=error / questions if questions else None,
            cumulative_error=self._error / self._questions if self._questions else None,
            sources=len(trail.sources),
            pruned=len(trail.pruned),
        )


def _population(search: SearchRecords, level: float) -> tuple[PopulationRate, dict[str, PopulationRate]]:
    """Rates of the frame from the random order as far as it has been finished.

    Paragraphs whose every call failed have no error and are left out. Where earlier searches chose which paragraphs
    have questions, there is no rate.
    """
    if search.frame.kind == "chosen":
        return population_rate([], size=search.frame.size, level=level), {}
    sizes: Mapping[str, int] = search.note["categories"]
    of: dict[str, list[float]] = defaultdict(list)
    for row in search.finished_sample:
        if row in search.known_errors:
            of[search.outcomes[row].category].append(search.known_errors[row])
    whole = population_rate([error for own in of.values() for error in own], size=sum(sizes.values()), level=level)
    return whole, {name: population_rate(of[name], size=sizes.get(name, 0), level=level) for name in sorted(of)}
