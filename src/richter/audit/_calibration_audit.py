"""`richter calibration`: what a grades or draws table shows of each condition's calibration."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, TypedDict, TypeVar

import numpy as np
import polars as pl

from richter import calibration as cal
from richter.audit._pictures import Picture, calibration_picture
from richter.audit._results import DRAWS_NAME
from richter.claims import Asked, Blocked, as_judged, decide
from richter.errors import InputError, MissingPart, TooFewErrors
from richter.evidence import Policy, run_checks
from richter.floors import lipschitz, passive_floor
from richter.interop import Source
from richter.records import DEFAULT_LEVEL, Claim, Result, Shown, counted, of_kind, printable
from richter.stats import Bools, Floats, Mapper, effective_sample_size, in_threads, run_tasks
from richter.store import DatabaseRun, RunLike, is_run, run_file, run_part, run_place
from richter.tables import Dataset, ReadOptions, judges_of, read_tables
from richter.texts import PairQuality, cluster_questions, grouping_quality, is_refusal, normalise

__all__ = [
    "CalibrationReport",
    "DrawsCondition",
    "GradesCondition",
    "measure_calibration",
    "measure_phase",
    "read_draws",
]

Kind = Literal["grades", "draws"]
_KEY = ("item", "condition", "draw")

COMPARED = 200  # questions on which other groupings are compared with the given one

UNTESTABLE = (
    "no item is graded: without labels no method can tell a calibrated model from one that is surely wrong, so "
    "calibration is untestable (the verification tax: label-free evidence is blind to it)"
)


ALONE = "every question has one draw, and one answer always agrees with itself: draw two or more, or state a confidence"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Refusals(Result):
    """Questions whose deployed answer declines or is empty, and the ECE with and without them.

    `used` says which of the two speaks for the condition.
    """

    refused: int
    empty: int
    of: int
    used: Literal["kept", "left out"]
    kept: cal.EceResult | None = None
    left_out: cal.EceResult | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Condition(Result):
    """What either kind of table shows of a condition; `study` is None where nothing can be tested (`reason`: why)."""

    flat: ClassVar[tuple[str, ...]] = ("said",)
    derived: ClassVar[tuple[str, ...]] = ("said",)

    name: str
    study: cal.ConfidenceStudy | None = None
    refusals: Refusals | None = None
    grader: cal.GraderError | None = None
    floor: float | None = None
    claim: Claim | None = None
    reason: str = ""
    notes: tuple[str, ...] = ()

    @property
    def result(self) -> cal.EceResult | None:
        """The figure that speaks for the condition; of draws that of Sem2 (on held-out halves), else of Sem1."""
        return None if self.study is None else self.study.result


class Counted(TypedDict, total=False):
    """The number of graded answers, where no study says it."""

    n: int


class GradesSaid(Counted):
    """Counts and notes of a condition of a grades table."""

    notes: list[str]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GradesCondition(_Condition):
    """One condition of a grades table."""

    unwritten: ClassVar[tuple[str, ...]] = ("name", "notes")
    flat: ClassVar[tuple[str, ...]] = ("study", "said")

    ungraded: int
    without_confidence: int
    failed: int

    @property
    def said(self) -> GradesSaid:
        """Counts and notes as JSON has them."""
        if self.study is None:
            return {"n": 0, "notes": [*self.notes]}
        return {"notes": [*self.notes, *self.study.cannot]}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Grouped(Result):
    """What one grouping of the answers reports."""

    sem1: float
    sem2: float | None
    accuracy: float
    classes_per_question: float
    questions: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Corrected(Result):
    """What changes when a person corrects the classes: answers moved, and figures by the classes before and after."""

    moved: int
    answers: int
    questions: int
    deployed: int  # questions whose deployed class has another grade, or other answers
    before: Grouped
    after: Grouped


class Difficulty(TypedDict):
    """How well the Sem1-Sem2 gap of a question tells wrong answers, and the items with the largest gap."""

    auroc: float | None
    hardest: Sequence[str]


class Studied(TypedDict, total=False):
    """What a study says of a condition, where there is one."""

    miscalibration: cal.Miscalibration | None
    scores: cal.ConfidenceScores
    curve: Sequence[cal.CurvePoint]
    safe: cal.SafeThreshold


class DrawsSaid(Studied):
    """What of a condition of a draws table is written under other names than its fields have."""

    draws: int | list[int]
    accuracy: float | None
    sem1: cal.EceResult | None
    sem2: cal.EceResult | None
    verbalised: cal.Verbalised | None
    regimes: dict[str, int]
    recalibration: cal.RecalibrationAdvice | None
    difficulty: Difficulty
    notes: list[str]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DrawsCondition(_Condition):
    """One condition of a draws table. What cannot be had from its draws is None."""

    unwritten: ClassVar[tuple[str, ...]] = (
        "name", "items", "lengths", "margins", "sem", "stated", "study", "notes", "hardest", "difficulty_auroc",
    )  # fmt: skip

    items: tuple[str, ...]
    questions: int
    lengths: tuple[int, int]  # the fewest and the most draws of a question
    classes: str  # how answers were grouped
    margins: cal.Regimes
    sem: cal.SemEce | None = None
    stated: cal.Verbalised | None = None
    token: cal.EceResult | None = None
    gap: cal.SemGap | None = None
    strata: tuple[cal.Stratum, ...] = ()
    bounds: tuple[cal.Bound, ...] = ()
    draws_needed: cal.DrawsNeeded | None = None
    early_stopping: cal.EarlyStopping | None = None
    sensitivity: Mapping[str, Grouped] = dataclasses.field(default_factory=dict)
    grouping_quality: PairQuality | None = None  # offline classes against the given ones
    corrected: Corrected | None = None  # by a person, where `human_cluster` says so
    difficulty_auroc: float | None = None  # how well the Sem1-Sem2 gap of a question tells wrong answers
    hardest: tuple[str, ...] = ()  # the items with the largest gap

    @property
    def said(self) -> DrawsSaid:
        """What is written under other names than the fields have."""
        sem, study = self.sem, self.study
        least, most = self.lengths
        said: DrawsSaid = {
            "draws": least if least == most else [least, most],
            "accuracy": None if sem is None else sem.sem1.accuracy,
            "sem1": None if sem is None else sem.sem1,
            "sem2": None if sem is None else sem.sem2,
            "verbalised": self.stated,
            "regimes": {"large": self.margins.large, "low": self.margins.low, "jensen": self.margins.jensen},
            "recalibration": None if study is None else study.recalibration,
            "difficulty": {"auroc": self.difficulty_auroc, "hardest": self.hardest},
            "notes": [*(sem.notes if sem else ()), *(study.cannot if study else ()), *self.notes],
        }
        if study is not None:
            said |= {"miscalibration": study.miscalibration, "scores": study.scores}
            said |= {"curve": study.curve, "safe": study.safe}
        return said


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationReport(Shown):
    """All conditions of a table; `kind` is `grades` or `draws`. "Is miscalibrated" is one family over all of them."""

    keyed: ClassVar = {"conditions": "name"}
    unwritten: ClassVar = ("asked",)

    kind: str
    conditions: tuple[GradesCondition | DrawsCondition, ...]
    level: float = DEFAULT_LEVEL
    understood: str = ""
    notes: tuple[str, ...] = ()
    asked: tuple[Asked, ...] = ()

    def with_claims(self, claims: Sequence[Claim]) -> CalibrationReport:
        """The same with claims that were decided, in the order of `asked`."""
        conditions = zip(self.conditions, claims, strict=True)
        return dataclasses.replace(
            self,
            conditions=tuple(
                dataclasses.replace(c, claim=_doubted(cal.claim_with_sentence(claim, c.study), c))
                for c, claim in conditions
            ),
        )

    @property
    def claims(self) -> tuple[Claim, ...]:
        """ "Is miscalibrated" of every condition."""
        return tuple(c.claim for c in self.conditions if c.claim is not None)

    def _shown(self) -> Picture:
        return calibration_picture(self)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    rng: np.random.Generator
    bins: int
    binning: Any
    level: float
    splits: int | None
    precision: float
    target: float
    by: str | None
    refusals: str

    @property
    def ece(self) -> dict[str, Any]:
        return {"bins": self.bins, "binning": self.binning, "level": self.level}


MOST_MIXED = 0.2  # classes of right and wrong answers, for each question, from which the grouping is doubted


def measure_calibration(
    source: Source | Dataset,
    *,
    rng: np.random.Generator,
    bins: int = 10,
    binning: Any = "width",
    level: float = DEFAULT_LEVEL,
    splits: int | None = None,
    precision: float = 0.02,
    target: float = 0.05,
    by: str | None = None,
    refusals: Literal["keep", "leave-out"] = "keep",
    stated: bool = False,
    policy: Policy | None = None,
    tried: int = 1,
    mapper: Mapper = in_threads,
) -> CalibrationReport:
    """Read a grades or draws table (told apart by the column `draw`), or a run's draws, and measure every condition.

    A table may be a file or a frame. `precision` is what `draws_needed` is worked out for, `target` the share of errors
    allowed to answers given alone, `by` a column to show figures by, `refusals` whether questions that were declined
    count as wrong answers (as the paper has it) or are left out. `stated`: also of repeated draws each answer's own
    confidence is looked at, not how often they agree. `policy` says what missing grades mean.
    A column `group` names what varies together. Every
    condition has a generator of its own: `mapper` says where it is measured and changes no number.
    """
    tables = source if isinstance(source, Dataset) else read_draws(source)
    frame = calibration_rows(tables, stated=stated)
    kind: Kind = "draws" if "draw" in frame.columns else "grades"
    if kind == "grades" and "confidence" not in frame.columns:
        odd = " ".join(of_kind(tables.notes, "no confidence"))
        raise InputError(
            odd or "No answer has a confidence, and none was drawn repeatedly with its text.",
            remedy="Name the column (--map confidence=COLUMN, 0 to 1), or draw answers: richter draw",
        )
    by = {"subject": "domain"}.get(by or "", by)
    if by is not None and by not in frame.columns:
        raise InputError(
            f"No answer names its {printable(by)}.", remedy=f"Use --by domain, tier or group; --map {by}=COLUMN."
        )
    if refusals not in ("keep", "leave-out"):
        raise InputError(f"refusals={refusals!r} is not known.", remedy="Use 'keep' or 'leave-out'.")
    settings = {
        "bins": bins, "binning": binning, "level": level, "splits": splits, "precision": precision, "target": target,
        "by": by, "refusals": refusals,
    }  # fmt: skip
    tasks = [(kind, name, part, settings) for name, part in _parts(frame).items()]
    found = run_tasks(_condition, tasks, rng=rng, mapper=mapper)
    measure: Literal["ece", "draws"] = "ece" if kind == "grades" else "draws"
    asked = tuple(_question(tables, c, measure, policy or Policy()) for c in found)
    report = CalibrationReport(
        kind=kind, conditions=tuple(found), level=level, understood=tables.understood, notes=tables.notes, asked=asked
    )
    return report.with_claims(decide(asked, level=level, tried=tried, data_hash=tables.data_hash))


def _question(
    tables: Dataset, condition: GradesCondition | DrawsCondition, measure: Literal["ece", "draws"], policy: Policy
) -> Asked:
    """ "Is it miscalibrated?", blocked where a check of the data blocks it, with the notes of all checks."""
    judged = as_judged(judges_of(tables, "accuracy"))
    asked = cal.calibration_question(
        condition.name, condition.study, measure=measure, reason=condition.reason, basis=tables.basis
    )
    if isinstance(asked.evidence, Blocked):
        return asked
    checked = run_checks(tables, asked.question, policy)
    evidence = checked.block or dataclasses.replace(asked.known, judged=judged)
    return dataclasses.replace(asked, evidence=evidence, notes=checked.notes)


def _doubted(claim: Claim, condition: GradesCondition | DrawsCondition) -> Claim:
    """The claim, with what its classes make of it where many of them hold right and wrong answers together."""
    sem = condition.sem if isinstance(condition, DrawsCondition) else None
    if sem is None or sem.mixed_classes <= MOST_MIXED * sem.questions:
        return claim
    mixed = f"{sem.mixed_classes:,} classes in {counted(sem.questions, 'question')} hold right and wrong answers"
    said = f"{mixed}: the grouping tells them apart badly, and how often answers agree says little here"
    return dataclasses.replace(claim, sentence=f"{claim.sentence} But {said}.")


def _condition(
    task: tuple[Kind, str, pl.DataFrame, Mapping[str, Any]], rng: np.random.Generator
) -> GradesCondition | DrawsCondition:
    kind, name, part, settings = task
    measure = _draws_condition if kind == "draws" else _grades_condition
    return measure(name, part, _Options(rng=rng, **settings))


def read_draws(*sources: Source, options: ReadOptions | None = None) -> Dataset:
    """The tables of a source; of a run that holds repeated draws, those."""
    found: list[Source] = []
    for source in sources:
        place = run_place(source) if isinstance(source, str | Path | DatabaseRun) else None
        drawn = None if place is None or not is_run(place) else draws_table(place)
        found.append(source if drawn is None else drawn)
    return read_tables(*found, options=options)


def draws_table(run: RunLike) -> Path | None:
    """RUN/draws/draws.jsonl, or draws.jsonl in the run itself where `richter draw` made it."""
    return run_file(run_part(run, "draws"), DRAWS_NAME) or run_file(run, DRAWS_NAME)


def calibration_rows(tables: Dataset, *, stated: bool = False) -> pl.DataFrame:
    """One row an answer with grade and confidence; `draw` only where answers were drawn repeatedly.

    Draws of which neither the text nor the class is known agree with each other as far as anyone can tell: they are
    answers, each with its own confidence, that vary together within an item; so are all where `stated`.
    """
    texts = [(i.id, i.prompt or None, "|".join((i.reference, *i.aliases)) or None) for i in tables.items.values()]
    schema = {"item": pl.String, "question": pl.String, "reference": pl.String}
    known = pl.DataFrame(texts, schema=schema, orient="row")
    rows = tables.rows.rename({"text": "answer"}).join(known, on="item", how="left", maintain_order="left")
    told = rows["answer"].null_count() < len(rows) and rows["confidence"].null_count() == len(rows)
    grouped = not stated and any(rows[c].null_count() < len(rows) for c in ("answer", "cluster", "human_cluster"))
    repeated = grouped and (int(rows["draw"].to_numpy().max()) > 0 or rows["cluster"].null_count() < len(rows) or told)
    if repeated:
        rows = rows.filter(pl.col("error").fill_null("") == "")
    rated = tables.ratings.filter(pl.col("kind") == "human", pl.col("severity").is_not_null())
    if len(rated) and rows["human"].null_count() == len(rows) and tables.metric == "accuracy":
        people = rated.group_by(_KEY).agg((pl.col("severity").median() == 0).cast(pl.Float64).alias("human"))
        rows = rows.drop("human").join(people, on=_KEY, how="left", maintain_order="left")
        rows = rows.with_columns(pl.lit(rated["inclusion"].n_unique() > 1).alias("uneven"))
    unused = [c for c in rows.columns if rows[c].null_count() == len(rows) and c not in ("correct", "answer")]
    return rows.drop(unused if repeated else [*unused, "draw"])


def measure_phase(
    source: Source | Dataset, *, rng: np.random.Generator, runs: int = 100, level: float = DEFAULT_LEVEL
) -> dict[str, tuple[cal.PhasePoint, ...]]:
    """`phase_transition` of every condition that has graded answers with a confidence."""
    frame = calibration_rows(source if isinstance(source, Dataset) else read_draws(source))
    if "confidence" not in frame.columns:
        raise InputError("No answer has a confidence.", remedy="Name the column: --map confidence=COLUMN.")
    out = {}
    for name, part in _parts(frame).items():
        part = _probabilities(part)[0].filter(pl.col("confidence").is_not_nan() & pl.col("correct").is_not_null())
        c, a = part["confidence"].to_numpy(), part["correct"].to_numpy()
        out[name] = cal.phase_transition(c, a, rng=rng, unit=_unit(part), runs=runs, level=level)
    return out


def _parts(frame: pl.DataFrame) -> Mapping[str, pl.DataFrame]:
    return {str(name): part for (name,), part in frame.group_by("condition", maintain_order=True)}


def _probabilities(part: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """One condition's confidences as probabilities: another condition may well state percentages."""
    if "confidence" not in part.columns:
        return part, []
    values, note = cal.as_probability(part["confidence"].fill_null(float("nan")).to_numpy())
    return part.with_columns(pl.Series("confidence", values)), [note] if note else []


