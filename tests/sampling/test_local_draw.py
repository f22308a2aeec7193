"""The built-in model, really drawn from: a cloze of real facts, then calibration of what it repeats."""

import json
from pathlib import Path

import pytest

from helpers.local_model import need_smollm2
from richter.cli import main

pytestmark = [pytest.mark.local_model, pytest.mark.slow, pytest.mark.xdist_group("local_model")]

COUNTRIES = {"Nantes": "France", "Osaka": "Japan", "Lima": "Peru", "Accra": "Ghana"}


def test_draw_and_calibrate_the_built_in_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    need_smollm2("wordllama")
    shots = ["Berlin is a city in the country of Germany.", "Cairo is a city in the country of Egypt."]
    rows = [
        {
            "id": city,
            "prompt": f"In which country is {city}?",
            "reference": country,
            "options": list(COUNTRIES.values()),
            "stem": f"{city} is a city in the country of",
            "shots": shots,
        }
        for city, country in COUNTRIES.items()
    ]
    bench = tmp_path / "bench.jsonl"
    bench.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for arguments in (
        f"audit --only draw run --bench {bench} --model smollm2 --style cloze --draws 6 --concurrency 8",
        "calibration run --json -",
    ):
        capsys.readouterr()
        with pytest.raises(SystemExit) as stop:
            main([str(tmp_path / "run") if word == "run" else word for word in arguments.split()])
        assert not stop.value.code
    (row,) = json.loads(capsys.readouterr().out)["conditions"].values()
    assert (row["questions"], row["draws"]) == (4, 6)
    assert row["sem1"]["accuracy"] >= 0.5  # by chance a quarter; it knows its capitals and ports
    assert row["token"] is not None
