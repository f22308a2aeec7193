"""`richter compare`: the claims that tables allow on their conditions, with what each condition shows beside them."""

import contextlib
import dataclasses
import functools
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl

from richter.audit._compare_options import COSTS, evidence_maker, shape_claims, subgroups_of, trades
from richter.audit._pictures import Picture, compare_picture
from richter.claims import (
    METRICS,
    About,
    Alignment,
    Comparison,
    EceSide,
    Evidence,
    Question,
    Sample,
    Shared,
    Subgroups,
    as_errors,
    as_judged,
    as_sample,
    check_alignment,
    check_margin,
    compare_outcomes,
    ece_difference,
    ece_side,
    mean_evidence,
    pairs_of,
    too_few_shared,
    variance_shares,
)
from richter.errors import InputError, TooFewErrors
from richter.floors import ConditionSummary, summarise_condition
from richter.records import Claim, Refused, Shown, Unit, counted, plain
from richter.severity import severity_given_error
from richter.stats import Floats, Indices, wilson
from richter.tables import KEY, Tables, chance_of, judges_of, outcomes, question_codes
from richter.tail import TailPlan

__all__ = ["CompareReport", "compare_tables"]


SEVERITIES = ("mean_severity", "severity_given_error")


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
    """What `richter compare` says: claims in one family, refusals, and the figures that stand beside them.

    `groups` are sets of conditions of which no pair is told apart by the first measure. `tried` attempts are allowed
    for. `options` are all that the claims were asked with, so that `richter verify` can make them again.
    """

    schema: ClassVar = "richter/compare"

    claims: tuple[Claim, ...]
    refused: tuple[Refused, ...]
    conditions: Mapping[str, ConditionSummary]
    pairs: tuple[PairNote, ...]
    groups: tuple[tuple[str, ...], ...]
    measures: Mapping[str, Mapping[str, float | None]]
    primary: str
    about: About
    level: float
    margin: float | None
    tried: int
    n_items: int
    n_resamples: int
    understood: str
    basis: str
    data_hash: str
    seed: int
    notes: tuple[str, ...]
    options: Mapping[str, Any]
    subgroups: tuple[Subgroups, ...] = ()

    def _shown(self) -> Picture:
        return compare_picture(self)

    def of(self, measure: str) -> tuple[Claim, ...]:
        """The claims on one measure."""
        return tuple(c for c in self.claims if c.measure == measure)


