"""The severity scale and the mechanisms, read from `rubric.toml`."""

import dataclasses
import functools
import tomllib
from importlib import resources

import numpy as np
from numpy.typing import ArrayLike

from richter.errors import InputError
from richter.records import Result
from richter.stats import Floats

__all__ = ["GRID", "Rubric", "check_mechanism", "check_severity", "rubric", "snap"]

_OTHER_NAMES = {"generation": "fabrication", "generation/fabrication": "fabrication", "none": ""}
GRID = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A worked example of a level: what was asked, what was answered, why it has this severity."""

    question: str
    answer: str
    why: str


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One anchor of the scale."""

    severity: float
    name: str
    meaning: str
    examples: tuple[Example, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Mechanism:
    """One way in which an answer goes wrong."""

    name: str
    meaning: str
    examples: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Rubric(Result):
    """Nine levels from 0.0 to 4.0 and six mechanisms. The version is part of what a judge was told."""

    version: int
    levels: tuple[Level, ...]
    mechanisms: tuple[Mechanism, ...]

    @property
    def mechanism_names(self) -> tuple[str, ...]:
        """The names a rating may carry."""
        return tuple(m.name for m in self.mechanisms)


@functools.cache
def rubric() -> Rubric:
    """The rubric that ships with Richter."""
    raw = tomllib.loads(resources.files("richter.ratings").joinpath("rubric.toml").read_text(encoding="utf-8"))
    return Rubric(
        version=raw["version"],
        levels=tuple(
            Level(**{**row, "examples": tuple(Example(**e) for e in row["examples"])}) for row in raw["levels"]
        ),
        mechanisms=tuple(Mechanism(**{**row, "examples": tuple(row["examples"])}) for row in raw["mechanisms"]),
    )


def check_severity(value: float, *, where: str = "") -> float:
    """The value, if it is one of the nine levels."""
    if value not in GRID:
        raise InputError(
            f"{where + ': ' if where else ''}severity {value:g} is not on the scale.",
            remedy="Use 0 to 4 in half steps: 0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4.",
        )
    return value


def check_mechanism(name: str, *, where: str = "") -> str:
    """The rubric's name of a mechanism; empty is allowed (a correct answer has no mechanism).

    "Generation" and "generation/fabrication", as ERRORQUAKE and its release write it, are fabrication.
    """
    names = rubric().mechanism_names
    name = _OTHER_NAMES.get(name.strip().lower(), name)
    if name and name not in names:
        raise InputError(
            f"{where + ': ' if where else ''}mechanism {name!r} is not known.", remedy=f"Use one of {', '.join(names)}."
        )
    return name


def snap(scores: ArrayLike) -> Floats:
    """Means of several judges back on the scale: halves of a step go down, but a positive score never becomes 0."""
    values = np.asarray(scores, dtype=np.float64)
    nearest = np.ceil(values * 2 - 0.5) / 2
    snapped: Floats = np.where(values > 0, np.maximum(nearest, 0.5), nearest)
    return snapped