def _declined(part: pl.DataFrame) -> list[pl.Series]:
    """Which rows decline, and which are empty; nothing where the table says nothing of either."""
    nobody = np.zeros(len(part), dtype=bool)
    refused = part["refused"].fill_null(False).to_numpy() if "refused" in part.columns else nobody
    empty = nobody
    if "answer" in part.columns and part["answer"].null_count() < len(part):
        answers = part["answer"].fill_null("").to_list()
        known = {x: is_refusal(x) for x in set(answers)}
        empty = np.array([not x.strip() for x in answers])
        refused = (np.array([known[x] for x in answers]) | refused) & ~empty
    return [pl.Series("declined", refused), pl.Series("empty", empty)]


def _grades_condition(name: str, part: pl.DataFrame, options: _Options) -> GradesCondition:
    part, said = _probabilities(part)
    rows = part.with_columns(_declined(part))
    if "error" in part.columns:
        rows = rows.filter(pl.col("error").cast(pl.String).str.strip_chars().fill_null("") == "")
    graded, sure = pl.col("correct").is_not_null(), pl.col("confidence").is_not_nan()
    base = GradesCondition(
        name=name,
        failed=len(part) - len(rows),
        ungraded=rows.filter(~graded).height,
        without_confidence=rows.filter(~sure).height,
    )
    left = {"are failed calls": base.failed, "have no grade": base.ungraded}
    left["have no confidence"] = base.without_confidence
    said += [f"{count} of {len(part)} rows {what} and are left out." for what, count in left.items() if count]
    base = dataclasses.replace(base, notes=tuple(said))
    if rows.filter(graded, sure).is_empty():
        reason = UNTESTABLE if rows.filter(graded).is_empty() else "no graded row has a confidence"
        return dataclasses.replace(base, reason=reason)
    return _judged(base, rows.filter(graded, sure), options)