def compare_tables(
    tables: Tables,
    *,
    conditions: Sequence[str] = (),
    on: Sequence[str] = (),
    margin: float | None = None,
    severity_margin: float | None = None,
    about: About = "such-items",
    control: str | None = None,
    by: str | None = None,
    adjust: bool = False,
    suite: Mapping[str, float] | None = None,
    chance: float | None = None,
    trust_ids: bool = False,
    unpaired: bool = False,
    tail_plan: TailPlan | None = None,
    slopes: Sequence[Claim] | None = None,
    directed: bool | None = None,
    tried: int = 1,
    min_shared: float = 0.5,
    level: float = 0.95,
    n_resamples: int = 2000,
    seed: int = 0,
) -> CompareReport:
    """Compare the conditions of tables; with two named ones the claim "the second is better" is directed.

    Claims on the first of `on` (else the tables' main metric) are primary; calibration, severities and the others
    of `on` come after them. `margin` is the difference that would matter, `severity_margin` the same on the scale of
    severities; with a margin and a cost (money, tokens, latency) first in `on`, the first claim is that the second is
    not worse by more than the margin and cheaper. `control` compares all with one; `by` (domain or tier) adds
    the difference in each subgroup and whether they differ; `adjust` takes out items' difficulty as other conditions
    see it; `suite` weighs the benchmarks that domains name. Conditions whose items are in another order are refused,
    unless `trust_ids`. Where no two share an item, or `unpaired`, all are compared as independent samples;
    `chance` is the share of right answers by guessing, where items do not tell. `slopes` are the
    claims on b where they were made before on the same severities.
    """
    whole = tables  # whether ids mean the same questions is told by all conditions there are
    if conditions:
        tables = tables.select(conditions)
    main = _main_metric(tables)
    if unpaired and (adjust or suite or by):
        raise InputError(
            "Without pairs there is no --by, --adjust or --suite.", remedy="Leave them out, or leave out --unpaired."
        )
    rng = np.random.default_rng(seed)
    measured = _measured(tables, on, main)
    lead = measured[0]
    fixed = len(conditions) == 2 if directed is None else directed
    names = [sample.metric.name for sample in measured]
    margins = {name: m for name in names if (m := severity_margin if name in SEVERITIES else margin)}
    quality = measured[names.index(main)]
    check_margin(quality.metric, margins.get(main, 0.0))
    check_margin(METRICS["mean_severity"], severity_margin or 0.0)
    right = next((sample for sample in measured if sample.metric.name == "accuracy"), None)
    graded = None if right is None else graded_rows(tables, right)
    pairs = pairs_of(tables.conditions, control=control)
    all_of = quality.outcomes if whole is tables else outcomes(whole, main)
    guessed = chance_of(whole) if chance is None else chance
    aligned = Alignment(sets=())  # without pairs no order matters
    if not unpaired:
        aligned = check_alignment(all_of, texts=question_codes(whole), chance=guessed, trust=trust_ids)
    kept = [p for p in pairs if frozenset(p) not in aligned.apart]
    kept = [p for p in kept if not unpaired and not too_few_shared(lead, *p, min_shared=min_shared)]
    before: tuple[Claim, ...] = ()
    if margin is not None and on[:1] and on[0] in COSTS:
        before = trades(quality, lead, kept, margin=margin, level=level, tried=tried)
        margins.pop(lead.metric.name, None)
    everyone = lead if whole is tables else as_sample(outcomes(whole, lead.metric.name))
    subgroups: tuple[Subgroups, ...] = ()
    parts: list[Question] = []
    ratios: list[float] = []
    if by is not None:
        subgroups, parts = subgroups_of(tables, lead, kept, by, basis=tables.basis, level=level, rng=rng)
    ask = functools.partial(Question, basis=tables.basis, relation="below" if fixed else "differs")
    asked, unmade = list[Question](), list[str]()
    for measure, difference, evidences in (
        ("ece", margin, calibration_evidence(tables, graded, pairs, about=about, unpaired=unpaired)),
        ("severity_given_error", severity_margin, _given_error(measured, pairs, about=about)),
    ):
        metric, first = METRICS[measure], measure in on[:1]
        try:
            asked += [
                ask(conditions=p, evidence=e, metric=metric, margin=difference, primary=first) for p, e in evidences
            ]
        except InputError as fault:  # one draw or one run: the other measures say so too
            if measure in on:
                raise
            unmade.append(f"no claim on {metric.noun}: {fault.what}")
    found = compare_outcomes(
        measured,
        margins=margins,
        about=about,
        directed=fixed,
        control=control,
        rng=rng,
        evidence_of=evidence_maker(whole if adjust else tables, everyone, adjust=adjust, suite=suite, ratios=ratios)
        if adjust or suite
        else None,
        before=before,
        more=[*asked, *parts],
        refused=[r for r in aligned.refused if set(r.conditions) & set(tables.conditions)],
        apart=aligned.apart,
        unpaired=unpaired,
        min_shared=min_shared,
        basis=tables.basis,
        data_hash=tables.data_hash,
        seed=seed,
        tried=tried,
        level=level,
    )
    notes = [
        *(note for note in found.notes if note not in tables.notes),
        *aligned.warnings,
        *unmade,
        *_asides(found, lead, kept, ratios=ratios, subgroups=subgroups),
    ]
    claims = list(found.claims)
    if tables.counting is not None:
        more, said = shape_claims(
            tables, found, tail_plan=tail_plan, slopes=slopes, level=level, tried=tried, n_resamples=n_resamples,
            rng=rng,
        )  # fmt: skip
        claims += more
        notes += said
    return CompareReport(
        claims=tuple(claims),
        refused=found.refused,
        conditions={
            c.name: c
            for c in summaries_of(
                tables,
                right,
                graded,
                rng=rng,
                about=about,
                unpaired=unpaired,
                said={m.condition for m in found.missing},
                level=level,
                n_resamples=n_resamples,
            )
        },
        pairs=tuple(_pair_note(pair, lead, graded) for pair in found.shared),
        groups=found.sets,
        measures={
            s.measure: {x.condition: x.estimate for x in found.summaries if x.measure == s.measure}
            for s in found.summaries
        },
        primary=on[0] if on[:1] and on[0] in ("ece", "severity_given_error") else lead.metric.name,
        about=about,
        level=level,
        margin=margin,
        tried=tried,
        n_items=len(tables.item_ids),
        n_resamples=n_resamples,
        understood=tables.understood,
        basis=tables.basis,
        data_hash=tables.data_hash,
        seed=seed,
        notes=(*tables.notes, *notes),
        options={
            "conditions": list(conditions),
            "on": list(on),
            "severity_margin": severity_margin,
            "control": control,
            "by": by,
            "adjust": adjust,
            "suite": suite,
            "chance": chance,
            "trust_ids": trust_ids,
            "unpaired": unpaired,
            "directed": fixed,
            "min_shared": min_shared,
            "tail_plan": plain(tail_plan),
            "reading": plain(tables.reading),
        },
        subgroups=subgroups,
    )


