"""Keys are suspects: failing questions read again with their paragraph in view, and what share of keys is still bad."""

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, Unpack

import numpy as np
from scipy.stats import binom

from richter.errors import ModelError, TooFewErrors
from richter.models import Price, price_of
from richter.records import Answer, Condition, Interval, Item, Question, Result
from richter.stats import clopper_pearson
from richter.store import Call, RunLike, is_run, open_ledger
from richter.texts import normalise
from richter_audit.ascent._failing import FailingQuestion, FailingSet
from richter_audit.ascent._outcome import question_of, row_of
from richter_audit.ascent._question_checker import BROKEN, CHECK, NONE_RIGHT, check_messages, check_options
from richter_audit.ascent._question_writer import CHARACTERS_A_TOKEN, stands_in
from richter_audit.bench import order_by_hash
from richter_audit.knowledge import KnowledgeBase
from richter_audit.llm import Asker, CallOptions, Model, check_models, with_models

__all__ = [
    "KeyReadings", "KeyReport", "PlantedKeys", "check_keys", "draw_key_labels", "estimate_bad_keys", "judge_keys",
    "keep_sound", "plan_key_readings", "plant_bad_keys", "read_readings", "report_keys", "suspect_questions",
]  # fmt: skip

READINGS, LABELS = "keys", "key-labels"  # parts of a search: what models said of its keys, what people said
NOTE = "key readings"
KEY = Condition(name="key", model="key")  # the key as an answer that nobody was asked for
PLANTED = 30  # questions without a right option that are read, at most
SYSTEM_TOKENS = 150  # of the request to read a key, beside the paragraph and the question
MIN_LABELS = 20  # labelled surviving keys from which the share of bad ones is taken
KeyVerdict = Literal["survives", "doubtful", "rejected"]


class PlantedKeys(NamedTuple):
    """How many questions without a right option were read, and of how many of them a reader said so."""

    planted: int
    noticed: int


class BadKeys(NamedTuple):
    """The expected share of bad keys with its interval; None where no reading can say."""

    share: float | None
    interval: Interval | None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class KeyReport(Result):
    """What came of reading the keys of failing questions again.

    `survived` keys are right by every reader, `rejected` ones by none, `doubtful` ones by some. `bad_share` is the
    expected share of bad keys among those that survived, None where neither planted keys nor labels tell. Readers
    noticed `noticed` of `planted` questions that had no right option.
    """

    unwritten: ClassVar = ("verdicts",)

    readers: tuple[str, ...]
    survived: int
    doubtful: int
    rejected: int
    labelled: int
    planted: int
    noticed: int
    bad_share: float | None
    interval: Interval | None
    verdicts: Mapping[str, KeyVerdict]  # by item
    unreachable: Mapping[str, str] = dataclasses.field(default_factory=dict)  # readers that gave no reading, and why


def suspect_questions(failing: FailingSet, base: KnowledgeBase) -> list[FailingQuestion]:
    """The failing questions that a model wrote: keys that came with the base are not in doubt."""
    writers = _writers(failing.questions, base)
    return [q for q in failing.questions if writers[q.item.id] is not None]