C = TypeVar("C", bound=_Condition)


def _judged(base: C, rows: pl.DataFrame, options: _Options) -> C:
    """What confidences and grades show, a row an answer or a question; refusals are kept or left out."""
    refusals, rows = _refusals(rows, options)
    grader, more = _grader(rows, options)
    c, a, by = rows["confidence"], rows["correct"], _texts(rows, options.by)
    study = cal.study_confidence(c, a, rng=options.rng, by=by, target=options.target, **_units(rows), **options.ece)
    notes = (*base.notes, *more)
    return dataclasses.replace(base, study=study, refusals=refusals, grader=grader, floor=_floor(rows), notes=notes)


def _units(rows: pl.DataFrame) -> dict[str, Any]:
    """Item, group and weight of rows."""
    weight = None if "weight" not in rows.columns else rows["weight"].fill_null(1.0).to_numpy()
    return {"item": _texts(rows, "item"), "group": _texts(rows, "group"), "weight": weight}


def _unit(rows: pl.DataFrame) -> list[str] | None:
    """What varies independently: the group, else the item."""
    return _texts(rows, "group") or _texts(rows, "item")


def _texts(rows: pl.DataFrame, name: str | None) -> list[str] | None:
    """A column as texts; None where it is missing or empty throughout. An item without a group is one of its own."""
    if name is None or name not in rows.columns or rows[name].null_count() == len(rows):
        return None
    own = pl.concat_str(pl.lit("\0"), pl.col("item")) if name == "group" else pl.lit("none")
    return rows.select(pl.col(name).cast(pl.String).fill_null(own))[name].to_list()


