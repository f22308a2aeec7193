"""What the user vouches for, and every check between data and evidence: each gives notes and at most one block.

A check that is added here works in every command at once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from richter.claims import Blocked, Question, Shared, block_by_missing, has_runs, shared_items, too_few_shared
from richter.claims._gate_limits import MIN_GROUPS
from richter.evidence._facts import (
    RaterShares,
    alignment_of,
    are_contests,
    describe_out_of_range,
    group_shares,
    has_shared_items,
    label_conflicts,
    lacking_grades,
    metric_of,
    outcomes_of,
    rater_shares,
    sample_of,
    valued_by,
)
from richter.evidence._judge_facts import bait_counts, obeyed_orders, rule_contrast, rule_level
from richter.records import DEFAULT_LEVEL, Note, of_kind, refusals
from richter.stats import Mapper, in_threads
from richter.tables import Dataset
from richter.words import (
    BLOCK_REASONS,
    CHECK_NOTES,
    REMEDIES,
    describe_bait,
    describe_few_groups,
    describe_lacking,
    describe_obeyed_orders,
    describe_raters_of,
    describe_rule_contrast,
    describe_rule_level,
)

if TYPE_CHECKING:
    from richter.severity import Recipe

__all__ = [
    "CHECKS",
    "CHOSEN",
    "MISSING",
    "Finding",
    "MissingPolicy",
    "Policy",
    "SeveritySettings",
    "compares_within_raters",
    "has_own_items",
    "is_unpaired",
    "shared_by",
]

MissingPolicy = Literal["both-ways", "shared", "at-random"]
MISSING: tuple[str, ...] = get_args(MissingPolicy)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SeveritySettings:
    """How slopes and pairs of severities are estimated: resampling, a recipe of slopes (None: the usual), a control."""

    recipe: Recipe | None = None
    control: str | None = None
    max_error_gap: float = 0.05
    n_resamples: int = 2000
    level: float = DEFAULT_LEVEL
    seed: int = 0
    mapper: Mapper = dataclasses.field(default=in_threads, compare=False)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What the user states beside the question.

    `missing`: a claim must hold with missing grades ignored and with them at the worse end (`both-ways`); they are
    another design (`shared`), or lost at random; None is as a plan has it, else both ways. `is_gate`: limits never fall
    short, an unconfirmed reading blocks, and no absence counts as a design. `unpaired` takes conditions as independent
    samples. `trust_ids`, `trust_raters`, `trust_labels` and `trust_reading` override the checks of these names. `tried`
    attempts are stated, of which the best is on show.
    """

    missing: MissingPolicy | None = None
    is_gate: bool = False
    unpaired: bool = False
    trust_ids: bool = False
    trust_raters: bool = False
    trust_labels: bool = False
    trust_reading: bool = False
    min_shared: float = 0.5
    tried: int = 1
    severity: SeveritySettings = SeveritySettings()

    @property
    def is_both_ways(self) -> bool:
        """Whether a claim must hold with missing grades ignored and with them at the worse end."""
        return self.missing in (None, "both-ways")


