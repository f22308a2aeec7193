"""`richter compare`: the claims that a dataset allows on its conditions, with what each condition shows beside them."""

import contextlib
import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from richter.audit._pictures import Picture, compare_picture
from richter.claims import (
    METRICS,
    Asked,
    Blocked,
    Board,
    Evidence,
    FamilyName,
    Question,
    Relation,
    Shared,
    Subgroups,
    check_groups,
    check_margin,
    decide,
    decide_heterogeneity,
    mean_evidence,
    measure_words,
    pairs_of,
    rank_spans,
    rate_interval,
    settle_board,
    severity_page_measures,
    tiers_of,
    variance_shares,
)
from richter.errors import InputError
from richter.evidence import (
    LabelConflict,
    Policy,
    SeveritySettings,
    alignment_of,
    estimate_subgroups,
    evidence,
    grade_counts,
    graded_grid,
    graded_rows,
    has_all_grades,
    has_values,
    joint_law_of,
    label_conflicts,
    margins_of,
    metric_of,
    once,
    outcomes_of,
    row_counts,
    sample_of,
    shared_by,
)
from richter.floors import ConditionSummary, with_calibration
from richter.records import DEFAULT_LEVEL, Claim, Refused, Shown, Verdict, at_most, counted, of_kind, plain
from richter.stats import Floats, wilson
from richter.tables import Dataset, item_codes
from richter.tables._tables import all_failed_error
from richter.words import CHECK_NOTES, FirstLines, first_lines

if TYPE_CHECKING:
    from richter.tail import TailPlan

__all__ = ["CompareReport", "Page", "compare_tables", "page_questions"]

MAX_SUBGROUPS = 1000
MIN_GRADED = 30  # questions below which every figure of a condition is rough
MIN_SINGLE_LETTERS = 30  # answers of one letter from which a habit of position is looked for


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class PairNote:
    """Two conditions on the items both were graded on: how many, what changed, and what looks odd."""

    conditions: tuple[str, str]
    n_paired: int
    first_only: int
    second_only: int
    fixed: int | None = None
    broken: int | None = None
    flags: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CompareReport(Shown):
    """What `richter compare` says: claims in their families, and the figures that stand beside them.

    `refused` are the pairs that a check blocked by the main measure, a line a reason. `groups` are sets of conditions
    of which no pair is told apart by the main measure, `ranks` the best and worst rank of each condition by it, all
    together at the level of the claims.
    `label_conflicts` are conditions whose grades human labels contradict. `tried` attempts are allowed for. `margins`
    are the differences that would matter, by measure.
    `first_lines` are what a first screen says. `options` are all that the claims were asked with, so that
    `richter verify` can make them again.
    """

    schema: ClassVar = "richter/compare"

    claims: tuple[Claim, ...]
    refused: tuple[Refused, ...]
    conditions: Mapping[str, ConditionSummary]
    pairs: tuple[PairNote, ...]
    groups: tuple[tuple[str, ...], ...]
    ranks: Mapping[str, tuple[int, int]]
    measures: Mapping[str, Mapping[str, float | None]]
    primary: str
    level: float
    margins: Mapping[str, float]
    tried: int
    n_items: int
    n_resamples: int
    understood: str
    basis: str
    data_hash: str
    seed: int
    notes: tuple[str, ...]
    options: Mapping[str, Any]
    first_lines: FirstLines
    subgroups: tuple[Subgroups, ...] = ()
    label_conflicts: tuple[LabelConflict, ...] = ()

    def _shown(self) -> Picture:
        return compare_picture(self)

    def of(self, measure: str) -> tuple[Claim, ...]:
        """The claims on one measure."""
        return tuple(c for c in self.claims if c.measure == measure)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """What a page asks: the main measure, and the questions."""

    main: str
    questions: tuple[Question, ...]


