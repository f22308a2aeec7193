"""A file or frame of rows as a frame: CSV and its kin in any usual encoding, JSON, Parquet, Excel; fields by name."""

import csv
import io
import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeGuard, runtime_checkable

import msgspec
import numpy as np
import polars as pl

from richter.errors import InputError, MissingPart
from richter.interop._safe import Archive, Unreadable, decode, json_lines, open_bytes, refuse_unsafe
from richter.store import DatabaseRun, Place, RunLike, is_database, run_place

__all__ = [
    "FIELDS",
    "LOWER",
    "Frame",
    "Source",
    "as_frame",
    "is_frame",
    "known_fields",
    "leaf_name",
    "named_source",
    "plain_name",
    "read_frame",
    "read_sheets",
    "source_name",
]

# scores of which less is better
LOWER = ("wer", "cer", "ter", "toxicity", "edit_distance", "rmse", "mae")
# a field of ours and what others call it, the likeliest first; names are compared in lower case with underscores
FIELDS: dict[str, tuple[str, ...]] = {
    "item": ("item", "item_id", "datasource_item_id", "dataset_item_id", "reference_example_id", "id",
             "question_id", "doc_id", "qid", "sample_id", "example_id", "task_id", "case_id",
             "test_id", "prompt_id", "instance_id", "problem_id", "query_id", "uid", "idx", "index", "case", "row_id",
             "global_seg_id", "seg_id", "segment_id", "frage_id", "aufgabe", "nr", "identifiant", "identificador",
             "identificativo", "elemento", "numero", "itemid", "item_no", "question_no", "question_number",
             "question_nr", "n_question", "numero_question", "num_pregunta", "aufgaben_nr", "aufgabennummer",
             "frage_nr", "ticket_id", "題号", "题号", "编号", "题目编号", "問題番号", "設問番号", "문항"),
    "condition": ("condition", "model", "model_name", "model_id", "system", "variant", "arm", "llm", "provider",
                  "engine", "candidate", "agent", "setup", "config", "experiment", "version", "prompt_name",
                  "prompt_version", "modell", "modele", "modelo", "modello", "variante", "systeme", "sistema",
                  "sprachmodell", "sys", "run_name", "experiment_name", "モデル", "模型", "系统", "모델", "модель"),
    "score": ("correct", "is_correct", "score", "grade", "passed", "acc", "exact_match", "correctness", "pass",
              "success", "em", "accuracy", "rating", "result", "outcome", "f1", "reward", "points", "mark", "value",
              "richtig", "korrekt", "punktzahl", "punkte", "bewertung", "juste", "reussi", "correcto", "correcta",
              "acierto", "puntuacion", "puntaje", "corretto", "giusto", "punteggio", "pontuacao", "correto", "goed",
              "answer_correctness", "factual_correctness", "faithfulness", "answer_relevancy", "context_precision",
              "context_recall", "mqm_avg_score", "mqm_score", "mqm",
              "正誤", "正误", "是否正确", "正确", "得分", "分数", "スコア", "得点", "채점",
              *LOWER),
    "severity": ("severity",),
    "confidence": ("confidence", "prob", "probability", "certainty", "p_correct", "p"),
    "draw": ("draw", "epoch", "trial", "repeat", "repetition", "attempt", "replicate", "sample", "k", "iteration"),
    "run": ("run", "run_id", "seed"),
    "group": ("group", "passage", "cluster", "passage_id", "cluster_id", "document", "group_id", "template"),
    "domain": ("domain", "subject", "category", "topic", "subtask", "task", "dataset", "benchmark",
               "分野", "类别", "科目"),
    "tier": ("tier", "difficulty", "level"),
    "weight": ("weight", "w"),
    "text": ("answer", "response", "output", "prediction", "completion", "generation", "model_answer", "model_output",
             "pred", "text", "outputs", "generated_answer", "generated_text", "model_response", "samples",
             "generations", "responses", "completions", "predictions", "generated_answers", "antwort", "reponse",
             "respuesta", "risposta", "resposta", "回答", "答え"),
    "reference": ("reference", "target", "gold", "gold_answer", "expected", "expected_output", "ground_truth", "ideal",
                  "reference_answer", "expected_answer", "correct_answer", "right_answer", "answer_key", "solution",
                  "references", "gold_answers", "label", "truth"),
    "prompt": ("prompt", "question", "input", "query", "user_input", "inputs", "frage", "pregunta", "domanda",
               "pergunta", "vraag", "enonce", "题目", "問題文", "質問"),
    "error": ("error", "error_message", "exception", "failure"),
    "refused": ("refused", "refusal", "is_refusal"),
    "rater": ("rater", "annotator", "judge", "reviewer", "rated_by", "grader", "labeler"),
    "kind": ("kind", "rater_kind"),
    "mechanism": ("mechanism",),
    "reason": ("reason", "rationale"),
    "inclusion": ("inclusion", "inclusion_probability"),
    "layer": ("stratum", "layer"),
    "tokens_in": ("tokens_in", "prompt_tokens", "input_tokens"),
    "tokens_out": ("tokens_out", "completion_tokens", "output_tokens", "length"),
    "money_usd": ("money_usd", "cost", "cost_usd", "total_cost", "price"),
    "latency_s": ("latency_s", "latency", "duration", "duration_s", "time_s", "seconds"),
    "finish": ("finish", "finish_reason", "stop_reason"),
    "clustered_by": ("clustered_by",),
    "human_cluster": ("human_cluster", "corrected_cluster", "cluster_corrected"),
    "token_probability": ("token_probability",),
    "human": ("human", "human_correct", "human_grade"),
}  # fmt: skip
_FIELD_OF = {name: field for field, names in FIELDS.items() for name in names}