def _refusals(rows: pl.DataFrame, options: _Options) -> tuple[Refusals | None, pl.DataFrame]:
    """The count of declined and empty answers, ECE with and without them, and the rows to use."""
    answered = rows.filter(~pl.col("declined") & ~pl.col("empty"))
    if len(answered) == len(rows):
        return None, rows
    leave = options.refusals == "leave-out" and len(answered) > 0
    found = Refusals(
        refused=int(rows["declined"].sum()),
        empty=int(rows["empty"].sum()),
        of=len(rows),
        used="left out" if leave else "kept",
        kept=_ece(rows, options),
        left_out=_ece(answered, options) if len(answered) else None,
    )
    return found, answered if leave else rows


def _ece(rows: pl.DataFrame, options: _Options) -> cal.EceResult:
    return cal.unit_ece(rows["confidence"], rows["correct"], **_units(rows), **options.ece)


def _grader(rows: pl.DataFrame, options: _Options) -> tuple[cal.GraderError | None, list[str]]:
    """What people's labels (1 right, 0 wrong, empty where nobody looked) say of the grades, if drawn at random."""
    if "human" not in rows.columns or rows["human"].null_count() == len(rows):
        return None, []
    if "uneven" in rows.columns and rows["uneven"].any():
        said = "Answers were drawn for people with different chances, so their labels are no random sample of all: "
        return None, [said + "how often the grader is wrong is not worked out from them here (richter compare does)."]
    alike = ["What people's labels say of the grader counts every answer alike, without its weight."]
    c, a, labels = rows["confidence"], rows["correct"], rows["human"].fill_null(float("nan"))
    try:
        found = cal.grader_error(c, a, labels, unit=_unit(rows), bins=options.bins, level=options.level)
        return found, alike if "weight" in rows.columns else []
    except TooFewErrors as e:
        return None, [str(e)]