RATER_P = 0.001  # below it raters' shares of two conditions differ by more than chance
MIN_CHOSEN_FROM = 3  # conditions of a source, from which one may be chosen by its results
CHOSEN = "chosen"  # the kind of the note that asks
OF_ALL_CLAIMS = ("served", "look-alike", "search")  # kinds of notes on the data that every claim carries


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What a check says of a question: notes that go with its claim, and why it is blocked, if it is."""

    notes: tuple[str, ...] = ()
    block: Blocked | None = None


def _block(gate: str, reason: str, *, override: str = "") -> Blocked:
    """A block with the remedy of its gate."""
    return Blocked(gate=gate, reason=reason, remedy=REMEDIES[gate], override=override)


FINE = Finding()
Check = Callable[[Dataset, Question, Policy], Finding]


def is_unpaired(dataset: Dataset, question: Question, policy: Policy) -> bool:
    """Whether two conditions are compared as independent samples: as stated, or since no two share an item.

    A gate takes them so only where it is stated: a candidate may have lost every item that it shares.
    """
    if len(question.conditions) != 2:
        return False
    if policy.unpaired or policy.is_gate:
        return policy.unpaired
    return not has_shared_items(dataset, valued_by(dataset, question.measure))


def has_own_items(dataset: Dataset, question: Question, policy: Policy) -> bool:
    """Whether conditions have items of their own, so that none lacks what only another has."""
    return policy.unpaired or is_unpaired(dataset, question, policy)


def shared_by(dataset: Dataset, question: Question) -> Shared:
    """The items that the two conditions of a question share."""
    key = ("shared", valued_by(dataset, question.measure), question.conditions)
    if key not in dataset.memory:
        first, second = question.conditions
        dataset.memory[key] = shared_items(sample_of(dataset, key[1]), first, second)
    found: Shared = dataset.memory[key]
    return found


def check_reading(dataset: Dataset, question: Question, policy: Policy) -> Finding:
    """A reading that was inferred and that nobody confirmed: a note, and a block in a gate."""
    if dataset.is_confirmed:
        return FINE
    note = (CHECK_NOTES["reading"],)
    if not policy.is_gate or policy.trust_reading:
        return Finding(notes=note)
    return Finding(notes=note, block=_block("reading", BLOCK_REASONS["reading"], override="--trust-reading"))


def check_whole_data(dataset: Dataset, question: Question, policy: Policy) -> Finding:
    """What goes with every claim on these data: a model that answered as several, names that look alike."""
    return Finding(notes=tuple(note for kind in OF_ALL_CLAIMS for note in of_kind(dataset.notes, kind)))


def check_alignment_of_items(dataset: Dataset, question: Question, policy: Policy) -> Finding:
    """Conditions whose ids stand for other questions, or for the same ones in another order."""
    if len(question.conditions) != 2 or is_unpaired(dataset, question, policy):
        return FINE
    aligned = alignment_of(dataset, policy.trust_ids)
    if frozenset(question.conditions) not in aligned.apart:
        return FINE
    lines = refusals((r.conditions, r.reason) for r in aligned.refused if set(r.conditions) & set(question.conditions))
    return Finding(block=_block("items", lines[0] if lines else BLOCK_REASONS["order"], override="--trust-ids"))


def check_shared_items(dataset: Dataset, question: Question, policy: Policy) -> Finding:
    """Conditions of which one has no grades, or which share too few items; in a gate, a candidate that shares none."""
    if len(question.conditions) != 2:
        return _check_shared_with_baseline(dataset, question, policy)
    shared = shared_by(dataset, question)
    for number, name in zip(shared.sides, question.conditions, strict=True):
        if number == 0:
            noun = metric_of(dataset, question.measure).noun
            return Finding(block=Blocked(gate=None, reason=BLOCK_REASONS["no values"].format(name=name, noun=noun)))
    sample = sample_of(dataset, valued_by(dataset, question.measure))
    # in a gate the items that only the candidate has count for nothing: it could lose them
    reason = too_few_shared(sample, shared, min_shared=policy.min_shared, of_first=policy.is_gate)
    if is_unpaired(dataset, question, policy):
        if policy.unpaired:
            return Finding(notes=(CHECK_NOTES["unpaired"],))
        if shared.both:
            return FINE
        return Finding(notes=(CHECK_NOTES["own questions"].format(reason=reason),))
    if not reason:
        return FINE
    if shared.both and are_contests(dataset) and not policy.is_gate:
        return Finding(notes=(CHECK_NOTES["contests"],))
    return Finding(block=_block("shared", reason, override="--min-shared" if shared.both else "--unpaired"))


def _check_shared_with_baseline(dataset: Dataset, question: Question, policy: Policy) -> Finding:
    """A level that a gate asks for, of a candidate without any item of the baseline: it may have lost them all."""
    if not policy.is_gate or policy.unpaired or len(dataset.conditions) < 2:
        return FINE
    if has_shared_items(dataset, valued_by(dataset, question.measure)):
        return FINE
    reason = BLOCK_REASONS["baseline"].format(name=question.conditions[0], baseline=dataset.conditions[0])
    block = Blocked(gate="shared", reason=reason, remedy=REMEDIES["baseline"], override="--unpaired")
    return Finding(block=block)


MANY_MISSING = 0.05  # share of grades, beyond which lost right answers of one condition can make a difference


def check_missing(dataset: Dataset, question: Question, policy: Policy) -> Finding:
    """Missing grades: a note, and a block for measures without a worse end that they could be counted at."""
    metric = metric_of(dataset, question.measure)
    apart = has_own_items(dataset, question, policy)
    lacking = lacking_grades(dataset, question.measure, question.conditions, policy.is_gate, apart)
    counts = {name: kinds for name, kinds in lacking.kinds.items() if any(kinds.values())}
    notes = tuple(Note(describe_lacking(name, kinds), "lacking") for name, kinds in counts.items())
    if not lacking.total:
        return Finding(notes=notes)
    if not policy.is_both_ways:
        return Finding(notes=(*notes, CHECK_NOTES[f"missing {policy.missing}"]))
    if metric.estimator == "mean" and metric.worst is not None:
        is_many = len(question.conditions) == 2 and lacking.total > MANY_MISSING * lacking.expected
        return Finding(notes=(*notes, CHECK_NOTES["many missing"]) if is_many else notes)
    why = BLOCK_REASONS["no worst value"].format(noun=metric.noun)
    block = block_by_missing(lacking.total, lacking.expected, why=why, kinds="; ".join(notes))
    return Finding(notes=notes, block=block)


def check_raters(dataset: Dataset, question: Question, policy: Policy) -> Finding:
    """Raters who rated one condition more than the other: how lenient they are may be all of a difference.

    Means are compared within the raters of both (`compares_within_raters`), all else is blocked.
    """
    shares = _unlike_raters(dataset, question)
    if shares is None:
        return FINE
    rated = dict(zip(question.conditions, (shares.first, shares.second), strict=True))
    reason = describe_raters_of(rated, is_shared=bool(set(shares.first) & set(shares.second)))
    if policy.trust_raters:
        return Finding(notes=(CHECK_NOTES["trusted raters"].format(reason=reason),))
    if compares_within_raters(dataset, question, policy):
        return Finding(notes=(reason,))
    block = _block("raters", reason, override="--trust-raters")
    if compares_within_raters(dataset, question, dataclasses.replace(policy, missing="at-random")):
        block = dataclasses.replace(block, remedy=REMEDIES["raters, missing"])
    return Finding(block=block)


def _unlike_raters(dataset: Dataset, question: Question) -> RaterShares | None:
    """Who rated the two conditions of a question, where the shares of raters differ by more than chance.

    Where labels correct what judges rated, the people who gave them are the raters.
    """
    metric = metric_of(dataset, question.measure)
    by_raters = metric.source == "severity" or (metric.source in ("score", "confidence") and not dataset.scored_by)
    if len(question.conditions) != 2:
        return None
    rows = outcomes_of(dataset, valued_by(dataset, question.measure))
    kind = "human" if rows.label is not None and metric.estimator == "mean" else dataset.counting if by_raters else None
    shares = None if kind is None else rater_shares(dataset, kind, *question.conditions)
    return None if shares is None or shares.independence_p > RATER_P else shares


def compares_within_raters(dataset: Dataset, question: Question, policy: Policy) -> bool:
    """Whether a difference is taken within the raters who rated 20 answers of both conditions.

    Only of plain means without missing grades, whose raters nobody vouches for.
    """
    shares = _unlike_raters(dataset, question)
    if shares is None or policy.trust_raters or not shares.comparable:
        return False
    rows = outcomes_of(dataset, valued_by(dataset, question.measure))
    is_plain = (
        metric_of(dataset, question.measure).estimator == "mean"
        and not question.column
        and rows.label is None
        and rows.group_2 is None
        and not has_runs(rows)
        and rows.weight is None
        and not is_unpaired(dataset, question, policy)
    )
    lacking = lacking_grades(dataset, question.measure, question.conditions, policy.is_gate, False)
    return is_plain and not (policy.is_both_ways and lacking.total)


def check_labels(dataset: Dataset, question: Question, policy: Policy) -> Finding:
    """Human labels whose design is not known: they correct nothing, and what they were drawn for is blocked."""
    found = outcomes_of(dataset, valued_by(dataset, question.measure))
    fault = found.label_fault
    if not fault and found.is_proxy and metric_of(dataset, question.measure).estimator != "mean":
        noun = metric_of(dataset, question.measure).noun
        fault = BLOCK_REASONS["proxy labels"].format(noun=noun)
    if not fault:
        return Finding(notes=tuple(_describe_conflicts(dataset, question)))
    if policy.trust_labels:
        return Finding(notes=(CHECK_NOTES["trusted labels"].format(reason=fault),))
    return Finding(block=_block("labels", fault, override="--trust-labels"))


def check_judges(dataset: Dataset, question: Question, policy: Policy) -> Finding:
    """Judges whose grades may not be about the answers: answers that speak to them, references that say otherwise."""
    if not outcomes_of(dataset, valued_by(dataset, question.measure)).judges:
        return FINE
    bait = {name: found for name, found in bait_counts(dataset).items() if name in question.conditions}
    notes = tuple(
        Note(describe_bait(name, found.number, found.answers, found.item), "judge bait") for name, found in bait.items()
    )
    if len(question.conditions) == 2:
        found = _check_against_rules(dataset, question, policy)
        return Finding(notes=(*notes, *found.notes), block=found.block)
    levels = {name: rule_level(dataset, question.measure, name) for name in question.conditions}
    beside = (describe_rule_level(name, *level) for name, level in levels.items() if level is not None)
    return Finding(notes=(*notes, *(Note(text, "rules beside judges") for text in beside)))


def _check_against_rules(dataset: Dataset, question: Question, policy: Policy) -> Finding:
    """A difference by judges beside that by rules or references: a note, and a block where they contradict it."""
    contrast = rule_contrast(dataset, question.measure, *question.conditions)
    if contrast is None:
        return FINE
    ruled = contrast.ruled
    text = describe_rule_contrast(contrast.judged.estimate, ruled.estimate, ruled.interval(0.95), ruled.n)
    has_labels = outcomes_of(dataset, valued_by(dataset, question.measure)).label is not None
    orders = {name: obeyed_orders(dataset, question.measure, name) for name in question.conditions}
    obeyed = [
        describe_obeyed_orders(name, found.passed, found.speaking, found.others_passed, found.others)
        for name, found in orders.items()
        if found is not None and found.is_shown
    ]
    beside = (Note(text, "rules beside judges"),)
    if not (contrast.is_contradiction or obeyed) or has_labels:
        return Finding(notes=beside)
    reason = BLOCK_REASONS["judges"].format(found="; ".join(obeyed) or text)
    if policy.trust_raters:
        return Finding(notes=(Note(CHECK_NOTES["trusted judges"].format(reason=reason), "rules beside judges"),))
    return Finding(notes=beside if obeyed else (), block=_block("judges", reason, override="--trust-raters"))


def check_range(dataset: Dataset, question: Question, policy: Policy) -> Finding:
    """Values outside the range that the measure's row states: a unit or a column that is not what it seems."""
    fault = describe_out_of_range(dataset, valued_by(dataset, question.measure))
    return Finding(block=_block("range", fault)) if fault else FINE


