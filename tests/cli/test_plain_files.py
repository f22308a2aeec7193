"""`view`, `export`, `gate` and `report` on files that `compare` takes, and files too large to read."""

from pathlib import Path

import polars as pl
import pytest

from richter import report
from richter.cli import main
from richter.store import is_run, open_ledger

TABLE = "id;model;correct\n" + "".join(f"q{i};{m};{(i + k) % 3 and 1}\n" for k, m in enumerate("ab") for i in range(30))


def run(*args: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(args))
    return int(stop.value.code or 0)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "results.csv"
    path.write_text(TABLE)
    return path


@pytest.mark.audit
def test_view_takes_files_as_one_run(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, tuple[str, ...]]] = []

    def serve(app: report.RunsApp, **_: object) -> None:
        for place in app.runs:
            assert is_run(Path(place))
            with open_ledger(place) as ledger:
                seen.append((len(list(ledger.answers())), tuple(c.name for c in ledger.conditions())))

    monkeypatch.setattr(report, "serve_runs", serve)
    assert run("view", str(table), "--no-browser") == 0
    assert seen == [(60, ("a", "b"))]


def test_export_takes_files_and_their_options(table: Path, tmp_path: Path) -> None:
    assert run("export", str(table), "-o", str(tmp_path / "out.parquet")) == 0
    frame = pl.read_parquet(tmp_path / "out.parquet")
    assert frame.height == 60
    assert frame["correct"].sum() == 40


@pytest.mark.parametrize("start", ["", '{"id":1,"model":"a","correct":1}\n'])
def test_a_file_of_5_gb_is_refused_at_once_with_its_size(
    start: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "large.jsonl"
    with path.open("w") as file:
        file.write(start)
        file.truncate(5_000_000_000)  # it takes no room on the disk
    assert run(str(path)) == 1
    assert "5.0 GB" in capsys.readouterr().err


@pytest.mark.parametrize("scale", ["nan:5", "1:inf", "3:3", "5"])
def test_a_scale_has_two_ends(scale: str, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("compare", str(table), "--scale", scale) == 2
    assert "as 1:5" in capsys.readouterr().err