def _main_metric(tables: Tables) -> str:
    """The metric that a comparison is on unless another is named; tables without two conditions or grades have none."""
    if len(tables.conditions) < 2:
        raise InputError(
            f"There is one condition ({tables.conditions[0]}); a comparison needs two.",
            remedy="Add a second condition, or use `richter floors data` for one.",
        )
    if tables.metric is None:
        raise InputError(
            f"{tables.name} has no grades.",
            remedy="Grade its answers: richter judge RUN --grader auto (by references) or --judges, or richter label. "
            "A table's column that holds grades is named by --map.",
        )
    return tables.metric


def _asides(
    found: Comparison,
    lead: Sample,
    pairs: Sequence[tuple[str, str]],
    *,
    ratios: Sequence[float],
    subgroups: Sequence[Subgroups],
) -> Iterator[str]:
    """What is said below the claims: of adjustment, missing grades, subgroups, and where the noise comes from."""
    if ratios:
        yield (
            f"adjusted for items' difficulty as others see it: variance x{np.median(ratios):.2f} in the median "
            f"of {len(ratios)} ({min(ratios):.2f} to {max(ratios):.2f}); about items of this mix of difficulty"
        )
    if any(s.labels for s in found.summaries):
        yield "rates and differences are corrected by people's labels each by itself: they need not add up"
    if found.fragile and len(pairs) > 1:
        yield f"{found.fragile} of the differences shown would not hold if all missing grades spoke against them"
    for found_in in subgroups:
        who = "" if len(subgroups) == 1 else f"{found_in.conditions[1]} and {found_in.conditions[0]}: "
        yield who + found_in.sentence
    if len(pairs) == 1 and lead.metric.kind != "real" and (lead.outcomes.group is not None or lead.draws.max() > 1):
        with contextlib.suppress(InputError):  # two items say nothing of it
            shares = variance_shares(lead, *pairs[0])
            if shares.draws is not None or shares.groups is not None:
                yield from (line for line in (shares.sentence(), shares.next_step()) if line)


def _measured(tables: Tables, on: Sequence[str], main: str) -> list[Sample]:
    """The outcomes of every measure, the primary first."""
    names = [*(name for name in on if name not in ("ece", "severity_given_error")), main]
    if tables.counting is not None:
        names += ["mean_severity", "catastrophic_rate"]
    return [as_sample(outcomes(tables, name)) for name in dict.fromkeys(names)]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GradedRows:
    """Every answer graded right or wrong: codes of its item and condition, its grade, and its confidence or NaN."""

    item: Indices
    condition: Indices
    correct: Floats
    confidence: Floats
    group: Indices | None
    weight: Floats | None
    run: Indices | None = None

    def of(self, condition: int) -> tuple[Floats, Floats, Indices]:
        """One condition's confidence, grade and item, row by row."""
        use = self.condition == condition
        return self.confidence[use], self.correct[use], self.item[use]


def graded_rows(tables: Tables, right: Sample) -> GradedRows:
    """The rows of right and wrong answers with their confidences, in the order of the sample's items."""
    rows = tables.scores.filter(pl.col("metric") == "accuracy", pl.col("value").is_in([0.0, 1.0]))
    if rows["confidence"].null_count() < len(rows):
        rows = rows.sort("item", "condition", "draw")
    codes = {
        name: rows[name].cast(pl.Enum(order)).to_physical().to_numpy().astype(np.intp)
        for name, order in (("item", right.outcomes.items), ("condition", tables.conditions))
    }
    return GradedRows(
        item=codes["item"],
        condition=codes["condition"],
        correct=rows["value"].to_numpy(),
        confidence=rows["confidence"].fill_null(float("nan")).to_numpy(),
        group=right.outcomes.group,
        weight=right.outcomes.weight,
        run=_runs(tables, rows),
    )


