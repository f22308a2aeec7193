"""Copies of a run in other words: made, asked, scored and compared; and two scorers in one command."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from helpers.server import FakeApi
from richter.cli import main
from richter.records import Item, Verdict
from richter_audit.bench import write_items
from richter_audit.stages import compare_copies, perturb_items
from tail_generators import draw_severities


def run(*words: object) -> int:
    with pytest.raises(SystemExit) as done:
        main([str(w) for w in words])
    return int(done.value.code or 0)


def reply(prompt: str) -> str:
    if prompt.startswith("Write this question in other words"):
        question = prompt.rsplit("\n\n", 1)[1]
        return "" if question.endswith("number 3?") else f"Which thing is meant by {question}"
    return "word " * (1 + len(prompt) % 7) + ("and more " * 5 if "full sentences" in prompt else "")


@pytest.fixture
def asked(tmp_path: Path) -> tuple[Path, FakeApi]:
    items = [Item(id=f"i{k}", prompt=f"What is number {k}?", reference=str(k)) for k in range(40)]
    write_items(items, tmp_path / "items.jsonl")
    with FakeApi(reply=reply) as server:
        assert (
            run(
                "audit",
                "--only",
                "ask",
                tmp_path / "run",
                "--bench",
                tmp_path / "items.jsonl",
                "--model",
                f"{server.url}#m",
            )
            == 0
        )
        yield tmp_path, server


def test_a_probe_makes_asks_scores_and_compares_its_copies(
    asked: tuple[Path, FakeApi], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, server = asked
    words = (
        "audit",
        folder / "run",
        "--scorer",
        "length",
        "-o",
        folder / "probe.csv",
        "--resamples",
        200,
    )
    copies = ("--copy", "template", "--copy", "length", "--copy", "model", "--paraphraser", f"{server.url}#p")
    before = sum(server.requests.values())
    assert run(*words, *copies, "--dry-run") == 0
    assert "At most 160 calls" in capsys.readouterr().out
    assert sum(server.requests.values()) == before
    assert run(*words, *copies, "--json", folder / "found.json") == 0
    found = json.loads((folder / "found.json").read_text())["probes"]
    assert [p["copy"] for p in found] == ["template", "length", "model"]
    assert {p["claim"]["verdict"] for p in found} == {"blocked"}  # 2 exceedances are under G3's 500
    assert {p["claim"]["blocked_by"] for p in found} <= {"G1", "G2", "G3"}
    table = pl.read_csv(folder / "probe.csv")
    counts = dict(table.group_by("condition").len().iter_rows())
    assert sorted(counts.values()) == [39, 40, 40, 40]  # one question was put into no words, and is left out
    longer = table.filter(pl.col("condition").str.contains(r"\(length\)"))["length"].mean()
    assert longer > table.filter(~pl.col("condition").str.contains(r"\("))["length"].mean() + 20
    paid = sum(server.requests.values())
    assert run(*words, *copies) == 0
    assert sum(server.requests.values()) == paid  # nothing is asked twice


def test_copies_without_their_model_or_in_cloze_are_refused(
    asked: tuple[Path, FakeApi], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, _ = asked
    words = (
        "audit",
        folder / "run",
        "--scorer",
        "length",
        "-o",
        folder / "p.csv",
        "--copy",
        "model",
    )
    assert run(*words) == 1
    assert "--paraphraser" in capsys.readouterr().err


def test_perturbed_items_by_hand() -> None:
    items = [Item(id="a", prompt="Who?", reference="x"), Item(id="b", prompt="Where?", reference="y")]
    framed = perturb_items(items, "template")
    assert all(new.prompt.endswith(f" {old.prompt}") for new, old in zip(framed, items, strict=True))
    assert [i.prompt for i in perturb_items(items, "template")] == [i.prompt for i in framed]
    assert perturb_items(items, "judge") == items
    told = {"a": "Which\nperson?", "b": "Where?"}  # the second is unchanged
    assert [i.prompt for i in perturb_items(items, "model", reworded=told)] == ["Which person?"]
    assert perturb_items(items, "model", reworded={"a": "x" * 5000}) == []


def test_a_changed_tail_is_found_and_an_unchanged_one_is_not_recovers_truth() -> None:
    rng = np.random.default_rng(4)
    n = 31_400
    columns = {"m": 0.0, "m (template)": 0.0, "m (length)": 0.25}
    frame = pl.concat(
        pl.DataFrame({"item": np.arange(n).astype(str), "condition": name, "nll": draw_severities(n, xi, rng=rng)})
        for name, xi in columns.items()
    )
    options = {"tolerance_mean": 0.1, "tolerance_tvar": 0.2, "n_resamples": 300, "pairing": "independent"}
    same, other = compare_copies(frame, ["template", "length"], ["nll"], **options)
    assert same.claim.verdict is not Verdict.VERIFIED
    assert other.claim.verdict is Verdict.VERIFIED
    assert other.claim.estimate == pytest.approx(0.25, abs=0.1)


def test_two_scorers_in_one_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = {"x" * k: k / 10 for k in range(1, 38)}
    (tmp_path / "words.json").write_text(json.dumps({"bias": -4.0, "weights": words}))
    table, out = tmp_path / "answers.csv", tmp_path / "scores.csv"
    both = pl.DataFrame({"item": np.tile(np.arange(200), 2).astype(str), "condition": ["a"] * 200 + ["b"] * 200})
    both.with_columns(answer=pl.Series("x" * (k % 37 + 1) for k in range(400))).write_csv(table)
    words = ("audit", table, "--scorer", "toxicity", "--scorer", "length", "--test", "-o", out)
    assert run(*words, "--weights", tmp_path / "words.json", "--json", tmp_path / "s.json") == 0
    assert "shown under 0 of 2 scorers" in capsys.readouterr().out
    found = json.loads((tmp_path / "s.json").read_text())["scorers"]
    assert {name: r["transform"] for name, r in found.items()} == {"toxicity": "logit", "length": "identity"}
    assert {"toxicity", "length"} <= set(pl.read_csv(out).columns)