def page_questions(
    dataset: Dataset,
    *,
    on: Sequence[str] = (),
    margins: Mapping[str, float] | None = None,
    control: str | None = None,
    by: str | None = None,
    directed: bool = False,
    board: Board | None = None,
) -> Page:
    """The questions of a comparison: the main measure of every pair, the other measures, and subgroups.

    Of a `board` that is settled they are the main measure of some pairs.

    The main measure is the first of `on`, else correctness, else the first score, else severity; it is never chosen by
    results.
    """
    if len(dataset.conditions) < 2:
        raise InputError(
            f"There is only one model or prompt ({dataset.conditions[0]}); a comparison needs two.",
            remedy="Add a second file or a column `model`, or see the one alone: richter report FILE -o page.html",
        )
    if dataset.metric is None:
        raise all_failed_error(dataset) or InputError(
            f"{dataset.name} has no grades.",
            remedy="Grade its answers: richter audit --only judge RUN --grader auto (by references) or --judges, or "
            "richter label. A table's column that holds grades is named by --map.",
        )
    margins, main = dict(margins or {}), on[0] if on else dataset.metric
    _check_measures(dataset, on, margins)
    pairs = pairs_of(dataset.conditions, control=control) if board is None else board.pairs()
    questions = []
    for measure in measures_of(dataset, main, on) if board is None else [main]:
        family: FamilyName = "main" if measure == main else "other"
        relation = _relation(dataset, measure, directed)
        questions += [
            Question(measure=measure, conditions=p, relation=relation, family=family, margin=margins.get(measure))
            for p in pairs
        ]
    if by is not None:
        questions += _subgroup_questions(dataset, main, pairs, by)
    return Page(main=main, questions=tuple(questions))


def _check_measures(dataset: Dataset, on: Sequence[str], margins: Mapping[str, float]) -> None:
    """Refuse measures that the data do not hold, which are a mistake in the command, and margins beyond the scale."""
    for measure in on:
        if metric_of(dataset, measure).estimator == "mean":
            sample_of(dataset, measure)
    for measure, margin in margins.items():
        check_margin(metric_of(dataset, measure), margin)


def measures_of(dataset: Dataset, main: str, on: Sequence[str] = ()) -> list[str]:
    """The measures of a page, the main one first."""
    names = [main, *on, str(dataset.metric)]
    columns = (m.name for m in METRICS.values() if m.source == "column")
    others = ("ece", *columns, *dataset.measures, *severity_page_measures())
    names += [name for name in others if has_values(dataset, name)]
    return list(dict.fromkeys(names))


def _relation(dataset: Dataset, measure: str, directed: bool) -> Relation:
    metric = metric_of(dataset, measure)
    if not directed or metric.estimator in ("dominance", "slope"):
        return "differs"
    return "above" if metric.better == "higher" else "below"


def _subgroup_questions(dataset: Dataset, main: str, pairs: Sequence[tuple[str, str]], by: str) -> list[Question]:
    """Each pair's difference in every value of a column."""
    if by == "group":
        raise InputError(
            "Items of a group vary together, so that a group is one unit and shows no difference by itself.",
            remedy="To look into each, read the column as a domain (--by domain --map domain=group); items then vary "
            "one by one.",
        )
    codes, names = item_codes(dataset, by)
    word = dataset.reading.map.get(by, by)
    if len(names) > MAX_SUBGROUPS:
        raise InputError(
            f"{word} has {len(names):,} values; at most {MAX_SUBGROUPS:,} subgroups are compared.",
            remedy="Choose a column of fewer values (--by domain --map domain=COLUMN).",
        )
    check_groups(sample_of(dataset, main).outcomes, codes, word)
    return [
        Question(measure=main, conditions=pair, family="subgroup", column=by, part=name, column_name=word)
        for pair in pairs
        for name in names
    ]


