"""One source of sizes and of next steps: `compare`, `size` and the page say the same of the same data."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from richter.audit import compare_tables, measure_run, size_from_pilot
from richter.cli import main
from richter.records import Verdict
from richter.tables import read_tables
from richter.words import NamedData, describe_first_step, describe_pilot_size


def table(path: Path, *, group: int = 0, repeats: int = 1, own_questions: bool = False, **more: object) -> Path:
    """Right and wrong answers of two models that hardly differ, with what else a file may hold."""
    rng = np.random.default_rng(5)
    n, luck = 120, np.random.default_rng(6).random(120)
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "model", "correct", *(["group"] if group else []), "epoch", *more])
        for name in ("old", "new"):
            for k in range(n):
                item = f"{name}{k}" if own_questions else f"q{k}"
                for epoch in range(repeats):
                    right = (luck[k] if rng.random() < 0.5 else rng.random()) < 0.66
                    rows.writerow(
                        [item, name, int(right), *([f"g{k // group}"] if group else []), epoch, *more.values()]
                    )
    return path


@pytest.mark.parametrize("margin", [None, 0.05])
@pytest.mark.parametrize(
    "shape", [{}, {"group": 6}, {"repeats": 3}, {"own_questions": True}], ids=lambda shape: next(iter(shape), "plain")
)
def test_compare_and_size_say_one_sentence_on_sizes(
    shape: dict[str, Any], margin: float | None, tmp_path: Path
) -> None:
    """Paired, in groups, repeated, without pairs: the sizes come from one function and read alike."""
    tables = read_tables(table(tmp_path / "results.csv", **shape))
    compared = compare_tables(tables, margin=margin, n_resamples=100)
    (claim,) = [c for c in compared.claims if c.primary]
    assert claim.verdict is Verdict.UNDECIDED
    size = size_from_pilot(tables, margins={} if margin is None else {"": margin})
    assert compared.first_lines.sizes == describe_pilot_size(size)[0]
    if margin is None:
        per_unit = claim.n / claim.units
        assert [s.items for s in size.steps] == [pytest.approx(s.units * per_unit, abs=2) for s in claim.sizes]


@pytest.mark.parametrize("vouched", [{}, {"unpaired": True}, {"missing": "at-random"}, {"level": 0.9}], ids=str)
@pytest.mark.parametrize("more", [{}, {"judge": "gpt-4o"}, {"answer": "text", "judge": "gpt-4o"}], ids=str)
def test_the_page_begins_with_the_step_that_the_terminal_names(
    vouched: dict[str, Any], more: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = table(tmp_path / "results.csv", **more)
    options = [f"--{name}" + (f"={value}" if value is not True else "") for name, value in vouched.items()]
    with pytest.raises(SystemExit):
        main(["compare", str(path), "old", "new", *options])
    said = capsys.readouterr().out.splitlines()[-1].replace(f"{tmp_path}/", "")
    document = measure_run(path, conditions=("old", "new"), n_resamples=100, **vouched).to_dict()
    assert said == f"Next: {document['next'][0]}"
    assert document["methods"]["vouched"] == {k: value for k, value in vouched.items() if k != "level"}


def test_a_run_is_labelled_as_it_is_and_files_are_imported_first() -> None:
    """Only the two that are compared are sampled."""
    run, files = NamedData(again="run1", names="old new", is_run=True), NamedData(again="a.csv", names="old new")
    assert run.label_command() == "richter label run1 old new --rater me"
    assert files.label_command() == "richter import a.csv -o run1; richter label run1 old new --rater me"
    assert files.asked == "a.csv old new"
    stated = {"trust_ids": True, "missing": "shared", "margin": {"": 0.05, "cost": 0.1}, "level": 0.9}
    assert NamedData(again="a.csv", options=stated).asked == (
        "a.csv --trust-ids --missing shared --margin 0.05 --margin cost=0.1 --level 0.9"
    )
    assert describe_first_step([], files) == ""


def test_a_report_takes_what_the_user_vouches_for(tmp_path: Path) -> None:
    """Every option of `compare` that overrides a check reaches the page's claims, and `verify` makes them again."""
    path, results = table(tmp_path / "results.csv"), tmp_path / "results.json"
    with pytest.raises(SystemExit) as stop:
        main(["report", str(path), "--unpaired", "--json", str(results)])
    assert not stop.value.code
    (claim,) = [c for c in json.loads(results.read_text())["claims"] if c["primary"]]
    alone = compare_tables(read_tables(path), unpaired=True, n_resamples=100).claims[0]
    assert claim["n"] == alone.n == 240
    assert alone.interval is not None
    assert claim["interval"]["low"] == pytest.approx(alone.interval.low)
    with pytest.raises(SystemExit) as stop:
        main(["verify", str(results), str(path)])
    assert not stop.value.code


def test_terminal_and_page_begin_with_the_same_step(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of several models: the best two that can't be told apart, at the level of the pairs that are left. `worst` loses
    to both by 20 points and more, so one pair of three is open, and the command needs no --pairs."""
    rng, path = np.random.default_rng(5), tmp_path / "three.csv"
    shares = {"good": 0.8, "best": 0.82, "worst": 0.4}
    rows = [f"q{k},{name},{int(rng.random() < p)}" for k in range(200) for name, p in shares.items()]
    path.write_text("\n".join(["id,model,correct", *rows]))
    with pytest.raises(SystemExit):
        main(["compare", str(path)])
    *lines, step = capsys.readouterr().out.replace(f"{tmp_path}/", "").splitlines()
    ways = "add questions, or run each one several times"
    assert step == f"Next: to tell best from good, {ways}: richter size three.csv good best"
    assert measure_run(path, n_resamples=100).to_dict()["next"][0] == step.removeprefix("Next: ")
    with pytest.raises(SystemExit) as stop:
        main(["size", str(path), "good", "best"])
    assert not stop.value.code
    size = capsys.readouterr().out.splitlines()[0]
    assert f"Between good and best, {size[:1].lower()}{size[1:]}" in lines  # of the pair that the next step names
    with pytest.raises(SystemExit):
        main(["compare", str(path), "good", "worst"])
    looks = capsys.readouterr().out.splitlines()[-1].replace(f"{tmp_path}/", "")
    page = measure_run(path, conditions=("good", "worst"), n_resamples=100).to_dict()["next"][0]
    assert page.startswith("look at the ")
    assert looks == f"Next: {page}: richter report three.csv good worst -o page.html"