def _runs(tables: Tables, rows: pl.DataFrame) -> Indices | None:
    """The run of each row as a code; None where there are none."""
    if tables.answers["run"].null_count() == len(tables.answers):
        return None
    runs = rows.select(KEY).join(tables.answers.select(*KEY, "run"), on=KEY, how="left", maintain_order="left")["run"]
    return (runs.fill_null("").rank("dense") - 1).to_numpy().astype(np.intp)


def calibration_evidence(
    tables: Tables,
    graded: GradedRows | None,
    pairs: Sequence[tuple[str, str]],
    *,
    about: About = "such-items",
    unpaired: bool = False,
) -> Iterator[tuple[tuple[str, str], Evidence]]:
    """Differences of calibration error, on the items that both conditions have a confidence and a grade for.

    Where they share none, or `unpaired`, each has its own.
    """
    if graded is None or np.isnan(graded.confidence).all():
        return
    size, names = int(graded.item.max()) + 1, tables.conditions
    rows, has = [], []
    for k in range(len(names)):
        confidence, correct, item = graded.of(k)
        known = ~np.isnan(confidence)
        run = None
        if about == "such-runs":
            every = np.zeros_like(graded.condition) if graded.run is None else graded.run
            run = every[graded.condition == k][known]
        rows.append((confidence[known], correct[known], item[known], run))
        has.append(np.bincount(item[known], minlength=size) > 0)

    @functools.cache
    def side(k: int, items: bytes) -> EceSide:
        confidence, correct, item, run = rows[k]
        kept = np.frombuffer(items, dtype=bool)[item]
        return ece_side(
            confidence[kept], correct[kept], item[kept], group=graded.group, weight=graded.weight,
            run=None if run is None else run[kept], these=about == "these-items",
        )  # fmt: skip

    judged = as_judged(judges_of(tables, "accuracy"))
    for pair in pairs:
        i, j = (names.index(name) for name in pair)
        use = [has[i] & has[j]] * 2
        loose = unpaired or not use[0].any()
        use = [has[i], has[j]] if loose else use
        number = (int(np.sum(use[0])), int(np.sum(use[1])))
        if min(number) >= 2:
            one, two = (side(k, kept.tobytes()) for k, kept in zip((i, j), use, strict=True))
            evidence = dataclasses.replace(ece_difference(one, two, paired=not loose), judged=judged)
            yield pair, dataclasses.replace(evidence, sides=number, n=sum(number)) if loose else evidence


def _given_error(
    measured: Sequence[Sample], pairs: Sequence[tuple[str, str]], *, about: About
) -> Iterator[tuple[tuple[str, str], Evidence]]:
    """How grave errors are when they happen: one row an answer, the unit the group, else the item."""
    sample = next((s for s in measured if s.metric.name == "mean_severity"), None)
    if sample is None:
        return
    rated = sample.outcomes
    draw = np.zeros(len(rated.item), dtype=np.intp) if rated.draw is None else rated.draw
    width = int(draw.max()) + 1
    table = np.full((len(rated.conditions), len(rated.items) * width), np.nan)
    table[rated.condition, rated.item * width + draw] = rated.value
    unit = np.repeat(np.arange(len(rated.items)) if rated.group is None else rated.group, width)
    groups = None if rated.group is None and width == 1 else unit
    alone = rated.group is None or len(np.unique(rated.group)) == len(rated.items)
    items = np.repeat(np.arange(len(rated.items)), width) if about == "these-items" else None
    weights = None if rated.weight is None else np.repeat(rated.weight, width)
    runs = None
    if about == "such-runs":
        runs = np.zeros(table.shape[1], dtype=np.intp)
        if rated.run is not None:
            runs[rated.item * width + draw] = rated.run
    for pair in pairs:
        i, j = (sample.place(name) for name in pair)
        try:
            evidence = severity_given_error(table[i], table[j], groups=groups, items=items, runs=runs, weights=weights)
        except TooFewErrors:  # no errors to weigh
            continue
        if width > 1:  # its rows are draws
            both = int(np.sum(~np.isnan(sample.mean[:, [i, j]]).any(axis=1)))
            kind: Unit = "item" if alone and evidence.unit == "group" else evidence.unit
            evidence = dataclasses.replace(evidence, n=both, unit=kind)
        why = "" if rated.label is None else "not corrected by people's labels"
        yield pair, dataclasses.replace(evidence, judged=as_judged(rated.judges, why))


