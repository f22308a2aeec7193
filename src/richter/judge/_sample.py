"""Which answers people rate: a stratified random sample, blind, in another order for each rater."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from richter.errors import InputError
from richter.records import Answer

__all__ = ["SAMPLE_NOTE", "Sample", "band", "draw_sample"]

SAMPLE_NOTE = "rating sample"  # the ledger's note of which answers people rate, and of every answer's stratum

Key = tuple[str, str, int]  # item, condition, draw
BANDS = ((0.0, "0"), (1.0, "0.5-1"), (2.0, "1.5-2"), (3.0, "2.5-3"), (4.0, "3.5-4"))
LEAST = 2  # a stratum with one label has no variance


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The answers to be rated, and every answer's stratum, from which inclusion probabilities follow."""

    chosen: tuple[Key, ...]
    strata: Mapping[Key, str]
    seed: int

    def order(self, rater: str) -> list[int]:
        """The order in which a rater sees the chosen answers: a shuffle by the rater's name and the seed."""
        entropy = [self.seed, *rater.encode()]
        return [int(i) for i in np.random.default_rng(entropy).permutation(len(self.chosen))]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "seed": self.seed,
            "chosen": [list(key) for key in self.chosen],
            "strata": [[*key, stratum] for key, stratum in self.strata.items()],
        }

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> "Sample":
        """The inverse of `to_dict`."""
        return cls(
            chosen=tuple((item, condition, int(draw)) for item, condition, draw in row["chosen"]),
            strata={(item, condition, int(draw)): stratum for item, condition, draw, stratum in row["strata"]},
            seed=int(row["seed"]),
        )


def band(severity: float | None) -> str:
    """The band of a judge's or rule's score in which an answer is drawn."""
    if severity is None:
        return "unscored"
    return next(name for limit, name in BANDS if severity <= limit)


def draw_sample(answers: Sequence[Answer], scores: Mapping[Key, float | None], n: int, *, seed: int) -> Sample:
    """Draw n answers at random within strata of condition and score band, the strata as even as their sizes allow.

    Even strata put labels where severe answers are, which are few; the correction weights them back. Every stratum
    gets at least two labels, or all it has.
    """
    strata: dict[Key, str] = {}
    members: dict[str, list[Key]] = {}
    for answer in answers:
        if answer.error:
            continue
        key = (answer.item, answer.condition, answer.draw)
        strata[key] = f"{answer.condition} | {band(scores.get(key))}"
        members.setdefault(strata[key], []).append(key)
    if not strata:
        raise InputError("There are no answers to rate.", remedy="Run `richter ask` first.")
    least = sum(min(LEAST, len(keys)) for keys in members.values())
    if n < least:
        raise InputError(
            f"{n} ratings cannot cover {len(members)} strata of condition and score band.",
            remedy=f"Rate at least {least} answers.",
        )
    wanted = {name: min(LEAST, len(keys)) for name, keys in members.items()}
    left = min(n, len(strata)) - sum(wanted.values())
    while left > 0:  # one more to whichever stratum has fewest and is not used up
        open_ = [name for name in sorted(members) if wanted[name] < len(members[name])]
        wanted[min(open_, key=lambda name: wanted[name])] += 1
        left -= 1
    rng = np.random.default_rng(seed)
    chosen: list[Key] = []
    for name in sorted(members):
        keys = sorted(members[name])
        chosen += [keys[i] for i in sorted(rng.choice(len(keys), wanted[name], replace=False))]
    return Sample(chosen=tuple(chosen), strata=strata, seed=seed)