def _floor(rows: pl.DataFrame) -> float | None:
    """The passive floor at as many labels as these are worth and the estimated L, as `richter floors data` has it."""
    a = rows["correct"].to_numpy()
    wrong = float(np.mean(a == 0))
    if not 0 < wrong < 1:
        return None
    try:
        item = rows["item"].rank("dense").to_numpy()
        smooth = lipschitz(rows["confidence"], a, item=item, rng=np.random.default_rng(0), n_resamples=20)
    except TooFewErrors:
        return None
    return passive_floor(effective_sample_size(a == 0, _unit(rows)), wrong, lipschitz=smooth.estimate).value


def _arranged(part: pl.DataFrame) -> pl.DataFrame:
    """Rows in the order drawn, with the question's number and the draw's place in it."""
    part = part.sort("draw", maintain_order=True)
    items = part["item"].unique(maintain_order=True)
    question = part["item"].replace_strict(items, pl.Series(range(len(items)))).alias("question_number")
    return part.with_columns(question).with_columns(pl.int_range(pl.len()).over("question_number").alias("place"))


def _wide(part: pl.DataFrame, values: pl.Series, fill: float) -> Floats:
    """A column as questions x draws, `fill` where a question has fewer draws, NaN where a cell is empty."""
    rows, columns = part["question_number"].to_numpy(), part["place"].to_numpy()
    out = np.full((rows.max() + 1, columns.max() + 1), fill)
    out[rows, columns] = values.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    return out


