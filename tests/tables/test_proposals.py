"""What is known is acted on, what is inferred is proposed: the exception, the options, the terminal, saved readings."""

import json
import tomllib
from pathlib import Path

import pytest

import richter
from richter.cli._main import main
from richter.errors import ReadingProposed, UnconfirmedReading
from richter.interop import LISTED
from richter.tables import read_tables, write_tables

PAIRS = [(f"q{i}", i % 2, int(i % 3 > 0)) for i in range(20)]
# the grade in a comment leaves open whether that column is a condition too
WIDE = "Thema,GPT,Llama,Kommentar\n" + "".join(f"{q},{a},{b},nun {q}\n" for q, a, b in PAIRS[:-1])
WIDE += "{},{},{},1\n".format(*PAIRS[-1])
LONG = "item,model,correct\n" + "".join(f"{q},gpt,{a}\n{q},llama,{b}\n" for q, a, b in PAIRS)


def write(folder: Path, text: str, name: str = "results.csv") -> Path:
    path = folder / name
    path.write_text(text, "utf-8")
    return path


def ended(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    assert isinstance(stop.value.code, int)
    return stop.value.code


@pytest.mark.parametrize("item", sorted(LISTED["item"]))
@pytest.mark.parametrize("condition", ["condition", "model", "system"])
def test_listed_names_are_read_at_once(item: str, condition: str, tmp_path: Path) -> None:
    tables = read_tables(write(tmp_path, LONG.replace("item,model", f"{item},{condition}")))
    assert tables.is_confirmed
    assert tables.conditions == ("gpt", "llama")
    (reading,) = tables.readings
    assert reading.is_known
    assert [role.field for role in reading.roles] == ["item", "condition", "score"]


@pytest.mark.parametrize("name", ["draw", "epoch", "repeat", "seed"])
def test_listed_draws_are_numbers(name: str, tmp_path: Path) -> None:
    rows = "".join(f"{q},gpt,{k},{a}\n" for q, a, _ in PAIRS for k in (1, 2, 3))
    tables = read_tables(write(tmp_path, f"item,model,{name},correct\n{rows}"))
    assert tables.is_confirmed
    assert tables.answers["draw"].max() == 2
    words = rows.replace(",1,1", ",one,1")
    with pytest.raises(ReadingProposed):
        read_tables(write(tmp_path, f"item,model,{name},correct\n{words}"))


def test_a_plain_wide_table_is_read_at_once(tmp_path: Path) -> None:
    text = "id,gpt,llama\n" + "".join(f"{q},{a},{b}\n" for q, a, b in PAIRS)
    assert read_tables(write(tmp_path, text)).is_confirmed
    for other in ("difficulty", "is_math", "tokens"):
        with pytest.raises(ReadingProposed):
            read_tables(write(tmp_path, text.replace("llama", other)))


def test_a_proposal_has_the_roles_and_the_options_that_confirm_it(tmp_path: Path) -> None:
    path = write(tmp_path, WIDE)
    with pytest.raises(ReadingProposed) as proposed:
        read_tables(path)
    assert len(proposed.value.lines) <= 9
    assert proposed.value.options.map == {"item": "Thema"}
    assert proposed.value.options.wide == ("GPT", "Llama")
    assert proposed.value.added == ("--map item=Thema", "--wide GPT,Llama")
    confirmed = read_tables(path, options=proposed.value.options)
    taken = read_tables(path, confirm=True)
    assert (confirmed.is_confirmed, taken.is_confirmed) == (True, False)
    assert confirmed.data_hash == taken.data_hash
    with pytest.warns(UnconfirmedReading):
        assert richter.open(path, confirm=True).tables.data_hash == taken.data_hash
    (reading,) = taken.readings
    assert not reading.is_known
    assert reading.unused == ("Kommentar",)


def test_off_a_terminal_a_proposal_ends_with_2_and_prints_the_command_that_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, WIDE)
    assert ended("compare", "results.csv") == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Keep it: richter compare results.csv --map item=Thema --wide GPT,Llama" in err
    assert ended("compare", "results.csv", "--map", "item=Thema", "--wide", "GPT,Llama") == 0
    assert "Reading not confirmed" not in capsys.readouterr().out
    assert ended("compare", "results.csv", "--yes") == 0
    assert "Reading not confirmed" in capsys.readouterr().out
    assert not (tmp_path / "richter.toml").exists()


def test_a_saved_reading_confirms_the_next_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, WIDE, "results [1].csv")
    (tmp_path / "richter.toml").write_text('margin = "2pt"\n')
    assert ended("results [1].csv", "--save-reading") == 0
    entry = tomllib.loads((tmp_path / "richter.toml").read_text("utf-8"))
    assert entry == {
        "margin": "2pt", "read": {"results [[]1].csv": {"map": {"item": "Thema"}, "wide": ["GPT", "Llama"]}}
    }  # fmt: skip
    capsys.readouterr()
    assert ended("compare", "results [1].csv") == 0
    assert "Reading not confirmed" not in capsys.readouterr().out
    write(tmp_path, WIDE, "results 1.csv")  # another file
    assert ended("compare", "results 1.csv") == 2


def test_on_a_terminal_the_user_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from richter.cli import _io

    monkeypatch.chdir(tmp_path)
    write(tmp_path, WIDE)
    monkeypatch.setattr(_io.sys.stdin, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(_io.sys.stderr, "isatty", lambda: True, raising=False)
    asked: list[str] = []
    answers = iter([False, True])
    monkeypatch.setattr(_io.click, "confirm", lambda text, **_: asked.append(text) or next(answers))
    assert ended("results.csv") == 2
    assert ended("results.csv") == 0
    assert len(asked) == 2  # once for each command
    assert "Reading not confirmed" not in capsys.readouterr().out


def test_a_plans_reading_wins_over_a_saved_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "item,model,alpha,beta\n" + "".join(
        f"q{i},{m},{int(i % 5 > 0)},{int(m == 'new' and i % 5 > 0)}\n" for i in range(300) for m in ("old", "new")
    )
    monkeypatch.chdir(tmp_path)
    write(tmp_path, text)
    (tmp_path / "richter.toml").write_text('[read."results.csv"]\nmap = {score = "beta"}\n')
    require = 'require=[{metric="accuracy", rule="no_worse", limit=0.05}]'
    fixed = ("candidate=new", "baseline=old", require, 'read={map={score="alpha"}}')
    assert ended("plan", "new", "gate", *(word for value in fixed for word in ("--set", value))) == 0
    ended("gate", "plan.toml", "results.csv", "--json", "gate.json")
    capsys.readouterr()
    (claim,) = json.loads((tmp_path / "gate.json").read_text("utf-8"))["claims"]
    assert claim["estimate"] == 0.0
    ended("gate", "results.csv", "old", "new", "--margin", "5pt", "--json", "saved.json")
    (claim,) = json.loads((tmp_path / "saved.json").read_text("utf-8"))["claims"]
    assert claim["estimate"] > 0.5


def test_a_run_keeps_that_its_reading_was_not_confirmed(tmp_path: Path) -> None:
    path = write(tmp_path, WIDE)
    taken = read_tables(path, confirm=True)
    write_tables(taken, tmp_path / "run")
    assert not read_tables(tmp_path / "run").is_confirmed
    write_tables(read_tables(path, options=taken.readings[0].options), tmp_path / "confirmed")
    assert read_tables(tmp_path / "confirmed").is_confirmed
