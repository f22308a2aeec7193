"""Which answers people rate: a stratified random sample, blind, in another order for each rater."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from richter.errors import InputError
from richter.records import Answer, Result

__all__ = ["SAMPLE_NOTE", "Sample", "add_conditions", "band", "draw_sample", "extend_sample"]

SAMPLE_NOTE = "rating sample"  # the ledger's note of which answers people rate, and of every answer's stratum

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
    def rows(self) -> list[tuple[str, str, int, str]]:
        """Every answer with its stratum."""
        return [(*key, stratum) for key, stratum in self.strata.items()]

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> "Sample":
        """The inverse of `to_dict`."""
        return cls(
            chosen=tuple((item, condition, int(draw)) for item, condition, draw in row["chosen"]),
            strata={(item, condition, int(draw)): stratum for item, condition, draw, stratum in row["strata"]},
            seed=int(row["seed"]),
            batches=tuple(row.get("batches", ())),
        )


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


def draw_sample(
    answers: Sequence[Answer],
    scores: Mapping[Key, float | None],
    n: int,
    *,
    seed: int,
    conditions: Collection[str] = (),
) -> Sample:
    """Draw n answers at random within strata of condition and score band, the strata as even as their sizes allow.

    With `conditions` only their answers are drawn; the others have strata of which nothing is drawn.

    Even strata put labels where severe answers are, which are few; the correction weights them back. Every stratum
    gets at least two labels, or all it has; neighbouring bands are joined where they would get fewer than five.
    """
    keys = [(a.item, a.condition, a.draw) for a in answers if not a.error]
    asked = [key for key in keys if not conditions or key[1] in conditions]
    if not asked:
        raise InputError("There are no answers to rate.", remedy="Run `richter audit --only ask` first.")
    strata, members = _strata_of(keys, asked, scores, n)
    wanted = {name: min(LEAST, len(own)) for name, own in members.items()}
    least = sum(wanted.values())
    if n < least:
        raise InputError(
            f"{n} ratings cannot cover {len(members)} strata of condition and score band.",
            remedy=f"Rate at least {least} answers.",
        )
    for _ in range(min(n, len(asked)) - least):  # one more to whichever stratum has fewest and is not used up
        unused = [name for name in sorted(members) if wanted[name] < len(members[name])]
        wanted[min(unused, key=lambda name: wanted[name])] += 1
    rng = np.random.default_rng(seed)
    chosen: list[Key] = []
    for name in sorted(members):
        keys = sorted(members[name])
        chosen += [keys[i] for i in sorted(rng.choice(len(keys), wanted[name], replace=False))]
    return Sample(chosen=tuple(chosen), strata=strata, seed=seed, batches=(len(chosen),))


def extend_sample(sample: Sample, wanted: Mapping[str, int]) -> Sample:
    """The sample with so many more answers of each stratum, at random among those not drawn yet."""
    rng = np.random.default_rng([sample.seed, len(sample.chosen)])
    drawn = set(sample.chosen)
    more: list[Key] = []
    for name in sorted(wanted):
        left = sorted(key for key, stratum in sample.strata.items() if stratum == name and key not in drawn)
        if left:
            more += [left[i] for i in sorted(rng.choice(len(left), min(wanted[name], len(left)), replace=False))]
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
