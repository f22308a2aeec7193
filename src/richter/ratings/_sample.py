"""Which answers people rate: a stratified random sample, blind, in another order for each rater."""

import dataclasses
import hashlib
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from richter.errors import InputError
from richter.records import Answer, Result

__all__ = ["Sample", "add_conditions", "band", "draw_sample", "extend_sample"]

Key = tuple[str, str, int]  # item, condition, draw
BANDS = ((0.0, "0"), (1.0, "0.5-1"), (2.0, "1.5-2"), (3.0, "2.5-3"), (4.0, "3.5-4"))
LEAST = 2  # a stratum with one label has no variance
ENOUGH = 5  # labels that a stratum should have: bands are joined before anything is drawn where they would not
# how many of the bands above are joined, by how many are left
_JOINED = {4: (0, 1, 2, 3, 3), 3: (0, 1, 1, 2, 2), 2: (0, 1, 1, 1, 1), 1: (0, 0, 0, 0, 0)}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Sample(Result):
    """The answers to be rated, and every answer's stratum, from which inclusion probabilities follow.

    `batches` are the numbers that were drawn at a time: a later batch comes after an earlier one for every rater.
    """

    unwritten: ClassVar = ("strata",)
    derived: ClassVar = ("rows",)
    named: ClassVar = {"rows": "strata"}

    chosen: tuple[Key, ...]
    strata: Mapping[Key, str]
    seed: int
    batches: tuple[int, ...] = ()

    def order(self, rater: str) -> list[int]:
        """The order in which a rater sees the chosen answers: within each batch a shuffle by name and seed."""
        rng = np.random.default_rng([self.seed, *rater.encode()])
        order: list[int] = []
        for size in self.batches or (len(self.chosen),):
            order += [len(order) + int(i) for i in rng.permutation(size)]
        return order

    @property
    def inclusion(self) -> dict[str, float]:
        """The chance with which an answer of each stratum is drawn: the share of it that is."""
        size, drawn = Counter(self.strata.values()), Counter(self.strata[key] for key in self.chosen)
        return {name: drawn[name] / number for name, number in size.items()}

    @property
    def rows(self) -> list[tuple[str, str, int, str]]:
        """Every answer with its stratum."""
        return [(*key, stratum) for key, stratum in self.strata.items()]

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> "Sample":
        """The inverse of `to_dict`; ValueError where an answer was chosen that is of no stratum, or of no batch."""
        sample = cls(
            chosen=tuple((item, condition, int(draw)) for item, condition, draw in row["chosen"]),
            strata={(item, condition, int(draw)): stratum for item, condition, draw, stratum in row["strata"]},
            seed=int(row["seed"]),
            batches=tuple(row.get("batches", ())),
        )
        number = len(sample.chosen)
        if not sample.strata.keys() >= {*sample.chosen} or sum(sample.batches or (number,)) != number:
            raise ValueError("the sample does not fit its strata and batches")
        return sample


def band(severity: float | None, bands: int = len(BANDS)) -> str:
    """The band of a judge's or rule's score in which an answer is drawn, with some of them joined."""
    if severity is None:
        return "unscored"
    place = next((k for k, (limit, _) in enumerate(BANDS) if severity <= limit), len(BANDS) - 1)
    if bands >= len(BANDS):
        return BANDS[place][1]
    mine = [k for k in range(len(BANDS)) if _JOINED[bands][k] == _JOINED[bands][place]]
    low, high = BANDS[mine[0]][1].split("-")[0], BANDS[mine[-1]][1].split("-")[-1]
    return low if low == high else f"{low}-{high}"


def _strata_of(
    keys: Sequence[Key], wanted: Sequence[Key], scores: Mapping[Key, float | None], n: int
) -> tuple[dict[Key, str], dict[str, list[Key]]]:
    """The stratum of every answer, and the wanted answers of every stratum: as fine as n ratings allow."""
    strata: dict[Key, str] = {}
    members: dict[str, list[Key]] = {}
    for bands in (len(BANDS), *_JOINED):
        strata = {key: f"{key[1]} | {band(scores.get(key), bands)}" for key in keys}
        members = {}
        for key in wanted:
            members.setdefault(strata[key], []).append(key)
        if sum(min(ENOUGH, len(own)) for own in members.values()) <= n:
            break
    return strata, members


