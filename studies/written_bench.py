"""What checking a written benchmark finds. Writer and checker are simulated on loopback, and their faults are known.

The questions are real ones of shared/data (Natural Questions with ten rewordings each, TriviaQA); what tier each truly
has is drawn. The writer gives one in 7 the wrong tier, one in 10 another question's answer, and one in 10 is another
wording of a question that it wrote before. The checker knows answers and tiers at the rates in the table.

    python studies/written_bench.py [--seeds 4] [--items 150]
"""

import argparse
import json
import os
import re
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
from simulated_server import SimulatedServer, uniform

from richter.texts import embed
from richter_audit.ascent import BenchOrder, write_bench
from richter_audit.ascent._question_checker import ALIKE, TIERS

DATA = Path(os.environ.get("RICHTER_SHARED_DATA", Path(__file__).parents[2] / "shared" / "data"))
FAULTS = (("wrong tier", 1 / 7), ("bad key", 0.1), ("duplicate", 0.1))
CHECKERS = {"knows 95%, reads 80% of tiers": (0.95, 0.8), "85%, 65%": (0.85, 0.65), "70%, 50%": (0.7, 0.5)}


def read_pool(data=DATA):
    """Questions with their answers and rewordings."""
    pool = []
    for row in json.loads((data / "nq_open_250_samples.json").read_text()):
        texts = [re.sub(r"^\d+\.\s*", "", text) for text in row["question_perturb"]]
        pool.append({"text": row["question"], "answer": row["right_answer"][0], "rewordings": texts})
    for line in (data / "triviaqa_500x20.jsonl").read_text().splitlines():
        row = json.loads(line)
        pool.append({"text": row["question"], "answer": row["reference"], "rewordings": []})
    return [q for q in pool if q["answer"].lower() not in q["text"].lower()]


class Pair(SimulatedServer):
    """The writer and the checker; `truth` says of every written text what is wrong with it."""

    def __init__(self, pool, seed, knows, reads_tier):
        self.pool, self.seed, self.knows, self.reads_tier = pool, seed, knows, reads_tier
        self.rng = np.random.default_rng(seed)
        self.fresh = [pool[int(k)] for k in self.rng.permutation(len(pool))]
        self.tier = {q["text"]: 1 + int(5 * uniform("tier", seed, q["text"])) for q in pool}
        self.of = {text: q for q in pool for text in [q["text"], *q["rewordings"]]}
        self.written, self.truth = [], {}

    def reply(self, model, prompt):
        if "{" not in prompt:  # Richter's own question, which shows that replies are not mixed up
            return prompt.rpartition(" ")[2]
        if "Write " in prompt:
            return self.write(prompt)
        data = json.loads(prompt[prompt.index("{") : prompt.rindex("}") + 1])
        return (
            self.compare(data)
            if "options" in data
            else self.read(data["question"], prompt.find("5: ") < prompt.find("1: "))
        )

    def write(self, prompt):
        number, tier = int(re.search(r"Write (\d+)", prompt)[1]), int(re.search(r"Difficulty (\d)", prompt)[1])
        rows = []
        for _ in range(number):
            luck, fault, share = self.rng.random(), "", 0.0
            for name, rate in FAULTS:
                fault = fault or (name if share <= luck < share + rate else "")
                share += rate
            found = self.pick(tier, fault)
            if found is None:
                continue
            text, answer = found
            if text not in self.truth:
                off = abs(self.tier[self.of[text]["text"]] - tier)
                self.truth[text] = f"{fault} by {min(off, 2)}" if fault == "wrong tier" else fault
                rows.append({"question": text, "answer": answer, "aliases": [], "form": "plain"})
        return json.dumps({"questions": rows})

    def pick(self, tier, fault):
        if fault == "duplicate":
            before = [q for q in self.written if q["rewordings"] and self.tier[q["text"]] == tier]
            if not before:
                return None
            q = before[int(self.rng.integers(len(before)))]
            return q["rewordings"][int(self.rng.integers(len(q["rewordings"])))], q["answer"]
        q = next((q for q in self.fresh if (self.tier[q["text"]] != tier) == (fault == "wrong tier")), None)
        if q is None:
            return None
        self.fresh.remove(q)
        self.written += [] if fault else [q]
        return q["text"], self.other(q["text"]) if fault == "bad key" else q["answer"]

    def other(self, text):
        return self.pool[int(len(self.pool) * uniform("other", self.seed, text))]["answer"]

    def read(self, text, turn):
        q = self.of[text]
        luck = uniform("tier read", self.seed, text, turn)
        step = 0 if luck < self.reads_tier else (-1 if luck < (1 + self.reads_tier) / 2 else 1)
        tier = min(5, max(1, self.tier[q["text"]] + step))
        return json.dumps({"answer": self.believes(q, "answer"), "tier": tier})

    def believes(self, q, turn):
        return q["answer"] if uniform(turn, self.seed, q["text"]) < self.knows else self.other(q["text"] + turn)

    def compare(self, data):
        q = self.of[data["question"]]
        if uniform("compare", self.seed, q["text"]) < self.knows:
            options = data["options"].splitlines()
            return json.dumps({"right": [line[0] for line in options if line[3:] == q["answer"]]})
        return json.dumps({"right": [["A"], ["B"], []][int(3 * uniform("guess", self.seed, q["text"]))]})


