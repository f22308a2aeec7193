"""How questions are answered: what is generalised to, what missing grades mean, and what the user vouches for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, get_args

from richter.claims import About
from richter.records import DEFAULT_LEVEL
from richter.stats import Mapper, in_threads

if TYPE_CHECKING:
    from richter.severity import Recipe

__all__ = ["MISSING", "MissingPolicy", "Policy", "SeveritySettings"]

MissingPolicy = Literal["both-ways", "shared", "at-random"]
MISSING: tuple[str, ...] = get_args(MissingPolicy)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SeveritySettings:
    """How slopes and pairs of severities are estimated: resampling, a recipe of slopes (None: the usual), a control."""

    recipe: Recipe | None = None
    control: str | None = None
    max_error_gap: float = 0.05
    n_resamples: int = 2000
    level: float = DEFAULT_LEVEL
    seed: int = 0
    mapper: Mapper = dataclasses.field(default=in_threads, compare=False)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """What the user states beside the question.

    `missing`: a claim must hold with missing grades ignored and with them at the worse end (`both-ways`); they are
    another design (`shared`), or lost at random; None is as a plan has it, else both ways. `is_gate`: limits never fall
    short, an unconfirmed reading blocks, and no absence counts as a design. `unpaired` takes conditions as independent
    samples. `trust_ids`, `trust_raters`, `trust_labels` and `trust_reading` override the checks of these names.
    `adjust` and `suite` change how the main measure's differences are estimated. `tried`
    attempts are stated, of which the best is on show.
    """

    about: About = "new-items"
    missing: MissingPolicy | None = None
    is_gate: bool = False
    unpaired: bool = False
    trust_ids: bool = False
    trust_raters: bool = False
    trust_labels: bool = False
    trust_reading: bool = False
    min_shared: float = 0.5
    chance: float | None = None
    adjust: bool = False
    suite: Mapping[str, float] | None = None
    tried: int = 1
    severity: SeveritySettings = SeveritySettings()

    @property
    def is_both_ways(self) -> bool:
        """Whether a claim must hold with missing grades ignored and with them at the worse end."""
        return self.missing in (None, "both-ways")
