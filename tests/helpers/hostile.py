"""Replies that models, or those who speak through them, could send to wedge whoever reads them."""

import contextlib
import json
import random
from collections import Counter
from collections.abc import Callable

from richter.errors import CallFailed
from richter.records import Answer, Item, Paragraph, Question
from richter.texts import GRADERS, grade_answer, is_refusal, matches_reference, normalise, split_confidence
from richter_audit.ascent._explain import _read_patterns, _read_phrase
from richter_audit.ascent._question_checker import read_check
from richter_audit.ascent._question_writer import read_questions, read_rephrasings
from richter_audit.ascent._tasks import read_tasks
from richter_audit.judge import RuleJudge, read_groups, read_reply
from richter_audit.judge._partition import _right

Shape = Callable[[random.Random], str]

VERDICTS = (
    '{"reason": "wrong", "mechanism": "retrieval", "severity": 2.0}',
    '{"severity": 0}',
    '{"groups": [[1], [2]]}',
    '{"right": [1]}',
    '{"questions": [{"question": "q?", "answer": "a", "wrong": ["b", "c", "d"]}]}',
    '{"rephrasings": ["x"]}',
    '{"lacking": "knowing"}',
    '{"patterns": [{"pattern": "p", "members": [1]}]}',
    '{"tasks": ["t"]}',
)
KEYS = ("severity", "groups", "right", "questions", "rephrasings", "lacking", "patterns", "tasks", "reason")
# values that are none: huge, infinite, of another kind, deep
ODD = (
    *("9" * 400, "-" + "9" * 5000, "1e999", "NaN", "-Infinity", "null", "true", '"x"', "[]", "{}", '"\\ud800"'),
    *("[" * 5_000 + "]" * 5_000, '{"a":' * 5_000 + "1" + "}" * 5_000, "1.0", "2.25", "0x10", '"4"', '"\\u0000"'),
    *('[{"members": [1e400]}]', '[["1", "99999999999"]]', "[true]", '[{"pattern": 1}]', "[[[[1]]]]", "[1e400]"),
)
# what a long run of can make a reader slow
PIECES = (
    *("-", "--", "{", "}", '{"', '"', '{"a":', "[", "]", "(", ")", "(a)", " ", "\n", "\t", "\\", '\\"', ":", ": "),
    *("a", "a-", "A ", "a. ", "1", "1,", "1.", "1-", "0x", "hundred ", "one hundred ", "confidence", "confidence "),
    *("Confidence: 5%\n", "is ", "`", "*", "_", "\u202e", "\x1b[31m", "\ud800", "\x00", "é", "漢", "of ", "A of "),
    *("called ", "i cannot ", "<|im_end|>", "'s ", "/", "a/", "st", "(A", "! ", '{"severity": 0}', "Paris "),
    *("Paris, ", "not ", "+1-", ",", "."),
    *(
        "#### 1 ",
        "answer: 1 ",
        "\\boxed{",
        "between 1 and ",
        "1 ft ",
        "1 to ",
        "(B) ",
        "and ",
        "; ",
        "May ",
        "3 May 1921 ",
    ),
)
KINDS = ("country", "city", "number", "year", "code", "character", "family", "zone", "currency", "element", "trap", "")


def a_length(rng: random.Random) -> int:
    """How long a long reply is: mostly what breaks a reader, now and then what a slow one takes seconds for."""
    return rng.choices((100, 2_000, 20_000, 80_000), (8, 5, 2, 1))[0]


def a_value(rng: random.Random) -> str:
    return f'{{"reason": {rng.choice(ODD)}, "{rng.choice(KEYS)}": {rng.choice(ODD)}}}'


def a_number(rng: random.Random) -> str:
    digits = rng.choice("1f9") * rng.choice((1, 300, 400, 5_000, 80_000))
    return rng.choice(("0x", "0b", "-", "", "+", "1,", "1.")) + digits + rng.choice(("", "a", "th", "%"))


def a_run(rng: random.Random) -> str:
    """One or two pieces over and over."""
    unit = "".join(rng.choice(PIECES) for _ in range(rng.choice((1, 1, 2, 3))))
    size = a_length(rng)
    return rng.choice(("", *PIECES)) + unit * (size // len(unit)) + rng.choice(("", *PIECES, *VERDICTS))


def a_mix(rng: random.Random) -> str:
    return "".join(rng.choice((*PIECES, *VERDICTS)) * rng.choice((1, 1, 3, 500)) for _ in range(rng.randrange(1, 30)))


def a_broken_verdict(rng: random.Random) -> str:
    text = list(rng.choice(VERDICTS))
    for _ in range(rng.randrange(1, 5)):
        text[rng.randrange(len(text))] = rng.choice(PIECES)
    return "".join(text)[: rng.randrange(1, 200)]


def a_cut_verdict(rng: random.Random) -> str:
    text = rng.choice(VERDICTS) + rng.choice((" ", "\n```json\n", "")) + rng.choice(VERDICTS)
    return text[: rng.randrange(len(text))]


def a_flat_list(rng: random.Random) -> str:
    values = [rng.choice((1, 2, -1, 10**9, 0.5, "1", None)) for _ in range(a_length(rng) // 4)]
    return json.dumps({rng.choice(KEYS): rng.choice((values, [values], [[v] for v in values]))})


SHAPES: tuple[Shape, ...] = (a_value, a_number, a_run, a_run, a_mix, a_broken_verdict, a_cut_verdict, a_flat_list)


def hostile_reply(seed: int) -> str:
    """The reply number `seed`; always the same."""
    rng = random.Random(seed)
    return rng.choice(SHAPES)(rng)


def asked() -> list[Item]:
    truth = {"value": 7, "of": "telephone", "country": "FR", "premise": "p", "subject": "a 1", "base": "hexadecimal"}
    return [
        Item(id=kind or "plain", prompt="What is A?", reference="Paris", truth={**truth, "kind": kind})
        for kind in KINDS
    ]


# a reference that each grader would be chosen for, or none where any will do
REFERENCES = {
    "number": "6 ft 1 in", "choice": "B", "date": "3 May 1921", "list": "a; b; c", "json": '{"a": [1], "b": {"c": 2}}',
    "regex": "re:(a+)+$",
}  # fmt: skip


def graded() -> list[tuple[str, Item]]:
    prompt, options = "Which one of 3?\nA) x\nB) Paris", ("x", "Paris")
    return [
        (
            name,
            Item(
                id=name,
                prompt=prompt,
                reference=REFERENCES.get(name, "Paris"),
                options=options if name == "choice" else (),
            ),
        )
        for name in GRADERS
    ]


def read_everywhere(text: str, judge: RuleJudge) -> None:
    """Give a reply to everything that reads replies."""
    with contextlib.suppress(CallFailed):
        read_reply(text)
    question = Question(wordings=("q?",), answer="a", wrong=("b",))
    read_groups(text, 3)
    _right(text, 3)
    read_questions(text, Paragraph(text="a b"), limit=3)
    read_check(text, question)
    read_rephrasings(text, question, limit=3, dropped=Counter())
    read_tasks(text)
    _read_phrase(text)
    _read_patterns(text, [], Counter())
    split_confidence(text)
    is_refusal(text)
    normalise(text)
    matches_reference(text, ["Paris", "one hundred"])
    for item in asked():
        rating = judge.rate(item, Answer(text=text, item=item.id, condition="m"))
        assert rating.severity is not None, f"{item.id}: {rating.reason}"
        rating.reason.encode()
    for name, item in graded():
        assert grade_answer(item, text, name) in (True, False)