def compare_tables(
    tables: Dataset,
    *,
    conditions: Sequence[str] = (),
    on: Sequence[str] = (),
    margin: float | Mapping[str, float] | None = None,
    missing: str = "both-ways",
    control: str | None = None,
    by: str | None = None,
    trust_ids: bool = False,
    trust_raters: bool = False,
    trust_labels: bool = False,
    unpaired: bool = False,
    all_pairs: bool = False,
    tail_plan: "TailPlan | None" = None,
    directed: bool | None = None,
    more: Sequence[Asked] = (),
    tried: int = 1,
    min_shared: float = 0.5,
    level: float = DEFAULT_LEVEL,
    n_resamples: int = 2000,
    seed: int = 0,
) -> CompareReport:
    """Compare the conditions of a dataset; with two named ones the claim "the second is better" is directed.

    Claims on the main measure (the first of `on`, else the tables' main metric) are one family, those on all other
    measures a second, subgroups (`by`: domain or tier) a third. `margin` is the difference that would matter: of the
    main measure, or by measure. With a cost first in `on` it is the tables' main metric's. `missing` says what missing
    grades mean (`Policy`). `control` compares all with one. `more` are questions that a page asks beside these, with
    their evidence. Beyond `Board.LARGE` conditions of right and wrong answers there is a claim for each
    condition, at the level that all pairs pay for, unless `all_pairs` are asked for.
    """
    dataset = tables.select(conditions) if conditions else tables
    if unpaired and by:
        raise InputError("Without pairs there is no --by.", remedy="Leave it out, or leave out --unpaired.")
    policy = Policy(
        missing=missing, unpaired=unpaired, trust_ids=trust_ids, trust_raters=trust_raters,  # type: ignore[arg-type]
        trust_labels=trust_labels, min_shared=min_shared, tried=tried,
        severity=SeveritySettings(control=control, n_resamples=n_resamples, level=level, seed=seed),
    )  # fmt: skip
    data_hash = dataset.data_hash  # now, while little else is held: it needs a copy of each column
    margins = margins_of(dataset, margin, on[0] if on and not measure_words(on[0]).is_cost else None)
    is_directed = len(conditions) == 2 if directed is None else directed
    asks_more = bool(all_pairs or control or by or margins)
    board = _large_board(dataset, on, policy, alpha=(1 - level) / tried, asks_more=asks_more)
    page = page_questions(
        dataset, on=on, margins=margins, control=control, by=by, directed=is_directed, board=board
    )  # fmt: skip
    rng = np.random.default_rng(seed)
    asked = [evidence(dataset, question, policy) for question in page.questions]
    asked = _without_unmeasured(asked, page, on)
    asked += more
    joint = None if control is None else joint_law_of(dataset, asked, policy)
    claims = decide(asked, level=level, tried=tried, joint=joint, board=board, data_hash=data_hash, seed=seed)
    subgroups = () if by is None else _subgroups(dataset, page, by, claims, policy, level=level, tried=tried, rng=rng)
    tail_claims, tail_notes = _tail_claims(dataset, tail_plan, policy, rng=rng)
    report_claims = (*claims, *tail_claims)
    notes = _notes(dataset, asked, claims, page, policy, subgroups)
    if board is not None:
        told = CHECK_NOTES["board"].format(number=len(dataset.conditions), pairs=board.n_pairs)
        notes = itertools.chain([told], notes)
    pairs = _pair_notes(dataset, asked, page)
    is_board = control is None
    return CompareReport(
        claims=report_claims,
        refused=_refused(claims, page.main),
        conditions={c.name: c for c in condition_summaries(dataset, unpaired=unpaired, level=level,
                                                           n_resamples=n_resamples, rng=rng)},
        pairs=pairs,
        groups=_tiers(dataset, claims, page, board) if is_board else (),
        ranks=_ranks(dataset, claims, page, board) if is_board else {},
        measures=_measure_table(dataset, page),
        primary=page.main,
        level=level,
        margins=margins,
        tried=tried,
        n_items=len(dataset.item_ids),
        n_resamples=n_resamples,
        understood=dataset.understood,
        basis=dataset.basis,
        data_hash=data_hash,
        seed=seed,
        notes=tuple(dict.fromkeys((*_notes_of_data(dataset, page, tried), *notes, *tail_notes))),
        options={
            "conditions": list(conditions), "on": list(on), "missing": missing, "control": control, "by": by,
            "trust_ids": trust_ids, "trust_raters": trust_raters, "trust_labels": trust_labels, "unpaired": unpaired,
            "directed": is_directed,
            **({"all_pairs": True} if all_pairs else {}),
            "min_shared": min_shared, "tail_plan": plain(tail_plan), "reading": plain(dataset.reading),
        },
        first_lines=first_lines(
            report_claims,
            conditions=dataset.conditions,
            changed=changed_items(pairs),
            control=control,
        ),
        subgroups=subgroups,
        label_conflicts=label_conflicts(dataset),
    )  # fmt: skip