def plain_name(column: str) -> str:
    """`Question ID`, `questionId` and `question-id` are one name, `Modèle` and `modele` too."""
    apart = unicodedata.normalize("NFD", column.strip())
    bare = unicodedata.normalize("NFC", re.sub("[\u0300-\u036f]", "", apart))  # accents, and no part of a letter
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", re.sub(r"[?#°º*:!]", "", bare).strip())
    return re.sub(r"[\s\-./]+", "_", spaced).lower().strip("_")


def leaf_name(column: str) -> str:
    """The last part of a name that others nest: `metrics.acc` and `exact_match/score` end in `acc` and `score`."""
    return plain_name(re.split(r"[./]", column.strip().rstrip("./"))[-1])


def known_fields(columns: Iterable[str]) -> set[str]:
    """The fields that these columns are known as."""
    return {field for c in columns for n in (plain_name(c), leaf_name(c)) if (field := _FIELD_OF.get(n)) is not None}


@runtime_checkable
class Frame(Protocol):
    """Whatever has named columns that turn into arrays, as a pandas frame has."""

    @property
    def columns(self) -> Any:
        """The names of the columns."""
        ...

    def __getitem__(self, name: Any) -> Any: ...


Source = str | Path | DatabaseRun | pl.DataFrame | Frame


def is_frame(source: object) -> TypeGuard[pl.DataFrame | Frame]:
    """Whether this is a frame in memory and not the name of a file."""
    return isinstance(source, Frame) and not isinstance(source, str | Path | DatabaseRun)


def source_name(source: Source) -> str:
    """What messages call it."""
    return str(run_place(source)) if isinstance(source, str | Path | DatabaseRun) else "The frame"  # no password in it


class NamedSource(NamedTuple):
    """The name that was given to a source, and where it is."""

    name: str | None
    place: Place


def named_source(source: RunLike) -> NamedSource:
    """`NAME=PATH` in its parts; a path that exists, or a database's address, is one whatever it holds."""
    name, equals, path = str(source).partition("=")
    if equals and name and not is_database(source) and not Path(str(source)).exists():
        return NamedSource(name, run_place(path))
    return NamedSource(None, run_place(source))


def as_frame(source: pl.DataFrame | Frame) -> pl.DataFrame:
    """A polars frame of the same columns; NaN, None and NA in columns of text become null."""
    if isinstance(source, pl.DataFrame):
        return source
    names = [str(name) for name in source.columns]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"The frame has two columns named {twice!r}.", remedy="Rename one.")
    return pl.DataFrame([_series(str(name), source[name]) for name in source.columns])


