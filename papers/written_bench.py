"""What checking a written benchmark finds. Writer and checker are simulated on loopback, and their faults are known.

The questions are real ones of shared/data (Natural Questions with ten rewordings each, TriviaQA); what tier each truly
has is drawn. The writer gives one in 7 the wrong tier, one in 10 another question's answer, and one in 10 is another
wording of a question that it wrote before. The checker knows answers and tiers at the rates in the table.

    python papers/written_bench.py [SEEDS]
"""

import hashlib
import json
import os
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from helpers.server import FakeApi
from richter_audit.ascent import BenchOrder, write_bench

DATA = Path(os.environ.get("RICHTER_SHARED_DATA", Path(__file__).parents[2] / "shared" / "data"))
FAULTS = (("wrong tier", 1 / 7), ("bad key", 0.1), ("duplicate", 0.1))
ITEMS = 150
CHECKERS = {"knows 95%, reads 80% of tiers": (0.95, 0.8), "85%, 65%": (0.85, 0.65), "70%, 50%": (0.7, 0.5)}


def uniform(*parts):
    """A number in [0, 1) that depends on the parts alone."""
    return int.from_bytes(hashlib.sha256("|".join(map(str, parts)).encode()).digest()[:6], "big") / 2**48


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


class Pair:
    """The writer and the checker; `truth` says of every written text what is wrong with it."""

    def __init__(self, pool, seed, knows, reads_tier):
        self.pool, self.seed, self.knows, self.reads_tier = pool, seed, knows, reads_tier
        self.rng = np.random.default_rng(seed)
        self.fresh = [pool[int(k)] for k in self.rng.permutation(len(pool))]
        self.tier = {q["text"]: 1 + int(5 * uniform("tier", seed, q["text"])) for q in pool}
        self.of = {text: q for q in pool for text in [q["text"], *q["rewordings"]]}
        self.written, self.truth = [], {}

    def reply(self, prompt):
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
    pair = Pair(pool, seed, knows, reads_tier)
    with FakeApi(reply=pair.reply) as server, tempfile.TemporaryDirectory() as folder:
        order = BenchOrder(
            items=items, domains=("one", "two"), writer=f"{server.url}#writer", checker=f"{server.url}#checker"
        )
        made = write_bench(Path(folder) / "run", order)
        taken = {item.prompt for item in made.items}
        there = Counter(pair.truth.values())
        return there, Counter(pair.truth[text] for text in taken), made.spent.calls, len(made.items)


def main(words):
    """Print what is found, by what is wrong."""
    seeds, pool = range(int(words[0]) if words else 4), read_pool()
    for name, (knows, reads_tier) in CHECKERS.items():
        rows = [run_once(pool, seed, ITEMS, knows, reads_tier) for seed in seeds]
        there, taken = sum((r[0] for r in rows), Counter()), sum((r[1] for r in rows), Counter())
        print(f"checker {name}: {np.mean([r[2] for r in rows]):,.0f} calls for {ITEMS}")
        for fault in sorted(there):
            found = there[fault] - taken[fault]
            print(f"  {fault or 'sound':18} {found} of {there[fault]} rejected ({found / there[fault]:.1%})")
        print(f"  faulty of those taken {1 - taken[''] / taken.total():.1%}")


if __name__ == "__main__":
    main(sys.argv[1:])
