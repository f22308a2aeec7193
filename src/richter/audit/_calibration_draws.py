"""The calibration of one condition by repeated draws: how often its answers agree, and what that is worth."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from richter import calibration as cal
from richter.audit._calibration_grades import UNTESTABLE, Options, mark_declined, studied, with_probabilities
from richter.audit._calibration_results import Corrected, DrawsCondition, Grouped
from richter.claims import METRICS, Evidence, Outcomes, difference_evidence
from richter.errors import MissingPart, TooFewErrors
from richter.records import Interval, counted
from richter.stats import Bools, Floats
from richter.texts import GroupingQuality, cluster_questions, grouping_quality, is_refusal, normalise

COMPARED = 200  # questions on which other groupings are compared with the given one
PRECISION = 0.02  # to which the advised number of draws makes mean confidence known


ALONE = "every question has one draw, and one answer always agrees with itself: draw two or more, or state a confidence"


def study_draws(name: str, part: pl.DataFrame, options: Options) -> DrawsCondition:
    part, notes = with_probabilities(part)
    part = _arranged(part)
    if "correct" in part.columns and part["correct"].null_count() == len(part):  # the reader grades by references
        part, notes = part.drop("correct"), [*notes, "There is neither a grade nor a reference."]
    if "weight" in part.columns and part["weight"].n_unique() > 1:
        notes += [
            "Weights count in the verdict, Sem2 and what follows from it; Sem1 and what is stated do not use them."
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
    shown = pools if given is None else {how: pool}  # a figure of some of the questions would be a second Sem2-ECE
    base = DrawsCondition(
        name=name,
        items=tuple(part["item"].unique(maintain_order=True).to_list()),
        questions=pool.questions,
        lengths=(int(pool.draws.min()), int(pool.draws.max())),
        classes=how,
        margins=cal.regimes(pool),
        notes=tuple(notes),
        draws_needed=_needed(pool, part, options),
    )
    if np.isnan(pool.correct).all():
        return dataclasses.replace(base, reason=UNTESTABLE)
    other: dict[str, Any] = {"stated": _stated(part, pool, options), "token": _token(part, pool, options)}
    if pool.draws.max() == 1:
        return dataclasses.replace(base, reason=ALONE, **other)
    sem = cal.sem_ece(pool, rng=options.rng, splits=options.splits, **options.ece)
    best = sem.confidence_1 if sem.sem2 is None else sem.confidence_2
    usable = ~np.isnan(pool.correct) & ~np.isnan(best)
    rows = part.unique("question_number", keep="first", maintain_order=True).sort("question_number")
    rows = rows.with_columns(pl.Series("confidence", best), pl.Series("correct", pool.correct))
    rows = rows.with_columns(pl.Series(m.name, _deployed(part, pool, m.to_numpy())) for m in mark_declined(part))
    if "human" in part.columns:  # of a question: what most labels of its deployed class say
        inside = np.where(pool.labels == pool.mode[:, None], _wide(part, part["human"], np.nan), np.nan)
        seen = np.sum(~np.isnan(inside), axis=1)
        most = np.where(seen > 0, (2 * np.nansum(inside, axis=1) > seen).astype(float), np.nan)
        rows = rows.with_columns(pl.Series("human", most).fill_nan(None))
    agreement = _agreement(part, pool, how)
    base = studied(base, rows.filter(usable), options)
    assert base.study is not None
    if sem.sem2 is not None:  # one figure for the document: with weights, units and without refusals where asked
        sem = dataclasses.replace(sem, sem2=base.study.result)
    evidence = _agreement_evidence(agreement, rows)
    cannot = base.study.cannot
    if agreement.dropped:
        cannot += (f"{counted(agreement.dropped, 'question has', 'questions have')} fewer than two graded answers.",)
    study = dataclasses.replace(base.study, evidence=evidence, miscalibration=None, cannot=cannot)
    return dataclasses.replace(
        base,
        study=study,
        agreement=agreement,
        sem=sem,
        gap=None if sem.sem2 is None else cal.sem_gap(sem, base.margins, rng=options.rng, bins=options.bins),
        strata=() if sem.sem2 is None else cal.margin_strata(sem, base.margins, bins=options.bins),
        bounds=cal.ece_bounds(pool, n=max(int(np.median(pool.draws)) // 2, 1), bins=options.bins),
        sensitivity=_as_reported(_sensitivity(shown, options), how, sem),
        corrected=_corrected(part, pool, options),
        grouping_quality=_grouping_quality(pools, how),
        **other,
        semantic_entropy=_entropy(pool, usable, options),
        **_difficulty(base.items, sem, usable),
    )


def _agreement(part: pl.DataFrame, pool: cal.AnswerPool, how: str) -> cal.AgreementGap:
    """How often answers agree and are right; refusals and empty answers leave both.

    Right and wrong answers are grouped alike: offline classes are made without the references, which would join right
    answers only.
    """
    labels = pool.labels
    if how == "offline":
        labels = _pool(part, _offline(part, with_references=False)).labels
    declined, empty = mark_declined(part)
    left_out = _wide(part, (declined | empty).cast(pl.Float64), 0.0) > 0
    return cal.agreement_gap(np.where(left_out, -1, labels), _wide(part, part["correct"], np.nan))


def _agreement_evidence(found: cal.AgreementGap, rows: pl.DataFrame) -> Evidence:
    """Agreement less the share of right answers, by question, with their weights and groups."""
    own = rows.filter(pl.Series(found.used))
    if found.questions == 0:
        return Evidence(
            estimate=0.0, interval=lambda level: Interval(low=-1.0, high=1.0, level=level, method="the whole range")
        )
    place = np.arange(found.questions)
    group = None
    if "group" in own.columns and own["group"].null_count() < len(own):
        group = (own["group"].cast(pl.String).fill_null(own["item"]).rank("dense") - 1).to_numpy().astype(np.intp)
    weight = own["weight"].fill_null(1.0).to_numpy() if "weight" in own.columns else None
    outcomes = Outcomes(
        metric=dataclasses.replace(METRICS["accuracy"], kind="bounded"),
        items=tuple(map(str, place)),
        conditions=("right", "agree"),
        item=np.r_[place, place],
        condition=np.repeat([0, 1], found.questions).astype(np.intp),
        value=np.r_[found.right, found.agreement],
        group=group,
        weight=weight,
    )
    evidence = difference_evidence(outcomes, "right", "agree")
    return dataclasses.replace(evidence, values=(evidence.estimate,))


def _as_reported(figures: dict[str, Grouped], how: str, sem: cal.SemEce) -> dict[str, Grouped]:
    """The groupings' figures, that of the reported one as the document has it."""
    if how in figures and sem.sem2 is not None:
        figures[how] = dataclasses.replace(figures[how], sem2=sem.sem2.ece)
    return figures


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
    columns = [pl.col(c).cast(pl.String) for c in ("human_cluster", "cluster") if c in part.columns]
    if not columns or (classes := part.select(pl.coalesce(columns)).to_series()).null_count() > 0:
        return None
    return classes.rank("dense")


