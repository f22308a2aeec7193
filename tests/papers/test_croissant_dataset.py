"""The records of an audit as a data set that names its file and columns."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import croissant_dataset
from helpers.small_run import small_run
from richter.errors import InputError


@pytest.fixture
def folder(tmp_path: Path, rng: np.random.Generator) -> Path:
    run, target = small_run(tmp_path / "run", rng, n=5, text='=HYPERLINK("http://x")'), tmp_path / "set"
    croissant_dataset.main([str(run), str(target), "--license", "cc-by-4.0", "--creator", "Us"])
    with pytest.raises(InputError, match="not empty"):
        croissant_dataset.main([str(run), str(target)])
    return target


def test_the_description_names_the_file_and_its_columns(folder: Path) -> None:
    about = json.loads((folder / "croissant.json").read_text())
    for records, entry in zip(about["recordSet"], about["distribution"], strict=True):
        frame = pl.read_parquet(folder / entry["contentUrl"])
        assert [f["name"] for f in records["field"]] == frame.columns
        assert frame["answer"].to_list() == ['=HYPERLINK("http://x")'] * 10  # Parquet keeps what was said


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of what mlcroissant itself calls
def test_croissant_against_mlcroissant(folder: Path) -> None:
    mlcroissant = pytest.importorskip("mlcroissant", reason="mlcroissant is a heavy oracle")
    dataset = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    assert not dataset.metadata.ctx.issues.errors
    pytest.importorskip("pyarrow", reason="mlcroissant reads Parquet with pyarrow")
    assert len(list(dataset.records(record_set="answers"))) == 10