def _given(part: pl.DataFrame) -> pl.Series | None:
    """The classes that stand in the table: as made, and where a person gave an answer another one, that."""
    made = [pl.col(c).cast(pl.String) for c in ("human_cluster", "cluster") if c in part.columns]
    if not made or (classes := part.select(pl.coalesce(made)).to_series()).null_count() > 0:
        return None
    return classes.rank("dense")


def _corrected(part: pl.DataFrame, after: cal.AnswerPool, options: _Options) -> Corrected | None:
    """Both sets of classes on the same answers, where a person corrected classes that are there as they were made."""
    if not {"cluster", "human_cluster"} <= set(part.columns) or part["cluster"].null_count() > 0:
        return None
    told = part.select((pl.col("human_cluster") != pl.col("cluster")).fill_null(False)).to_series()
    before = _pool(part, part["cluster"].rank("dense"))
    figures = _sensitivity({"before": before, "after": after}, options)
    if len(figures) < 2:
        return None
    same = [
        np.array_equal(x == i, y == j) and (a == b or (np.isnan(a) and np.isnan(b)))
        for x, i, a, y, j, b in zip(
            before.labels, before.mode, before.correct, after.labels, after.mode, after.correct, strict=True
        )
    ]
    return Corrected(
        moved=int(told.sum()),
        answers=len(part),
        questions=part.filter(told)["question_number"].n_unique(),
        deployed=len(same) - sum(same),
        **figures,
    )


def _made_by(part: pl.DataFrame) -> str:
    """Who formed the given classes, where the table says so (`richter draw` does)."""
    if "human_cluster" in part.columns:
        return "corrected by a person"
    names = part["clustered_by"].unique().to_list() if "clustered_by" in part.columns else []
    return str(names[0]) if len(names) == 1 and names[0] else "given"


def _normal_form(part: pl.DataFrame) -> pl.Series:
    answers = part["answer"].fill_null("")
    forms = {a: ("\0" if a.strip() else "") if is_refusal(a) else normalise(a) for a in answers.unique().to_list()}
    return pl.Series([forms[a] for a in answers.to_list()]).rank("dense")


def _groupings(part: pl.DataFrame) -> dict[str, pl.Series]:
    """Ways to group the answers, the one to report first: as given, offline (where it is installed), normal form."""
    given = _given(part)
    out = {} if given is None else {_made_by(part): given}
    if "offline" not in out:
        with contextlib.suppress(MissingPart):
            out["offline"] = _offline(part)
    return out | {"normal form": _normal_form(part)}