def _describe_conflicts(dataset: Dataset, question: Question) -> Iterator[Note]:
    """What human labels say against the grades of the conditions in question."""
    if valued_by(dataset, question.measure) != dataset.metric:
        return
    metric = metric_of(dataset, str(dataset.metric))
    for one in label_conflicts(dataset):
        if one.condition in question.conditions:
            graded, corrected = (f"{metric.amount(x)}{metric.unit}" for x in (one.graded, one.corrected))
            text = CHECK_NOTES["label conflict"].format(name=one.condition, graded=graded, corrected=corrected)
            yield Note(text, "label conflict")


def check_groupings(dataset: Dataset, question: Question, policy: Policy) -> Finding:
    """Two groupings of the items, where the estimator allows for one."""
    if "group_2" not in dataset.answers.columns or dataset.answers["group_2"].null_count() == len(dataset.answers):
        return FINE
    metric = metric_of(dataset, question.measure)
    is_plain = (
        metric.estimator == "mean"
        and not metric.is_cost
        and not question.column
        and outcomes_of(dataset, valued_by(dataset, question.measure)).label is None
        and not is_unpaired(dataset, question, policy)
    )
    if is_plain:
        return FINE
    reason = BLOCK_REASONS["groups"].format(noun=metric.noun)
    return Finding(block=_block("groups", reason, override="--map group=COLUMN"))


