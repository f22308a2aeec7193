"""Right but unusual files are read without an option; mistakes are said in one line with what settles them."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from helpers.confirmed import read_tables
from helpers.shapes import workbook
from richter.errors import InputError
from richter.tables import outcomes

RIGHT: dict[str, tuple[str, str, tuple[str, ...], str, list[float]]] = {
    # name: text, encoding, conditions, metric, values by condition and item
    "wide16.csv": ("item,model,correct\n1,ä,1\n2,ä,0\n", "utf-16", ("ä",), "accuracy", [1, 0]),
    "windows.csv": ("item;model;correct\n1;Zoë;1\n2;Zoë;0\n", "cp1252", ("Zoë",), "accuracy", [1, 0]),
    "bars.txt": ("id|system|score\n1|a|1\n2|a|0\n", "utf-8", ("a",), "accuracy", [1, 0]),
    "comma.csv": ("id;model;score\n1;a;0,85\n2;a;0,4\n", "utf-8", ("a",), "mean_score", [0.85, 0.4]),
    "suffix.csv": ("id,old_correct,new_correct\n1,1,0\n2,1,1\n", "utf-8", ("old", "new"), "accuracy", [1, 1, 0, 1]),
    "letters.csv": ("doc_id,model,grade\n1,a,C\n2,a,I\n3,a,P\n", "utf-8", ("a",), "mean_score", [1, 0, 0.5]),
    "quoted.csv": ('id,model,answer,correct\n1,a,"two\nlines, ""q""",1\n2,a,x,0\n', "utf-8", ("a",), "accuracy",
                   [1, 0]),
    "remarks.csv": ("# made by us\nid,model,correct\n1,a,1\n2,a,0\n", "utf-8", ("a",), "accuracy", [1, 0]),
    "gaps.csv": ("id,model,correct\n1,a,1\n2,a,\n3,a,N/A\n4,a,0\n", "utf-8", ("a",), "accuracy", [1, 0]),
    "inner.json": ('{"meta":{},"results":[{"id":1,"model":"a","score":0.5},{"id":2,"model":"a","score":1}]}', "utf-8",
                   ("a",), "mean_score", [0.5, 1]),
    "nan.jsonl": ('{"id":1,"model":"a","score":1}\n{"id":2,"model":"a","score":NaN}\n{"id":3,"model":"a","score":0}\n',
                  "utf-8", ("a",), "accuracy", [1, 0]),
}  # fmt: skip


@pytest.mark.parametrize("name", RIGHT)
def test_unusual_files_are_read_without_an_option_by_hand(name: str, tmp_path: Path) -> None:
    text, encoding, conditions, metric, values = RIGHT[name]
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    tables = read_tables(path)
    assert tables.conditions == conditions
    assert tables.metric == metric
    assert outcomes(tables, metric).value.tolist() == pytest.approx(values)