def _by_priority(keys: Iterable[Key], seed: int) -> list[Key]:
    """Answers in a random order that is the same for an item's answers under all conditions.

    The first n of a stratum are a simple random sample of it, and those of two conditions are answers to the same items
    as far as their strata allow: labels of both then count as pairs, and their difference varies less.
    """
    return sorted(keys, key=lambda key: hashlib.blake2b(f"{seed}|{key[2]}|{key[0]}".encode(), digest_size=16).digest())


def _deal(members: Mapping[str, Sequence[Key]], scores: Mapping[Key, float | None], n: int) -> dict[str, int]:
    """How many of n answers are drawn from each stratum."""
    size = {name: len(own) for name, own in members.items()}
    spread = {
        name: size[name] * math.sqrt(0.5 + sum(scores.get(key) or 0.0 for key in own) / size[name])
        for name, own in members.items()
    }
    wanted = dict.fromkeys(sorted(members), 0)
    for _ in range(n):  # one more to the stratum that lacks most of its part, those with too few first
        unused = [name for name in wanted if wanted[name] < size[name]]
        few = [name for name in unused if wanted[name] < ENOUGH]
        if few:
            wanted[min(few, key=lambda name: wanted[name])] += 1
        else:
            wanted[max(unused, key=lambda name: spread[name] / (wanted[name] + 1))] += 1
    return wanted


def draw_sample(
    answers: Sequence[Answer],
    scores: Mapping[Key, float | None],
    n: int,
    *,
    seed: int,
    conditions: Collection[str] = (),
) -> Sample:
    """Draw n answers at random within strata of condition and score band.

    With `conditions` only their answers are drawn; the others have strata of which nothing is drawn.

    Each stratum gets five labels, or all it has, and the rest go by size times the root of half a level more than the
    mean score: where errors are large or many, labels vary more. The correction weights them back. Neighbouring bands
    are joined where they would get fewer than five.
    """
    keys = [(a.item, a.condition, a.draw) for a in answers if not a.error]
    asked = [key for key in keys if not conditions or key[1] in conditions]
    if not asked:
        raise InputError("There are no answers to rate.", remedy="Run `richter audit --only ask` first.")
    strata, members = _strata_of(keys, asked, scores, n)
    least = sum(min(LEAST, len(own)) for own in members.values())
    if n < least:
        raise InputError(
            f"{n} ratings cannot cover {len(members)} strata of condition and score band.",
            remedy=f"Rate at least {least} answers.",
        )
    wanted = _deal(members, scores, min(n, len(asked)))
    chosen = [key for name in sorted(members) for key in _by_priority(members[name], seed)[: wanted[name]]]
    return Sample(chosen=tuple(chosen), strata=strata, seed=seed, batches=(len(chosen),))


def extend_sample(sample: Sample, wanted: Mapping[str, int]) -> Sample:
    """The sample with so many more answers of each stratum, at random among those not drawn yet."""
    drawn = set(sample.chosen)
    more: list[Key] = []
    for name in sorted(wanted):
        left = [key for key, stratum in sample.strata.items() if stratum == name and key not in drawn]
        more += _by_priority(left, sample.seed)[: wanted[name]]
    return dataclasses.replace(
        sample,
        chosen=(*sample.chosen, *more),
        batches=(*(sample.batches or (len(sample.chosen),)), *([len(more)] if more else [])),
    )


def add_conditions(sample: Sample, other: Sample) -> Sample:
    """The sample with a later one of conditions of which nothing was drawn, and with that one's strata for them."""
    drawn = {condition for _, condition, _ in other.chosen}
    strata = {key: other.strata[key] if key[1] in drawn else name for key, name in sample.strata.items()}
    return dataclasses.replace(
        sample,
        chosen=(*sample.chosen, *other.chosen),
        strata=strata,
        batches=(*(sample.batches or (len(sample.chosen),)), len(other.chosen)),
    )