def check_runs(dataset: Dataset, question: Question, policy: Policy) -> Finding:
    """Runs crossed with the items, where the estimator does not allow for them."""
    rows, metric = outcomes_of(dataset, valued_by(dataset, question.measure)), metric_of(dataset, question.measure)
    if not has_runs(rows, *(rows.conditions.index(name) for name in question.conditions)):
        return FINE
    if metric.estimator in ("mean", "ece", "given_error") and metric.name != "graver_error" and rows.label is None:
        return FINE
    what = metric.noun if rows.label is None else f"{metric.noun} by human labels"
    return Finding(block=_block("runs", BLOCK_REASONS["runs"].format(noun=what), override="--map draw=COLUMN"))


def check_group_sizes(dataset: Dataset, question: Question, policy: Policy) -> Finding:
    """Few groups, and one group that holds many of the items: what a claim then rests on."""
    measure = valued_by(dataset, question.measure)
    groupings = group_shares(dataset, measure, question.conditions, question.column, question.part)
    number = min((one.number for one in groupings), default=MIN_GROUPS)
    notes = []
    if number < MIN_GROUPS:
        notes.append(Note(describe_few_groups(number, is_gate=policy.is_gate), "few groups"))
    large = (CHECK_NOTES["large group"].format(name=one.large, share=one.share) for one in groupings if one.large)
    return Finding(notes=(*notes, *(Note(text, "large group") for text in large)))