def _offline(part: pl.DataFrame) -> pl.Series:
    lists = part.with_row_index("row").group_by("question_number", maintain_order=True)
    rows, texts, asked, names = [], [], [], []
    for _, group in lists:
        rows.append(group["row"].to_list())
        texts.append(group["answer"].fill_null("").to_list())
        asked.append(group["question"][0] or "" if "question" in group.columns else "")
        reference = group["reference"][0] if "reference" in group.columns else None
        names.append(reference.split("|") if reference else [])
    found = cluster_questions(texts, asked, names)
    flat = np.empty(len(part), dtype=np.int64)
    for places, classes in zip(rows, found, strict=True):
        flat[places] = np.array(classes) + 2  # refusals are -1; classes of a pool start at 0, that of empty answers
    flat[(part["answer"].fill_null("").str.strip_chars() == "").to_numpy()] = 0
    return pl.Series(flat)


def _pool(part: pl.DataFrame, labels: pl.Series) -> cal.AnswerPool:
    grades = _wide(part, part["correct"], np.nan) if "correct" in part.columns else None
    return cal.answer_pool(_wide(part, labels, -1.0).astype(np.int64), grades)


def _draws_condition(name: str, part: pl.DataFrame, options: _Options) -> DrawsCondition:
    part, notes = _probabilities(part)
    part = _arranged(part)
    if "correct" in part.columns and part["correct"].null_count() == len(part):  # the reader grades by references
        part, notes = part.drop("correct"), [*notes, "There is neither a grade nor a reference."]
    if "weight" in part.columns and part["weight"].n_unique() > 1:
        notes += [
            "Weights count in the verdict and what follows from it; Sem1, Sem2 and what is stated do not use them."
        ]
    given = _given(part)
    if given is None:
        groupings = _groupings(part)
        pools = {key: _pool(part, labels) for key, labels in groupings.items()}
        how, pool = next(iter(pools.items()))
    else:  # the other groupings are for comparison only: on some of the questions
        how, pool = _made_by(part), _pool(part, given)
        kept = np.unique(np.linspace(0, pool.questions - 1, COMPARED).round().astype(int))
        some = _arranged(part.filter(pl.col("question_number").is_in(kept.tolist())))
        pools = {key: _pool(some, labels) for key, labels in _groupings(some).items()}
    base = DrawsCondition(
        name=name,
        items=tuple(part["item"].unique(maintain_order=True).to_list()),
        questions=pool.questions,
        lengths=(int(pool.draws.min()), int(pool.draws.max())),
        classes=how,
        margins=cal.regimes(pool),
        notes=tuple(notes),
        early_stopping=cal.stop_early(pool) if pool.draws.max() > 1 else None,
        draws_needed=_needed(pool, part, options),
    )
    if np.isnan(pool.correct).all():
        return dataclasses.replace(base, reason=UNTESTABLE)
    said: dict[str, Any] = {"stated": _stated(part, pool, options), "token": _token(part, pool, options)}
    if pool.draws.max() == 1:
        return dataclasses.replace(base, reason=ALONE, **said)
    sem = cal.sem_ece(pool, rng=options.rng, splits=options.splits, **options.ece)
    best = sem.confidence_1 if sem.sem2 is None else sem.confidence_2
    usable = ~np.isnan(pool.correct) & ~np.isnan(best)
    rows = part.unique("question_number", keep="first", maintain_order=True).sort("question_number")
    rows = rows.with_columns(pl.Series("confidence", best), pl.Series("correct", pool.correct))
    rows = rows.with_columns(pl.Series(m.name, _deployed(part, pool, m.to_numpy())) for m in _declined(part))
    if "human" in part.columns:  # of a question: what most labels of its deployed class say
        inside = np.where(pool.labels == pool.mode[:, None], _wide(part, part["human"], np.nan), np.nan)
        seen = np.sum(~np.isnan(inside), axis=1)
        most = np.where(seen > 0, (2 * np.nansum(inside, axis=1) > seen).astype(float), np.nan)
        rows = rows.with_columns(pl.Series("human", most).fill_nan(None))
    base = _judged(base, rows.filter(usable), options)
    return dataclasses.replace(
        base,
        sem=sem,
        gap=None if sem.sem2 is None else cal.sem_gap(sem, base.margins, rng=options.rng, bins=options.bins),
        strata=() if sem.sem2 is None else cal.margin_strata(sem, base.margins, bins=options.bins),
        bounds=cal.ece_bounds(pool, n=max(int(np.median(pool.draws)) // 2, 1), bins=options.bins),
        sensitivity=_sensitivity(pools, options),
        corrected=_corrected(part, pool, options),
        grouping_quality=_grouping_quality(pools, how),
        **said,
        **_difficulty(base.items, sem, usable),
    )


def _deployed(part: pl.DataFrame, pool: cal.AnswerPool, mark: Bools) -> Bools:
    """Of every question whether most draws of its deployed class carry the mark."""
    wide = _wide(part, pl.Series(mark.astype(np.float64)), 0.0)
    inside = pool.labels == pool.mode[:, None]
    return np.asarray(2 * np.sum(wide * inside, axis=1) > np.sum(inside, axis=1))


def _grouping_quality(pools: Mapping[str, cal.AnswerPool], how: str) -> PairQuality | None:
    """Offline classes against those that were given by someone else."""
    if how in ("offline", "normal form") or "offline" not in pools:
        return None
    rows = [[row[row >= 0].tolist() for row in pools[key].labels] for key in ("offline", how)]
    return grouping_quality(*rows) if max(len(row) for row in rows[0]) > 1 else None


def _difficulty(items: Sequence[str], sem: cal.SemEce, usable: Bools) -> dict[str, Any]:
    """The Sem1-Sem2 gap of each question as a sign of difficulty (section 5 of the paper)."""
    if sem.sem2 is None:
        return {}
    gap = sem.confidence_1 - sem.confidence_2
    order = np.argsort(-np.nan_to_num(gap, nan=-1.0), kind="stable")[:10]
    return {
        "difficulty_auroc": cal.ece(np.clip(gap[usable], 0, 1), 1 - sem.correct[usable]).auroc,
        "hardest": tuple(items[i] for i in order if gap[i] > 0),
    }


def _sensitivity(pools: Mapping[str, cal.AnswerPool], options: _Options) -> dict[str, Grouped]:
    """What each grouping of the same answers reports."""
    out = {}
    for key, pool in pools.items():
        if np.isnan(pool.correct).all():
            continue
        result = cal.sem_ece(pool, rng=np.random.default_rng(0), splits=options.splits, **options.ece)
        out[key] = Grouped(
            sem1=result.sem1.ece,
            sem2=None if result.sem2 is None else result.sem2.ece,
            accuracy=result.sem1.accuracy,
            classes_per_question=float(np.mean(pool.classes)),
            questions=pool.questions,
        )
    return out


def _needed(pool: cal.AnswerPool, part: pl.DataFrame, options: _Options) -> cal.DrawsNeeded | None:
    price = None
    if "money_usd" in part.columns and part["money_usd"].null_count() == 0:
        price = float(part["money_usd"].cast(pl.Float64).to_numpy().mean())
    with contextlib.suppress(TooFewErrors):
        return cal.draws_needed(pool, precision=options.precision, rng=options.rng, usd_per_draw=price)
    return None


def _stated(part: pl.DataFrame, pool: cal.AnswerPool, options: _Options) -> cal.Verbalised | None:
    if "confidence" not in part.columns:
        return None
    graded = ~np.isnan(pool.correct)
    matrix = _wide(part, part["confidence"], -1.0)
    if np.isnan(matrix[matrix != -1]).all():
        return None
    return cal.verbalised_ece(matrix[graded], pool.correct[graded], **options.ece)


def _token(part: pl.DataFrame, pool: cal.AnswerPool, options: _Options) -> cal.EceResult | None:
    """Token probability as confidence: its mean over the draws of the deployed class."""
    if "token_probability" not in part.columns or part["token_probability"].null_count() == len(part):
        return None
    matrix = _wide(part, part["token_probability"], np.nan)
    deployed = (pool.labels == pool.mode[:, None]) & ~np.isnan(matrix)
    count = deployed.sum(axis=1)
    use = (count > 0) & ~np.isnan(pool.correct)
    if not use.any():
        return None
    mean = np.where(deployed, matrix, 0.0).sum(axis=1)[use] / count[use]
    return cal.ece(mean, pool.correct[use], **options.ece)
