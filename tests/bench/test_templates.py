"""The table of templates: rows that the generator understands, and how one row becomes a question."""

import pytest

from richter_audit.bench import DOMAINS
from richter_audit.bench._drafts import SLOT, Asked, Object, Template, _table, derive_stem, solve, trap

WORDING = {"relation", "source", "form", "prompt", "stem", "subject", "slots", "about", "salt", "tiers"}
PLAIN = WORDING | {"answer", "shots", "solved"}
TRAP = WORDING | {"trap", "premise", "corrected", "wrong", "denials", "shots", "solved"}
ROWS = [(domain, row) for domain, rows in _table().items() for row in rows]


@pytest.mark.parametrize(("domain", "row"), ROWS, ids=[row["relation"] for _, row in ROWS])
def test_the_generator_knows_every_key_of_a_row(domain: str, row: dict[str, object]) -> None:
    assert set(row) <= (TRAP if "trap" in row else PLAIN)
    assert {"relation", "source", "prompt", "tiers"} <= set(row)
    assert ("shots" in row) != ("solved" in row)
    assert row.get("stem") or derive_stem(str(row["prompt"]))
    tiers = {int(entry.split()[0]) for entry in row["tiers"]}  # type: ignore[attr-defined]
    assert tiers <= ({1, 2, 3, 4, 5} if row.get("form", "plain") == "plain" else {4, 5})
    named = {slot for text in ("stem", "subject", "trap", "premise") for slot in SLOT.findall(str(row.get(text, "")))}
    assert "slots" in row or named <= {"{fact}"}


def test_every_domain_has_rows_and_no_relation_stands_twice() -> None:
    assert len(_table()) == len(DOMAINS)
    relations = [row["relation"] for _, row in ROWS]
    assert len(set(relations)) == len(relations)


def city(key: str, asked: Asked) -> Object | None:
    return Object(kind="city", answer=key, wrong=[asked.salt], aliases=["a"], also=["b"], truth={"x": 1})


def template(**fields: object) -> Template:
    given = {"relation": "r", "source": "s", "prompt": "Where is {name}?", "stem": "{name} is in", "answer": city}
    return Template(**{**given, "slots": lambda fact: {"name": fact.upper()}, "shots": ["q"], **fields})  # type: ignore[arg-type]


def test_a_row_becomes_a_question_by_hand() -> None:
    draft = template(subject="the {name}", about=lambda fact: fact * 2, salt="{fact}!").write("k")
    assert draft is not None
    assert (draft.prompt, draft.stem, draft.answer) == ("Where is K?", "K is in", "kk")
    assert (draft.wrong, draft.aliases, draft.also) == (["k!"], ["a"], ["b"])
    assert list(draft.truth.items()) == [("kind", "city"), ("subject", "the K"), ("x", 1)]
    assert template().solved == [("Q is in q.", "q")]
    assert template(slots=lambda fact: {"name": ""}).write("k") is None
    assert template(answer=lambda key, asked: None).write("k") is None


def test_a_trap_says_that_its_premise_is_false_by_hand() -> None:
    rule = trap("none: {fact}", "{fact} is a code", lambda salt: [salt], denials=("no {fact}",), corrected="not {fact}")
    draft = template(prompt="What is {fact}?", stem="{fact} is", answer=rule, form="trap").write("k")
    assert draft is not None
    assert (draft.answer, draft.wrong, draft.aliases[-1]) == ("none: k", ["What is k?"], "no k")
    assert draft.truth == {"kind": "trap", "subject": "k", "premise": "k is a code", "corrected": "not k"}


def test_stems_and_solved_sentences_by_hand() -> None:
    assert derive_stem("What is the code of {name}?") == "The code of {name} is"
    assert derive_stem("Which land has the code {fact}?") == "The land with the code {fact} is"
    assert derive_stem("Where is it?") == ""
    assert solve("The code of {name} is", [("X", "1")]) == [("The code of X is 1.", "1")]