def check_totals(dataset: Dataset, question: Question, policy: Policy) -> Finding:
    """Amounts that sum to 0: a ratio of totals, and a change in per cent, do not exist."""
    if not metric_of(dataset, question.measure).is_cost:
        return FINE
    sample = sample_of(dataset, question.measure)
    for name in question.conditions:
        amounts = sample.mean[:, sample.place(name)]
        if not np.nan_to_num(amounts).any():
            return Finding(block=_block("total", BLOCK_REASONS["total"].format(name=name, noun=sample.metric.noun)))
    return FINE


def check_chosen(dataset: Dataset, question: Question, policy: Policy) -> Finding:
    """Two of several conditions, compared without a word on attempts: a note that asks if one was chosen by results.

    A gate's candidate is what is to be merged, not the best of several.
    """
    whole = dataset.whole
    if whole is None or len(question.conditions) != 2 or policy.tried > 1 or policy.is_gate:
        return FINE
    number = len(whole.conditions)
    if number < MIN_CHOSEN_FROM or len(dataset.conditions) > 2:
        return FINE
    return Finding(notes=(Note(CHECK_NOTES["chosen"].format(number=number, others=number - 1), CHOSEN),))


CHECKS: tuple[Check, ...] = (
    check_reading,
    check_whole_data,
    check_shared_items,
    check_alignment_of_items,
    check_raters,
    check_labels,
    check_judges,
    check_range,
    check_groupings,
    check_runs,
    check_group_sizes,
    check_missing,
    check_totals,
    check_chosen,
)
