"""Simulated testees with known error fields: does the cluster test hold its level, and does a step cost the same
late as early? Nothing here is a model: errors come from a field.

Results are kept in a folder and what is there is not done again. Prints a table for each.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
from simulated_search import simulate_search

from richter_audit.ascent import SearchSettings, find_failing_groups
from richter_audit.knowledge import find_similar

CATEGORIES, DIM, SIZE = 60, 24, 4000


def field(kind, seed):
    """Vectors around category centres, categories, and the chance of error of each paragraph."""
    rng = np.random.default_rng([7, seed])
    centres = rng.normal(size=(CATEGORIES, DIM))
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)
    codes = np.sort(rng.integers(CATEGORIES, size=SIZE))
    vectors = centres[codes] + 0.6 * rng.normal(size=(SIZE, DIM)) / np.sqrt(DIM)
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    if kind == "topics":
        chance = 0.8 * rng.beta(0.5, 1.2, size=CATEGORIES)[codes]
    elif kind == "weak spots":
        chance = np.where(np.isin(codes, rng.choice(CATEGORIES, 6, replace=False)), 0.9, 0.12)
    elif kind == "smooth":
        axis = rng.normal(size=DIM)
        chance = 1 / (1 + np.exp(-6 * (vectors @ axis / np.linalg.norm(axis)) + 2))
    else:
        chance = np.full(SIZE, 0.25)
    return vectors, codes, chance


def search(vectors, codes, fails, strategy, seed, paragraphs):
    def find(rows, k, used):
        return find_similar(vectors[rows], vectors, k, exclude=used)

    settings = SearchSettings(strategy=strategy, seed=seed)
    return simulate_search(vectors, codes, find, lambda rows: fails[rows], settings, paragraphs=paragraphs)


def clusters(seed):
    """Errors at random: how many clusters are told?"""
    vectors, codes, chance = field("none", seed)
    rng = np.random.default_rng([8, seed])
    fails = (rng.random(SIZE) < chance).astype(float)
    found = search(vectors, codes, fails, ("portfolio", "sea", "bayes", "modes")[seed % 4], seed, 240)
    rows = np.array([row for batch in found.batches for row in batch])
    places = [{str(code)} for code in codes[rows]]
    return {"told": len(find_failing_groups(fails[rows] > 0, places=places, vectors=vectors[rows]).groups)}


def steps(seed):
    """Processor time of a search through its ledger, with 25 and 100 steps of 20 paragraphs."""
    from richter.records import Answer, Condition, Decoding, Document, Paragraph, Question
    from richter_audit.ascent import run_search
    from richter_audit.knowledge import open_base, write_base
    from richter_audit.llm import parse_budget

    class Testee:
        name = "simulated/testee"

        async def ask(self, messages, decoding, draw):
            right = hash(messages[-1]["content"]) % 3
            wanted = next(c for c in decoding.choices if c.strip().startswith("wrong") != bool(right))
            return Answer(text=wanted, tokens_in=9, tokens_out=2, money_usd=0.0)

        async def aclose(self):
            pass

    rng = np.random.default_rng(seed)
    table = rng.normal(size=(5000, 16)).astype(np.float32)

    def vectors(texts):
        rows = np.array([table[abs(hash(text)) % 5000] for text in texts]).reshape(-1, 16)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)

    wrong = ("wrong 1", "wrong 2", "wrong 3")
    documents = [
        Document(
            title=f"D{d}",
            abstract=f"D{d}",
            paragraphs=tuple(
                Paragraph(
                    text=f"D{d} {p}",
                    category=f"c{d % 20}",
                    questions=(Question(answer=f"r {d} {p}", wrong=wrong, wordings=(f"Q {d} {p}?", f"P {d} {p}?")),),
                )
                for p in range(50)
            ),
        )
        for d in range(100)
    ]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        write_base(Path(folder) / "kb", documents, name="x", embedding="by hand", vectors=vectors, dim=16)
        base = open_base(Path(folder) / "kb")
        condition = Condition(name="t", model="simulated/testee", decoding=Decoding(max_tokens=8), style="cloze")
        for strategy in ("sea", "modes"):
            for count in (25, 100):
                settings = SearchSettings(strategy=strategy, batch=20, phrasings=2)
                started, run = time.process_time(), Path(folder) / f"{strategy}{count}"
                run_search(
                    run, base, condition, settings, budget=parse_budget("100000calls"), model=Testee(), steps=count
                )
                found[f"{strategy} {count}"] = time.process_time() - started
    return found


STUDIES = {"clusters": (clusters, 1000), "steps": (steps, 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--keep", type=Path, default=Path("soak") / "search_fields.jsonl")
    parser.add_argument("--only", choices=STUDIES, action="append")
    options = parser.parse_args()
    options.keep.parent.mkdir(parents=True, exist_ok=True)
    done = {}
    if options.keep.exists():
        for line in options.keep.read_text().splitlines():
            row = json.loads(line)
            done[row["study"], row["seed"]] = row
    for name in options.only or STUDIES:
        run, count = STUDIES[name]
        for seed in range(count):
            if (name, seed) not in done:
                row = {"study": name, "seed": seed, **run(seed)}
                done[name, seed] = row
                with options.keep.open("a") as file:
                    file.write(json.dumps(row) + "\n")
    rows = {name: [row for (study, _), row in sorted(done.items()) if study == name] for name in STUDIES}
    told = [row["told"] for row in rows["clusters"]]
    if told:
        some, several = (sum(count >= least for count in told) for least in (1, 2))
        print(f"with errors at random a cluster is told in {some} of {len(told)} searches, several in {several}")
    for row in rows["steps"]:
        print({key: round(value, 1) for key, value in row.items() if key not in ("study", "seed")})


if __name__ == "__main__":
    main()
