"""Keys are suspects: failing questions read again with their paragraph in view, and what share of keys is still bad."""

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, NamedTuple, Unpack

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri
from scipy.stats import beta

from richter.errors import ModelError, TooFewErrors
from richter.records import Answer, Interval, Item, Paragraph, Question, Result
from richter.store import Call, Place, RunLike, has_ledger, open_ledger, run_part
from richter.texts import remove_thoughts
from richter_audit.ascent._failing import FailingQuestion, FailingSet
from richter_audit.ascent._outcome import question_of, row_of
from richter_audit.ascent._question_prompts import CHECK, check_messages, read_check
from richter_audit.ascent._questions import KEY
from richter_audit.knowledge import KnowledgeBase
from richter_audit.llm import Asker, CallOptions, Model, check_models, replies, with_models

__all__ = [
    "KeyReport",
    "check_keys",
    "draw_key_labels",
    "estimate_bad_keys",
    "keep_sound",
    "key_readers",
    "read_readings",
    "report_keys",
    "suspect_questions",
]

READINGS, LABELS = "keys", "key-labels"  # parts of a search: what models said of its keys, what people said
NOTE = "key readings"
BROKEN = "check broken"  # a reading that says nothing
MIN_LABELS = 20  # labelled surviving keys from which the share of bad ones is taken
KeyVerdict = Literal["survives", "doubtful", "rejected"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class KeyReport(Result):
    """What came of reading the keys of failing questions again.

    `survived` keys are right by every reader, `rejected` ones by none, `doubtful` ones by some. `bad_share` is the
    expected share of bad keys among those that survived, None where neither readers nor labels tell.
    """

    unwritten: ClassVar = ("verdicts",)

    readers: tuple[str, ...]
    survived: int
    doubtful: int
    rejected: int
    labelled: int
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


def key_readers(
    suspects: Sequence[FailingQuestion], base: KnowledgeBase, tested: str, checker: str | None
) -> list[str]:
    """Who reads keys again: the tested model, those who wrote the questions, and a checker where there is one."""
    writers = sorted(filter(None, _writers(suspects, base).values()))
    return list(dict.fromkeys(filter(None, (tested, *writers, checker))))


def check_keys(
    run: RunLike,
    failing: FailingSet,
    base: KnowledgeBase,
    readers: Sequence[str],
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
    suspects = suspect_questions(failing, base)
    rows = [row_of(q.item.id) for q in suspects]
    paragraphs = dict(zip(rows, base.paragraphs(rows), strict=True)) if rows else {}
    readings: dict[str, dict[str, str]] = {}
    unreachable: dict[str, ModelError] = {}
    with open_ledger(beside, mode="write") as ledger:

        async def work(asker: Asker, opened: Mapping[str, Model]) -> None:
            for name, reader in opened.items():
                readings[name] = await _read_keys(asker, reader, suspects, paragraphs)

        for reader in readers:
            try:
                check_models([reader], calls)
                with_models(ledger, [reader], work, {"context_tokens": 4096, **calls})
            except ModelError as error:
                unreachable[reader] = error
    if unreachable and not readings:
        raise next(iter(unreachable.values()))
    with open_ledger(run_part(run, READINGS), mode="write") as ledger:
        ledger.set_note(NOTE, readings)
    report = report_keys(run, failing, suspects, readings, level=level)
    return dataclasses.replace(report, unreachable={reader: error.what for reader, error in unreachable.items()})


async def _read_keys(
    asker: Asker, reader: Model, suspects: Sequence[FailingQuestion], paragraphs: Mapping[int, Paragraph]
) -> dict[str, str]:
    """Why a reader finds each key bad, by item; "" where it finds it right."""
    asked = [(q.item.id, paragraphs[row_of(q.item.id)], _as_question(q)) for q in suspects]
    asks = [(check_messages(paragraph, question, turn="again"), CHECK) for _, paragraph, question in asked]
    given = await replies(asker, reader, asks)
    return {
        name: read_check(remove_thoughts(reply).text, question, turn="again").replace("given away", "")
        for (name, _, question), reply in zip(asked, given, strict=True)
    }


def _as_question(q: FailingQuestion) -> Question:
    """A failing question with the key and the other options, or with what was answered where it has none."""
    others = tuple(option for option in q.item.options if option != q.item.reference)
    return Question(wordings=(q.item.prompt,), answer=q.item.reference, wrong=others or (q.said[:400],))


def report_keys(
    run: RunLike,
    failing: FailingSet,
    suspects: Sequence[FailingQuestion],
    readings: Mapping[str, Mapping[str, str]],
    *,
    level: float = 0.95,
) -> KeyReport:
    """The verdict on every failing question's key, and the expected share of bad ones among those that survive."""
    labels, drawn = read_key_labels(run)
    verdicts: dict[str, KeyVerdict] = {q.item.id: "survives" for q in failing.questions}
    for q in suspects:
        reasons = (own.get(q.item.id, BROKEN) for own in readings.values())
        objections = [bool(reason) for reason in reasons if reason != BROKEN]
        verdicts[q.item.id] = _key_verdict(objections, labels.get(q.item.id))
    flags = [_pair(readings, q.item.id) for q in suspects]
    counts = Counter(verdicts.values())
    sampled = [labels[name] for name in drawn if name in labels]
    share: float | None
    interval: Interval | None
    if len(sampled) >= MIN_LABELS:
        share, interval = _labelled_share(sampled, level)
    else:
        share, interval = estimate_bad_keys(
            [f for f in flags if f is not None], survived=counts["survives"], level=level
        )
    return KeyReport(
        readers=tuple(readings),
        survived=counts["survives"],
        doubtful=counts["doubtful"],
        rejected=counts["rejected"],
        labelled=len(labels),
        bad_share=share,
        interval=interval,
        verdicts=verdicts,
    )


def _key_verdict(objections: Sequence[bool], is_bad: bool | None) -> KeyVerdict:
    """What becomes of a key: a person's word goes first, then readers must agree."""
    if is_bad is not None:
        return "rejected" if is_bad else "survives"
    if not objections or len(set(objections)) > 1:
        return "doubtful"
    return "rejected" if objections[0] else "survives"


def _pair(readings: Mapping[str, Mapping[str, str]], name: str) -> tuple[bool, bool] | None:
    """Whether the first reader, and whether any other, objects to a key; None where either gave no reading."""
    first, *others = [readings[reader].get(name, BROKEN) for reader in readings] or [BROKEN]
    usable = [reason for reason in others if reason != BROKEN]
    return None if first == BROKEN or not usable else (bool(first), any(usable))


class BadKeys(NamedTuple):
    """The expected share of bad keys with its interval; both None where no reading can say."""

    share: float | None
    interval: Interval | None


def estimate_bad_keys(flags: ArrayLike, *, survived: int, level: float = 0.95) -> BadKeys:
    """The expected share of bad keys among `survived` ones, from two readings of each key, and its interval.

    By capture and recapture (Lincoln and Petersen): of the keys that one reading flags, the share that the other flags
    too is its sensitivity, s1 and s2. Bad keys that both miss are then F q / (1 - q), with F the keys that any flags
    and q = (1 - s1) (1 - s2). Where both flag a share c of F, q / (1 - q) is at most w(c) = (1 - c)^2 / (4 c), which it
    is for equal sensitivities. The upper limit of the keys missed is F w(c) + sqrt(a^2 + z^2 F w (1 + w)), with
    a = F w(l) - F w(c) at the lower Clopper-Pearson limit l of c, and the second term for the chance of missing so
    many; it is at least one key. The lower limit is 0. Flags of good keys make sensitivities look lower, so that the
    share is then overstated. Bad keys that every reader takes for good are not seen: only labels by people show those.
    None where no key was flagged by both.
    """
    pairs = np.asarray(flags, dtype=bool).reshape(-1, 2)
    both = int((pairs[:, 0] & pairs[:, 1]).sum())
    first, second = (int(n) for n in pairs.sum(axis=0))
    if both == 0 or survived == 0:
        return BadKeys(None, None)
    flagged = first + second - both
    q = (1 - both / first) * (1 - both / second)
    share = flagged * q / (1 - q) / survived
    seen, least = (flagged * _missed_at_worst(c) for c in (both / flagged, _lower_limit(both, flagged, 1 - level)))
    chance = float(ndtri(level)) * math.sqrt(seen * (1 + seen / flagged))
    high = max(1.0, seen + math.hypot(least - seen, chance)) / survived
    interval = Interval(low=0.0, high=min(1.0, high), level=level, method="capture and recapture of two readings")
    return BadKeys(min(1.0, share), interval)


def _missed_at_worst(alike: float) -> float:
    """The most bad keys that two readings miss for each that any flags, where both flag a share `alike` of those."""
    return (1 - alike) ** 2 / (4 * alike)


def _lower_limit(count: int, n: int, risk: float) -> float:
    """Clopper and Pearson's lower limit of a share."""
    return float(beta.ppf(risk, count, n - count + 1)) if count else 0.0


def _labelled_share(is_bad: Sequence[bool], level: float) -> tuple[float, Interval]:
    """The share of bad keys in a random sample that people labelled, with Clopper and Pearson's interval."""
    bad, n, risk = sum(is_bad), len(is_bad), (1 - level) / 2
    low = _lower_limit(bad, n, risk)
    high = float(beta.ppf(1 - risk, bad + 1, n - bad)) if bad < n else 1.0
    return bad / n, Interval(low=low, high=high, level=level, method="clopper-pearson on labelled keys")


# ---- people --------------------------------------------------------------------------------------------------------


def keep_sound(failing: FailingSet, report: KeyReport) -> FailingSet:
    """Only the questions whose key survived; the others are counted by reason."""
    sound = tuple(q for q in failing.questions if report.verdicts[q.item.id] == "survives")
    counts = {"with a doubtful key": report.doubtful, "with a rejected key": report.rejected}
    left = {**failing.left_out, **{why: count for why, count in counts.items() if count}}
    return dataclasses.replace(failing, questions=sound, left_out=left)


def draw_key_labels(
    run: RunLike, failing: FailingSet, verdicts: Mapping[str, KeyVerdict], *, n: int, rng: np.random.Generator
) -> Place:
    """The part of a search that people label: every doubtful key, and `n` of the surviving ones drawn at random.

    `richter label` on it: level 0 says that the key is right by the text, any other that it is bad.
    """
    doubtful = [q for q in failing.questions if verdicts.get(q.item.id) == "doubtful"]
    surviving = [q for q in failing.questions if verdicts.get(q.item.id) == "survives"]
    if not doubtful and not surviving:
        raise TooFewErrors(f"{run} has no key to label.", n=0, needed=1)
    place = run_part(run, LABELS)
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
    place = run_part(run, LABELS)
    if not has_ledger(place):
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
    place = run_part(run, READINGS)
    if not has_ledger(place):
        return {}
    with open_ledger(place) as ledger:
        return dict(ledger.note(NOTE) or {})