def _series(name: str, column: Any) -> pl.Series:
    values = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
    if values.dtype.kind in "biuf":
        return pl.Series(name, values)
    cells = [None if _missing(value) else value for value in values.tolist()]
    return pl.Series(name, cells, strict=False)


def _missing(value: object) -> bool:
    """None, NaN, and pandas' NA, whose truth is undefined: it is unequal to itself, or will not say."""
    if value is None:
        return True
    try:
        return bool(value != value)
    except (TypeError, ValueError):
        return True


SIZE_LIMIT = 3 << 30  # bytes of a file of rows
CELLS_FROM = 5_000_000  # cells that any table may have
CELLS_RATIO = 50  # ... and this many for each byte of a Parquet file, whose values may be packed
SPARSE_RATIO = 1  # ... of JSON, where a row may leave out any column
COLUMNS_LIMIT = 10_000
HEADER_ROWS = 20  # within which a header may stand
SHORT_LINE = 1 << 16  # bytes of a line of JSON that polars may read
_RECORDS = ("cases", "results", "data", "rows", "records", "items", "samples", "answers", "scores", "examples")
_ROW = msgspec.json.Decoder(dict[str, msgspec.Raw])
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # .xls, and .xlsx with a password


def read_frame(source: Source, *, text: bool = False) -> pl.DataFrame:
    """Read a file of rows as it is; every fault is named with file and, where known, line.

    With `text` the columns of a CSV file stay text, so that an item `007` keeps its name. Of a workbook the first sheet
    with rows is taken. A frame in memory, polars or pandas, is taken as it is.
    """
    if is_frame(source):
        return as_frame(source)
    if is_database(source):
        raise InputError(
            f"{run_place(source)} is a run, not a table.",
            remedy="Export it (richter export), or score its answers (richter tail score).",
        )
    return next(iter(read_sheets(Path(str(source)), text=text).values()))


def read_sheets(path: Path, *, text: bool = False) -> dict[str, pl.DataFrame]:
    """The same, with every sheet of a workbook by its name; any other file is one sheet without a name."""
    if not path.exists():
        raise InputError(f"{path}: no such file.", remedy="Check the path.")
    if path.is_dir():
        raise InputError(f"{path} is a folder.", remedy="Name a CSV, TSV, Parquet, JSON or Excel file in it.")
    try:
        size = path.stat().st_size
        if size > SIZE_LIMIT:
            raise InputError(
                f"{path} has {size / 1e9:.1f} GB; a table of more than {SIZE_LIMIT / 1e9:.1f} GB is not read.",
                remedy="Keep the columns and rows that are needed, or write it as Parquet.",
            )
        with path.open("rb") as file:
            head = file.read(1 << 16)
        refuse_unsafe(path, head)
        if not head.strip():
            raise InputError(f"{path} is empty.", remedy="It needs a header and at least one row.")
        if head.startswith(b"version https://git-lfs"):
            raise InputError(f"{path} is a pointer of Git LFS, not the file itself.", remedy="Fetch it: git lfs pull")
        if head[:4] == b"PAR1":
            return {"": _parquet(path)}
        if head[:4] == b"PK\x03\x04" or head[:8] == _OLD_OFFICE:
            return _workbook(path)
        start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        if start[:1] in (b"{", b"[") or (
            head[:2] in (b"\xff\xfe", b"\xfe\xff") and head[2:4].strip(b"\0") in (b"{", b"[")
        ):
            return {"": _json(path)}
        if (
            b"\0" in head[4:]
            and head[:2] not in (b"\xff\xfe", b"\xfe\xff")
            and head[1:2] != b"\0"
            and head[:1] != b"\0"
        ):
            raise InputError(f"{path} is not text, so it is not a table.", remedy="Give CSV, JSON, Parquet or Excel.")
        return {"": _separated(path, head, text=text)}
    except (
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
        UnicodeError,
        OSError,
        ValueError,
        Unreadable,
    ) as error:
        reason = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
        raise InputError(
            f"{path} cannot be read as a table: {reason}",
            remedy="Check that every row has the header's columns, or save it again as CSV in UTF-8.",
        ) from error


