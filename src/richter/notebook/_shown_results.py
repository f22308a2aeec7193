"""Results as Python users look at them: claims by pair and measure, frames, figures, pages, JSON."""

import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, SupportsIndex, overload

from richter.audit import (
    CalibrationReport,
    CompareReport,
    GapSize,
    GateReport,
    PilotSize,
    SeverityReport,
    Verification,
    verify_document,
)
from richter.errors import InputError
from richter.notebook._plots import Plot, PlotKind, check_kind, plot_of
from richter.notebook._python_words import translate_result
from richter.records import Claim, Verdict, counted, picture, printable
from richter.records._plain import as_pandas
from richter.store import write_file
from richter.words import answer, describe_gap_size, describe_pilot_size

if TYPE_CHECKING:
    from richter.notebook._opened_data import Run

__all__ = ["CalibrationResult", "Claims", "Comparison", "GateResult", "SeverityResult", "SizeResult"]

MAX_PRINTED = 12  # claims that a summary lists


class Claims(tuple[Claim, ...]):
    """Claims in their order, looked up by place, by measure (`claims["accuracy"]`) or by pair (`claims["a", "b"]`)."""

    __slots__ = ()

    @overload
    def __getitem__(self, key: SupportsIndex | tuple[str, str]) -> Claim: ...
    @overload
    def __getitem__(self, key: slice | str) -> "Claims": ...
    def __getitem__(self, key: SupportsIndex | slice | str | tuple[str, str]) -> "Claim | Claims":
        """One claim by its place or its pair, several by a slice or their measure."""
        if isinstance(key, slice):
            return Claims(tuple.__getitem__(self, key))
        if isinstance(key, str):
            own = [c for c in self if key in (c.measure, c.measure.partition(":")[0])]
            if not own:
                raise KeyError(f"no claim is on {key!r}; there are {', '.join(dict.fromkeys(c.measure for c in self))}")
            return Claims(own)
        return self._of_pair(*key) if isinstance(key, tuple) else tuple.__getitem__(self, key)

    def _of_pair(self, first: str, second: str) -> Claim:
        """The first claim on this pair, which is that of the main measure."""
        pairs = {c.conditions: c for c in reversed(self)}
        if (first, second) in pairs:
            return pairs[first, second]
        if (second, first) in pairs:
            raise KeyError(f"the claim is on ({second!r}, {first!r}): the second minus the first")
        raise KeyError(f"no claim is on ({first!r}, {second!r}); there are {', '.join(map(repr, reversed(pairs)))}")

    def __repr__(self) -> str:
        return f"<{counted(len(self), 'claim')}>"


def claims_frame(claims: Sequence[Claim], *, pandas: bool = False) -> Any:
    """One row a claim, as a polars frame or, with `pandas`, one of pandas."""
    import polars as pl

    numbers, counts = ("estimate", "low", "high", "level", "p", "p_adjusted"), ("n", "units")
    texts = ("measure", "first", "second", "subset", "verdict", "basis", "method")
    columns = ("measure", "first", "second", "subset", "estimate", "low", "high", "level", "p", "p_adjusted",
               "verdict", "n", "units", "basis", "method")  # fmt: skip
    kinds = dict.fromkeys(numbers, pl.Float64) | dict.fromkeys(counts, pl.Int64) | dict.fromkeys(texts, pl.String)
    frame = pl.DataFrame([_row(c) for c in claims], schema={name: kinds[name] for name in columns}, orient="row")
    return as_pandas(frame) if pandas else frame


def _row(claim: Claim) -> dict[str, Any]:
    measure, _, subset = claim.measure.partition(":")
    span = claim.interval or claim.plain_interval
    first, second = (*claim.conditions, None, None)[:2]
    return {
        "measure": measure, "first": first, "second": second, "subset": subset or None, "estimate": claim.estimate,
        "low": span and span.low, "high": span and span.high, "level": span and span.level, "p": claim.p,
        "p_adjusted": claim.p_adjusted, "verdict": claim.verdict.value, "n": claim.n, "units": claim.units,
        "basis": claim.basis, "method": span and span.method,
    }  # fmt: skip


class _Looks:
    """How a result with claims is looked at; `claims`, `notes`, `understood` and `data` are its own."""

    __slots__ = ()

    if TYPE_CHECKING:
        claims: Any
        notes: tuple[str, ...]
        understood: str
        data: "Run | None"

        def to_dict(self) -> dict[str, Any]: ...

    def headline(self) -> str:
        """The answer in one sentence."""
        raise NotImplementedError

    def __getitem__(self, key: Any) -> Any:
        return self.claims[key]

    def __iter__(self) -> Iterator[Claim]:
        return iter(self.claims)

    def __len__(self) -> int:
        return len(self.claims)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {printable(self.headline(), limit=100)}>"

    def __str__(self) -> str:
        more = f"{counted(len(self.claims), 'claim')}; .summary() has all, .to_frame() the numbers."
        return "\n".join(printable(line, limit=300) for line in (self.headline(), self.understood, more) if line)

    def summary(self) -> str:
        """All that is to be said, as text: the answer, the claims, how the data were read, and notes."""
        rest = len(self.claims) - MAX_PRINTED
        lines = [self.headline(), *(f"  {c.sentence}" for c in self.claims[:MAX_PRINTED])]
        lines += [f"  and {rest} more in .to_frame()"] if rest > 0 else []
        lines += [f"  {line}" for line in (self.understood, *self.notes) if line]
        return "\n".join(printable(line) for line in dict.fromkeys(lines))

    def to_frame(self, *, pandas: bool = False) -> Any:
        """One row a claim: measure, first, second, subset, estimate, low, high, level, p, p_adjusted, verdict, n,
        units, basis, method. A polars frame, or with `pandas` one of pandas.

        The estimate is the second minus the first. Where `method` says "ratio of totals" (money, tokens, time), it is
        the second's total over the first's, minus 1: -0.2 is 20% less.
        """
        return claims_frame(self.claims, pandas=pandas)

    def to_json(self, path: str | Path | None = None) -> str:
        """The document as JSON text, as the command line writes it; also written to `path` where one is given."""
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False) + "\n"
        if path is not None:
            write_file(Path(path), text, into_new=True, remedy="Choose a folder that you may write to.")
        return text


