"""Writes the binary files of the corpus again, with fixed content: python tests/corpus/make_binary.py."""

import gzip
import io
import zipfile
from pathlib import Path
from xml.sax.saxutils import escape

import polars as pl

HERE = Path(__file__).parent
OLD = [1, 1, 0, 1, 0, 1, 0, 1, 1, 0, 0, 1]
NEW = [1, 1, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1]
NAMES = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACK = "http://schemas.openxmlformats.org/package/2006"


def cell(column: int, row: int, value: object) -> str:
    """One cell: text inline, truth values and numbers as such, None as no cell."""
    at = f"{chr(65 + column)}{row}"
    if value is None:
        return ""
    if isinstance(value, bool):
        return f'<c r="{at}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, int | float):
        return f'<c r="{at}"><v>{value}</v></c>'
    return f'<c r="{at}" t="inlineStr"><is><t>{escape(str(value))}</t></is></c>'


def xlsx(sheets: dict[str, list[list[object]]]) -> bytes:
    """A workbook of these sheets, the same bytes each time."""
    n = len(sheets)
    over = "".join(
        f'<Override PartName="/xl/worksheets/sheet{i}.xml" '
        'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/>'
        for i in range(1, n + 1)
    )
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{PACK}/content-types"><Default Extension="rels" '
        'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" '
        'ContentType="application/xml"/><Override PartName="/xl/workbook.xml" '
        'ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>'
        + over
        + "</Types>",
        "_rels/.rels": f'<Relationships xmlns="{PACK}/relationships"><Relationship Id="rId1" '
        f'Type="{REL}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{MAIN}" xmlns:r="{REL}"><sheets>'
        + "".join(f'<sheet name="{escape(s)}" sheetId="{i}" r:id="rId{i}"/>' for i, s in enumerate(sheets, 1))
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACK}/relationships">'
        + "".join(
            f'<Relationship Id="rId{i}" Type="{REL}/worksheet" Target="worksheets/sheet{i}.xml"/>'
            for i in range(1, n + 1)
        )
        + "</Relationships>",
    }
    for i, rows in enumerate(sheets.values(), 1):
        body = "".join(
            f'<row r="{r}">' + "".join(cell(c, r, v) for c, v in enumerate(row)) + "</row>"
            for r, row in enumerate(rows, 1)
        )
        parts[f"xl/worksheets/sheet{i}.xml"] = f'<worksheet xmlns="{MAIN}"><sheetData>{body}</sheetData></worksheet>'
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as z:
        for name, text in parts.items():
            z.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), NAMES + text)
    return out.getvalue()


def main() -> None:
    """Write them all."""
    both = [("model-old", OLD), ("model-new", NEW)]
    long: list[list[object]] = [[f"q{i + 1:02}", m, bool(g[i])] for m, g in both for i in range(12)]
    notes: list[list[object]] = [["Notes"], ["Run in May, graded by hand."], ["Do not edit the other sheet."]]
    (HERE / "unusual/13_two_sheets.xlsx").write_bytes(
        xlsx({"Read me": notes, "Results": [["Question ID", "Model", "Correct"], *long]})
    )
    title: list[list[object]] = [["Evaluation of the help desk bot"], ["as of May", None, None], []]
    wide: list[list[object]] = [[f"ticket {i + 1}", OLD[i], NEW[i]] for i in range(12)]
    (HERE / "unusual/14_title_rows.xlsx").write_bytes(
        xlsx({"Sheet1": [*title, ["item", "model-old", "model-new"], *wide]})
    )
    frame = pl.DataFrame(
        {
            "doc_id": [i for _ in both for i in range(12)],
            "model": [m for m, _ in both for _ in range(12)],
            "exact_match": [float(g[i]) for _, g in both for i in range(12)],
        }
    )
    frame.write_parquet(HERE / "unusual/15_docs.parquet", compression="uncompressed", statistics=False)
    text = "item,model,correct\n" + "".join(f"q{i + 1:02},{m},{g[i]}\n" for m, g in both for i in range(12))
    (HERE / "unusual/16_packed.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    whole = xlsx({"Sheet1": [["item", "model", "correct"], *long]})
    (HERE / "mistakes/18_cut_off.xlsx").write_bytes(whole[: len(whole) // 2])
    # An encrypted workbook is an OLE container, not a zip: its magic number and the stream's name in UTF-16.
    ole = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(504) + "EncryptedPackage".encode("utf-16-le") + bytes(992)
    (HERE / "mistakes/19_password.xlsx").write_bytes(ole)
    png = "89504e470d0a1a0a0000000d4948445200000001000000010806000000 1f15c4890000000d49444154789c6360000002000001"
    png = png.replace(" ", "") + "e221bc330000000049454e44ae426082"
    (HERE / "mistakes/17_chart.csv").write_bytes(bytes.fromhex(png))


if __name__ == "__main__":
    main()