def _large_board(
    dataset: Dataset, on: Sequence[str], policy: Policy, *, alpha: float, asks_more: bool
) -> Board | None:  # fmt: skip
    """All pairs of a large board settled at once, where nothing but right and wrong tells them apart; else None."""
    main = on[0] if on else dataset.metric
    is_large = Board.LARGE < len(dataset.conditions) <= Board.MOST
    if asks_more or main is None or not is_large or metric_of(dataset, main).estimator != "mean":
        return None
    if policy.unpaired or not has_all_grades(dataset, main):
        return None
    sample = sample_of(dataset, main)
    if sample.right_counts is None or alignment_of(dataset, policy.trust_ids).apart:
        return None
    return settle_board(sample, sample.right_counts, alpha=alpha)


def changed_items(pairs: Sequence[PairNote]) -> dict[tuple[str, ...], tuple[int, int]]:
    """How many items each pair fixed and broke, where that is known."""
    return {p.conditions: (p.fixed, p.broken) for p in pairs if p.fixed is not None and p.broken is not None}


def _without_unmeasured(asked: Sequence[Asked], page: Page, on: Sequence[str]) -> list[Asked]:
    """Questions that the data hold nothing for are left out, unless the user named their measure."""
    named = {page.main, *on}
    return [
        a
        for a in asked
        if a.question.measure in named or not isinstance(a.evidence, Blocked) or a.evidence.gate is not None
    ]


def _is_paired(asked: Asked) -> bool:
    return isinstance(asked.evidence, Evidence) and len(asked.question.conditions) == 2 and not asked.evidence.sides


def _refused(claims: Sequence[Claim], main: str) -> tuple[Refused, ...]:
    """The pairs that a check blocked by the main measure."""
    return tuple(
        Refused(conditions=c.conditions, reason=f"{c.reason}. {c.remedy}".rstrip(". "))
        for c in claims
        if c.measure == main and len(c.conditions) == 2 and c.verdict in (Verdict.BLOCKED, Verdict.UNTESTABLE)
    )


def _subgroups(
    dataset: Dataset, page: Page, by: str, claims: Sequence[Claim], policy: Policy, *, level: float, tried: int,
    rng: np.random.Generator,
) -> tuple[Subgroups, ...]:  # fmt: skip
    """The differences of every pair by a column, and whether they differ between its values."""
    pairs = dict.fromkeys(
        c.conditions for c in claims if c.measure == page.main and len(c.conditions) == 2 and c.estimate is not None
    )
    questions = [Question(measure=page.main, conditions=pair) for pair in pairs]
    found = [estimate_subgroups(dataset, q, policy, by, level=level, rng=rng) for q in questions]
    return decide_heterogeneity(found, level=level, tried=tried)


def _tail_claims(
    dataset: Dataset, plan: "TailPlan | None", policy: Policy, *, rng: np.random.Generator
) -> tuple[tuple[Claim, ...], tuple[str, ...]]:
    """The claims on the tail's shape behind the gates of a tail plan, and what stood in the way."""
    if dataset.counting is None:
        return (), ()
    if plan is None:
        return (), ("no claim on the tail's shape without a tail plan: richter plan new tail, then --tail-plan",)
    from richter.audit._tail_audit import compare_tails_of

    return compare_tails_of(dataset, plan, policy=policy, rng=rng)


@once
def own_evidence(dataset: Dataset, measure: str, condition: str) -> Evidence | None:
    """One condition's own mean of a measure on all of its items; None where it has none."""
    if metric_of(dataset, measure).estimator != "mean":
        return None
    with contextlib.suppress(InputError):
        return mean_evidence(sample_of(dataset, measure), condition)
    return None


