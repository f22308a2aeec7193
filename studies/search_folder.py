"""From a folder of documents to a regression set, over real HTTP on loopback with simulated models (named so).

A simulated generator writes questions from the documents, a simulated testee answers them by a known field: by topic
(three fields) or at random (one). Compared are the defaults of today and those before (five questions in five wordings,
all asked). Prints, for each field: calls for each different wrong question, wrong questions and effective categories in
1,000 calls, and the share of the exported set that fails again.
"""

import argparse
import dataclasses
import hashlib
import json
import re
import shutil
from pathlib import Path

import numpy as np
from simulated_server import SimulatedServer, uniform

from richter.records import Condition, Decoding
from richter.store import open_ledger
from richter_audit.ascent import SearchSettings, failing_questions, generate_questions, grade, run_search
from richter_audit.bench import read_items
from richter_audit.cli._calls import Calls
from richter_audit.cli._search_export_output import export_failing
from richter_audit.knowledge import open_base, read_documents, write_base
from richter_audit.llm import parse_budget
from richter_audit.stages import ask_run

FIELDS = ("topics", "weak spots", "smooth", "none")
BEFORE = {"questions": 5, "phrasings": 5, "wordings": "all"}
WAYS = {
    "modes (default)": {},
    "sea": {"strategy": "sea"},
    "bayes": {"strategy": "bayes"},
    "random": {"strategy": "random"},
    "sea, as before": {"strategy": "sea", **BEFORE},
    "bayes, as before": {"strategy": "bayes", **BEFORE},
}


class Simulated(SimulatedServer):
    """A simulated generator and a simulated testee; `chance` is the testee's error by paragraph."""

    def __init__(self):
        self.rows, self.chance, self.field = {}, None, ""

    def reply(self, model, prompt):
        return self.generate(prompt) if model == "simulated-generator" else self.answer(prompt)

    def generate(self, prompt):
        if '"options":' in prompt:
            shown = json.loads(prompt.splitlines()[1])
            options = {line[3:]: line[0] for line in shown["options"].splitlines()}
            inside = [letter for text, letter in options.items() if re.search(rf"\b{re.escape(text)}\b", shown["text"])]
            return json.dumps({"right": inside[:1], "given_away": False})
        found = re.search(r"SOURCE-([0-9a-f]{16})\n(.*)\nSOURCE-\1", prompt, re.DOTALL)
        if found is None:
            return prompt.rpartition(" ")[2]  # a sentinel's word
        text = found[2]
        case = hashlib.sha256(text.encode()).hexdigest()[:8]
        words = list(dict.fromkeys(re.findall(r"\b[a-z]{6,}\b", text)))
        rows = []
        for i, word in enumerate(words[:5]):
            before = re.findall(r"\w+", text[: re.search(rf"\b{word}\b", text).start()])[-4:]
            question = f"Case {case}-{i}: which word follows {' '.join(before)}?"
            rows.append({"question": question, "answer": word, "wrong": [f"{word[::-1]}{k}" for k in "xyz"]})
        return json.dumps({"questions": rows})

    def answer(self, prompt):
        found = re.search(r"Case ([0-9a-f]{8}-\d)", prompt)
        if found is None:
            return prompt.rpartition(" ")[2]  # a sentinel's word
        name = found[1]
        options = {line[3:]: line[0] for line in prompt.splitlines() if re.match(r"[A-D]\. ", line)}
        right = next(text for text in options if f"{text[::-1]}x" in options)
        wrong = uniform(self.field, name) < self.chance[self.rows[name[:8]]]
        if uniform(self.field, prompt) < 0.08:
            wrong = not wrong  # it wavers with the words
        chosen = next(t for t in options if (t == right) != wrong)
        return f"Answer: {options[chosen]}"


def chances(kind, base, seed):
    rng = np.random.default_rng([3, seed])
    documents = np.searchsorted(base.first_rows, np.arange(len(base)), side="right") - 1
    if kind == "topics":
        return 0.8 * rng.beta(0.5, 1.2, size=documents.max() + 1)[documents]
    if kind == "weak spots":
        return np.where(np.isin(documents, rng.choice(documents.max() + 1, 8, replace=False)), 0.9, 0.1)
    if kind == "smooth":
        axis = rng.normal(size=base.vectors.shape[1])
        return 1 / (1 + np.exp(-12 * (base.vectors @ axis / np.linalg.norm(axis)) + 1.5))
    return np.full(len(base), 0.25)


