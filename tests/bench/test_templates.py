"""The table of templates: rows that the generator understands, and how one row becomes a question."""

import pytest

from richter_audit.bench import DOMAINS
from richter_audit.bench._facts_benchmark import KINDS, Relation, _templates

WORDING = {"relation", "prompt", "stem", "subject", "tiers"}
PLAIN = WORDING | {"answer", "chain"}
TRAP = WORDING | {"trap", "premise", "corrected", "wrong", "denials", "solved"}
ROWS = [(domain, row) for domain, rows in _templates().items() for row in rows]


class Rows:
    """Two countries, as the generator is given them."""

    def rows(self, pool: str, most: int) -> list[dict[str, object]]:
        return [country("Chile", "Santiago"), country("Peru", "Lima"), country("Nauru", "")]

    def near(self, row: object, column: str, home: str, salt: str) -> list[str]:
        return ["Quito", "Lima", "Bogotá", "Caracas"]


def country(name: str, capital: str) -> dict[str, object]:
    truth = {"country": name[:2].upper(), "continent": "SA", "neighbours": []}
    return {"type": "country", "id": truth["country"], "name": name, "capital": capital, "truth": truth}


def relation(**row: object) -> Relation:
    return Relation(Rows(), "countries", {"relation": "r", "tiers": "1 all", **row})  # type: ignore[arg-type]


@pytest.mark.parametrize(("domain", "row"), ROWS, ids=[row["relation"] for _, row in ROWS])
def test_the_generator_knows_every_key_of_a_row(domain: str, row: dict[str, str]) -> None:
    assert set(row) <= (TRAP if "trap" in row else PLAIN)
    assert {"relation", "prompt", "tiers"} <= set(row)
    assert Relation(None, domain, row).stem  # type: ignore[arg-type]
    tiers = {int(entry.split()[0]) for entry in row["tiers"].split(", ")}
    assert tiers <= ({4, 5} if "trap" in row or "chain" in row else {1, 2, 3, 4, 5})
    assert "trap" in row or row["answer"].rsplit(".", 1)[-1] in {kind.split(".")[1] for kind in KINDS}


def test_every_domain_has_rows_and_no_relation_stands_twice() -> None:
    assert set(_templates()) == set(DOMAINS.values())
    relations = [row["relation"] for _, row in ROWS]
    assert len(set(relations)) == len(relations)


def test_a_row_becomes_a_question_by_hand() -> None:
    capital = relation(prompt="What is the capital of {name}?", answer="capital")
    assert capital.stem == "The capital of {name} is"
    assert capital.solved == [
        ("The capital of Chile is Santiago.", "Santiago"),
        ("The capital of Peru is Lima.", "Lima"),
    ]
    item = capital.item(country("Ecuador", "Quito") | {"capital_also": ["Bogotá"]}, 2)
    assert item is None  # Lima and Caracas alone are not three wrong answers
    item = capital.item(country("Ecuador", "Quito"), 2)
    assert item is not None
    assert (item.prompt, item.reference, set(item.options)) == (
        "What is the capital of Ecuador?", "Quito", {"Quito", "Lima", "Bogotá", "Caracas"},
    )  # fmt: skip
    assert item.truth["kind"] == "city"
    assert capital.item(country("Nauru", ""), 2) is None
    assert capital.item(country("Quito", "Quito"), 2) is None  # it would give itself away


def test_a_trap_says_that_its_premise_is_false_by_hand() -> None:
    trap = relation(
        prompt="What is the moon of {name}?", trap="none, because {name} has no moon", premise="{name} has a moon",
        denials=["no {id} moon"], wrong=["one", "two", "three"],
        solved=[{"name": "Mars", "answer": "Phobos"}, {"name": "Pluto", "answer": "Charon"}],
    )  # fmt: skip
    item = trap.item(country("Chile", "Santiago"), 4)
    assert item is not None
    assert (item.form, item.reference) == ("trap", "none, because Chile has no moon")
    assert "no CH moon" in item.aliases
    assert "no such" in item.aliases
    assert item.truth["premise"] == "Chile has a moon"
    assert item.truth["corrected"] == "unassigned"