def own_mean(dataset: Dataset, measure: str, condition: str) -> float | None:
    """The estimate of `own_evidence`; right answers are those that are not wrong."""
    if measure == "accuracy":
        found = own_evidence(dataset, "error_rate", condition)
        return None if found is None else 1 - found.estimate
    found = own_evidence(dataset, measure, condition)
    return None if found is None else found.estimate


def _means_of(dataset: Dataset, page: Page) -> list[str]:
    """The measures of a page that are means, the main one first."""
    measures = dict.fromkeys(question.measure for question in page.questions)
    return [measure for measure in measures if metric_of(dataset, measure).estimator == "mean"]


def _measure_table(dataset: Dataset, page: Page) -> dict[str, dict[str, float | None]]:
    return {m: {name: own_mean(dataset, m, name) for name in dataset.conditions} for m in _means_of(dataset, page)}


def _notes_of_data(dataset: Dataset, page: Page, tried: int) -> Iterator[str]:
    """What is known of the data, without costs that the page asks about, and the attempts that were made on them."""
    asks_costs = any(metric_of(dataset, q.measure).is_cost for q in page.questions)
    yield from (n for n in dataset.notes if not (asks_costs and of_kind([n], "costs")))
    if tried > 1:
        yield f"the best of {tried} attempts is allowed for"


def _notes(
    dataset: Dataset,
    asked: Sequence[Asked],
    claims: Sequence[Claim],
    page: Page,
    policy: Policy,
    subgroups: Sequence[Subgroups],
) -> Iterator[str]:
    """What stands below the claims: of missing grades, of alignment, of labels, and where the noise comes from."""
    main = [a for a in asked if a.question.measure in (page.main, dataset.metric) and not a.question.column]
    yield from _outcome_notes(dataset, asked, page)
    yield from dict.fromkeys(note for a in main for note in a.notes)
    if not policy.unpaired:
        yield from alignment_of(dataset, policy.trust_ids).warnings
    if any(isinstance(a.evidence, Evidence) and a.evidence.labels for a in main):
        yield "human labels correct rates and differences separately, so they need not add up"
    unpaired = sum(1 for a in main if isinstance(a.evidence, Evidence) and a.evidence.sides)
    if unpaired and len(dataset.conditions) > 2:
        yield f"{counted(unpaired, 'pair is', 'pairs are')} compared on different questions"
    for found_in in subgroups:
        who = "" if len(subgroups) == 1 else f"{found_in.conditions[1]} and {found_in.conditions[0]}: "
        yield who + found_in.sentence
    yield from _noise_notes(dataset, claims, page)


def _outcome_notes(dataset: Dataset, asked: Sequence[Asked], page: Page) -> Iterator[str]:
    """The notes of the values behind each measure that is a mean, but for those of the data."""
    for measure in _means_of(dataset, page):
        is_told = any(of_kind(a.notes, "lacking") for a in asked if a.question.measure == measure)
        left_out = {*dataset.notes, *(of_kind(outcomes_of(dataset, measure).notes, "no value") if is_told else ())}
        yield from (n for n in outcomes_of(dataset, measure).notes if n not in left_out)


def _noise_notes(dataset: Dataset, claims: Sequence[Claim], page: Page) -> Iterator[str]:
    """Of two conditions with draws or groups: which of these the noise comes from, and what to add next."""
    main = [c for c in claims if c.measure == page.main and len(c.conditions) == 2 and c.estimate is not None]
    pairs = {c.conditions for c in main}
    if (
        len(pairs) != 1
        or any(c.unit == "run" for c in main)
        or metric_of(dataset, page.main).estimator != "mean"
        or dataset.has_raters
    ):
        return
    sample = sample_of(dataset, page.main)
    if sample.metric.kind == "real" or (sample.outcomes.group is None and sample.draws.max() <= 1):
        return
    with contextlib.suppress(InputError):  # two items say nothing of it
        first, second = pairs.pop()
        shares = variance_shares(sample, first, second)
        if shares.draws is not None or shares.groups is not None:
            yield from (line for line in (shares.sentence(), shares.next_step()) if line)


