"""Many conditions, dates and refusals as a person meets them, and advice that can be pasted."""

import re
from pathlib import Path

import pytest

from helpers.commands import run
from richter.cli import main
from richter.tables._words import wide_option


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def board(path: str, names: list[str], *, column: str = "model", items: int = 60) -> None:
    """The k-th of K names is right on k of K items, in no order that items share: those far apart are told apart."""
    rows = "".join(
        f"q{i},{name},{int((i * 37 + k) % items < (0.3 + 0.65 * k / len(names)) * items)}\n"
        for k, name in enumerate(names)
        for i in range(items)
    )
    Path(path).write_text(f"question,{column},correct\n{rows}")


@pytest.mark.parametrize("number", [12, 40])
def test_a_board_answers_first_and_lists_few_pairs(
    folder: Path, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    """Of 40 conditions 40 pairs and 19 long sets stood above the table, and which is best was never said."""
    board("board.csv", [f"model-{k:02}" for k in range(number)])
    with pytest.raises(SystemExit):
        main(["compare", "board.csv"])
    lines = capsys.readouterr().out.splitlines()
    assert f"model-{number - 1}," in lines[0]
    table = next(k for k, line in enumerate(lines) if line.split()[:2] == ["rank", "name"])
    assert table < 4
    assert f"model-{number - 1}" in lines[table + 1]  # best first
    assert len(lines) < 40
    with pytest.raises(SystemExit):
        main(["compare", "board.csv", "--verbose"])
    more = capsys.readouterr().out.splitlines()
    assert sum(" better than " in line for line in more if line.startswith("model-")) <= 15
    assert any("pairs more (--json has all)" in line for line in more)


def test_dates_as_conditions_name_the_command_that_follows_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """60 dates were 1,770 pairs; the command that is named works as it stands, whatever the column is called."""
    board("days.csv", [f"2026-01-{k + 1:02}" for k in range(20)], column='"when, exactly"', items=20)
    said = run(capsys, "compare days.csv --map 'condition=when, exactly'")[1]
    command = said.partition("richter ")[2].partition(" Inconclusive")[0].partition(" On accuracy")[0]
    assert command.startswith("watch days.csv ")
    code, said = run(capsys, command)
    assert code in (0, 3, 4), said  # 20 questions a day could not show a jump of 15 points
    assert "20 days" in said


def test_the_page_lists_what_was_not_compared(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`compare` told every pair and its reason, the page and Markdown the first one only; slopes were on neither."""
    starts = {"a": 0, "b": 0, "far": 50}
    rows = [f"q{i},{c},{i % 3 % 2}\n" for c, start in starts.items() for i in range(start, start + 60)]
    Path("part.csv").write_text("item,condition,correct\n" + "".join(rows))
    assert run(capsys, "report part.csv -o part.html --md part.md")[0] == 0
    want = "far and each of a, b: only 10 of 110 questions are graded in both"
    assert f"Not compared: {want}" in run(capsys, "compare part.csv")[1]
    assert f"**not compared** {want}" in Path("part.md").read_text()
    assert "only 10 of 110 questions are" in Path("part.html").read_text()
    severe = [f"q{i},{c},{(i * k) % 9 / 2}\n" for c, k in (("a", 1), ("b", 2)) for i in range(90)]
    Path("severe.csv").write_text("item,condition,severity\n" + "".join(severe))
    told = re.search(r"compare b with a on slope b: [^(]*", run(capsys, "compare severe.csv --verbose")[1])
    assert told is not None
    assert run(capsys, "report severe.csv -o severe.html --md severe.md")[0] == 0
    for page in ("severe.html", "severe.md"):
        assert told[0] in Path(page).read_text().replace("&#39;", "'"), page


def test_names_with_commas_can_be_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--wide Model A, v1,Model B` fell apart at its commas."""
    rows = "".join(f"q{i},{i % 2},{i % 3 % 2},{i % 5}\n" for i in range(40))
    Path("wide.csv").write_text(f'question,"Model A, v1","Model B, v2",length\n{rows}')
    said = run(capsys, "compare wide.csv --wide 'Model A, v1'")[1]
    assert "no column 'Model A'" in said
    assert """--wide '"Model A, v1"'""" in said
    code, said = run(capsys, "compare wide.csv " + wide_option(["Model A, v1", "Model B, v2"]))
    assert code == 0, said
    assert "Model A, v1, Model B, v2" in said


def test_the_page_is_advised_with_the_options_that_were_given(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`richter FILE --map score=X` said `richter report FILE`, which asked for the column again."""
    rows = "".join(f"q{i},{c},{i % k},{2 * (i % k > 0)}\n" for c, k in (("old", 2), ("new", 40)) for i in range(40))
    Path("two.csv").write_text(f"question,model,mark one,mark two\n{rows}")
    code, said = run(capsys, "two.csv --map 'score=mark two' --scale 0:2")
    assert code == 0, said
    command = said.partition("Next: ")[2].partition("richter ")[2].partition("   ")[0].partition(" see what")[0]
    assert command == "report two.csv --map 'score=mark two' --scale 0:2 -o page.html"
    assert run(capsys, command)[0] == 0
