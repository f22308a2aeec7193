"""Votes on one prompt and one id in several languages are one unit, not as many as there are rows."""

from pathlib import Path

import numpy as np
import polars as pl

from richter.audit import compare_tables
from richter.tables import Dataset, ReadOptions, read_tables

PROMPTS, VOTES = 60, 3


def votes(folder: Path, rng: np.random.Generator) -> Dataset:
    """Prompts that each favour one of two models at random, judged by three people who mostly agree."""
    rows = []
    for prompt in range(PROMPTS):
        favoured = rng.random() < 0.5
        rows += [
            (prompt, f"r{k}", "x", "y", "A" if favoured ^ (rng.random() < 0.1) else "B") for k in range(VOTES)
        ]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["id", "annotator", "model_a", "model_b", "preference"], orient="row")
    frame.write_csv(folder / "votes.csv")
    return read_tables(folder / "votes.csv", options=ReadOptions(layout=("preferences",)))


def translations(folder: Path, rng: np.random.Generator) -> Dataset:
    """One question in four languages, nearly always right in all or in none."""
    rows = [
        (f"p{i}", model, language, int(right ^ (rng.random() < 0.05)))
        for i in range(PROMPTS) for model in ("x", "y") for right in [rng.random() < 0.5]
        for language in ("en", "de", "fr", "es")
    ]  # fmt: skip
    pl.DataFrame(rows, schema=["id", "model", "language", "correct"], orient="row").write_csv(folder / "langs.csv")
    return read_tables(folder / "langs.csv", options=ReadOptions(map={"domain": "language"}), confirm=True)


def test_votes_of_one_prompt_are_one_unit(tmp_path: Path) -> None:
    claim = compare_tables(votes(tmp_path, np.random.default_rng(1))).claims[0]
    assert (claim.units, claim.n, claim.unit) == (PROMPTS, PROMPTS * VOTES, "group")


def test_one_id_in_several_languages_is_one_unit(tmp_path: Path) -> None:
    claim = compare_tables(translations(tmp_path, np.random.default_rng(1))).claims[0]
    assert (claim.units, claim.n, claim.unit) == (PROMPTS, PROMPTS * 4, "group")


def test_equal_models_recovers_truth_in_19_of_20_tables(tmp_path: Path) -> None:
    rng, trials = np.random.default_rng(2), 60
    for made in (votes, translations):
        claims = [compare_tables(made(tmp_path, rng)).claims[0] for _ in range(trials)]
        false = sum(0 not in c.plain_interval for c in claims if c.plain_interval is not None)
        assert false <= 8, f"{made.__name__}: {false} of {trials}"  # binomial, 5%: more than 8 in 0.3% of runs


def test_three_annotators_of_an_answer_are_raters(tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    rows = [(f"p{i}", model, f"r{k}", int(rng.random() < 0.5))
            for i in range(PROMPTS) for model in ("x", "y") for k in range(3)]  # fmt: skip
    frame = pl.DataFrame(rows, schema=["prompt_id", "model", "annotator", "correct"], orient="row")
    frame.write_csv(tmp_path / "raters.csv")
    tables = read_tables(tmp_path / "raters.csv")
    assert "up to 3 raters per answer" in tables.understood
    report = compare_tables(tables)
    assert report.claims[0].units == PROMPTS
    assert "repeat" not in " ".join((tables.understood, *report.notes))
