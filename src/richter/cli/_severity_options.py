"""The small options of `richter severity`: costs, pairs."""

from richter.errors import InputError
from richter.records import printable


def parse_costs(texts: tuple[str, ...]) -> dict[float, float]:
    """Read LEVEL=COST, several times."""
    out = {}
    for text in texts:
        level, equals, cost = text.partition("=")
        try:
            if not equals:
                raise ValueError
            out[float(level)] = float(cost)
        except ValueError as error:
            raise InputError(
                f"--cost {printable(text, limit=40)} is not LEVEL=COST.", remedy="As --cost 3=2000."
            ) from error
    return out


def parse_pairs(texts: tuple[str, ...]) -> list[tuple[str, str]]:
    """Read A,B, several times."""
    out = []
    for text in texts:
        first, comma, second = text.partition(",")
        if not comma or not first.strip() or not second.strip():
            raise InputError(f"--pair {printable(text, limit=60)} is not A,B.", remedy="As --pair base,tuned.")
        out.append((first.strip(), second.strip()))
    return out
