"""From a paragraph to its items, and from their answers to its error."""

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from richter.records import Answer, Condition, Item, Paragraph
from richter.texts import Verdict, grade_reply
from richter_audit.ascent._settings import SearchSettings
from richter_audit.bench import word

__all__ = ["Outcome", "grade", "last_answers", "outcomes", "paragraph_items"]

_UNJUDGED: Mapping[tuple[str, int], bool] = {}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a paragraph.

    `error` is T of eq. (2) for the paragraph alone, with one wording each: the share of its questions that were
    answered wrongly as first worded (with `wordings` "all", the mean over its questions of the share of their wordings
    answered wrongly). It is None while a first wording is still to be asked, and where nothing was answered. A refusal,
    a reply that names several options, a cut-off answer and an empty one are neither right nor wrong and are counted
    apart. `failing` are the questions
    that were answered wrongly, with the share of their other wordings that were (None: none was asked). `preferred` are
    cloze questions whose wrong option was picked for its name alone: with each option's likelihood taken against that
    after the sentence without its subject, the right one is picked. They count as right; `uncorrected` are wrong ones
    of which the server would not say how likely the options are.
    """

    category: str = ""
    error: float | None = None
    questions: int = 0  # with at least one answer
    answered: int = 0  # right or wrong
    wrong: int = 0
    refused: int = 0
    unreadable: int = 0
    truncated: int = 0
    empty: int = 0
    failed: int = 0
    missing: int = 0
    failing: Mapping[str, float | None] = dataclasses.field(default_factory=dict)
    preferred: tuple[str, ...] = ()
    uncorrected: int = 0


def paragraph_items(row: int, paragraph: Paragraph, settings: SearchSettings) -> list[Item]:
    """The items that a search asks about a paragraph; their ids are row, question and wording, with dots."""
    return [
        item
        for q, question in enumerate(paragraph.questions[: settings.questions])
        for item in word(
            question,
            identity=f"{row}.{q}",
            phrasings=settings.phrasings,
            domain=paragraph.category,
            attributes=paragraph.attributes,
        )
    ]


def row_of(item: str) -> int:
    """The paragraph that an item asks about."""
    return int(item.split(".", 1)[0])


def question_of(item: str) -> str:
    """The question that an item words."""
    return item.rsplit(".", 1)[0]


def is_first(item: str) -> bool:
    """Whether an item is its question as first worded."""
    return item.endswith(".0")


def is_prior(item: str) -> bool:
    """Whether an item is its question, or one option of it, corrected for the options' prior."""
    return item.rpartition(".")[2].startswith("p")


def _best_corrected_option(question: str, given: Mapping[str, Answer], options: int) -> str | None:
    """The option that gains most over its prior: as a model in process says, or by the gain of each over HTTP."""
    whole = given.get(f"{question}.p")
    if whole is not None:
        return None if whole.error else whole.text.strip()
    each = [a for k in range(options) if (a := given.get(f"{question}.p{k}")) is not None and a.logprobs]
    return max(each, key=lambda a: sum(a.logprobs)).text.strip() if options and len(each) == options else None


def grade(item: Item, answer: Answer, style: str, judged: Mapping[tuple[str, int], bool] = _UNJUDGED) -> Verdict:
    """The verdict on an answer to an item as it was asked; right where a judge called a wrong text right.

    `judged` is by item and draw.
    """
    verdict = grade_reply(item, answer, style)
    return "right" if verdict == "wrong" and judged.get((answer.item, answer.draw)) else verdict


def last_answers(answers: Iterable[Answer]) -> dict[str, Answer]:
    """Each item's answer: of several the last, which had the most tokens to give it; one that failed only if alone."""
    given: dict[str, Answer] = {}
    for answer in answers:
        before = given.get(answer.item)
        if before is None or before.error or (not answer.error and answer.draw >= before.draw):
            given[answer.item] = answer
    return given