def _writers(questions: Sequence[FailingQuestion], base: KnowledgeBase) -> dict[str, str | None]:
    """The model that wrote each question, by item, or None."""
    by_row = base.question_writers(sorted({row_of(q.item.id) for q in questions}))
    places = {q.item.id: (row_of(q.item.id), int(question_of(q.item.id).rsplit(".", 1)[1])) for q in questions}
    return {name: by_row[row][at] if at < len(by_row[row]) else None for name, (row, at) in places.items()}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class KeyReadings:
    """The keys to be read again, the planted ones, and by whom: `planted` ones by `planted_to` alone."""

    suspects: Sequence[FailingQuestion]
    questions: Sequence[tuple[str, Question]]  # of the suspects, with their texts
    readers: Sequence[str]
    planted: Sequence[tuple[str, Question]]
    planted_to: Sequence[str]

    @property
    def calls(self) -> int:
        """How many calls all readings take."""
        return len(self.questions) * len(self.readers) + len(self.planted) * len(self.planted_to)

    def money_usd_most(self, prices: Mapping[str, Price]) -> float | None:
        """What all readings cost at most, by the longest replies; None where a price is unknown."""
        money = 0.0
        for asked, readers in ((self.questions, self.readers), (self.planted, self.planted_to)):
            lengths = [len(check_messages(q, text=text, turn="again")[-1]["content"]) for text, q in asked]
            tokens = [length // CHARACTERS_A_TOKEN + SYSTEM_TOKENS for length in lengths]
            for price in (price_of(reader, prices) for reader in readers):
                if price is None:
                    return None
                money += sum(price.cost(n, CHECK.max_tokens) for n in tokens)
        return money


def plan_key_readings(failing: FailingSet, base: KnowledgeBase, *, checker: str | None = None) -> KeyReadings:
    """Which keys are read again, and by whom: the tested model, those who wrote the questions, and a checker.

    The writers passed these keys once, and what they missed they miss again. So planted keys are read by the others,
    and by writers only where there is nobody else.
    """
    suspects = suspect_questions(failing, base)
    rows = [row_of(q.item.id) for q in suspects]
    paragraphs = base.paragraphs(rows) if rows else []
    questions = [(paragraph.text, _as_question(q)) for q, paragraph in zip(suspects, paragraphs, strict=True)]
    writers = sorted(filter(None, set(_writers(suspects, base).values())))
    readers = list(dict.fromkeys(filter(None, (failing.condition.model, *writers, checker)))) if suspects else []
    return KeyReadings(
        suspects=suspects,
        questions=questions,
        readers=readers,
        planted=plant_bad_keys(questions),
        planted_to=[reader for reader in readers if reader not in writers] or readers,
    )


def check_keys(
    run: RunLike,
    failing: FailingSet,
    plan: KeyReadings,
    *,
    beside: RunLike,
    level: float = 0.95,
    **calls: Unpack[CallOptions],
) -> KeyReport:
    """What readers say of the keys of failing questions that a model wrote, each with the paragraph in view.

    The calls are kept in the run `beside`, so that the same again pays for nothing twice, and what was read in a part
    of the search. What people said of keys (`draw_key_labels`) goes before the readers. A reader that cannot be asked
    is left out and named; where none can be, `ModelError` is raised.
    """
    readings: dict[str, dict[str, str]] = {}
    noticed: dict[str, list[str]] = {}
    unreachable: dict[str, ModelError] = {}
    with open_ledger(beside, mode="write") as ledger:

        async def work(asker: Asker, opened: Mapping[str, Model]) -> None:
            for name, reader in opened.items():
                reasons = await _read_keys(asker, reader, plan.questions)
                readings[name] = {q.item.id: reason for q, reason in zip(plan.suspects, reasons, strict=True)}
                if name in plan.planted_to:
                    noticed[name] = await _read_keys(asker, reader, plan.planted)

        for reader in plan.readers:
            try:
                check_models([reader], calls)
                with_models(ledger, [reader], work, {"context_tokens": 4096, **calls})
            except ModelError as error:
                unreachable[reader] = error
    if unreachable and not readings:
        raise next(iter(unreachable.values()))
    with open_ledger(Path(run) / READINGS, mode="write") as ledger:
        ledger.set_note(NOTE, readings)
    report = report_keys(run, failing, plan.suspects, readings, planted=_count_noticed(noticed), level=level)
    return dataclasses.replace(report, unreachable={reader: error.what for reader, error in unreachable.items()})


def _count_noticed(reasons: Mapping[str, Sequence[str]]) -> PlantedKeys:
    """How many planted keys were read by anybody, and of how many a reader said that no option is right."""
    by_key = [{reason for reason in own if reason != BROKEN} for own in zip(*reasons.values(), strict=True)]
    return PlantedKeys(planted=sum(map(bool, by_key)), noticed=sum(NONE_RIGHT in own for own in by_key))


async def _read_keys(asker: Asker, reader: Model, asked: Sequence[tuple[str, Question]]) -> list[str]:
    """Why a reader finds each key bad; "" where it finds it right."""
    reasons = await check_options(asker, reader, asked, turn="again")
    return [reason.replace("given away", "") for reason in reasons]


def _as_question(q: FailingQuestion) -> Question:
    """A failing question with the key and the other options, or with what was answered where it has none."""
    others = tuple(option for option in q.item.options if option != q.item.reference)
    return Question(wordings=(q.item.prompt,), answer=q.item.reference, wrong=others or (q.said[:400],))


def judge_keys(
    run: RunLike,
    failing: FailingSet,
    suspects: Sequence[FailingQuestion],
    readings: Mapping[str, Mapping[str, str]],
) -> dict[str, KeyVerdict]:
    """The verdict on every failing question's key, by item, from people's labels and from what readers said."""
    labels, _ = read_key_labels(run)
    verdicts: dict[str, KeyVerdict] = {q.item.id: "survives" for q in failing.questions}
    for q in suspects:
        verdicts[q.item.id] = _key_verdict(_objections(readings, q), labels.get(q.item.id))
    return verdicts


def report_keys(
    run: RunLike,
    failing: FailingSet,
    suspects: Sequence[FailingQuestion],
    readings: Mapping[str, Mapping[str, str]],
    *,
    planted: PlantedKeys,
    level: float = 0.95,
) -> KeyReport:
    """The verdicts on keys, and the expected share of bad ones among those that survive."""
    verdicts = judge_keys(run, failing, suspects, readings)
    counts = Counter(verdicts.values())
    labels, drawn = read_key_labels(run)
    sampled = [labels[name] for name in drawn if name in labels]
    share: float | None
    interval: Interval | None
    if len(sampled) >= MIN_LABELS:
        share, interval = _labelled_share(sampled, level)
    else:
        flagged = sum(any(_objections(readings, q)) for q in suspects)
        share, interval = estimate_bad_keys(flagged, survived=counts["survives"], planted=planted, level=level)
    return KeyReport(
        readers=tuple(readings),
        survived=counts["survives"],
        doubtful=counts["doubtful"],
        rejected=counts["rejected"],
        labelled=len(labels),
        planted=planted.planted,
        noticed=planted.noticed,
        bad_share=share,
        interval=interval,
        verdicts=verdicts,
    )


def _objections(readings: Mapping[str, Mapping[str, str]], q: FailingQuestion) -> list[bool]:
    """Whether each reader that said something of a key objects to it."""
    reasons = (own.get(q.item.id, BROKEN) for own in readings.values())
    return [bool(reason) for reason in reasons if reason != BROKEN]


def _key_verdict(objections: Sequence[bool], is_bad: bool | None) -> KeyVerdict:
    """What becomes of a key: a person's word goes first, then readers must agree."""
    if is_bad is not None:
        return "rejected" if is_bad else "survives"
    if not objections or len(set(objections)) > 1:
        return "doubtful"
    return "rejected" if objections[0] else "survives"


def _labelled_share(is_bad: Sequence[bool], level: float) -> tuple[float, Interval]:
    """The share of bad keys in a random sample that people labelled, with Clopper and Pearson's interval."""
    bad, n = sum(is_bad), len(is_bad)
    interval = clopper_pearson(bad, n, level=level)
    return bad / n, dataclasses.replace(interval, method="clopper-pearson on labelled keys")


# ---- planted bad keys ------------------------------------------------------------------------------------------------


def plant_bad_keys(questions: Sequence[tuple[str, Question]]) -> list[tuple[str, Question]]:
    """Up to 30 of these questions, each with its key replaced by that of another, which does not stand in its text."""
    by_wording = {question.wordings[0]: (text, question) for text, question in questions}
    order = order_by_hash(by_wording, "planted")
    planted = []
    for at, wording in enumerate(order):
        text, question = by_wording[wording]
        known = {normalise(option) for option in (question.answer, *question.wrong)}
        others = (by_wording[other][1].answer for other in order[at + 1 :] + order[:at])
        key = next((key for key in others if normalise(key) not in known and not stands_in(key, text)), None)
        if key is not None:
            planted.append((text, dataclasses.replace(question, answer=key)))
    return planted[:PLANTED]


def estimate_bad_keys(flagged: int, *, survived: int, planted: PlantedKeys, level: float = 0.95) -> BadKeys:
    """The expected share of bad keys among `survived` ones, from planted bad keys, and its interval.

    `flagged` keys were called bad by any reader. With s the share of planted keys that are noticed, bad keys that all
    readers miss are flagged (1 - s) / s (Rogan and Gladen). The upper limit of them is N - flagged: N is the largest
    number of bad keys of which as few as `flagged` are seen with a chance above (1 - level) / 2, where each is seen
    with a chance of the lower Clopper-Pearson limit of s, which is exceeded by it with a chance of (1 - level) / 2. The
    lower limit is 0, since flags may be of good keys; such flags only raise the upper limit. None where nothing was
    planted or nothing survived.
    """
    if not planted.planted or not survived:
        return BadKeys(None, None)
    risk, sensitivity = (1 - level) / 2, planted.noticed / planted.planted
    least = clopper_pearson(planted.noticed, planted.planted, level=level).low
    high = _most_missed(flagged, least, risk, survived) / survived
    interval = Interval(low=0.0, high=high, level=level, method="planted bad keys")
    share = min(1.0, flagged * (1 - sensitivity) / sensitivity / survived) if sensitivity else None
    return BadKeys(share, interval)


def _most_missed(flagged: int, sensitivity: float, risk: float, survived: int) -> int:
    """The most keys that can be missed, of `survived` ones, where `flagged` are seen, but for the risk."""
    bad = flagged + np.arange(1, survived + 1)
    return int((binom.cdf(flagged, bad, sensitivity) > risk).sum())


# ---- people --------------------------------------------------------------------------------------------------------


def keep_sound(failing: FailingSet, report: KeyReport) -> FailingSet:
    """Only the questions whose key survived; the others are counted by reason."""
    sound = tuple(q for q in failing.questions if report.verdicts[q.item.id] == "survives")
    counts = {"with a doubtful key": report.doubtful, "with a rejected key": report.rejected}
    left = {**failing.left_out, **{why: count for why, count in counts.items() if count}}
    return dataclasses.replace(failing, questions=sound, left_out=left)


def draw_key_labels(
    run: RunLike, failing: FailingSet, verdicts: Mapping[str, KeyVerdict], *, n: int, rng: np.random.Generator
) -> Path:
    """The part of a search that people label: every doubtful key, and `n` of the surviving ones drawn at random.

    `richter label` on it: level 0 says that the key is right by the text, any other that it is bad.
    """
    doubtful = [q for q in failing.questions if verdicts.get(q.item.id) == "doubtful"]
    surviving = [q for q in failing.questions if verdicts.get(q.item.id) == "survives"]
    if not doubtful and not surviving:
        raise TooFewErrors(f"{run} has no key to label.", n=0, needed=1)
    place = Path(run) / LABELS
    with open_ledger(place, mode="write") as ledger:
        known = {item.id: item for item in ledger.items()}
        drawn = [name for name, item in known.items() if item.truth.get("drawn")]
        more = [surviving[int(k)] for k in rng.permutation(len(surviving))]
        more = [q for q in more if f"key-{q.item.id}" not in known][: max(0, n - len(drawn))]
        items = [_label_item(q, drawn=True) for q in more]
        items += [_label_item(q, drawn=False) for q in doubtful if f"key-{q.item.id}" not in known]
        ledger.add_items(items)
        ledger.add_conditions([KEY])
        ledger.add_calls([_key_call(item) for item in items])
    return place


def _label_item(q: FailingQuestion, *, drawn: bool) -> Item:
    options = "\n".join(f"- {option}" for option in sorted({q.item.reference, *q.item.options}))
    return Item(
        id=f"key-{q.item.id}",
        prompt=f"{q.text}\n\n{q.item.prompt}\n{options}",
        reference=q.item.reference,
        domain=q.mode,
        truth={"drawn": drawn},
    )


def _key_call(item: Item) -> Call:
    """The key as an answer that nobody was asked for."""
    answer = Answer(text=item.reference, item=item.id, condition=KEY.name, finish="stop", money_usd=0.0)
    return Call(key=f"key {item.id}", model=KEY.model, request=item.prompt, answer=answer)


def read_key_labels(run: RunLike) -> tuple[dict[str, bool], set[str]]:
    """Whether people found each labelled key bad, by failing item, and which of them were drawn at random."""
    place = Path(run) / LABELS
    if not is_run(place):
        return {}, set()
    with open_ledger(place) as ledger:
        severities: dict[str, list[float]] = {}
        for rating in ledger.ratings(kind="human"):
            if rating.severity is not None:
                severities.setdefault(rating.item.removeprefix("key-"), []).append(rating.severity)
        drawn = {item.id.removeprefix("key-") for item in ledger.items() if item.truth.get("drawn")}
    return {name: float(np.median(own)) > 0 for name, own in severities.items()}, drawn


def read_readings(run: RunLike) -> dict[str, dict[str, str]]:
    """What readers said of a search's keys, by reader and item; nothing where nobody read them."""
    place = Path(run) / READINGS
    if not is_run(place):
        return {}
    with open_ledger(place) as ledger:
        return dict(ledger.note(NOTE) or {})
