"""Small simulated studies with judges, domains and tiers, for the further analyses."""

import numpy as np
from numpy.typing import NDArray

from errorquake_scores import Scores
from richter.claims import decide
from richter.severity import DEFAULT, SeverityStudy, pair_questions, summarise_study, weigh_pairs
from severity.laws import geometric


def simulated_scores(
    rng: np.random.Generator,
    slopes: list[float],
    *,
    n: int = 2400,
    error_rate: float = 0.35,
    noise: float = 0.2,
) -> Scores:
    """Simulated conditions with these slopes; two simulated judges of a pool of four who are off by half a step."""
    severity = np.zeros((n, len(slopes)))
    for i, b in enumerate(slopes):
        wrong = rng.random(n) < error_rate
        severity[wrong, i] = rng.choice(8, size=int(wrong.sum()), p=geometric(b)) / 2 + 0.5
    shift = rng.choice([-0.5, 0.0, 0.5], p=[noise / 2, 1 - noise, noise / 2], size=(2, *severity.shape))
    judges = np.where(severity > 0, np.clip(severity + shift, 0, 4), 0.0)
    first = (np.arange(n)[:, None] + np.arange(len(slopes))) % 4
    names: NDArray[np.str_] = np.char.add("judge", np.stack([first, (first + 1) % 4]).astype(np.str_))
    return Scores(
        items=tuple(f"q{i}" for i in range(n)),
        conditions=tuple(f"m{i}" for i in range(len(slopes))),
        severity=severity,
        domain=np.array([f"d{i % 4}" for i in range(n)]),
        tier=np.arange(n) // 4 % 5 + 1,
        judges=judges,
        judge_names=names,
    )


def study_of(
    columns: dict[str, NDArray[np.float64]],
    groups: NDArray[np.intp] | None = None,
    *,
    n_resamples: int,
    rng: np.random.Generator,
) -> SeverityStudy:
    """All pairs weighed and decided, and each condition's own figures."""
    primary = "severity_given_error"
    pairs = weigh_pairs(columns, groups=groups, n_resamples=n_resamples, rng=rng)
    asked = pair_questions(pairs.pairs, {}, primary=primary, margins={}, basis="", judged="")
    return summarise_study(
        pairs, decide(asked), primary=primary, recipe=DEFAULT, max_error_gap=0.05, min_gap=0.15,
        n_resamples=n_resamples, level=0.95, rng=rng,
    )  # fmt: skip