def condition_summaries(
    dataset: Dataset, *, unpaired: bool = False, level: float,
    n_resamples: int = 1000, rng: np.random.Generator,
) -> list[ConditionSummary]:  # fmt: skip
    """Each condition's error rate, calibration, floor and warnings.

    Grades that others have are missing, unless a condition has items of its own: none that others have, or `unpaired`.
    """
    lost = dataset.answers.filter(pl.col("error") != "").select("condition", "item").unique()
    failed = Counter(lost["condition"].to_list())
    if not (dataset.scores["metric"] == "accuracy").any():
        counts = grade_counts(dataset, dataset.metric) if dataset.metric else np.zeros((0, len(dataset.conditions)))
        numbers = zip(dataset.conditions, (counts > 0).sum(axis=0).tolist(), strict=True)
        return [ConditionSummary(name=name, n=n, failed=failed[name], missing=0) for name, n in numbers]
    right, graded = sample_of(dataset, "accuracy"), graded_rows(dataset)
    known = ~np.isnan(right.mean)
    is_common = known[known.sum(axis=1) > 1].any(axis=0) & (not unpaired)
    rows = row_counts(dataset).rows
    positions = _position_warnings(dataset, level=level)
    summaries = []
    for k, name in enumerate(dataset.conditions):
        confidence, correct, item = graded.of(k)
        error = own_evidence(dataset, "error_rate", name) if len(correct) else None
        n = int(np.count_nonzero(np.bincount(item)))
        size = len(dataset.item_ids) if is_common[k] else int(np.count_nonzero(rows[:, k]))
        summary = _graded_summary(
            name, error, level=level, failed=max(min(failed[name], size - n), 0),
            missing=max(size - n - failed[name], 0),
        )  # fmt: skip
        if error is not None and not np.isnan(confidence).all():
            summary = with_calibration(
                summary, correct=correct, confidence=confidence, item=item, group=graded.group, weight=graded.weight,
                rng=rng, level=level, n_resamples=n_resamples,
            )  # fmt: skip
        summaries.append(dataclasses.replace(summary, warnings=(*summary.warnings, *positions.get(name, ()))))
    return summaries


def _graded_summary(
    name: str, error: Evidence | None, *, failed: int, missing: int, level: float
) -> ConditionSummary:  # fmt: skip
    """A condition's summary from the evidence on its error rate, without its calibration."""
    warnings = []
    if error is None:
        why = "every row failed" if failed and not missing else "no row has a grade"
        return ConditionSummary(name=name, n=0, failed=failed, missing=missing, warnings=(f"untestable: {why}",))
    n, rate, interval = error.n, error.estimate, rate_interval(error, level=level)
    if rate == 0:
        warnings.append(
            f"no error in {n}: the rate is at most {at_most(interval.high, digits=2)} ({100 * level:g}%), not 0"
        )
    if rate in (0, 1) and n >= MIN_GRADED:
        warnings.append(
            f"{100 * (1 - rate):g}% accuracy on {counted(n, 'question')}: check that answers were extracted right"
        )
    if n < MIN_GRADED:
        warnings.append(f"only {counted(n, 'graded question')}: every figure here is rough")
    return ConditionSummary(
        name=name, n=n, failed=failed, missing=missing, error_rate=rate, error_rate_interval=interval,
        accuracy=1 - rate, labels=error.labels, warnings=tuple(warnings),
    )  # fmt: skip


def _ranks(
    dataset: Dataset, claims: Sequence[Claim], page: Page, board: Board | None
) -> dict[str, tuple[int, int]]:  # fmt: skip
    """The best and worst rank of each condition by the main measure."""
    if board is not None:
        return board.ranks()
    return rank_spans(claims, dataset.conditions, metric_of(dataset, page.main))


