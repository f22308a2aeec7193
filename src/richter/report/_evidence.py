"""The errors themselves: every wrong answer with its question, reference and ratings, packed to travel in the page.

What models and raters wrote is untrusted. Here it is only made visible (control, invisible and reordering characters
become escapes, line ends stay); the page shows it as text and never as markup.
"""

import base64
import dataclasses
import gzip
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from richter.records import Answer, Item, Rating, printable
from richter.store import RunLike, open_ledger

__all__ = ["CUT", "IN_FULL", "WHOLE", "Evidence", "read_evidence"]

CUT = 200  # characters of an answer, question or reason
IN_FULL = 2_000  # the most severe answers come whole
WHOLE = 20_000  # ... up to here: one answer of a megabyte must not make the page heavy
RIGHT_TOO = 20_000  # a run of at most so many answers carries the right ones as well, to be compared side by side
MOST_BYTES = 12_000_000  # packed; beyond it answers are cut shorter, then the mildest are left out
CUTS = (CUT, 140, 100, 60)
KINDS = ("rule", "human", "judge")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The packed errors and what they hold: `packed` is base64 of gzip of JSON."""

    packed: str
    kind: str | None  # whose ratings say what is wrong; None where nothing is rated
    errors: int  # wrong answers in the run
    shown: int  # ... and in the page
    cut: int  # characters at which an answer is cut


def read_evidence(run: RunLike, *, kind: str | None = None, most_bytes: int = MOST_BYTES) -> Evidence:
    """Read the errors of a run. An answer is wrong where the mean severity by the raters of `kind` is above 0.

    Without `kind` the first of rule, human and judge that rated anything decides; an answer that this kind did not
    rate counts as unrated, so kinds never mix.
    """
    with open_ledger(run) as ledger:
        items = ledger.items()
        names = [c.name for c in ledger.conditions()]
        ratings = ledger.ratings()
        present = {r.kind for r in ratings if r.severity is not None}
        chosen = kind if kind in present else next((k for k in KINDS if k in present), None)
        by_answer: dict[tuple[str, str], list[Rating]] = defaultdict(list)
        for rating in ratings:
            if rating.draw == 0:
                by_answer[rating.condition, rating.item].append(rating)
        answers = [
            (condition, answer)
            for condition in names
            for answer in ledger.answers(condition)
            if answer.draw == 0 and not answer.error
        ]
    table = _Table(names, items, chosen)
    for condition, answer in answers:
        table.add(condition, answer, by_answer.get((condition, answer.item), ()))
    table.sort()
    for cut in CUTS:
        packed = _pack(table.to_dict(cut=cut, right_too=len(answers) <= RIGHT_TOO and cut == CUT))
        if len(packed) <= most_bytes:
            return Evidence(packed=packed, kind=chosen, errors=len(table.wrong), shown=len(table.wrong), cut=cut)
    shown = len(table.wrong)
    while len(packed) > most_bytes and shown > 1:
        shown = int(shown * min(0.9, 0.95 * most_bytes / len(packed)))
        packed = _pack(table.to_dict(cut=CUTS[-1], right_too=False, most=shown))
    return Evidence(packed=packed, kind=chosen, errors=len(table.wrong), shown=shown, cut=CUTS[-1])


def visible(text: str) -> str:
    """Text whose control, invisible and reordering characters show as escapes; line ends and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join("\t".join(printable(part) for part in line.split("\t")) for line in lines)


def _shorten(text: str, limit: int) -> str:
    return visible(text if len(text) <= limit else text[: limit - 1] + "…")


@dataclasses.dataclass(slots=True)
class _Row:
    condition: int
    item: int
    severity: float | None
    answer: str
    ratings: Sequence[Rating]


class _Table:
    """Columns of the page's table, with every repeated string kept once."""

    def __init__(self, conditions: Sequence[str], items: Sequence[Item], kind: str | None) -> None:
        self.conditions, self.items, self.kind = conditions, items, kind
        self.at_condition = {c: k for k, c in enumerate(conditions)}
        self.at_item = {item.id: k for k, item in enumerate(items)}
        self.wrong: list[_Row] = []
        self.right: list[_Row] = []
        self.state = [["-"] * len(items) for _ in conditions]

    def add(self, condition: str, answer: Answer, ratings: Sequence[Rating]) -> None:
        """Place an answer among the wrong, the right or the unrated."""
        c, i = self.at_condition[condition], self.at_item.get(answer.item)
        if i is None:
            return
        given = [r.severity for r in ratings if r.kind == self.kind and r.severity is not None]
        severity = sum(given) / len(given) if given else None
        self.state[c][i] = "?" if severity is None else "w" if severity > 0 else "r"
        if severity is not None:
            (self.wrong if severity > 0 else self.right).append(_Row(c, i, severity, answer.text, ratings))

    def sort(self) -> None:
        """Gravest first, then in the run's order, so that the same ledger gives the same page."""
        self.wrong.sort(key=lambda r: (-(r.severity or 0), r.condition, r.item))

    def to_dict(self, *, cut: int, right_too: bool, most: int | None = None) -> dict[str, Any]:
        """The columns as plain values, answers cut to `cut` beyond the first `IN_FULL`."""
        rows = self.wrong[:most]
        kept = sorted({r.item for r in rows})
        place = {item: k for k, item in enumerate(kept)}
        raters: dict[tuple[str, str], int] = {}
        words: dict[str, int] = {"": 0}

        def word(text: str) -> int:
            return words.setdefault(text, len(words))

        def rated(row: _Row) -> list[int | float | None]:
            """Four numbers a rating, in one list: rater, severity, mechanism, reason."""
            flat: list[int | float | None] = []
            for r in row.ratings:
                who = raters.setdefault((r.rater, r.kind), len(raters))
                flat += [who, r.severity, word(printable(r.mechanism, limit=60)), word(_shorten(r.reason, cut))]
            return flat

        def columns(of: Sequence[_Row], whole: int) -> dict[str, list[Any]]:
            limits = [WHOLE if k < whole else cut for k in range(len(of))]
            return {
                "condition": [r.condition for r in of],
                "item": [place[r.item] for r in of],
                "severity": [r.severity for r in of],
                "answer": [_shorten(r.answer, limit) for r, limit in zip(of, limits, strict=True)],
                "length": [len(r.answer) if len(r.answer) > limit else 0 for r, limit in zip(of, limits, strict=True)],
                "ratings": [rated(r) for r in of],
            }

        items = [self.items[k] for k in kept]
        table = {
            "conditions": [printable(c, limit=120) for c in self.conditions],
            "ids": [printable(i.id, limit=200) for i in items],
            "questions": [_shorten(i.prompt, max(cut, CUT)) for i in items],
            "references": [_shorten(i.reference, cut) for i in items],
            "domains": [printable(i.domain, limit=60) for i in items],
            "tiers": [i.tier for i in items],
            "state": ["".join(row[k] for k in kept) for row in self.state],
            "wrong": columns(rows, IN_FULL),
            "right": columns([r for r in self.right if r.item in place] if right_too else [], 0),
        }
        table["raters"] = [{"name": printable(n, limit=80), "kind": k} for n, k in raters]
        table["words"] = list(words)
        return table


def _pack(table: Mapping[str, Any]) -> str:
    text = json.dumps(table, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), compresslevel=6, mtime=0)).decode()