def _parquet(path: Path) -> pl.DataFrame:
    rows = pl.scan_parquet(path).select(pl.len()).collect().item()
    _check_cells(path, rows, len(pl.read_parquet_schema(path)), CELLS_RATIO)
    return pl.read_parquet(path)


def _check_cells(path: Path, rows: int, columns: int, ratio: int) -> None:
    """Refuse a table that is far larger than its file."""
    if columns > COLUMNS_LIMIT or rows * columns > max(CELLS_FROM, ratio * path.stat().st_size):
        raise InputError(
            f"{path} has {rows:,} rows and {columns:,} columns, far more than a file of its size should.",
            remedy="Select the columns and rows that are needed.",
        )


def _workbook(path: Path) -> dict[str, pl.DataFrame]:
    try:
        import fastexcel
    except ImportError as error:
        raise MissingPart(
            f"{path} is a workbook, which needs fastexcel.", remedy="pip install 'richter[excel]', or save it as CSV."
        ) from error
    with path.open("rb") as file:
        packed = file.read(4) == b"PK\x03\x04"
    if packed:
        with Archive(path) as archive:
            if not any(name.startswith("xl/") for name in archive.members) and "content.xml" not in archive.members:
                raise InputError(f"{path} is an archive, not a table.", remedy="Unpack it and name the files in it.")
            for name in archive.members:  # within the limits of what an archive may unpack to
                if name.endswith((".xml", ".bin")):
                    archive.read(name)
    try:
        book = fastexcel.read_excel(path)
        sheets = {name: _sheet(book, name) for name in book.sheet_names}
    except fastexcel.FastExcelError as error:
        locked = not packed or "password" in str(error).lower() or "encrypt" in str(error).lower()
        why = "it is protected by a password, or damaged" if locked else "it is damaged or cut off"
        raise InputError(
            f"{path} cannot be opened as a workbook: {why}.",
            remedy=f"Open it{', remove the password' if locked else ''} and save it as .xlsx or CSV.",
        ) from error
    full = {name: sheet for name, sheet in sheets.items() if not sheet.is_empty()}
    if not full:
        raise InputError(f"{path} has no sheet with rows.", remedy="It needs a header and at least one row.")
    return full


def _sheet(book: Any, name: str) -> pl.DataFrame:
    """A sheet, its header being the first row whose names are known where the top one is a title."""
    sheet: pl.DataFrame = book.load_sheet(name).to_polars()
    if len(known_fields(sheet.columns)) > 1:
        return sheet
    top = book.load_sheet(name, header_row=None, n_rows=HEADER_ROWS).to_polars()
    found = _header_row([[c for c in row if isinstance(c, str)] for row in top.iter_rows()])
    return book.load_sheet(name, header_row=found).to_polars() if found else sheet


def _header_row(rows: list[list[str]]) -> int:
    """Where the header stands: the first row with two known names, or below a title the first full row with one."""
    known = [len(known_fields(row)) for row in rows]
    filled = [sum(bool(cell.strip()) for cell in row) for row in rows]
    sure = next((k for k, n in enumerate(known) if n > 1), None)
    if sure is not None or not rows or filled[0] == max(filled):
        return sure or 0
    return next((k for k, n in enumerate(known) if n and filled[k] == max(filled)), 0)


