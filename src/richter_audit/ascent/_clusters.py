"""Groups of paragraphs in which more fail than elsewhere, and the words that set each apart."""

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from typing import Literal

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from richter.records import Result

__all__ = ["FailingGroup", "FailingGroups", "Term", "distinguishing_terms", "find_failing_groups"]

SMALLEST = 5  # paragraphs of a group
MOST_DISTANCES = 1_000_000  # from paragraphs asked about to centres of neighbourhoods; as many again to others
SHUFFLES = 199  # of right and wrong over what was asked about
SHUFFLED_AT_ONCE = 50
SHARE_OF_PLACE, SHARE_OF_PURE = 0.4, 0.8  # of the surest group's log p: what a place and a purer group need
PRIOR = 10.0  # paragraphs' worth of prior in a term's log-odds
_WORD = re.compile(r"[^\W\d_]{3,}")

GroupKind = Literal["place", "word", "neighbours"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FailingGroup(Result):
    """A group of paragraphs that were asked about, how many of them fail, and the test that more do than elsewhere.

    `name` is the place or the word that they share, "" for neighbours. `members` are positions among all that were
    asked about. `p_value` is one-sided and adjusted for all groups that were tested.
    """

    kind: GroupKind
    name: str
    members: tuple[int, ...]
    failing: int
    p_value: float


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FailingGroups(Result):
    """The groups in which more fail than elsewhere, the surest first, and how many groups were tested."""

    groups: tuple[FailingGroup, ...]
    tested: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Term(Result):
    """A word: in how many paragraphs of a cluster it stands, in how many others, and the z-score of its log-odds."""

    term: str
    inside: int
    outside: int
    z: float


def find_failing_groups(
    fails: ArrayLike,
    *,
    places: Sequence[Collection[str]] = (),
    texts: Sequence[str] = (),
    vectors: ArrayLike = (),
    centres: ArrayLike = (),
    level: float = 0.95,
) -> FailingGroups:
    """The groups of what was asked about in which more fail than among the rest.

    A group is a place (a value of `places`: a folder, a document, a heading), the paragraphs that hold a word, or those
    nearest to one of `centres` or of themselves (5, 7, 10, 14, .. of them); it has at least five paragraphs and at most
    half of all. Its p-value (Fisher's exact test, one-sided) is set against the smallest of its kind in 199 shuffles
    of right and wrong, times the number of kinds. As long as one is at most 1 - level, a group is taken, its paragraphs
    leave, and the rest is looked at again. Of groups that are nearly as sure as the surest, a place comes first, then
    the group of which most fail.
    """
    failing = np.asarray(fails, dtype=np.bool_)
    kinds = [kind for kind in _all_groups(len(failing), places, texts, vectors, centres) if kind]
    groups = [group for kind in kinds for group in kind]
    if not groups:
        return FailingGroups(groups=(), tested=0)
    kind_of = np.repeat(np.arange(len(kinds)), [len(kind) for kind in kinds])
    is_place = np.array([kind == "place" for kind, _, _ in groups])
    membership = _membership_table([members for _, _, members in groups], len(failing))
    smallest = _smallest_by_chance(membership, kind_of, failing)
    left = np.ones(len(failing), dtype=np.bool_)
    found: list[FailingGroup] = []
    while True:
        size, wrong = (membership @ np.stack([left, left & failing], axis=1).astype(np.float64)).T
        p_values = _fisher_p_values(size, wrong, int(left.sum()), int((left & failing).sum()))
        adjusted = _adjust_p_values(p_values, kind_of, smallest)
        significant = np.flatnonzero(adjusted <= 1 - level)
        if not len(significant):
            return FailingGroups(groups=tuple(found), tested=len(groups))
        best = significant[
            _choose_group(
                p_values[significant], is_place[significant], (wrong[significant] + 1) / (size[significant] + 2)
            )
        ]
        kind, name, members = groups[best]
        own = members[left[members]]
        found.append(
            FailingGroup(
                kind=kind,
                name=name,
                members=tuple(own.tolist()),
                failing=int(failing[own].sum()),
                p_value=float(adjusted[best]),
            )
        )
        left[own] = False


def _choose_group(p_values: NDArray[np.float64], is_place: NDArray[np.bool_], share: NDArray[np.float64]) -> int:
    """The surest place, or the purest group, among those nearly as sure as the surest; labels tell these not apart."""
    surprise = -np.log(np.maximum(p_values, 1e-300))
    sure_places = np.flatnonzero(is_place & (surprise >= SHARE_OF_PLACE * surprise.max()))
    if len(sure_places):
        return int(sure_places[np.argmin(p_values[sure_places])])
    sure = np.flatnonzero(surprise >= SHARE_OF_PURE * surprise.max())
    return int(sure[np.lexsort((p_values[sure], -share[sure]))[0]])


Group = tuple[GroupKind, str, NDArray[np.int64]]


def _all_groups(
    n: int, places: Sequence[Collection[str]], texts: Sequence[str], vectors: ArrayLike, centres: ArrayLike
) -> tuple[list[Group], list[Group], list[Group]]:
    """The groups of each kind, those of the same members once."""
    words = [_words(text) for text in texts]
    return (
        [("place", name, members) for name, members in _groups_by_name(places, n)],
        [("word", name, members) for name, members in _groups_by_name(words, n)],
        [("neighbours", "", members) for members in _neighbourhoods(_as_table(vectors), _as_table(centres))],
    )


def _groups_by_name(names: Sequence[Collection[str]], n: int) -> list[tuple[str, NDArray[np.int64]]]:
    """The rows that have each name, under the shortest of the names that the same rows have."""
    rows: dict[str, list[int]] = {}
    for row, own in enumerate(names):
        for name in own:
            rows.setdefault(name, []).append(row)
    groups: dict[Hashable, tuple[str, NDArray[np.int64]]] = {}
    for name in sorted(rows, key=lambda name: (len(name), name)):
        if SMALLEST <= len(rows[name]) <= n // 2:
            groups.setdefault(tuple(rows[name]), (name, np.asarray(rows[name])))
    return list(groups.values())


def _as_table(vectors: ArrayLike) -> NDArray[np.float32]:
    return np.asarray(vectors, dtype=np.float32)


def _neighbourhoods(vectors: NDArray[np.float32], others: NDArray[np.float32]) -> list[NDArray[np.int64]]:
    """The nearest rows of each centre, in sizes that grow by the root of two up to half of all."""
    n = len(vectors)
    if n < 2 * SMALLEST:
        return []
    most = max(1, MOST_DISTANCES // n)
    centres = np.concatenate([some[:: math.ceil(len(some) / most)] for some in (vectors, others) if len(some)])
    order = np.argsort(-(centres @ vectors.T), axis=1, kind="stable")
    steps = 1 + math.floor(2 * math.log2(n / 2 / SMALLEST))
    sizes = [math.floor(SMALLEST * 2 ** (step / 2)) for step in range(steps)]
    nearest = (np.sort(own[:size]) for size in sizes for own in order)
    return list({members.tobytes(): members for members in nearest}.values())


def _membership_table(groups: Sequence[NDArray[np.int64]], n: int) -> scipy.sparse.csr_array:
    ends = np.cumsum([0, *(len(members) for members in groups)])
    columns = np.concatenate(groups)
    return scipy.sparse.csr_array((np.ones(len(columns)), columns, ends), shape=(len(groups), n))


def _smallest_by_chance(
    membership: scipy.sparse.csr_array, kind_of: NDArray[np.int64], failing: NDArray[np.bool_]
) -> list[NDArray[np.float64]]:
    """Of each kind the smallest p-values of its groups where right and wrong are shuffled, in rising order."""
    rng, total, starts = np.random.default_rng(0), len(failing), np.flatnonzero(np.diff(kind_of, prepend=-1))
    smallest = []
    for block in range(0, SHUFFLES, SHUFFLED_AT_ONCE):
        count = min(SHUFFLED_AT_ONCE, SHUFFLES - block)
        shuffled = rng.permuted(np.tile(failing, (count, 1)), axis=1).T.astype(np.float64)
        size = np.repeat(membership.sum(axis=1)[:, None], count, axis=1)
        p_values = _fisher_p_values(size.ravel(), (membership @ shuffled).ravel(), total, int(failing.sum()))
        smallest.append(np.minimum.reduceat(p_values.reshape(size.shape), starts, axis=0))
    return list(np.sort(np.concatenate(smallest, axis=1), axis=1))


def _adjust_p_values(
    p_values: NDArray[np.float64], kind_of: NDArray[np.int64], smallest: Sequence[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """P-values for all groups: by the smallest of their kind among shuffles, or by Bonferroni's bound where lower."""
    adjusted = np.ones(len(p_values))
    for kind, by_chance in enumerate(smallest):
        mine = kind_of == kind
        as_small = np.searchsorted(by_chance, p_values[mine] * (1 + 1e-9), side="right")
        bound = p_values[mine] * mine.sum()
        adjusted[mine] = len(smallest) * np.minimum((1 + as_small) / (1 + len(by_chance)), bound)
    return adjusted


def _fisher_p_values(
    size: NDArray[np.float64], wrong: NDArray[np.float64], total: int, total_wrong: int
) -> NDArray[np.float64]:
    """The chance of as many failing ones in each group where all fail alike; 1 for groups too small."""
    from scipy.stats import hypergeom

    p_values = np.ones(len(size))
    large = (size >= SMALLEST) & (wrong * total > total_wrong * size)
    pairs = (size[large] * (total + 1) + wrong[large]).astype(np.int64)
    table = np.zeros(pairs.max(initial=0) + 1)
    table[pairs] = 1
    different = np.flatnonzero(table)  # few of many
    sizes, wrongs = np.divmod(different, total + 1)
    table[different] = hypergeom.sf(wrongs - 1, total, total_wrong, sizes)
    p_values[large] = table[pairs]
    return p_values


def distinguishing_terms(inside: Sequence[str], outside: Sequence[str], *, most: int = 8) -> list[Term]:
    """The words that stand in more of the texts `inside` than of those `outside`, the surest first.

    A word counts once a text. Its score is the difference of the log-odds of standing in a text, in standard errors,
    with a prior of ten texts that hold the word as often as all of them do (after Monroe, Colaresi and Quinn 2008);
    kept are those above 1.96 that stand in at least three texts. Clusters are made from the same texts, so the scores
    describe and do not test.
    """
    a, b = (Counter(word for text in texts for word in _words(text)) for texts in (inside, outside))
    n_a, n_b = len(inside), len(outside)
    terms = []
    for word, count in a.items():
        share = (count + b[word]) / (n_a + n_b)
        if count < 3 or share == 1:  # a word of every text sets none apart
            continue
        x, y = count + PRIOR * share, b[word] + PRIOR * share
        without_x, without_y = n_a + PRIOR - x, n_b + PRIOR - y
        odds = math.log(x / without_x) - math.log(y / without_y)
        z = odds / math.sqrt(1 / x + 1 / without_x + 1 / y + 1 / without_y)
        if z > 1.96:
            terms.append(Term(term=word, inside=count, outside=b[word], z=z))
    return sorted(terms, key=lambda term: (-term.z, term.term))[:most]


def _words(text: str) -> set[str]:
    """The different words of a text, in small letters: three letters or more, no figures."""
    return set(_WORD.findall(text.casefold()))
