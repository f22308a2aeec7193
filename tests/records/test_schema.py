"""The schema of a result says what is written of it: held against what is written, and against what never is."""

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import jsonschema_rs
import numpy as np
import pytest

from richter.records import Claim, Interval, Result, Verdict, plain, schema_of


class Colour(enum.StrEnum):
    RED = "red"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Part(Result):
    """One part."""

    name: str
    size: float
    interval: Interval | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Whole(Result):
    """Everything that a class may say of how it is written."""

    schema: ClassVar = "test/whole"
    unwritten: ClassVar = ("hidden",)
    derived: ClassVar = ("count",)
    flat: ClassVar = ("first",)
    keyed: ClassVar = {"parts": "name"}
    named: ClassVar = {"why": "reason"}

    first: Part
    parts: tuple[Part, ...]
    why: str
    kind: Literal["a", "b"]
    colour: Colour
    pair: tuple[str, int]
    values: Mapping[str, float | None]
    hidden: object = None

    @property
    def count(self) -> int:
        """How many parts."""
        return len(self.parts)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Sparse(Result):
    """Other fields are written only where they are set."""

    always: ClassVar = ("id",)

    id: str
    note: str = ""


def whole(**changes: Any) -> Whole:
    part = Part(name="x", size=float("nan"))
    given: dict[str, Any] = {
        "first": part, "parts": (part, Part(name="y", size=2.0)), "why": "so", "kind": "a", "colour": Colour.RED,
        "pair": ("p", 1), "values": {"v": None},
    }  # fmt: skip
    return Whole(**given | changes)


def test_what_is_written_by_hand() -> None:
    x = {"name": "x", "size": None, "interval": None}
    assert whole().to_dict() == x | {
        "schema": "test/whole", "parts": {"x": x, "y": x | {"name": "y", "size": 2.0}}, "reason": "so", "kind": "a",
        "colour": "red", "pair": ["p", 1], "values": {"v": None}, "count": 2,
    }  # fmt: skip
    assert Sparse(id="i").to_dict() == {"id": "i"}
    assert type(plain(np.array(["text"])[0])) is str


def test_the_schema_takes_what_is_written_and_nothing_of_another_type() -> None:
    schema = schema_of(Whole)
    valid = jsonschema_rs.Draft202012Validator(schema)
    row = whole().to_dict()
    valid.validate(row)
    assert set(schema["required"]) == set(row)
    wrong = {
        "schema": "other", "name": 1, "size": "2", "parts": [], "reason": None, "kind": "c", "colour": "blue",
        "pair": ["p"], "values": {"v": "1"}, "count": 1.5, "interval": {"low": 0},
    }  # fmt: skip
    assert set(wrong) == set(row)
    for name, value in wrong.items():
        assert not valid.is_valid(row | {name: value}), name
        assert not valid.is_valid({k: v for k, v in row.items() if k != name}), name
    assert schema_of(Sparse)["required"] == ["id"]


@pytest.mark.parametrize("verdict", [Verdict.VERIFIED, Verdict.UNDECIDED])
def test_a_claim_is_valid_by_its_own_schema(verdict: Verdict) -> None:
    claim = Claim(measure="accuracy", conditions=("a", "b"), verdict=verdict, sentence="b is better than a.")
    jsonschema_rs.Draft202012Validator(schema_of(Claim)).validate(claim.to_dict())