def _json(path: Path) -> pl.DataFrame:
    """Lines of JSON, an array of objects, an object of columns, or one that holds such an array."""
    first = next(json_lines(path), b"") or b""
    if first.lstrip()[:1] == b"{" and _whole(first):
        keys: set[str] = set()
        count = longest = 0
        for line in json_lines(path):
            longest = max(longest, len(line or b""))
            keys.update(itertools.islice(_keys(line), COLUMNS_LIMIT + 1))
            count += 1
            if len(keys) > COLUMNS_LIMIT:
                break
        _check_cells(path, count, len(keys), SPARSE_RATIO)
        try:
            with path.open("rb") as file:
                start = file.read(3)
            # polars builds all that is nested in a line, at forty times its size
            if start != b"\xef\xbb\xbf" and count > 1 and longest <= SHORT_LINE:
                frame = pl.read_ndjson(path, infer_schema_length=None)
                if not any(kind.is_nested() for kind in frame.dtypes):
                    return frame
        except pl.exceptions.PolarsError:
            pass  # NaN, a broken line: read one by one below
        lines = (_line(line, n) for n, line in enumerate(json_lines(path), 1) if line is not None)
        rows: Any = [flat for row in lines for flat in _rows(row)] if count > 1 else list(lines)
        if len(rows) == 1:
            rows = rows[0]
    else:
        rows = decode(open_bytes(path))
    if isinstance(rows, dict):
        rows = _by_key(_split(rows))
    if isinstance(rows, dict):
        inner = next((rows[k] for k in _RECORDS if isinstance(rows.get(k), list)), None)
        if inner is None and rows and all(isinstance(v, list) for v in rows.values()):
            return pl.DataFrame(rows, strict=False)
        rows = [rows] if inner is None else inner
    if not rows or not all(isinstance(row, dict) for row in rows):
        raise InputError(f"{path} holds no objects of JSON.", remedy='Each row is an object: {"item": ..., ...}')
    rows = [flat for row in rows for flat in _rows(row)]
    columns = dict.fromkeys(key for row in rows for key in row)
    _check_cells(path, len(rows), len(columns), SPARSE_RATIO)
    return pl.DataFrame([pl.Series(c, [row.get(c) for row in rows], strict=False) for c in columns])


def _line(line: bytes, number: int) -> Any:
    try:
        return decode(line)
    except Unreadable as error:
        raise Unreadable(f"line {number}: {error}.") from error


def _split(document: dict[str, Any]) -> Any:
    """Rows of a table that is written as `columns` and `data`, as pandas and MLflow do; anything else as it is."""
    columns, data = document.get("columns"), document.get("data")
    if isinstance(columns, list) and isinstance(data, list) and all(isinstance(row, list) for row in data):
        return [dict(zip(map(str, columns), row, strict=False)) for row in data]
    return document


def _by_key(document: Any) -> Any:
    """Rows of an object of objects: columns by row (as pandas writes), items by condition, or records by item."""
    if isinstance(document, dict) and document.keys() >= {"submitted_ids", "resolved_ids"}:  # a report of SWE-bench
        resolved = set(document["resolved_ids"])
        return [{"item": name, "correct": name in resolved} for name in document["submitted_ids"]]
    if not isinstance(document, dict) or len(document) < 2 or not all(isinstance(v, dict) for v in document.values()):
        return document
    inner = list(document.values())
    plain = all(not isinstance(cell, dict | list) for own in inner for cell in own.values())
    if plain and len(known_fields(document)) > 1:
        rows = dict.fromkeys(key for own in inner for key in own)
        return [{column: own.get(row) for column, own in document.items()} for row in rows]
    keys = dict.fromkeys(key for own in inner for key in own)
    if plain and not known_fields(keys):
        names = ("item", "condition") if len(document) > len(keys) else ("condition", "item")  # items are more
        return [
            {names[0]: outer, names[1]: key, "score": value}
            for outer, own in document.items() for key, value in own.items()
        ]  # fmt: skip
    if all(known_fields(own) for own in inner):
        return [{"item": item, **own} for item, own in document.items()]
    return document


