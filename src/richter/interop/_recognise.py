"""What a file is, by its content and never by its name: a table of formats and how each is told."""

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from richter.errors import InputError
from richter.interop._deepeval import read_deepeval
from richter.interop._fields import known_fields
from richter.interop._helm import read_helm, read_helm_stats
from richter.interop._inspect import is_inspect_archive, read_inspect_archive, read_inspect_json
from richter.interop._lighteval import read_lighteval
from richter.interop._lm_eval import are_totals, read_lm_eval, read_totals
from richter.interop._openai_evals import read_openai_evals
from richter.interop._promptfoo import HEADING, read_promptfoo, read_promptfoo_lines, read_promptfoo_table
from richter.interop._record import Reading, Sample
from richter.interop._safe import (
    Archive,
    Unreadable,
    as_one_document,
    decode,
    has_several_documents,
    json_lines,
    open_bytes,
    refuse_unsafe,
)
from richter.interop._tracing import PAGES, read_braintrust, read_langfuse, read_langsmith

__all__ = ["ToolTable", "is_log", "tool_table"]

Shape = Literal["archive", "parquet", "object", "array", "lines", "text"]
HEAD = 1 << 16


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A first look at a file: its shape, and the names in it.

    `names` are an archive's members, a table's columns, or the keys of a JSON object or first record with their
    values undecoded.
    """

    path: Path
    shape: Shape
    names: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A foreign format: its name, the shapes it comes in, how it is told from others, and its reader."""

    name: str
    shapes: tuple[Shape, ...]
    matches: Callable[[Look], bool]
    read: Callable[[Path, Reading], Iterator[Sample]]


def _has(*names: str) -> Callable[[Look], bool]:
    return lambda seen: seen.names.keys() >= set(names)


_RECORDS: tuple[Shape, ...] = ("lines", "array", "object")
_TABLE: tuple[Shape, ...] = ("text", "parquet", "lines", "array")


def _is_promptfoo(seen: Look) -> bool:
    try:
        inner = decode(seen.names.get("results", b""), dict[str, msgspec.Raw])
    except Unreadable:
        return False
    return "results" in inner and bool(inner.keys() & {"stats", "prompts", "table", "version"})


def _trace_fields(seen: Look) -> set[str]:
    """The fields of a tracing service's records, also where the file is a page of them as its interface answers."""
    page = next((seen.names[k] for k in PAGES if seen.shape == "object" and k in seen.names), None)
    if page is None or seen.names.keys() & {"input", "inputs"}:
        return set(seen.names)
    try:
        return set(decode(decode(page, list[msgspec.Raw])[0], dict[str, msgspec.Raw]))
    except (Unreadable, IndexError):
        return set()


def _is_langfuse(seen: Look) -> bool:
    names = _trace_fields(seen)
    marks = {"htmlPath", "observations", "traceId", "sessionId", "totalCost", "trace_id", "session_id"}
    return {"id", "input", "output"} <= names and bool(names & marks)


def _is_langsmith(seen: Look) -> bool:
    names = _trace_fields(seen)
    nested = {"inputs", "outputs"} <= names and bool(names & {"run_type", "feedback_stats", "reference_example_id"})
    if nested and not names & {"run_type", "feedback_stats"} and "score" in known_fields(names):
        return False  # a table with a column of grades, which says itself what it is
    asked = any(n.startswith(("inputs.", "input.")) for n in names)
    return nested or (asked and any(n.startswith(("outputs.", "feedback.")) for n in names))


def _is_braintrust(seen: Look) -> bool:
    names = _trace_fields(seen)
    scored = "experiment_id" in names and any(n.partition(".")[0] == "scores" for n in names)
    return {"input", "output"} <= names and (scored or bool(names & {"root_span_id", "span_attributes"}))


def refuse_failures_only(path: Path, reading: Reading) -> Iterator[Sample]:
    """No sample: a validation result lists the rows that failed, and no others."""
    raise InputError(
        f"{path} is a result of Great Expectations: it lists rows that failed, and only counts the others.",
        remedy="Give the table that was validated, with a column that says of every row whether it is right.",
    )