def outcomes(
    items: Iterable[Item],
    given: Mapping[str, Answer],
    condition: Condition,
    settings: SearchSettings,
    judged: Mapping[tuple[str, int], bool] = _UNJUDGED,
) -> dict[int, Outcome]:
    """The outcome of every paragraph that has items, from each item's answer and what a judge said of those."""
    by_row: dict[int, list[Item]] = defaultdict(list)
    for item in items:
        by_row[row_of(item.id)].append(item)
    return {row: _outcome(own, given, condition, settings, judged) for row, own in by_row.items()}


def _outcome(
    items: Sequence[Item],
    given: Mapping[str, Answer],
    condition: Condition,
    settings: SearchSettings,
    judged: Mapping[tuple[str, int], bool],
) -> Outcome:
    counts: Counter[str] = Counter()
    wrong: dict[str, dict[str, bool]] = defaultdict(dict)  # of a question: which of its wordings are wrong
    for item in items:
        if is_prior(item.id):
            continue
        answer = given.get(item.id)
        verdict = "missing" if answer is None else "failed" if answer.error else ""
        if answer is not None and not verdict:
            verdict = grade(item, answer, condition.style, judged)
        counts[verdict] += 1
        if verdict in ("right", "wrong"):
            wrong[question_of(item.id)][item.id] = verdict == "wrong"
    preferred = _preferred_questions(items, given, wrong)
    for question in preferred:
        wrong[question][f"{question}.0"] = False
    shares = _wrong_shares(wrong, settings)
    return Outcome(
        category=items[0].domain,
        error=sum(shares) / len(shares) if shares and not _is_waiting(items, given, settings) else None,
        questions=len(shares),
        answered=counts["right"] + counts["wrong"],
        wrong=counts["wrong"],
        refused=counts["refused"],
        unreadable=counts["unreadable"],
        truncated=counts["truncated"],
        empty=counts["empty"],
        failed=counts["failed"],
        missing=counts["missing"],
        failing=_failing_shares(wrong),
        preferred=preferred,
        uncorrected=_count_uncorrected(items, given),
    )


def _is_waiting(items: Sequence[Item], given: Mapping[str, Answer], settings: SearchSettings) -> bool:
    """Whether a wording that the paragraph's error rests on is still to be asked."""
    needed = (item.id for item in items if not is_prior(item.id) and (is_first(item.id) or settings.wordings == "all"))
    return any(name not in given for name in needed)


def _preferred_questions(
    items: Sequence[Item], given: Mapping[str, Answer], wrong: Mapping[str, Mapping[str, bool]]
) -> tuple[str, ...]:
    """The questions whose wrong option was picked for its name alone."""
    firsts = {question_of(item.id): item for item in items if is_first(item.id)}
    failing = [question for question, own in wrong.items() if own.get(f"{question}.0")]
    return tuple(q for q in failing if _best_corrected_option(q, given, len(firsts[q].options)) == firsts[q].reference)


def _count_uncorrected(items: Sequence[Item], given: Mapping[str, Answer]) -> int:
    """The questions of which the server would not say how likely the options are."""
    priors = [item.id for item in items if is_prior(item.id) and not item.id.endswith(".p")]
    return len({question_of(name) for name in priors if name in given and not given[name].logprobs})


def _wrong_shares(wrong: Mapping[str, Mapping[str, bool]], settings: SearchSettings) -> list[float]:
    """The share of each question's wordings that were answered wrongly, of the first or of all of them."""
    if settings.wordings == "all":
        return [sum(own.values()) / len(own) for own in wrong.values()]
    return [float(own[f"{q}.0"]) for q, own in wrong.items() if f"{q}.0" in own]


def _failing_shares(wrong: Mapping[str, Mapping[str, bool]]) -> dict[str, float | None]:
    """The failing questions, and the share of their other wordings that were answered wrongly."""
    shares: dict[str, float | None] = {}
    for question, own in wrong.items():
        if own.get(f"{question}.0"):
            others = [is_wrong for name, is_wrong in own.items() if not is_first(name)]
            shares[question] = sum(others) / len(others) if others else None
    return shares
