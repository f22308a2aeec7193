"""Where the spread comes from (groups, items, draws), and what is cheaper: more items or more draws."""

import dataclasses
import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from richter.claims._measures import Codes, Floats, Outcomes
from richter.claims._sizes import units_for
from richter.claims._units import Sample, as_sample, codes_of_groups
from richter.errors import InputError
from richter.records import counted

__all__ = ["Design", "Shares", "cheapest_design", "variance_shares"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Components of variance of one mean, or of one difference: between groups, items in a group, draws of an item.

    `draws` is a draw's variance (of a difference: of a draw of both); None where no item has two draws, and then it
    is part of `items`. `groups` is None without groups; `groups_2` is the part of a second grouping that crosses the
    first.
    """

    conditions: tuple[str, ...]
    groups: float | None
    items: float
    draws: float | None
    n_items: int
    n_groups: int | None
    draws_per_item: float
    items_per_group: float
    groups_2: float | None = None
    n_groups_2: int | None = None
    items_per_group_2: float = 1.0

    @property
    def total(self) -> float:
        """The variance of one draw of one item."""
        return (self.groups or 0.0) + (self.groups_2 or 0.0) + self.items + (self.draws or 0.0)

    @property
    def not_draws(self) -> float:
        """What one item brings that draws do not lower: its own part, and its groups' as often as they recur."""
        first, second = (self.groups or 0.0) * self.items_per_group, (self.groups_2 or 0.0) * self.items_per_group_2
        return self.items + first + second

    def per_item(self, draws: float) -> float:
        """The variance that one item with so many draws brings, for a size: what draws do not lower is never nothing.

        Found to be next to nothing on few items, it would ask for a few items and a thousand draws: it is taken to be
        at least its own standard error.
        """
        fixed, noise = self.not_draws, self.draws or 0.0
        if noise:
            fixed = max(fixed, (fixed + noise / self.draws_per_item) * math.sqrt(2 / self.n_items))
        return fixed + noise / draws

    def items_for(self, gap: float, draws: float, *, alpha: float, power: float) -> int:
        """Items, with so many draws of each, that show a true gap at two-sided `alpha`, in groups as large as these.

        By a t test on as many groups, or items, which of a few is wider than z.
        """
        free = 1 / max(self.items_per_group, self.items_per_group_2)
        return units_for(self.per_item(draws), gap, tail=alpha / 2, power=power, freedom=free)

    def error(self, items: float, draws: float) -> float:
        """The standard error with so many items and draws of each, in groups as large as these are."""
        return math.sqrt((self.not_draws + (self.draws or 0.0) / draws) / items)

    def next_step(self) -> str:
        """What to add next: an item is worth its price up to now^2 x (items' + groups' part) / draws' part draws."""
        if not self.draws:
            return ""
        now = max(1, round(self.draws_per_item))
        draws_per_new_item = now**2 * self.not_draws / self.draws
        if draws_per_new_item < 0.5:
            return "More repeats and more questions help equally here."
        price = f"{draws_per_new_item:,.3g} repeats besides its own"
        return f"More questions help more than more repeats, if a new question costs at most {price}."

    def sentence(self) -> str:
        """The shares in words."""
        if self.total == 0:
            return "Nothing varies."
        questions = "questions" if self.draws is not None else "questions and repeats together"
        second = ("groups of the second grouping", self.groups_2)
        parts = [("groups", self.groups), second, (questions, self.items), ("repeats", self.draws)]
        shares = ", ".join(f"{100 * v / self.total:.0f}% from {name}" for name, v in parts if v is not None)
        return f"Where the spread comes from: {shares}."


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """Items and draws of each that reach a standard error at the least cost, and what costs what now."""

    items: int
    draws: int
    cost: float
    cheaper: str
    sentence: str


def variance_shares(sample: Sample | Outcomes, first: str, second: str | None = None) -> Shares:
    """Estimates by the method of moments, from one condition's values or from the second's minus the first's.

    Draws: the pooled variance within items (of both conditions, added). Items: the variance of items' means within
    their group, less the draws' part, at least 0. Groups: the variance of groups' means, less what items give, at
    least 0; of two groupings that cross by the products of pairs that share one group (`_crossed_parts`). Draws of the
    two conditions are taken to be independent.
    """
    sample = as_sample(sample)
    names = (first,) if second is None else (first, second)
    places = [sample.place(name) for name in names]
    use = np.asarray(~np.isnan(sample.mean[:, places]).any(axis=1))
    if int(use.sum()) < 3:
        raise InputError(
            f"{counted(int(use.sum()), 'item says', 'items say')} nothing of variance.",
            remedy="Give three items at the least.",
        )
    mean = sample.mean[use][:, places]
    x = mean[:, -1] - mean[:, 0] if second is not None else mean[:, 0]
    counts, within = sample.draws[use][:, places], sample.within[use][:, places]
    free = np.maximum(counts - 1, 0).sum(axis=0)
    draws = float(np.sum(within.sum(axis=0) / free)) if (free > 0).all() else None
    noise = 0.0 if draws is None else float(np.mean(np.sum((within.sum(axis=0) / free) / counts, axis=1)))
    shared: NDArray[np.bool_] = np.asarray(use)
    codings = [codes_of_groups(codes, shared) for codes in (sample.outcomes.group, sample.outcomes.group_2)]
    groupings = _without_nested([codes for codes in codings if codes is not None])
    found = Shares(
        conditions=names, groups=None, items=max(float(np.var(x, ddof=1)) - noise, 0.0), draws=draws, n_items=len(x),
        n_groups=None, draws_per_item=float(np.mean(counts)), items_per_group=1.0,
    )  # fmt: skip
    if not groupings:
        return found
    numbers = [int(group.max()) + 1 for group in groupings]
    if min(numbers) < 2:
        raise InputError("One group says nothing of how groups vary.", remedy="Give two groups at the least.")
    # items that share a group with an item, itself included
    sizes = [float(np.sum(np.bincount(group) ** 2)) / len(x) for group in groupings]
    if len(groupings) == 1:
        parts, inside = _nested_parts(x, groupings[0])
    else:
        parts, inside = _crossed_parts(x, groupings)
        found = dataclasses.replace(found, groups_2=parts[1], n_groups_2=numbers[1], items_per_group_2=sizes[1])
    return dataclasses.replace(
        found, groups=parts[0], items=max(inside - noise, 0.0), n_groups=numbers[0], items_per_group=sizes[0]
    )


def _without_nested(groupings: list[Codes]) -> list[Codes]:
    """The groupings, the finer one left out where it lies within the other."""
    if len(groupings) < 2:
        return groupings
    numbers = [int(codes.max()) + 1 for codes in groupings]
    pairs = len(np.unique(np.stack(groupings), axis=1).T)
    return [groupings[int(np.argmin(numbers))]] if pairs == max(numbers) else groupings


def _nested_parts(x: Floats, group: Codes) -> tuple[list[float], float]:
    """The variance between groups and that within them, by analysis of variance."""
    n, sizes = len(x), np.bincount(group)
    number = len(sizes)
    means = np.bincount(group, weights=x) / sizes
    inside = float(np.sum((x - means[group]) ** 2)) / max(n - number, 1)
    between = float(np.sum(sizes * (means - x.mean()) ** 2)) / (number - 1)
    size = (n - float(np.sum(sizes**2)) / n) / (number - 1)
    return [max((between - inside) / size, 0.0)], inside


def _crossed_parts(x: Floats, groupings: list[Codes]) -> tuple[list[float], float]:
    """The variance between groups of each of two crossed groupings, and what is left.

    Two items that share a group of one grouping alone have its variance as covariance. The mean product of their
    residuals is that less c, the variance of the mean, which follows from all covariances together.
    """
    n, residual = len(x), x - x.mean()
    both = np.unique(np.stack(groupings), axis=1, return_inverse=True)[1].ravel()
    square = float(np.sum(residual**2))
    sums, pairs = [], []
    for codes in (*groupings, both):
        sums.append(float(np.sum(np.bincount(codes, weights=residual) ** 2)) - square)
        pairs.append(float(np.sum(np.bincount(codes) ** 2)) - n)
    alone = [pairs[k] - pairs[2] for k in (0, 1)]
    products = [(sums[k] - sums[2]) / alone[k] for k in (0, 1)]
    known = square + sum((alone[k] + pairs[2]) * products[k] for k in (0, 1))
    of_mean = max(known / (n**2 - n - sum(pairs[:2])), 0.0)
    parts = [max(product + of_mean, 0.0) for product in products]
    return parts, max(square / n + of_mean - sum(parts), 0.0)


def cheapest_design(
    shares: Shares, error: float, *, cost_item: float, cost_draw: float, needed: Callable[[int], int] | None = None
) -> Design:
    """Items n and draws r of each with the standard error `error` at the least n (cost_item + r cost_draw).

    The best r is sqrt(cost_item / cost_draw x draws' variance / (items' variance + groups' x items in a group)),
    rounded to the better neighbour, at least 1. `cost_item` is what a new item costs before its first draw (writing, a
    reference, a grader's reading), `cost_draw` each draw. `needed` gives the items of a number of draws where more than
    a standard error is asked for (`Shares.items_for`).
    """
    if not (error > 0 and cost_item >= 0 and cost_draw > 0):
        raise InputError(
            f"A standard error of {error:g} at {cost_item:g} per question and {cost_draw:g} per repeat is not a plan.",
            remedy="Give an error above 0, a cost per question of 0 or more and a cost per repeat above 0.",
        )
    fixed, noise = shares.per_item(math.inf), shares.draws or 0.0
    best = math.sqrt(cost_item / cost_draw * noise / fixed) if fixed > 0 else math.inf
    most = 1000.0

    def cost(draws: int) -> tuple[float, int]:
        items = max(2, math.ceil(shares.per_item(draws) / error**2 - 1e-9)) if needed is None else needed(draws)
        return items * (cost_item + draws * cost_draw), items

    near = {max(1, math.floor(min(best, most))), max(1, math.ceil(min(best, most)))}
    draws = min(near, key=lambda r: (cost(r)[0], r))
    total, items = cost(draws)
    if shares.draws is None:
        cheaper, why = "items", "with one answer per question, more questions always help"
    else:
        now = max(1, round(shares.draws_per_item))
        # what one unit of money lowers the variance by, spent on items or on draws of the same items
        by_items = (fixed + noise / now) / (cost_item + now * cost_draw)
        by_draws = noise / now**2 / cost_draw
        cheaper = "items" if by_items >= by_draws else "draws"
        more = "questions" if cheaper == "items" else "repeats"
        why = f"at {counted(now, 'repeat')} per question, spend more money on {more}"
    answers = "one answer each" if draws == 1 else f"{draws} answers each"
    sentence = f"Cheapest: {counted(items, 'question')} with {answers}, at a cost of {total:,.6g}; {why}."
    return Design(items=items, draws=draws, cost=total, cheaper=cheaper, sentence=sentence)