# in order: the first that fits is taken
FORMATS: tuple[Format, ...] = (
    Format(
        name="Inspect log",
        shapes=("archive",),
        matches=lambda seen: is_inspect_archive(seen.names),
        read=read_inspect_archive,
    ),
    Format(name="Inspect log", shapes=("object",), matches=_has("eval", "status", "version"), read=read_inspect_json),
    Format(
        name="lm-evaluation-harness samples", shapes=_RECORDS, matches=_has("doc_id", "doc", "resps"), read=read_lm_eval
    ),
    Format(name="HELM run", shapes=("object",), matches=_has("adapter_spec", "request_states"), read=read_helm),
    Format(
        name="HELM run",
        shapes=("array",),
        matches=lambda seen: (
            seen.names.keys() >= {"instance_id", "stats"} and not seen.path.with_name("scenario_state.json").exists()
        ),
        read=read_helm_stats,
    ),
    Format(
        name="lm-evaluation-harness totals",
        shapes=("object",),
        matches=lambda seen: are_totals(seen.names),
        read=read_totals,
    ),
    Format(name="promptfoo results", shapes=("object",), matches=_is_promptfoo, read=read_promptfoo),
    Format(
        name="promptfoo results",
        shapes=("text",),
        matches=lambda seen: (
            any(map(HEADING.match, seen.names))
            and ("Grader Reason" in seen.names or not known_fields(seen.names) >= {"item", "score"})
        ),
        read=read_promptfoo_table,
    ),
    Format(
        name="promptfoo results",
        shapes=_RECORDS,
        matches=_has("promptIdx", "testIdx", "provider"),
        read=read_promptfoo_lines,
    ),
    Format(
        name="DeepEval test run",
        shapes=("object",),
        matches=lambda seen: "testCases" in seen.names and bool(seen.names.keys() & {"metricsScores", "testPassed"}),
        read=read_deepeval,
    ),
    Format(
        name="lighteval details",
        shapes=("parquet",),
        matches=_has("doc", "model_response", "metric"),
        read=read_lighteval,
    ),
    Format(
        name="openai/evals log",
        shapes=_RECORDS,
        matches=lambda seen: "spec" in seen.names or seen.names.keys() >= {"run_id", "event_id", "sample_id", "type"},
        read=read_openai_evals,
    ),
    Format(
        name="Great Expectations result",
        shapes=("object",),
        matches=_has("success", "expectation_config", "result"),
        read=refuse_failures_only,
    ),
    Format(name="LangSmith runs", shapes=(*_TABLE, "object"), matches=_is_langsmith, read=read_langsmith),
    Format(name="Braintrust experiment", shapes=(*_TABLE, "object"), matches=_is_braintrust, read=read_braintrust),
    Format(name="Langfuse traces", shapes=(*_TABLE, "object"), matches=_is_langfuse, read=read_langfuse),
)


def recognise(path: Path) -> Format | None:
    """The format of a file, or None if it is none of those known."""
    seen = look(path)
    if {"item", "condition"} <= seen.names.keys():  # one of our own tables
        return None
    return next((f for f in FORMATS if seen.shape in f.shapes and f.matches(seen)), None)


