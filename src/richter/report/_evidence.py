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
from typing import Any, NamedTuple

import polars as pl

from richter.records import Item, printable
from richter.store import RunLike, open_ledger
from richter.tables import Tables, tables_of

__all__ = ["Evidence", "read_evidence"]

CUT = 200  # characters of an answer, question or reason
IN_FULL = 2_000  # the most severe answers come whole
WHOLE = 20_000  # ... up to here: one answer of a megabyte must not make the page heavy
RIGHT_TOO = 20_000  # a run of at most so many answers carries the right ones as well, to be compared side by side
MOST_BYTES = 12_000_000  # packed; beyond it answers are cut shorter, then the mildest are left out
CUTS = (CUT, 140, 100, 60)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """The packed errors and what they hold: `packed` is base64 of gzip of JSON."""

    packed: str
    kind: str | None  # whose ratings say what is wrong; None where nothing is rated
    errors: int  # wrong answers in the run
    shown: int  # ... and in the page
    cut: int  # characters at which an answer is cut


def read_evidence(source: Tables | RunLike, *, most_bytes: int = MOST_BYTES) -> Evidence:
    """The errors among first answers: those whose severity is above 0, or that are graded wrong where none is rated.

    Whose severities count is the tables' own rule (`severity_of`); an answer that this kind did not rate counts as
    unrated, so kinds never mix.
    """
    tables = source if isinstance(source, Tables) else read_run_tables(source)
    first = tables.rows.filter(pl.col("draw") == 0, pl.col("error").fill_null("") == "")
    by_answer: dict[tuple[str, str], list[_Rating]] = defaultdict(list)
    names = ("condition", "item", "rater", "kind", "severity", "mechanism", "reason")
    for condition, item, *rest in tables.ratings.filter(pl.col("draw") == 0).select(names).iter_rows():
        by_answer[condition, item].append(_Rating(*rest))
    table = _Table(tables)
    for row in first.select("condition", "item", "text", "severity", "correct").iter_rows():
        table.add(*row, ratings=by_answer.get(row[:2], ()))
    table.sort()
    kind = tables.counting or ("grader" if first["correct"].null_count() < len(first) else None)
    for cut in CUTS:
        packed = _pack(table.to_dict(cut=cut, right_too=len(first) <= RIGHT_TOO and cut == CUT))
        if len(packed) <= most_bytes:
            return Evidence(packed=packed, kind=kind, errors=len(table.wrong), shown=len(table.wrong), cut=cut)
    shown = len(table.wrong)
    while len(packed) > most_bytes and shown > 1:
        shown = int(shown * min(0.9, 0.95 * most_bytes / len(packed)))
        packed = _pack(table.to_dict(cut=CUTS[-1], right_too=False, most=shown))
    return Evidence(packed=packed, kind=kind, errors=len(table.wrong), shown=shown, cut=CUTS[-1])


def read_run_tables(run: RunLike, *, item: str | None = None) -> Tables:
    """A run's tables, also where it holds no answers yet; or what it holds of one item."""
    with open_ledger(run, item=item, checked=item is None) as ledger:
        return tables_of(ledger)


def visible(text: str) -> str:
    """Text whose control, invisible and reordering characters show as escapes; line ends and tabs stay."""
    if text.isascii() and text.isprintable():
        return text
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join("\t".join(printable(part) for part in line.split("\t")) for line in lines)


def _shorten(text: str, limit: int) -> str:
    return visible(text if len(text) <= limit else text[: limit - 1] + "…")


class _Rating(NamedTuple):
    rater: str
    kind: str
    severity: float | None
    mechanism: str | None
    reason: str | None


@dataclasses.dataclass(slots=True)
class _Row:
    condition: int
    item: int
    severity: float | None
    answer: str
    ratings: Sequence[_Rating]


class _Table:
    """Columns of the page's table, with every repeated string kept once."""

    def __init__(self, tables: Tables) -> None:
        self.conditions = tables.conditions
        ids = dict.fromkeys((*tables.items, *tables.item_ids))
        self.items = [tables.items.get(i) or Item(id=i, prompt="", reference="") for i in ids]
        self.rated = tables.counting is not None
        self.at_condition = {c: k for k, c in enumerate(self.conditions)}
        self.at_item = {item.id: k for k, item in enumerate(self.items)}
        self.wrong: list[_Row] = []
        self.right: list[_Row] = []
        self.state = [["-"] * len(self.items) for _ in self.conditions]

    def add(
        self,
        condition: str,
        item: str,
        text: str | None,
        severity: float | None,
        correct: float | None,
        *,
        ratings: Sequence[_Rating],
    ) -> None:
        """Place an answer among the wrong, the right or the unrated."""
        c, i = self.at_condition[condition], self.at_item[item]
        wrong = (
            (None if severity is None else severity > 0) if self.rated else (None if correct is None else not correct)
        )
        self.state[c][i] = "?" if wrong is None else "w" if wrong else "r"
        if wrong is not None:
            (self.wrong if wrong else self.right).append(_Row(c, i, severity, text or "", ratings))

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
                flat += [
                    who,
                    r.severity,
                    word(printable(r.mechanism or "", limit=60)),
                    word(_shorten(r.reason or "", cut)),
                ]
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
