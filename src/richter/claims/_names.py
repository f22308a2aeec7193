"""Names short enough for a table that still tell conditions apart."""

from collections.abc import Sequence

__all__ = ["distinct_names"]


def distinct_names(names: Sequence[str], *, width: int = 24) -> tuple[str, ...]:
    """Each name in at most `width` characters where that leaves all of them distinct, by cutting out the middle.

    What all long names begin with goes first ("org/very-long-family-" says nothing where all have it); then the
    middle of a name becomes one ellipsis, with more of its end kept as long as two would read the same. A name that
    stays ambiguous is kept whole.
    """
    if all(len(name) <= width for name in names):
        return tuple(names)
    start = _common_start(names)
    bodies = ["…" + name[start:] if start else name for name in names]
    for end in range(width // 2, width):
        short = tuple(_cut(body, width, end) for body in bodies)
        if len(set(short)) == len(set(names)):
            return short
    taken = [_cut(body, width, width // 2) for body in bodies]
    return tuple(name if taken.count(s) > 1 else s for name, s in zip(names, taken, strict=True))


def _common_start(names: Sequence[str]) -> int:
    """Length of the beginning, up to a separator, that all names share."""
    if len(set(names)) < 2:
        return 0
    low, high = min(names), max(names)
    same = next((k for k, (x, y) in enumerate(zip(low, high, strict=False)) if x != y), min(len(low), len(high)))
    return max((k + 1 for k in range(same) if low[k] in "/-_.: "), default=0)


def _cut(name: str, width: int, end: int) -> str:
    if len(name) <= width:
        return name
    return name[: width - end - 1] + "…" + name[len(name) - end :]