def _flat(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A record with its inner objects as `outer.inner`; a list of objects that hold grades is a row each."""
    flat: dict[str, Any] = {}
    listed: dict[str, list[dict[str, Any]]] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{k}": v for inner in itertools.islice(_flat(value), 1) for k, v in inner.items()}
        elif isinstance(value, list) and value and all(isinstance(v, dict) for v in value):
            listed[name] = value
        else:
            flat[name] = value
        if isinstance(value, dict) and len(value) > 1 and all(_is_graded(v) for v in value.values()):
            flat = {k: v for k, v in flat.items() if not k.startswith(f"{name}.")}
            listed[name] = [{"condition": key, **inner} for key, inner in value.items()]  # one entry a condition
    graded = next((n for n, v in listed.items() if known_fields(v[0]) & {"score", "severity"}), None)
    flat |= {name: value for name, value in listed.items() if name != graded}
    if graded is None or "score" in known_fields(flat):
        yield flat if graded is None else {**flat, graded: listed[graded]}
        return
    for entry in listed[graded]:
        yield flat | {f"{graded}.{k}": v for inner in itertools.islice(_flat(entry), 1) for k, v in inner.items()}


def _is_graded(value: Any) -> bool:
    return isinstance(value, dict) and "score" in known_fields(value) and "condition" not in known_fields(value)


def _rows(row: Any) -> Iterator[Any]:
    """The flat rows of a record, with what is still nested as text, so that no more than one record's is ever built."""
    if not isinstance(row, dict):
        yield row
        return
    try:
        for flat in _flat(row):
            yield {name: _cell(value) for name, value in flat.items()}
    except RecursionError as error:
        raise Unreadable("JSON nested too deeply") from error


def _cell(value: Any) -> Any:
    return (
        value if value is None or isinstance(value, str | bool | int | float) else msgspec.json.encode(value).decode()
    )


def _whole(line: bytes) -> bool:
    try:
        decode(line, dict[str, msgspec.Raw])
    except Unreadable:
        return False
    return True


def _keys(line: bytes | None) -> Iterable[str]:
    try:
        return _ROW.decode(line or b"{}")
    except (ValueError, RecursionError):  # said where the row is read
        return ()


def _separated(path: Path, head: bytes, *, text: bool) -> pl.DataFrame:
    source: Path | bytes = path
    encoding = _encoding(path, head)
    if encoding != "utf-8":
        source = path.read_bytes().decode(encoding).encode()
        head = source[: 1 << 16]
    if (drawn := _drawn_table(head)) or (drawn := _two_headers(head)):
        source = drawn(path.read_bytes() if isinstance(source, Path) else source)
        head = source[: 1 << 16]
    lines = head.decode("utf-8", "ignore").removeprefix("\ufeff").splitlines()
    skip = sum(1 for _ in itertools.takewhile(lambda line: line.startswith(("#", "sep=")) or not line.strip(), lines))
    top = lines[skip : skip + HEADER_ROWS]
    skip += _header_row([next(csv.reader([line], delimiter=_separator(top[k:])), []) for k, line in enumerate(top)])
    separator = _separator(lines[skip : skip + 20])
    if any(line.count(separator) >= COLUMNS_LIMIT for line in lines[skip : skip + 20]):
        _check_cells(path, 1, lines[skip].count(separator) + COLUMNS_LIMIT, 1)
    options: dict[str, Any] = {"separator": separator, "skip_lines": skip}
    try:
        if text:
            return pl.read_csv(source, infer_schema=False, **options)
        try:
            return pl.read_csv(source, **options)  # a look at the first rows tells most columns
        except pl.exceptions.ComputeError:
            return pl.read_csv(source, infer_schema_length=None, **options)
    except pl.exceptions.PolarsError as error:
        said = _uneven(source, separator, skip)
        if said is None:
            raise
        raise InputError(f"{path}: {said}.", remedy="Quote cells that hold the separator, or fix that line.") from error


def _drawn_table(head: bytes) -> Callable[[bytes], bytes] | None:
    """What makes CSV of a table that is drawn with bars, as psql prints it and Markdown has it; None for any other."""
    lines = head.decode("utf-8", "ignore").removeprefix("\ufeff").splitlines()
    if len(lines) < 3 or "|" not in lines[0] or not re.fullmatch(r"[\s|+:-]*-[\s|+:-]*", lines[1]):
        return None

    def plain(source: bytes) -> bytes:
        rows = [line for line in source.decode().splitlines() if "|" in line]
        out = io.StringIO()
        csv.writer(out).writerows(
            [cell.strip() for cell in row.strip().removeprefix("|").removesuffix("|").split("|")]
            for row in rows if not re.fullmatch(r"[\s|+:-]*-[\s|+:-]*", row)
        )  # fmt: skip
        return out.getvalue().encode()

    return plain


def _two_headers(head: bytes) -> Callable[[bytes], bytes] | None:
    """What joins the header rows of a pivoted pandas frame: the values' names, the conditions', the index's name."""
    try:
        top = list(itertools.islice(csv.reader(head.decode("utf-8", "ignore").removeprefix("\ufeff").splitlines()), 3))
    except csv.Error:
        return None
    if len(top) < 3 or len({len(row) for row in top}) > 1 or len(top[0]) < 3 or top[0][0] or any(top[2][1:]):
        return None
    scores = [k for k, name in enumerate(top[0]) if k and "score" in known_fields([name])]
    if not scores or not top[2][0]:
        return None
    header = [top[2][0], *(top[1][k] for k in scores)]

    def plain(source: bytes) -> bytes:
        out = io.StringIO()
        rows = itertools.islice(csv.reader(io.StringIO(source.decode("utf-8-sig"))), 3, None)
        csv.writer(out).writerows([header, *([row[0], *(row[k] for k in scores)] for row in rows if row)])
        return out.getvalue().encode()

    return plain


def _encoding(path: Path, head: bytes) -> str:
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return "utf-16"
    if head[1:2] == b"\0" or head[:1] == b"\0":  # UTF-16 without its mark
        return "utf-16-le" if head[1:2] == b"\0" else "utf-16-be"
    with path.open("rb") as file:
        decoder = io.TextIOWrapper(file, encoding="utf-8", newline="")
        try:
            while decoder.read(1 << 24):
                pass
        except UnicodeDecodeError:
            return "cp1252"
    return "utf-8"


def _separator(lines: list[str]) -> str:
    """The one that cuts the header, and the lines after it alike, into most columns."""
    counts = {s: [len(row) for row in csv.reader(lines[:20], delimiter=s)] for s in (",", ";", "\t", "|", " ")}
    even = {s: n[0] for s, n in counts.items() if n and n[0] > 1 and (s != " " or len(set(n)) == 1)}
    best = max(even, key=lambda s: (counts[s].count(even[s]), even[s] if s != " " else 0), default=",")
    return (
        best
        if best != " " or not {",", ";", "\t", "|"} & even.keys()
        else max(even.keys() - {" "}, key=even.__getitem__)
    )


def _uneven(source: Path | bytes, separator: str, skip: int) -> str | None:
    """The first line whose number of cells is not the header's."""

    def lines() -> Iterator[str]:
        if isinstance(source, bytes):
            yield from source.decode().splitlines(keepends=True)
        else:
            with source.open(encoding="utf-8-sig", newline="") as file:
                yield from file

    rows = csv.reader(itertools.islice(lines(), skip, None), delimiter=separator)
    try:
        header = next(rows)
        for row in rows:
            if row and len(row) != len(header):
                return f"line {rows.line_num + skip} has {len(row)} cells and the header {len(header)}"
    except (csv.Error, StopIteration):
        return None
    return None
