"""What defines a search: the same settings on the same base ask the same first batch."""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal, get_args

from richter.errors import InputError
from richter.records import Result
from richter_audit.knowledge import Retrieval

__all__ = ["STRATEGIES", "SearchSettings", "Strategy"]

Strategy = Literal["portfolio", "modes", "sea", "bayes", "random", "topics", "tasks"]
STRATEGIES: tuple[Strategy, ...] = get_args(Strategy)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings(Result):
    """The parameters of a search.

    `strategy` "portfolio" shares each step among the others by what they find: for the most errors, or with `aim`
    "spread" for many kinds of failure; "modes" looks for many kinds of failure, "sea" for the highest error (the
    paper's objective, with its xi, gamma and neighbours). `uniform` is the share of each batch drawn at random from the
    frame, which carries the population estimate (the paper's search has none: 0). `gamma=None` leaves pruning out.
    `wordings` "wrong" asks the other wordings of a question only where its first was answered wrongly, "all" asks every
    one, as the paper does (with 5 questions in 5 wordings).
    """

    strategy: Strategy = "portfolio"
    aim: Literal["errors", "spread"] = "errors"
    xi: float = 0.5
    gamma: float | None = 0.5
    neighbours: int = 50
    batch: int = 40
    questions: int = 1
    phrasings: int = 2
    wordings: Literal["wrong", "all"] = "wrong"
    uniform: float = 0.2
    start: Literal["categories", "random"] = "categories"
    retrieval: Retrieval = "two-level"
    seed: int = 0

    def __post_init__(self) -> None:
        checks = (
            (self.strategy in STRATEGIES, f"strategy {self.strategy!r}", f"Use one of {', '.join(STRATEGIES)}."),
            (self.aim in ("errors", "spread"), f"aim {self.aim!r}", "Use errors or spread."),
            (0 <= self.xi < 1, f"xi {self.xi}", "Use a share from 0 up to, not including, 1."),
            (self.gamma is None or 0 <= self.gamma <= 1, f"gamma {self.gamma}", "Use a share from 0 to 1."),
            (0 <= self.uniform <= 1, f"uniform {self.uniform}", "Use a share from 0 to 1."),
            (min(self.neighbours, self.batch) >= 1, "batch or neighbours below 1", "Use at least 1."),
            (min(self.questions, self.phrasings) >= 1, "questions or phrasings below 1", "Use at least 1."),
            (self.wordings in ("wrong", "all"), f"wordings {self.wordings!r}", "Use wrong or all."),
            (self.seed >= 0, f"seed {self.seed}", "Use 0 or more."),
        )
        for fine, what, remedy in checks:
            if not fine:
                raise InputError(f"A search cannot have {what}.", remedy=remedy)

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> "SearchSettings":
        """The inverse of `to_dict`."""
        return cls(**row)
