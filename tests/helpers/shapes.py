"""The same results written as people write them: a random shape, naming, language, spelling and file format.

`write(folder, seed)` makes up results (items, conditions, scores, perhaps draws) and writes them; whatever it wrote,
the reading must be the one in the `Case`. Nothing here knows the reader: the words are those that people use in sheets,
notebooks and tools, many of them unknown to it, so that columns have to be known by what they hold.
"""

import csv
import dataclasses
import gzip
import io
import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

Row = dict[str, Any]

NAMES: dict[str, tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]] = {  # item, condition, score
    "en": (("id", "Question ID", "qid", "Case", "test case", "Prompt #", "example", "Ticket", "uid", "task_id",
            "Row Key"),
           ("model", "System", "Model Name", "Bot", "Assistant", "variant", "Prompt version", "candidate",
            "Which model?", "llm", "Configuration"),
           ("correct", "Score", "Is Correct?", "Verdict", "Result", "Acceptable?", "Reviewer grade", "passed",
            "final_score", "label", "Was the answer right?", "Human rating")),
    "de": (("Frage-Nr.", "Aufgabe", "Fall", "Testfall", "lfd. Nr."), ("Modell", "System", "Sprachmodell", "Variante"),
           ("richtig", "Bewertung", "Punkte", "Ergebnis", "Note", "Antwort korrekt?")),
    "fr": (("N° question", "Identifiant", "Cas", "Référence du cas"), ("Modèle", "Système", "Variante", "Moteur"),
           ("Correct ?", "Réussi", "Résultat", "Évaluation", "Note attribuée")),
    "es": (("Nº pregunta", "Caso", "Identificador", "Código"), ("Modelo", "Sistema", "Versión"),
           ("Correcto", "Resultado", "Acierto", "Valoración", "Puntuación")),
    "none": (("c1", "A", "field_01"), ("c2", "B", "field_02"), ("c3", "C", "field_03")),
}  # fmt: skip
RIGHT: dict[str, tuple[tuple[Any, Any], ...]] = {
    "en": ((1, 0), (True, False), ("yes", "no"), ("PASS", "FAIL"), ("correct", "incorrect"), ("Correct", "Wrong"),
           ("✓", "✗"), ("✅", "❌"), ("TRUE", "FALSE"), ("1.0", "0.0"), ("C", "I"), ("Passed", "Failed"), ("Y", "N"),
           ("right", "wrong"), ("accept", "reject"), ("Good", "Bad"), ("pass ✅", "fail ❌"), ("100%", "0%"),
           ("Acceptable", "Not acceptable"), ("Satisfied", "Not satisfied")),
    "de": (("richtig", "falsch"), ("Ja", "Nein"), ("bestanden", "nicht bestanden"), ("korrekt", "inkorrekt"), (1, 0)),
    "fr": (("Oui", "Non"), ("vrai", "faux"), ("correct", "incorrect"), ("réussi", "échoué"), (1, 0)),
    "es": (("Sí", "No"), ("correcto", "incorrecto"), ("acierto", "fallo"), ("Verdadero", "Falso"), (1, 0)),
    "none": ((1, 0), ("yes", "no"), ("correct", "wrong")),
}  # fmt: skip
MODELS = (
    ("gpt-4o", "claude-3-5-sonnet", "llama-3.1-70b", "mistral-large"),
    ("GPT-4", "Claude 3", "Gemini Pro", "Command R+"),
    ("baseline", "candidate", "finetuned"), ("prompt A", "prompt B", "prompt C"), ("v1", "v2", "v3", "v4"),
    ("acme/small", "acme/large"), ("old", "new"),
    ("meta-llama/Llama-3-8B-Instruct", "Qwen/Qwen2-7B", "google/gemma-2-9b"),
    ("rag-bm25", "rag-dense", "rag-hybrid"), ("temperature 0", "temperature 1"), ("zero-shot", "few-shot", "cot"),
    ("Sprachmodell Ä", "Sprachmodell B"), ("o1-mini", "o3", "gpt-5-nano"),
)  # fmt: skip