def run_once(pool, seed, items, knows, reads_tier):
    """What was written, by its truth: how many there are, and how many were taken."""
    with Pair(pool, seed, knows, reads_tier) as server, tempfile.TemporaryDirectory() as folder:
        order = BenchOrder(
            items=items, domains=("one", "two"), writer=f"{server.url}#writer", checker=f"{server.url}#checker"
        )
        made = write_bench(Path(folder) / "run", order)
        taken = {item.prompt for item in made.items}
        there = Counter(server.truth.values())
        return there, Counter(server.truth[text] for text in taken), made.spent.calls, len(made.items)


def print_duplicates():
    """How many rewordings the rule for duplicates finds, and how many pairs of different questions it takes for one."""
    rows = json.loads((DATA / "nq_open_250_samples.json").read_text())
    vectors = embed([row["question"] for row in rows])
    found = [
        embed([re.sub(r"^\d+\.\s*", "", t) for t in row["question_perturb"]]) @ v >= ALIKE
        for row, v in zip(rows, vectors, strict=True)
    ]
    pairs = (vectors @ vectors.T)[np.triu_indices(len(rows), 1)] >= ALIKE
    print(f"{np.mean(found):.1%} of {len(rows)} x 10 rewordings are alike (the cosine was chosen on these),")
    print(f"and {pairs.sum()} of {len(pairs):,} pairs of different questions, most of which have different answers")


def main():
    """Print what is found, by what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--items", type=int, default=150)
    given = parser.parse_args()
    pool = read_pool()
    assert len(TIERS) == 5
    print_duplicates()
    for name, (knows, reads_tier) in CHECKERS.items():
        rows = [run_once(pool, seed, given.items, knows, reads_tier) for seed in range(given.seeds)]
        there, taken = sum((r[0] for r in rows), Counter()), sum((r[1] for r in rows), Counter())
        print(
            f"checker {name}: {np.mean([r[2] for r in rows]):,.0f} calls for {np.mean([r[3] for r in rows]):.0f} taken"
        )
        for fault in sorted(there):
            found = there[fault] - taken[fault]
            print(f"  {fault or 'sound':18} {found} of {there[fault]} rejected ({found / there[fault]:.1%})")
        print(
            f"  faulty of those written {1 - there[''] / there.total():.1%}, of those taken "
            f"{1 - taken[''] / taken.total():.1%}"
        )


if __name__ == "__main__":
    main()
