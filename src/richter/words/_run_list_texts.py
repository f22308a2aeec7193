"""What a list of runs says of one: its main measure, model by model, and the side that its claims are on."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from richter.claims import measure_words
from richter.records import printable
from richter.words._page_texts import is_blocked
from richter.words._spans import describe_level, interval_words, name, number, percent

Document = Mapping[str, Any]
Ends = tuple[float, float]
Side = Literal["better", "worse", "differ", "alike", "open", "blocked", ""]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class MeasureRow:
    """One model's main measure: its amount, the same with its interval, and where these lie from 0 to 1."""

    name: str
    amount: str
    words: str
    low: float
    at: float
    high: float


def describe_main_measure(document: Document) -> tuple[str, list[MeasureRow]]:
    """The main measure with its level, and each model's row, best estimate first; ("", []) where nothing is measured.

    It is the mean score where answers have one, else the share of right answers.
    """
    conditions = [c for c in document.get("conditions") or [] if isinstance(c, Mapping)]
    scored = [c for c in conditions if _is_figure(c.get("scored"))]
    if scored:
        noun = printable(str(scored[0]["scored"].get("what") or "mean score").partition(",")[0], limit=60)
        ends = _score_ends(scored)
        lower_first = scored[0]["scored"].get("better") == "lower"
        rows = [_row(c["name"], c["scored"], ends, is_share=False) for c in _by_estimate(scored, "scored", lower_first)]
        return _with_level(noun, scored[0]["scored"]), rows
    graded = [c for c in conditions if _is_figure(c.get("how_often"))]
    right = [_row(c["name"], _share_right(c["how_often"]), (0.0, 1.0), is_share=True)
             for c in _by_estimate(graded, "how_often", lower_first=True)]  # fmt: skip
    return (_with_level(measure_words("accuracy").noun, graded[0]["how_often"]) if right else ""), right


def document_side(document: Document) -> Side:
    """The side that a document's main claims are on.

    Of two models the second's: better, worse, alike or open; of more whether any two differ. Blocked where a check
    blocked every comparison; empty without a claim.
    """
    pairs = [c for c in document.get("claims") or [] if len(c.get("conditions") or ()) == 2]
    if not pairs:
        return ""
    if is_blocked(document):
        return "blocked"
    sides = {c.get("side") for c in pairs if c.get("primary", True)}
    is_board = len(document.get("conditions") or []) > 2
    decided: list[Side] = [side for side in ("better", "worse") if side in sides]
    if decided:
        return "differ" if is_board or len(decided) == 2 else decided[0]
    is_alike = sides == {"alike"} if is_board else "alike" in sides
    return "alike" if is_alike else "open"


def _with_level(noun: str, figure: Document) -> str:
    """The noun with the level of the intervals: 'accuracy (95% CI)'."""
    level: Any = (figure.get("interval") or {}).get("level")
    return f"{noun} ({describe_level(level)} CI)" if _is_finite(level) else noun


def _is_figure(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("estimate"), int | float)


def _by_estimate(conditions: Sequence[Document], key: str, lower_first: bool) -> list[Document]:
    return sorted(conditions, key=lambda c: (1 if lower_first else -1) * float(c[key]["estimate"]))


def _share_right(wrong: Document) -> dict[str, Any]:
    """The share of right answers from that of wrong ones, its interval turned over."""
    interval = wrong.get("interval")
    if isinstance(interval, Mapping) and _is_finite(interval.get("low"), interval.get("high")):
        interval = {**interval, "low": 1 - interval["high"], "high": 1 - interval["low"]}
    return {"estimate": 1 - wrong["estimate"], "interval": interval}


def _score_ends(scored: Sequence[Document]) -> Ends:
    """The ends of the rail of scores: those of their scale, else from 0 to the largest that was seen."""
    scale = scored[0]["scored"].get("scale")
    if isinstance(scale, Sequence) and len(scale) == 2 and _is_finite(*scale) and scale[0] < scale[1]:
        return float(scale[0]), float(scale[1])
    seen = [end for c in scored for end in _ends(c["scored"])]
    return min(0.0, *seen), max(0.0, *seen) or 1.0


def _ends(figure: Document) -> Ends:
    """The ends of a figure's interval, or twice its estimate."""
    interval = figure.get("interval")
    if isinstance(interval, Mapping) and _is_finite(interval.get("low"), interval.get("high")):
        return float(interval["low"]), float(interval["high"])
    return float(figure["estimate"]), float(figure["estimate"])


def _row(condition: Any, figure: Document, ends: Ends, *, is_share: bool) -> MeasureRow:
    shown = percent(figure["estimate"]) if is_share else number(figure["estimate"])
    who = name(condition, limit=60)
    low, high = _ends(figure)
    places = [_place(value, ends) for value in (low, float(figure["estimate"]), high)]
    interval = interval_words(figure.get("interval"), as_percent=is_share)
    return MeasureRow(
        name=who, amount=shown, words=f"{who}: {shown} {interval}".rstrip(), low=places[0], at=places[1], high=places[2]
    )


def _place(value: float, ends: Ends) -> float:
    """Where a value lies between the ends of its rail, from 0 to 1."""
    if not math.isfinite(value):
        return 0.0
    return round(min(max((value - ends[0]) / ((ends[1] - ends[0]) or 1.0), 0.0), 1.0), 4)


def _is_finite(*values: Any) -> bool:
    return all(isinstance(v, int | float) and math.isfinite(v) for v in values)