def _corrected(part: pl.DataFrame, after: cal.AnswerPool, options: Options) -> Corrected | None:
    """Both sets of classes on the same answers, where a person corrected classes that are there as they were made."""
    if not {"cluster", "human_cluster"} <= set(part.columns) or part["cluster"].null_count() > 0:
        return None
    is_moved = part.select((pl.col("human_cluster") != pl.col("cluster")).fill_null(False)).to_series()
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
        moved=int(is_moved.sum()),
        answers=len(part),
        questions=part.filter(is_moved)["question_number"].n_unique(),
        deployed=len(same) - sum(same),
        **figures,
    )


def _made_by(part: pl.DataFrame) -> str:
    """Who formed the given classes, where the table says so (`richter audit --only draw` does)."""
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


def _offline(part: pl.DataFrame, *, with_references: bool = True) -> pl.Series:
    lists = part.with_row_index("row").group_by("question_number", maintain_order=True)
    rows, texts, asked, names = [], [], [], []
    for _, group in lists:
        rows.append(group["row"].to_list())
        texts.append(group["answer"].fill_null("").to_list())
        asked.append(group["question"][0] or "" if "question" in group.columns else "")
        reference = group["reference"][0] if with_references and "reference" in group.columns else None
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


def _deployed(part: pl.DataFrame, pool: cal.AnswerPool, mark: Bools) -> Bools:
    """Of every question whether most draws of its deployed class carry the mark."""
    wide = _wide(part, pl.Series(mark.astype(np.float64)), 0.0)
    inside = pool.labels == pool.mode[:, None]
    return np.asarray(2 * np.sum(wide * inside, axis=1) > np.sum(inside, axis=1))


def _grouping_quality(pools: Mapping[str, cal.AnswerPool], how: str) -> GroupingQuality | None:
    """Offline classes against those that were given by someone else."""
    if how in ("offline", "normal form") or "offline" not in pools:
        return None
    rows = [[row[row >= 0].tolist() for row in pools[key].labels] for key in ("offline", how)]
    return grouping_quality(*rows) if max(len(row) for row in rows[0]) > 1 else None


def _entropy(pool: cal.AnswerPool, usable: Bools, options: Options) -> cal.EceResult | None:
    """How well low semantic entropy, put on the scale of a confidence, goes with being right."""
    if not usable.any():
        return None
    certain = 1 - cal.semantic_entropy(pool) / np.log(np.maximum(pool.draws, 2))
    return cal.ece(np.clip(certain[usable], 0, 1), pool.correct[usable], **options.ece)


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


def _sensitivity(pools: Mapping[str, cal.AnswerPool], options: Options) -> dict[str, Grouped]:
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


def _needed(pool: cal.AnswerPool, part: pl.DataFrame, options: Options) -> cal.DrawsNeeded | None:
    price = None
    if "money_usd" in part.columns and part["money_usd"].null_count() == 0:
        price = float(part["money_usd"].cast(pl.Float64).to_numpy().mean())
    with contextlib.suppress(TooFewErrors):
        return cal.draws_needed(pool, precision=PRECISION, rng=options.rng, usd_per_draw=price)
    return None


def _stated(part: pl.DataFrame, pool: cal.AnswerPool, options: Options) -> cal.Verbalised | None:
    if "confidence" not in part.columns:
        return None
    graded = ~np.isnan(pool.correct)
    matrix = _wide(part, part["confidence"], -1.0)
    if np.isnan(matrix[matrix != -1]).all():
        return None
    return cal.verbalised_ece(matrix[graded], pool.correct[graded], **options.ece)


def _token(part: pl.DataFrame, pool: cal.AnswerPool, options: Options) -> cal.EceResult | None:
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