def test_draws_runs_groups_weights_and_prompts_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(
        "id,epoch,seed,passage,model,acc,weight,subject\n1,1,7,p,a,1,2,x\n1,2,7,p,a,0,2,x\n2,1,8,p,a,1,1,y\n"
        "3,1,8,q,a,0,1,y\n"
    )
    found = outcomes(read_tables(path), "accuracy")
    assert found.draw is not None
    assert found.runs == ("7", "8")
    assert found.group is not None
    assert found.group.tolist() == [0, 0, 1]
    assert found.weight is not None
    assert found.weight.tolist() == [2, 1, 1]
    assert found.strata == ("x", "y")
    path.write_text(
        "question_id,prompt,correct\n" + "".join(f"{i},{p},1\n" for i in range(9) for p in ("plain", "steps"))
    )
    assert read_tables(path).conditions == ("plain", "steps")
    path.write_text("id,model,correct\n001,a,1\n002,a,0\n")
    assert read_tables(path).item_ids == ("001", "002")


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ("", "is empty", "header"),
        ("id,model,correct\n", "a header and no rows", "at least one row"),
        ("id,model,correct\n1,a,1\n2,a,0,more\n", "line 3 has 4 cells and the header 3", "that line"),
        ("model,correct\na,1\na,0\n", "the question IDs", "--map item=order"),
        ("id,model,zeta\n1,a,0.2\n", "the scores", "--map score=zeta"),
        (
            "id,model,correct\n1,a,maybe\n2,a,1\n",
            "correct is not a number in 1 row .'maybe' in data row 1",
            "--grade maybe=wrong",
        ),
        ("id,model,correct\n,a,1\n2,a,0\n", "no item in 1 row", "column 'id'"),
        ("id,model,severity\n1,a,9\n", "off the scale 0:4", "--as-severity 0:9"),
        ("1,a,1\n2,a,0\n", "first line seems to hold data", "item,model,correct"),
        ("id,model,correct,confidence\n1,a,1,1.3\n", "neither a probability", "from 0 to 1"),
    ],
)
def test_mistakes_are_one_line_with_what_settles_them(text: str, message: str, remedy: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as said:
        read_tables(path)
    assert remedy in said.value.remedy
    assert "\n" not in str(said.value)


MODELS = [(f"q{k}", model, k) for model in "ab" for k in range(20)]


def rows(header: str, cell: Callable[[str, str, int], object]) -> str:
    return header + "\n" + "\n".join(f"{i},{m},{cell(i, m, k)}" for i, m, k in MODELS) + "\n"


@pytest.mark.parametrize(
    ("text", "message", "remedy"),
    [
        ("model,accuracy,n\na,0.81,500\nb,0.79,500\n", "one row for each of 2 models .accuracy, n.: averages",
         "each question"),
        (rows("id,model,score", lambda i, m, k: k / 20 if m == "a" else 20 + k),
         "a run up to 0.95, those of b up to 39", "--scale 0:100"),
        (rows("id,model,score", lambda i, m, k: f"{1 + k % 5:02d}-May"), "score is not a number in 40 rows",
         "--grade"),
        (rows("id,model,score", lambda i, m, k: ""), "column of scores, 'score', is empty in all 40 rows",
         "--map score="),
        (rows("id,model,judge_score", lambda i, m, k: "429 rate limit" if m == "b" and k < 9 else k % 5),
         "judge_score is not a number in 9 rows", "--grade"),
        ("id,model,correct\n" + "".join(f"q{k},m{k},1\n" for k in range(9)),
         "'model' has another value in each of 9 rows", "--map condition="),
    ],
)  # fmt: skip
def test_kinds_of_mistakes_are_refused_by_hand(text: str, message: str, remedy: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=message) as said:
        read_tables(path)
    assert remedy in said.value.remedy


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (rows("id,model,rating", lambda i, m, k: 55 if (m, k) == ("a", 3) else 1 + k % 5),
         "55 for item q3 under a; mistyped"),
        ("id,model,correct\n" + "".join(f"{q}{k},{m},{k % 2}\n" for q, m in ("Qa", "qb") for k in range(9)),
         "differ in writing only"),
        ("id,model,correct\n" + "".join(f"1.2E+{k},{m},{k % 2}\n" for m in "ab" for k in range(10, 30)),
         "a spreadsheet shortened"),
        (rows("id,model,error_rate", lambda i, m, k: k / 20), "lower is better"),
        (rows("id,model,correct", lambda i, m, k: k % 2) + "q0,a,0\nq0,a,0\nq1,b,1\n",
         "3 rows repeat another word for word"),
    ],
)  # fmt: skip
def test_kinds_of_mistakes_are_pointed_out_by_hand(text: str, note: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text(text)
    tables = read_tables(path)
    assert any(note in said for said in (*tables.notes, tables.understood)), tables.notes


def test_files_beside_the_results_are_named_and_not_read(tmp_path: Path) -> None:
    (tmp_path / "questions.jsonl").write_text('{"question_id": 1, "turns": "a"}\n{"question_id": 2, "turns": "b"}\n')
    for name in ("new", "old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "out.json").write_text(json.dumps([{"question_id": k, "score": k % 2} for k in range(1, 9)]))
    tables = read_tables(tmp_path)
    assert tables.conditions == ("new", "old")
    assert any("questions.jsonl is not read" in note for note in tables.notes)


def test_archives_are_read_and_pages_and_notebooks_are_not(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "runs.zip", "w") as archive:
        for name in ("new", "old"):
            archive.writestr(f"runs/{name}.csv", "id,score\n1,1\n2,0\n3,1\n")
        archive.writestr("__MACOSX/runs/._new.csv", "\0")
    assert read_tables(tmp_path / "runs.zip").conditions == ("new", "old")
    (tmp_path / "t.html").write_text("<p><table><tr><td>id<td>old<tr><td>1<td>1</table>")
    (tmp_path / "n.ipynb").write_text(json.dumps({"cells": [], "nbformat": 4, "metadata": {}}))
    for name, kind in (("t.html", "web page"), ("n.ipynb", "notebook")):
        with pytest.raises(InputError, match=rf"is a {kind}.* Save the table in it as CSV"):
            read_tables(tmp_path / name)


def test_workbooks_one_sheet_or_one_a_condition(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel", reason="workbooks need richter[excel]")
    one = workbook(tmp_path / "one.xlsx", {"S": [["id", "model", "correct"], [1, "a", 1], [2, "a", 0]]})
    assert outcomes(read_tables(one), "accuracy").value.tolist() == [1, 0]
    sheets: dict[str, list[list[str | int]]] = {"new": [["id", "score"], [1, 1]], "old": [["id", "score"], [1, 0]]}
    assert read_tables(workbook(tmp_path / "two.xlsx", sheets)).conditions == ("new", "old")
    with pytest.raises(InputError, match=r"protected by a password.* remove the password and save it") as said:
        read_tables(Path(__file__).with_name("locked.xlsx"))  # encrypted by msoffcrypto-tool 6.0.0, password "secret"
    assert "\n" not in str(said.value)


def test_severities_in_words_are_read_as_an_order_and_the_worst_error_counts(tmp_path: Path) -> None:
    path = tmp_path / "mqm.tsv"
    rows = ["system\tdoc\tseg\trater\tcategory\tseverity"]
    for system, marks in (("old", "Major Minor"), ("new", "No-error"), ("new", "HOTW-test")):
        for doc, seg in (("d1", 1), ("d1", 2), ("d2", 1)):
            rows += [f"{system}\t{doc}\t{seg}\tann\tFluency\t{mark}" for mark in marks.split()]
    path.write_text("\n".join(rows) + "\n")
    tables = read_tables(path)
    assert tables.item_ids == ("d1 1", "d1 2", "d2 1")
    assert tables.answers["group"].unique().sort().to_list() == ["d1", "d2"]
    found = {name: rows["severity"].to_list() for (name,), rows in tables.ratings.group_by("condition")}
    assert found == {"old": [3.0] * 3, "new": [0.0] * 3}
    assert tables.ratings["mechanism"].unique().to_list() == ["Fluency"]
    said = " ".join(tables.notes)
    assert "read as no-error 0, minor 1, major 3" in said
    assert "3 rows are attention checks" in said
    assert "the worst counts" in said
    path.write_text(path.read_text().replace("Minor", "Mnior", 1))
    with pytest.raises(InputError, match="'Mnior'"):
        read_tables(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("other", ["old.csv", "/old.csv"])
def test_an_archive_with_two_files_of_one_name_is_refused(other: str, tmp_path: Path) -> None:
    """Which of them is meant nobody can tell: the last one used to be read."""
    with zipfile.ZipFile(tmp_path / "runs.zip", "w") as archive:
        for name, right in (("old.csv", 1), ("new.csv", 1), (other, 0)):
            archive.writestr(name, f"id,score\n1,{right}\n2,0\n3,1\n")
    with pytest.raises(InputError, match="two files have its name"):
        read_tables(tmp_path / "runs.zip")
