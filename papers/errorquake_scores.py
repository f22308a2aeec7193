"""Severities as the ERRORQUAKE analyses need them: with each judge's own scores and the answers' lengths."""

import dataclasses
from collections.abc import Iterator

import numpy as np
import polars as pl
from numpy.typing import NDArray

from richter.severity import snap
from richter.stats import Bools, Floats, Indices, Ints
from richter.tables import KEY, Dataset, severity_of, severity_scores


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """Severities of `items` (rows) under `conditions` (columns), NaN where not rated, with what is known of each.

    `domain` and `tier` are per item; `judges` holds the judges' own scores (judges x items x conditions, NaN where one
    gave none) and `judge_names` who they were; `length` is the answer's length in any unit.
    """

    items: tuple[str, ...]
    conditions: tuple[str, ...]
    severity: Floats
    domain: NDArray[np.str_] | None = None
    tier: Ints | None = None
    judges: Floats | None = None
    judge_names: NDArray[np.str_] | None = None
    length: Floats | None = None

    def columns(self) -> dict[str, Floats]:
        """Each condition's severities."""
        return {name: self.severity[:, i] for i, name in enumerate(self.conditions)}

    def named(self, values: Floats) -> dict[str, float]:
        """Numbers, one a condition, by its name."""
        return dict(zip(self.conditions, values.tolist(), strict=True))

    def counts(self) -> dict[str, Ints]:
        """Each condition's counts at the nine levels."""
        levels = snap(self.severity)
        return {name: np.bincount(x[x >= 0], minlength=9) for name, x in zip(self.conditions, levels.T, strict=True)}

    def by_domain(self) -> Iterator[tuple[str, Bools]]:
        """Each domain with the mask of its items; none where domains are not given."""
        if self.domain is not None:
            for name in np.unique(self.domain):
                if name:
                    yield str(name), self.domain == name


def scores_of(tables: Dataset) -> Scores:
    """The severities of first draws with domains, tiers, lengths and all raters' own scores."""
    found = severity_scores(tables)
    rated = severity_of(tables).filter(pl.col("draw") == 0)
    first = tables.answers.filter(pl.col("draw") == 0).join(rated, on=KEY, how="semi")
    kind = "judge" if tables.counting == "given" else tables.counting
    ratings = tables.ratings.filter(
        pl.col("kind") == (kind or ""), pl.col("draw") == 0, pl.col("item").is_in(list(found.items))
    ).with_columns(pl.int_range(pl.len()).over(KEY).alias("place"))

    def place(frame: pl.DataFrame) -> tuple[Indices, Indices]:
        rows, columns = (
            frame[name].cast(pl.Enum(order)).to_physical().to_numpy().astype(np.intp)
            for name, order in (("item", found.items), ("condition", found.conditions))
        )
        return rows, columns

    length = judges = names = None
    if first["tokens_out"].null_count() < len(first):
        length = np.full(found.severity.shape, np.nan)
        length[place(first)] = first["tokens_out"].cast(pl.Float64).fill_null(float("nan")).to_numpy()
    if (ratings["place"] > 0).any():
        shape = (ratings["place"].n_unique(), *found.severity.shape)
        judges, names = np.full(shape, np.nan), np.full(shape, "", dtype=object)
        for k in range(len(judges)):
            own = ratings.filter(pl.col("place") == k)
            judges[k][place(own)] = own["severity"].fill_null(float("nan")).to_numpy()
            names[k][place(own)] = own["rater"].to_numpy()
    return Scores(
        **found._asdict(), judges=judges, judge_names=None if names is None else names.astype(np.str_), length=length
    )