def summaries_of(
    tables: Tables,
    right: Sample | None,
    graded: GradedRows | None,
    *,
    rng: np.random.Generator,
    about: About = "such-items",
    unpaired: bool = False,
    said: Collection[str] = (),
    level: float = 0.95,
    n_resamples: int = 1000,
) -> list[ConditionSummary]:
    """Each condition's error rate, calibration, floor and warnings.

    Grades that others have are missing, unless a condition has items of its own: none that others have, or `unpaired`.
    Of those in `said` a note elsewhere says what is missing.
    """
    lost = tables.answers.filter(pl.col("error").fill_null("") != "").select("condition", "item").unique()
    failed = Counter(lost["condition"].to_list())
    if graded is None or right is None:
        return [ConditionSummary(name=name, n=0, failed=failed[name], missing=0) for name in tables.conditions]
    known = ~np.isnan(right.mean)
    common = known[known.sum(axis=1) > 1].any(axis=0) & (not unpaired)
    own = dict(tables.answers.group_by("condition").agg(pl.col("item").n_unique()).iter_rows())
    positions = _position_warnings(tables, level=level)
    wrong = dataclasses.replace(right, outcomes=as_errors(right.outcomes), mean=1 - right.mean)
    found = []
    for k, name in enumerate(tables.conditions):
        confidence, correct, item = graded.of(k)
        error = None
        if len(correct):
            try:
                error = mean_evidence(wrong, name, about=about)
            except InputError:  # these items with one draw: said where the claims are
                error = mean_evidence(wrong, name)
        n, size = len(np.unique(item)), len(right.outcomes.items) if common[k] else own.get(name, 0)
        summary = summarise_condition(
            name,
            error,
            correct=correct,
            confidence=confidence,
            item=item,
            group=graded.group,
            weight=graded.weight,
            failed=max(min(failed[name], size - n), 0),
            missing=max(size - n - failed[name], 0),
            rng=rng,
            level=level,
            n_resamples=n_resamples,
        )
        lack = [f"{summary.missing:,} of {size:,} items have no grade"] if summary.missing and name not in said else []
        found.append(dataclasses.replace(summary, warnings=(*summary.warnings, *lack, *positions.get(name, ()))))
    return found


def _pair_note(shared: Shared, lead: Sample, graded: GradedRows | None) -> PairNote:
    note = PairNote(
        conditions=shared.conditions, n_paired=shared.both, first_only=shared.first_only, second_only=shared.second_only
    )
    if graded is None or lead.outcomes.draw is not None:
        return note
    i, j = (lead.place(name) for name in shared.conditions)
    size = len(lead.outcomes.items)
    grade, sure = (np.full((2, size), np.nan) for _ in range(2))
    for k, column in enumerate((i, j)):
        confidence, correct, item = graded.of(column)
        grade[k, item], sure[k, item] = correct, confidence
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
        if len(shift) > 2 and np.ptp(shift) < 1e-9 and np.ptp(c[known]) > 1e-9 and abs(shift[0]) > 1e-9:
            return (f"constant shift: every confidence differs by {shift[0]:+.4g}",)
    elif same and len(a) > 1 and 0 < np.mean(a) < 1:
        return ("identical runs: every grade agrees; are they two runs at all?",)
    return ()


def _position_warnings(tables: Tables, *, level: float) -> dict[str, tuple[str, ...]]:
    """Conditions that give one option far more often than it is right: answering by position."""
    found: dict[str, tuple[str, ...]] = {}
    first = tables.answers.filter(pl.col("draw") == 0, pl.col("text").str.strip_chars().str.len_chars() == 1)
    for (name,), rows in first.group_by("condition", maintain_order=True):
        given = [text.strip() for text in rows["text"].to_list()]
        n, options = len(given), set(given)
        if n >= 30 and len(options) == 1:
            found[str(name)] = (f"answering by position: all {counted(n, 'answer is', 'answers are')} {given[0]!r}",)
            continue
        if n < 30 or n < 0.9 * len(tables.item_ids) or len(options) > 10:
            continue
        option, times = Counter(given).most_common(1)[0]
        share = 1 / len(options)
        right = [tables.items[i].reference for i in rows["item"].to_list() if i in tables.items]
        right = [x.strip() for x in right if x]
        if right:
            share = max(share, sum(x == option for x in right) / len(right))
        if wilson(times, n, level=level).low > 1.5 * share:
            found[str(name)] = (f"answering by position: {100 * times / n:.0f}% of answers are {option!r}",)
    return found