@dataclasses.dataclass(frozen=True, kw_only=True)
class Case:
    """What was written, and how it must be read: names, the mean of each condition, draws an item."""

    path: Path
    shape: str
    said: str
    items: int
    means: dict[str, float]
    draws: int
    scale: float = 1.0  # means may also come out as a share of this


def workbook(path: Path, sheets: dict[str, list[list[Any]]]) -> Path:
    """As much of an .xlsx file as readers need; None is an empty cell."""
    space = "http://schemas.openxmlformats.org/"
    link = f"{space}officeDocument/2006/relationships"
    names = list(enumerate(sheets, start=1))

    def rels(targets: list[tuple[str, str]]) -> str:
        own = (f'<Relationship Id="r{k}" Type="{link}/{t}" Target="{to}"/>' for k, (t, to) in enumerate(targets, 1))
        return f'<Relationships xmlns="{space}package/2006/relationships">{"".join(own)}</Relationships>'

    def cell(value: Any, at: str) -> str:
        if value is None:
            return ""
        if isinstance(value, bool):
            return f'<c r="{at}" t="b"><v>{int(value)}</v></c>'
        if isinstance(value, int | float):
            return f'<c r="{at}"><v>{value}</v></c>'
        return f'<c r="{at}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'

    def column(k: int) -> str:
        return (chr(64 + k // 26) if k >= 26 else "") + chr(65 + k % 26)

    office = "application/vnd.openxmlformats-officedocument"
    types = "".join(f'<Override PartName="/xl/{part}" ContentType="{office}.{kind}+xml"/>'
                    for part, kind in [("workbook.xml", "spreadsheetml.sheet.main"),
                                       *((f"s{k}.xml", "spreadsheetml.worksheet") for k, _ in names)])  # fmt: skip
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", f'<Types xmlns="{space}package/2006/content-types">{types}</Types>')
        archive.writestr("_rels/.rels", rels([("officeDocument", "xl/workbook.xml")]))
        archive.writestr("xl/_rels/workbook.xml.rels", rels([("worksheet", f"s{k}.xml") for k, _ in names]))
        own = "".join(f'<sheet name="{escape(name)}" sheetId="{k}" r:id="r{k}"/>' for k, name in names)
        archive.writestr("xl/workbook.xml", f'<workbook xmlns="{space}spreadsheetml/2006/main" xmlns:r="{link}">'
                         f"<sheets>{own}</sheets></workbook>")  # fmt: skip
        for k, name in names:
            rows = "".join(
                f'<row r="{n}">{"".join(cell(v, f"{column(c)}{n}") for c, v in enumerate(row))}</row>'
                for n, row in enumerate(sheets[name], 1)
            )
            archive.writestr(f"xl/s{k}.xml", f'<worksheet xmlns="{space}spreadsheetml/2006/main"><sheetData>{rows}'
                             "</sheetData></worksheet>")  # fmt: skip
    return path


class Results:
    """Made-up results, with the words that they are written in."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.language = rng.choice(["en"] * 6 + [k for k in NAMES if k not in ("en", "none")] + ["none"])
        item, condition, score = (rng.choice(names) for names in NAMES[self.language])
        self.names = {"item": item, "condition": condition, "score": score}
        chosen = list(rng.choice(MODELS))
        self.conditions = chosen[: rng.randint(2, len(chosen))]
        self.n = rng.randint(12, 30)
        self.items = self._ids()
        self.kind = rng.choice(["binary"] * 5 + ["rating", "fraction", "percent", "points"])
        self.draws = rng.choice([1, 1, 1, 1, 3])
        self.spelled = rng.choice(RIGHT[self.language])
        self.value = {
            (i, c, d): self._score(k)
            for i in self.items for k, c in enumerate(self.conditions) for d in range(self.draws)
        }  # fmt: skip
        if self.kind == "rating":  # the scale shows only where its ends occur
            for k, i in enumerate(self.items[:2]):
                self.value[i, self.conditions[0], 0] = (1, 5)[k]
        self.questions = {i: f"What is {rng.randint(2, 99)} plus {rng.randint(2, 99)}, case {k}?" for k, i in
                          enumerate(self.items)}  # fmt: skip

    def _ids(self) -> list[Any]:
        style = self.rng.choice(["q", "number", "padded", "slash", "hex", "zero", "dash"])
        start = self.rng.randint(1, 400)
        return [
            {"q": f"q{k + 1}", "number": k + 1, "padded": f"{k + start:04d}", "slash": f"HumanEval/{k}", "zero": k,
             "hex": f"{self.rng.getrandbits(48):012x}a", "dash": f"SUP-{k + start}"}[style]
            for k in range(self.n)
        ]  # fmt: skip

    def _score(self, k: int) -> float:
        draw = self.rng
        match self.kind:
            case "binary":
                return float(draw.random() < 0.45 + 0.12 * k)
            case "rating":
                return float(draw.randint(1, 5))
            case "fraction":
                return draw.randint(0, 20) / 20
            case "percent":
                return draw.randint(30, 100) / 100
            case _:
                return float(draw.randint(11, 100))

    def cell(self, item: Any, condition: str, draw: int = 0) -> Any:
        """A score as it is spelled."""
        value = self.value[item, condition, draw]
        match self.kind:
            case "binary":
                return self.spelled[0 if value else 1]
            case "rating" | "points":
                return int(value)
            case "percent":
                return f"{round(100 * value)}%"
            case _:
                return value

    def case(self, path: Path, shape: str, *, names: dict[str, str] | None = None) -> Case:
        """The reading that this must have."""
        means = {}
        for c in self.conditions:
            own = [v for (_, other, _), v in self.value.items() if other == c]
            means[(names or {}).get(c, c)] = sum(own) / len(own)
        said = f"{self.language} {self.names} {self.kind} {self.spelled if self.kind == 'binary' else ''} x{self.draws}"
        return Case(path=path, shape=shape, said=said, items=self.n, means=means, draws=self.draws)

    def rows(self, extras: bool = True) -> list[Row]:
        """One row an answer, with what people have beside it."""
        rng, made = self.rng, []
        beside = rng.sample(list(BESIDE), k=rng.randint(0, 3)) if extras else []
        order = [(i, c, d) for c in self.conditions for i in self.items for d in range(self.draws)]
        if rng.random() < 0.5:
            order.sort(key=lambda key: (self.items.index(key[0]), self.conditions.index(key[1]), key[2]))
        tells = self.draws > 1 and rng.random() < 0.7
        name = rng.choice(("epoch", "trial", "seed", "attempt", "run"))
        for place, (i, c, d) in enumerate(order):
            row: Row = {self.names["item"]: i, self.names["condition"]: c}
            if tells:
                row[name] = d + 1
            row[self.names["score"]] = self.cell(i, c, d)
            for extra in beside:
                row |= BESIDE[extra](self, i, c, place)
            made.append(row)
        if made and rng.random() < 0.5:
            keys = list(made[0])
            rng.shuffle(keys)
            made = [{k: row[k] for k in keys} for row in made]
        return made


BESIDE: dict[str, Callable[[Results, Any, str, int], Row]] = {
    "latency": lambda r, i, c, k: {"latency_ms": r.rng.randint(200, 9000)},
    "tokens": lambda r, i, c, k: {"Tokens": r.rng.randint(20, 900), "cost ($)": round(r.rng.random() / 50, 5)},
    "time": lambda r, i, c, k: {"timestamp": f"2026-03-{1 + k % 28:02d}T10:{k % 60:02d}:00Z"},
    "question": lambda r, i, c, k: {"question": r.questions[i]},
    "answer": lambda r, i, c, k: {"model_response": f"It is {r.rng.randint(1, 999)}, I believe."},
    "reason": lambda r, i, c, k: {"judge explanation": f"The answer, on reflection {k},\nfits the key."},
    "category": lambda r, i, c, k: {"Category": ("billing", "login", "shipping")[r.items.index(i) % 3]},
    "row id": lambda r, i, c, k: {"record": f"{k:08x}-{(k * 7919) % 65536:04x}"},
    "reviewer": lambda r, i, c, k: {"Reviewed by": ("Ana", "Ben")[r.items.index(i) % 2]},
    "remark": lambda r, i, c, k: {"Comment": "" if k % 5 else "check again"},
    "flag": lambda r, i, c, k: {"dataset split": "test"},
}

# ------------------------------------------------------------------ files


def table(folder: Path, r: Results, rows: list[Row], *, stem: str = "results") -> Path:
    """Rows in some file that holds tables."""
    rng = r.rng
    header, cells = list(rows[0]), [[row.get(k) for k in rows[0]] for row in rows]
    how = rng.choice(["csv"] * 4 + ["tsv", "semicolon", "xlsx", "xlsx", "parquet", "jsonl", "json", "gz",
                      "utf-16"])  # fmt: skip
    if how in ("jsonl", "json"):
        text = (
            json.dumps(rows, ensure_ascii=False)
            if how == "json"
            else "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        )
        path = folder / f"{stem}.{how}"
        path.write_text(text, "utf-8")
        return path
    if how == "parquet":
        import polars as pl

        path = folder / f"{stem}.parquet"
        pl.DataFrame({k: pl.Series([row.get(k) for row in rows], strict=False) for k in header}).write_parquet(path)
        return path
    return grid(folder, r, [header, *cells], how, stem=stem)


def grid(folder: Path, r: Results, cells: list[list[Any]], how: str, *, stem: str = "results") -> Path:
    """Cells as a sheet or text, perhaps with a title above and a total below."""
    rng, width = r.rng, len(cells[0])
    above: list[list[Any]] = []
    if how in ("csv", "xlsx", "semicolon", "utf-16") and rng.random() < 0.3:
        above = [["Evaluation of the assistants, spring"], [], ["exported on", "2026-03-01"], []][: rng.randint(1, 4)]
    cells = [[*row, *[None] * (width - len(row))] for row in [*above, *cells]]
    if how == "xlsx":
        return workbook(folder / f"{stem}.xlsx", {"Tabelle1": cells})
    out = io.StringIO()
    comma = how == "semicolon" and rng.random() < 0.7
    plain = [["" if v is None else str(v).replace(".", ",") if comma and isinstance(v, float) else v for v in row]
             for row in cells]  # fmt: skip
    csv.writer(out, delimiter={"tsv": "\t", "semicolon": ";", "utf-16": "\t"}.get(how, ",")).writerows(plain)
    path = folder / f"{stem}.{'tsv' if how == 'tsv' else 'csv.gz' if how == 'gz' else 'csv'}"
    text = out.getvalue()
    if how == "gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_bytes(text.encode("utf-16" if how == "utf-16" else rng.choice(["utf-8", "utf-8", "utf-8-sig"])))
    return path


def dumped(folder: Path, r: Results, document: Any, stem: str = "results") -> Path:
    path = folder / f"{stem}.json"
    path.write_text(json.dumps(document, ensure_ascii=False, indent=r.rng.choice([None, 2])), "utf-8")
    return path


def safe(name: str) -> str:
    """A condition as the name of a file."""
    return name.replace("/", "__").replace(" ", "_")


# ------------------------------------------------------------------ shapes


def long(folder: Path, r: Results) -> Case:
    return r.case(table(folder, r, r.rows()), "long")


def wide(folder: Path, r: Results) -> Case:
    r.draws = 1
    r.value = {k: v for k, v in r.value.items() if k[2] == 0}
    rows = []
    question = r.rng.random() < 0.5
    for i in r.items:
        row: Row = {r.names["item"]: i}
        if question:
            row["Question"] = r.questions[i]
        rows.append(row | {c: r.cell(i, c) for c in r.conditions})
    return r.case(table(folder, r, rows), "wide")


def totals(folder: Path, r: Results) -> Case:
    """A wide sheet with a title, and the mean in the last row."""
    r.draws, r.kind = 1, "binary"
    r.value = {(i, c, 0): float(r.rng.random() < 0.6) for i in r.items for c in r.conditions}
    r.spelled = (1, 0)
    word = r.rng.choice(["Total", "Average", "Mean", "Accuracy", "Summe", "Moyenne", "Overall", "Gesamt"])
    cells: list[list[Any]] = [[r.names["item"], "Question", *r.conditions]]
    cells += [[i, r.questions[i], *(r.cell(i, c) for c in r.conditions)] for i in r.items]
    if r.rng.random() < 0.3:
        cells.append([None] * len(cells[0]))
    foot = [round(sum(r.value[i, c, 0] for i in r.items) / r.n, 3) for c in r.conditions]
    cells.append([word, None, *foot] if r.rng.random() < 0.7 else [None, word, *foot])
    return r.case(grid(folder, r, cells, r.rng.choice(["csv", "xlsx"])), f"totals {word}")


def sheets(folder: Path, r: Results) -> Case:
    """One sheet a condition, perhaps after a summary."""
    r.draws = 1
    r.value = {k: v for k, v in r.value.items() if k[2] == 0}
    names = {c: c.replace("/", "-")[:31] for c in r.conditions}
    book: dict[str, list[list[Any]]] = {}
    if r.rng.random() < 0.5:
        book["Summary"] = [["Model", "Mean"], *([c, 0.5] for c in r.conditions)]
    for c in r.conditions:
        book[names[c]] = [[r.names["item"], "Question", r.names["score"]]]
        book[names[c]] += [[i, r.questions[i], r.cell(i, c)] for i in r.items]
    return r.case(workbook(folder / "book.xlsx", book), "sheets", names=names)


def file_a_condition(folder: Path, r: Results) -> Case:
    """A folder with a file a condition, named by it; perhaps with a common part in the names."""
    place = folder / "runs"
    place.mkdir()
    rows = r.rows()
    for c in r.conditions:
        own = [
            {k: v for k, v in row.items() if k != r.names["condition"]}
            for row in rows
            if row[r.names["condition"]] == c
        ]
        path = place / f"{safe(c)}.jsonl"
        path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in own), "utf-8")
    return r.case(place, "file a condition", names={c: safe(c) for c in r.conditions})


def folder_a_condition(folder: Path, r: Results) -> Case:
    """A folder a condition, each with a file of the same name."""
    place = folder / "runs"
    rows = r.rows()
    for c in r.conditions:
        own = [
            {k: v for k, v in row.items() if k != r.names["condition"]}
            for row in rows
            if row[r.names["condition"]] == c
        ]
        (place / safe(c)).mkdir(parents=True)
        (place / safe(c) / "predictions.json").write_text(json.dumps(own, ensure_ascii=False), "utf-8")
    return r.case(place, "folder a condition", names={c: safe(c) for c in r.conditions})


def with_config(folder: Path, r: Results) -> Case:
    """A folder of reports: the model in a head beside the list of results, which may be called anything."""
    place = folder / "runs"
    place.mkdir()
    rows = r.rows()
    listed = r.rng.choice(
        ["results", "samples", "instances", "predictions", "test_cases", "per_question", "logs", "details"]
    )
    head = r.rng.choice(["config", "meta", "run", "args", "settings"])
    for k, c in enumerate(r.conditions):
        own = [
            {a: b for a, b in row.items() if a != r.names["condition"]}
            for row in rows
            if row[r.names["condition"]] == c
        ]
        mean = sum(r.value[i, c, 0] for i in r.items) / r.n
        document = {head: {"model": c, "temperature": 0.0, "date": "2026-03-01"}, "summary": {"mean": mean, "n": r.n},
                    listed: own}  # fmt: skip
        dumped(place, r, document, f"run_{k:03d}")
    return r.case(place, f"with config {head}/{listed}")


def by_model(folder: Path, r: Results) -> Case:
    """An object of conditions: lists of records, or scores by item."""
    form = r.rng.choice(["lists", "inside", "scores", "wrapped", "keyed"])
    if form in ("scores", "keyed"):
        r.draws = 1
        r.value = {k: v for k, v in r.value.items() if k[2] == 0}
    rows = r.rows(extras=form != "scores")
    item, condition = r.names["item"], r.names["condition"]
    own = {
        c: [{k: v for k, v in row.items() if k != condition} for row in rows if row[condition] == c]
        for c in r.conditions
    }
    document: Any
    match form:
        case "lists":
            document = own
        case "inside":
            key = r.rng.choice(["samples", "results", "outputs"])
            document = {c: {"n": r.n, key: own[c]} for c in r.conditions}
        case "wrapped":
            document = {"created": "2026-03-01", "models": own}
        case "keyed":
            document = {
                c: {str(row[item]): {k: v for k, v in row.items() if k != item} for row in own[c]} for c in r.conditions
            }
        case _:
            document = {c: {str(i): r.cell(i, c) for i in r.items} for c in r.conditions}
    return r.case(dumped(folder, r, document), f"by model {form}")


def by_item(folder: Path, r: Results) -> Case:
    """An object or list of items, each with its conditions."""
    r.draws = 1
    r.value = {k: v for k, v in r.value.items() if k[2] == 0}
    form = r.rng.choice(["scores", "keyed", "list", "inner list", "inner scores"])
    key = r.rng.choice(["models", "outputs", "responses", "systems", "results", "evaluations"])
    named = r.names["score"] if r.language != "none" else "score"
    document: Any
    match form:
        case "scores":
            document = {str(i): {c: r.cell(i, c) for c in r.conditions} for i in r.items}
        case "keyed":
            document = {str(i): {"question": r.questions[i],
                                 key: {c: {named: r.cell(i, c), "text": "so"} for c in r.conditions}}
                        for i in r.items}  # fmt: skip
        case "list":
            document = [{r.names["item"]: i, "question": r.questions[i],
                         key: {c: {"output": "thus", named: r.cell(i, c)} for c in r.conditions}}
                        for i in r.items]  # fmt: skip
        case "inner scores":
            document = [{r.names["item"]: i, key: {c: r.cell(i, c) for c in r.conditions}} for i in r.items]
        case _:
            document = [{r.names["item"]: i, "question": r.questions[i],
                         key: [{"model": c, named: r.cell(i, c)} for c in r.conditions]} for i in r.items]  # fmt: skip
    return r.case(dumped(folder, r, document), f"by item {form} {key}")


def runs(folder: Path, r: Results) -> Case:
    """A list of runs, each with its model and its samples, the score deep inside."""
    key = r.rng.choice(["runs", "experiments", "evaluations"])
    inner = r.rng.choice(["samples", "items", "rows"])
    where = r.rng.choice([("evaluation", "score"), ("grading", "value"), ("scores", "accuracy"), ("result", "passed")])
    rows = [
        {"name": c, "config": {"model": c, "seed": 1},
         inner: [{"id": i, "input": {"text": r.questions[i]}, where[0]: {where[1]: r.cell(i, c, d), "by": "rule"}}
                 for i in r.items for d in range(r.draws)]}
        for c in r.conditions
    ]  # fmt: skip
    return r.case(dumped(folder, r, {key: rows}), f"runs {where}")


def named_scores(folder: Path, r: Results) -> Case:
    """Records with a list of scores that have names."""
    r.draws = 1
    r.value = {k: v for k, v in r.value.items() if k[2] == 0}
    name, value = r.rng.choice([("name", "value"), ("metric", "score"), ("key", "score"), ("metricName", "result")])
    rows = [
        {"id": i, "model": c, "output": "so", "scores": [{name: "correctness", value: r.cell(i, c)},
                                                         {name: "length", value: r.rng.randint(5, 90)}]}
        for c in r.conditions for i in r.items
    ]  # fmt: skip
    return r.case(dumped(folder, r, rows), f"named scores {name}")


def orient(folder: Path, r: Results) -> Case:
    """What pandas writes: columns, split, lists by column, values with their header."""
    rows = r.rows()
    columns = list(rows[0])
    form = r.rng.choice(["columns", "split", "list", "values", "index"])
    document: Any
    match form:
        case "columns":
            document = {c: {str(k): row[c] for k, row in enumerate(rows)} for c in columns}
        case "split":
            document = {
                "columns": columns,
                "index": list(range(len(rows))),
                "data": [list(row.values()) for row in rows],
            }
        case "list":
            document = {c: [row[c] for row in rows] for c in columns}
        case "index":
            document = {str(k): row for k, row in enumerate(rows)}
        case _:
            document = [columns, *(list(row.values()) for row in rows)]
    return r.case(dumped(folder, r, document), f"orient {form}")


def battles(folder: Path, r: Results) -> Case:
    """Pairs of conditions side by side, and who won."""
    r.draws, r.conditions, r.kind = 1, r.conditions[:2], "binary"
    a, b = r.conditions
    style = r.rng.choice(["model_a", "A", "name", "number"])
    words = {
        "model_a": ("model_a", "model_b", "tie"),
        "A": ("A", "B", "tie"),
        "name": (a, b, "tie"),
        "number": (1, 2, 1.5),
    }
    r.value, rows = {}, []
    for k, i in enumerate(r.items):
        won = k if k < 3 else r.rng.choice([0, 0, 1, 2])  # each outcome occurs
        r.value[i, a, 0], r.value[i, b, 0] = (1.0, 0.0) if won == 0 else (0.0, 1.0) if won == 1 else (0.5, 0.5)
        rows.append({"question_id": i, "model_a": a, "model_b": b, "winner": words[style][won]})
    return r.case(table(folder, r, rows), f"battles {style}")


def annotated(folder: Path, r: Results) -> Case:
    """An export of a labelling tool: tasks with data and annotations."""
    r.draws = 1
    r.value = {k: v for k, v in r.value.items() if k[2] == 0}
    if r.kind != "rating":
        r.kind = "binary"
        r.value = {k: float(r.rng.random() < 0.6) for k in r.value}
        r.spelled = ("Correct", "Incorrect")
    place, tasks = 100, []
    for c in r.conditions:
        for i in r.items:
            place += 1
            value = {"rating": r.cell(i, c)} if r.kind == "rating" else {"choices": [r.cell(i, c)]}
            tasks.append(
                {"id": place, "data": {"question_id": i, "question": r.questions[i], "model": c, "answer": "so"},
                 "annotations": [{"id": place * 3, "completed_by": 2, "lead_time": round(r.rng.random() * 60, 2),
                                  "result": [{"id": "x1", "from_name": "quality", "to_name": "answer",
                                              "type": "rating", "value": value}]}]}
            )  # fmt: skip
    return r.case(dumped(folder, r, tasks), "annotated")


SHAPES: tuple[Callable[[Path, Results], Case], ...] = (
    long, long, long, wide, wide, totals, sheets, file_a_condition, folder_a_condition, with_config,
    by_model, by_item, runs, named_scores, orient, battles, annotated,
)  # fmt: skip


def write(folder: Path, seed: int) -> Case:
    """The variant of this number; shapes take turns, all else is drawn."""
    rng = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    return SHAPES[seed % len(SHAPES)](folder, Results(rng))


def fault(case: Case) -> str:
    """Empty if the case is read as it must be, at once or as proposed; else what is wrong."""
    import polars as pl

    from helpers.confirmed import read_tables
    from richter.errors import RichterError

    try:
        tables = read_tables(case.path)
    except RichterError as error:
        return f"refused: {error}"
    if tables.metric is None:
        return "not graded"
    rows = tables.scores.filter(pl.col("metric") == tables.metric)
    draws = int(tables.answers["draw"].to_numpy().max()) + 1
    found = dict(rows.group_by("condition").agg(pl.col("value").mean()).iter_rows())
    if len(tables.item_ids) != case.items:
        return f"{len(tables.item_ids)} items, not {case.items} ({tables.understood})"
    if set(found) != set(case.means):
        return f"conditions {sorted(found)}, not {sorted(case.means)}"
    if draws != case.draws:
        return f"{draws} draws, not {case.draws}"
    for name, mean in case.means.items():
        if found[name] is None or not any(abs(found[name] - mean * scale) < 1e-6 * scale for scale in (1, 100)):
            return f"mean of {name} is {found[name]}, not {mean}"
    return ""