def _open_data(data: "Run | None") -> "Run":
    if data is None:
        raise InputError("This result does not know its data.", remedy="Make it with richter.compare.")
    return data


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Comparison(_Looks, CompareReport):
    """What `richter.compare` finds: claims with their verdicts, and what stands beside them."""

    unwritten: ClassVar = ("data",)

    claims: Claims
    data: "Run | None" = None

    def headline(self) -> str:
        """The answer in one sentence."""
        return answer(self.of(self.primary), conditions=list(self.conditions))

    def plot(self, kind: PlotKind = "forest") -> Plot:
        """A figure: `forest` (differences), `tiers`, `fixed` (and broken questions), `reliability`, `severity`."""
        check_kind(kind)
        if kind in ("forest", "tiers", "fixed"):
            return plot_of({"sections": {"floors": {"comparison": self.to_dict()}}}, kind)
        return plot_of(_open_data(self.data).measure().to_dict(), kind)

    def report(self, path: str | Path) -> Path:
        """Write the page of the data that were compared, and return its path."""
        return _open_data(self.data).report(path)

    def verify(self) -> Verification:
        """Make the document again from the data, and compare."""
        data = _open_data(self.data)
        return verify_document(self.to_dict(), data.sources, options=data.options)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class GateResult(_Looks, GateReport):
    """What `richter.gate` finds: one claim a requirement, and whether all are met."""

    unwritten: ClassVar = ("data",)

    claims: Claims
    data: "Run | None" = None

    def headline(self) -> str:
        """The outcome in one sentence."""
        return self.sentence

    @property
    def passed(self) -> bool:
        """Whether every requirement is shown to be met."""
        return self.outcome is Verdict.VERIFIED

    def plot(self) -> Plot:
        """The differences that requirements are about, with their intervals."""
        pairs = [{"conditions": list(c.conditions)} for c in self.claims if len(c.conditions) == 2]
        comparison = {"claims": [c.to_dict() for c in self.claims], "pairs": pairs}
        return plot_of({"sections": {"floors": {"comparison": comparison}}}, "forest")


class _OfData:
    """How a result on single conditions is looked at: as text, as a figure, as a page of its data."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def claims(self) -> tuple[Claim, ...]: ...

        notes: tuple[str, ...]
        understood: str
        data: "Run | None"

    def __repr__(self) -> str:
        first = next((c.sentence for c in self.claims), "no claim")
        return f"<{type(self).__name__}: {printable(first, limit=100)}>"

    def summary(self) -> str:
        """The claims, how the data were read, and notes, as text."""
        lines = (*(c.sentence for c in self.claims), self.understood, *self.notes)
        return "\n".join(printable(line) for line in dict.fromkeys(lines) if line)

    def report(self, path: str | Path) -> Path:
        """Write the page of the data, and return its path."""
        return _open_data(self.data).report(path)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CalibrationResult(_OfData, CalibrationReport):
    """What `richter.open(..).calibration()` finds: of each condition whether its confidence fits."""

    unwritten: ClassVar = ("asked", "data")

    data: "Run | None" = None

    def plot(self) -> Plot:
        """How often answers of each confidence are right: the reliability diagram."""
        return plot_of(_open_data(self.data).measure().to_dict(), "reliability")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SeverityResult(_OfData, SeverityReport):
    """What `richter.open(..).severity()` finds: how bad the errors of each condition are."""

    unwritten: ClassVar = ("study", "data")

    data: "Run | None" = None

    def plot(self) -> Plot:
        """How severe the errors of each condition are."""
        return plot_of(_open_data(self.data).measure().to_dict(), "severity")


@dataclasses.dataclass(frozen=True, slots=True)
class SizeResult:
    """What `richter.size` finds: the questions (`items`) that settle a difference, and the `details`."""

    details: GapSize | PilotSize = dataclasses.field(repr=False)

    @property
    def items(self) -> int:
        """The number of questions."""
        return self.details.items

    def summary(self) -> str:
        """The answer and what it rests on, as text."""
        details = self.details
        lines = describe_pilot_size(details) if isinstance(details, PilotSize) else describe_gap_size(details)
        return "\n".join(translate_result(printable(line)) for line in lines)

    def __str__(self) -> str:
        return "\n".join(self.summary().splitlines()[:3])

    def __repr__(self) -> str:
        return f"<SizeResult: {self.items:,} questions>"

    def _repr_html_(self) -> str:
        return picture(self.summary().splitlines(), [])

    def to_dict(self) -> dict[str, Any]:
        """The document that `richter size --json` writes."""
        return self.details.to_dict()