def _tiers(dataset: Dataset, claims: Sequence[Claim], page: Page, board: Board | None) -> tuple[tuple[str, ...], ...]:
    """The sets of conditions that the main measure does not tell apart, ranked by their own means."""
    if board is not None:
        return board.tiers()
    own = {name: m for name in dataset.conditions if (m := own_mean(dataset, page.main, name)) is not None}
    return tiers_of(claims, own, metric_of(dataset, page.main))


def _pair_notes(dataset: Dataset, asked: Sequence[Asked], page: Page) -> tuple[PairNote, ...]:
    """What each pair shares, of those that the main measure compares on the same items."""
    main = [a for a in asked if _is_paired(a) and a.question.measure == page.main and not a.question.column]
    return tuple(_pair_note(dataset, shared_by(dataset, a.question)) for a in main)


def _pair_note(dataset: Dataset, shared: Shared) -> PairNote:
    note = PairNote(
        conditions=shared.conditions, n_paired=shared.both, first_only=shared.first_only, second_only=shared.second_only
    )
    grid = graded_grid(dataset)
    if grid is None:
        return note
    counts = sample_of(dataset, "accuracy").right_counts
    if counts is not None and np.isnan(grid.confidence).all():
        first, second = (sample_of(dataset, "accuracy").place(name) for name in shared.conditions)
        fixed, broken = int(counts.gained[first, second]), int(counts.gained[second, first])
        if fixed or broken:
            return dataclasses.replace(note, fixed=fixed, broken=broken)
    rows = [dataset.conditions.index(name) for name in shared.conditions]
    grade, sure = grid.correct[rows], grid.confidence[rows]
    both = ~np.isnan(grade).any(axis=0)
    a, b = grade[:, both]
    return dataclasses.replace(
        note, fixed=int(np.sum(b > a)), broken=int(np.sum(b < a)), flags=_flags(a, b, *sure[:, both])
    )


def _flags(a: Floats, b: Floats, c: Floats, d: Floats) -> tuple[str, ...]:
    known = ~np.isnan(c) & ~np.isnan(d)
    same = bool(np.array_equal(a, b))
    if known.any():
        shift = d[known] - c[known]
        if same and np.all(shift == 0):
            return ("identical runs: every grade and confidence agrees; are they two runs at all?",)
        if len(shift) > 2 and np.ptp(shift) < 1e-9 < min(np.ptp(c[known]), abs(shift[0])):
            return (f"constant shift: every confidence differs by {shift[0]:+.4g}",)
    elif same and 0 < a.sum() < len(a):
        return ("identical runs: every grade agrees; are they two runs at all?",)
    return ()


def _position_warnings(dataset: Dataset, *, level: float) -> dict[str, tuple[str, ...]]:
    """Conditions that give one option far more often than it is right: answering by position."""
    first = dataset.answers.filter(pl.col("draw") == 0, pl.col("text").str.strip_chars().str.len_chars() == 1)
    warnings = {
        str(name): _position_warning(dataset, rows, level=level)
        for (name,), rows in first.group_by("condition", maintain_order=True)
        if len(rows) >= MIN_SINGLE_LETTERS
    }
    return {name: (line,) for name, line in warnings.items() if line}


def _position_warning(dataset: Dataset, rows: pl.DataFrame, *, level: float) -> str:
    """That one condition's answers are mostly one option; empty where they are not."""
    given = [text.strip() for text in rows["text"].to_list()]
    n, options = len(given), set(given)
    if len(options) == 1:
        return f"answering by position: all {counted(n, 'answer is', 'answers are')} {given[0]!r}"
    if n < 0.9 * len(dataset.item_ids) or len(options) > 10:
        return ""
    option, times = Counter(given).most_common(1)[0]
    known = (dataset.items[i].reference for i in rows["item"].to_list() if i in dataset.items)
    right = [reference.strip() for reference in known if reference]
    share = max(1 / len(options), sum(x == option for x in right) / len(right) if right else 0.0)
    if wilson(times, n, level=level).low <= 1.5 * share:
        return ""
    return f"answering by position: {100 * times / n:.0f}% of answers are {option!r}"