def fails_again(folder, items, condition):
    """How many of a set's items are answered wrongly again with the options in another order, which their ids fix."""
    shutil.rmtree(folder, ignore_errors=True)
    ask_run(folder, items, [condition], prices={})
    with open_ledger(folder) as ledger:
        shown = {item.id: item for item in ledger.items()}
        return sum(grade(shown[a.item], a, condition.style) == "wrong" for a in ledger.answers(condition.name))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=Path("docs"), help="documents, 100 of them")
    parser.add_argument("--keep", type=Path, default=Path("soak") / "search_folder")
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--paragraphs", type=int, default=800)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--ways", nargs="+", default=list(WAYS))
    options = parser.parse_args()
    options.keep.mkdir(parents=True, exist_ok=True)
    table = options.keep / "results.jsonl"
    done = [json.loads(line) for line in table.read_text().splitlines()] if table.exists() else []
    kb = options.keep / "kb"
    if not (kb / "questions.done").exists():
        shutil.rmtree(kb, ignore_errors=True)
        info = write_base(kb, read_documents(options.folder), name="folder")
        print(f"{sum(info.read.values())} documents, {info.paragraphs} paragraphs, skipped {dict(info.skipped)}")
    base = open_base(kb)
    with Simulated() as server:
        if not (kb / "questions.done").exists():
            writer = f"{server.url}#simulated-generator"
            report = generate_questions(
                base,
                writer,
                per_paragraph=5,
                limit=options.paragraphs,
                budget=parse_budget("20000calls"),
                prices={},
                rng=np.random.default_rng(0),
            )
            print(report)
            lines = []
            for q in base.stored:  # five wordings each, for the way of before
                first = q.question.wordings[:1]
                more = tuple(f"{lead} {first[0]}" for lead in ("Tell me.", "Say.", "Well?", "So.")) if first else ()
                lines.append(dataclasses.replace(q, question=dataclasses.replace(q.question, wordings=first + more)))
            (kb / "questions.jsonl").write_text("".join(json.dumps(q.to_dict()) + "\n" for q in lines))
            (kb / "questions.done").touch()
            base = open_base(kb)
        texts = base.paragraphs(list(range(len(base))))
        server.rows = {hashlib.sha256(p.text.encode()).hexdigest()[:8]: i for i, p in enumerate(texts)}
        for seed in range(options.seeds):
            for kind in FIELDS:
                server.field, server.chance = f"{kind}{seed}", chances(kind, base, seed)
                for way in options.ways:
                    if any((row["field"], row["way"], row["seed"]) == (kind, way, seed) for row in done):
                        continue
                    run = options.keep / f"{kind}-{way}-{seed}".replace(" ", "_")
                    shutil.rmtree(run, ignore_errors=True)
                    model = f"{server.url}#simulated-testee"
                    condition = Condition(name="t", model=model, decoding=Decoding(max_tokens=64), style="choice")
                    found = run_search(
                        run,
                        base,
                        condition,
                        SearchSettings(seed=seed, **WAYS[way]),
                        budget=parse_budget(f"{options.calls}calls"),
                        prices={},
                    )
                    sets = {}
                    for again in (0, None):  # as the search leaves it, and the default
                        out = run.with_name(f"{run.name}.{again}.jsonl")
                        shutil.rmtree(out.with_name(f"{out.name}.again"), ignore_errors=True)
                        export_failing(run, out, to="items", again=again, calls=Calls(), base_path=kb, force=True)
                        items = read_items(out)
                        sets[again] = len(items), fails_again(run.with_name(f"{run.name}.then"), items, condition)
                    row = {
                        "field": kind,
                        "way": way,
                        "seed": seed,
                        "calls": found.spent.calls,
                        "wrong": found.errors_found,
                        "effective": found.effective_categories,
                        "exported": sets[None],
                        "as_it_is": sets[0],
                        "expected": failing_questions(run).expected_again,
                    }
                    done.append(row)
                    with table.open("a") as file:
                        file.write(json.dumps(row) + "\n")
    for row in done:
        each = row["calls"] / row["wrong"] if row["wrong"] else float("nan")
        shares = [f"{again / n:.0%} of {n}" for n, again in (row["exported"], row["as_it_is"])]
        effective = (row["effective"] or 0) * 1000 / row["calls"]
        print(
            f"{row['field']:10} {row['way']:18} {row['seed']}: {row['wrong']:4} wrong in {row['calls']} calls "
            f"({each:.1f} each), effective {effective:.1f}, fails again {shares[0]}; with --again 0 {shares[1]}, "
            f"expected {row['expected'] or float('nan'):.0%}"
        )


if __name__ == "__main__":
    main()