def look(path: Path) -> Look:
    """Look into a file as far as it takes to tell what it is."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.", remedy="Check the path.") from error
    refuse_unsafe(path, head)
    if head[:4] == b"PAR1":
        return Look(path=path, shape="parquet", names=_parquet_columns(path))
    if head[:4] == b"PK\x03\x04":
        with Archive(path) as archive:
            if any(name.endswith(".pkl") for name in archive.members):
                refuse_unsafe(path, b"\x80\x02}")
            return Look(path=path, shape="archive", names=dict.fromkeys(archive.members))
    try:
        return _json_look(path) or Look(path=path, shape="text", names=_header(path))
    except Unreadable as error:
        raise InputError(f"{path} cannot be read: {error}.", remedy="Get the file from its source again.") from error


def _parquet_columns(path: Path) -> Mapping[str, Any]:
    import polars as pl

    try:
        with path.open("rb") as file:  # a name is never a pattern
            return dict.fromkeys(pl.read_parquet_schema(file))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise InputError(f"{path} is a damaged Parquet file.", remedy="Get it from its source again.") from error


def _header(path: Path) -> Mapping[str, Any]:
    """The column names of a CSV or TSV file."""
    line = next(json_lines(path), None) or b""
    text = bytes(line[:HEAD]).decode("utf-8", "replace").strip()
    separator = "\t" if text.count("\t") > text.count(",") else ","
    return {name.strip().strip('"'): None for name in text.split(separator)}


def _json_look(path: Path) -> Look | None:
    """A JSON object, array or sequence of lines; None if it is no JSON."""
    first = next(json_lines(path), None)
    if first is None or first.lstrip()[:1] not in (b"{", b"["):
        return None
    if first.lstrip()[:1] == b"{":
        try:
            record = decode(first, dict[str, msgspec.Raw])
        except Unreadable:
            pass  # an object over several lines, or damage; told below
        else:
            lines = json_lines(path)
            next(lines)
            return Look(path=path, shape="object" if next(lines, b"") == b"" else "lines", names=record)
        document = open_bytes(path)
        try:
            return Look(path=path, shape="object", names=decode(document, dict[str, msgspec.Raw]))
        except Unreadable:
            if not has_several_documents(document):
                raise
    rows = decode(as_one_document(open_bytes(path)), list[msgspec.Raw])
    try:
        record = decode(rows[0], dict[str, msgspec.Raw]) if rows else {}
    except Unreadable:
        record = {}
    return Look(path=path, shape="array", names=record)


def is_log(path: Path) -> bool:
    """Whether a file is a log of a known format (and not a table that Richter reads by its columns)."""
    return path.is_file() and recognise(path) is not None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ToolTable:
    """A table of a tool: the columns by which it is told, patterns of each field's columns, grades, steps of layout.

    Of several patterns the first that fits counts; the other columns of the score's patterns are further measures.
    """

    name: str
    has: tuple[str, ...]
    places: Mapping[str, tuple[str, ...]]
    grades: Mapping[str, float | None] = dataclasses.field(default_factory=dict)
    layout: tuple[str, ...] = ()

    def columns(self, names: Sequence[str]) -> dict[str, str] | None:
        """The column of each field; None where one is not there."""
        fits = {field: self._fitting(patterns, names) for field, patterns in self.places.items()}
        return {field: own[0] for field, own in fits.items()} if all(fits.values()) else None

    def measures(self, names: Sequence[str]) -> list[str]:
        """The columns of scores but the first."""
        return self._fitting(self.places.get("score", ()), names)[1:]

    @staticmethod
    def _fitting(patterns: Sequence[str], names: Sequence[str]) -> list[str]:
        return [n for p in patterns for n in (*names, "order") if re.fullmatch(p, n)]


TOOL_TABLES = (
    ToolTable(
        name="Ragas", has=("user_input", "response"),
        places={"item": ("user_input",),
                "score": ("answer_correctness", "factual_correctness.*", "faithfulness", ".*relevancy", ".*recall",
                          ".*precision")},
    ),
    ToolTable(
        name="Inspect samples", has=("sample_id", "eval_id", "model", "epoch"),
        places={"item": ("id",), "condition": ("model",), "score": ("score_.*",), "draw": ("epoch",)},
        grades={"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0},
    ),
    ToolTable(name="MLflow", has=("inputs", "outputs"), places={"item": ("inputs",), "score": (".*/score",)}),
    ToolTable(
        name="Pydantic Evals", has=("cases.name", "cases.inputs"),
        places={"item": (r"cases\.name",), "score": (r"cases\.assertions\..*\.value", r"cases\.scores\..*\.value")},
    ),
    ToolTable(
        name="EvalPlus", has=("eval.task_id", "eval.base_status", "eval.plus_status"),
        places={"item": (r"eval\.task_id",), "score": (r"eval\.base_status", r"eval\.plus_status"),
                "draw": ("order",)},
    ),
    ToolTable(
        name="MT-Bench", has=("question_id", "model", "judge", "judgment", "turn"),
        places={"item": ("question_id",), "condition": ("model",), "score": ("score",), "draw": ("turn",)},
    ),
    ToolTable(
        name="AlpacaEval", has=("instruction", "generator_1", "generator_2", "preference"),
        places={"item": ("instruction",)}, layout=("preferences",),
    ),
    ToolTable(
        name="OpenCompass", has=("details.origin_prediction", "details.correct"),
        places={"item": (r"details\.prompt(\.prompt)?",), "score": (r"details\.correct",)},
    ),
    ToolTable(
        name="Amazon Bedrock", has=("automatedEvaluationResult.scores.result", "inputRecord.prompt"),
        places={"item": (r"inputRecord\.prompt",), "condition": (r"modelResponses\.modelIdentifier",),
                "score": (r"automatedEvaluationResult\.scores\.result",)},
    ),
)  # fmt: skip


def tool_table(names: Sequence[str]) -> ToolTable | None:
    """The tool whose table has these columns; None for any other table."""
    fits = (tool for tool in TOOL_TABLES if {*tool.has} <= {*names})
    return next((tool for tool in fits if tool.columns(names) is not None), None)
