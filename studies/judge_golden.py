"""How far the rule judge agrees with the hand labels in tests/judge/golden.jsonl, by part; and the small gazetteer.

    python studies/judge_golden.py facts.gazetteer.json.gz            print the table
    python studies/judge_golden.py facts.gazetteer.json.gz --shrink   write tests/judge/golden.gazetteer.json.gz

The answers are SmolLM2-135M-Instruct's (greedy, at most 48 tokens, chat) to facts questions drawn evenly over the
relations. Each was read and labelled from the rubric, by the one who then wrote the rules and before the first of them
was written: a single labeller, no study of people. The rules were then
mended on the part "seen" only; "held out" is the figure to quote. The small gazetteer holds every name that any run of
up to six words in these questions and answers bears, so that the test needs no data package.
"""

import dataclasses
import json
import re
import sys
from pathlib import Path

import numpy as np

from richter.records import Item
from richter.stats import icc, krippendorff_alpha, weighted_kappa
from richter_audit.bench import Gazetteer, normalise_name, pack, read_gazetteer
from richter_audit.judge import RuleJudge

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "judge"


def read_lines(name: str) -> list[dict]:
    """The labelled answers of a file."""
    return [json.loads(line) for line in (FOLDER / name).read_text(encoding="utf-8").splitlines()]


def shrink(full: Gazetteer, texts: list[str]) -> Gazetteer:
    """The part of a gazetteer that runs of up to six words of these texts can reach."""
    keys: set[str] = set()
    for text in texts:
        words = re.findall(r"\S+", re.sub(r"[()“”\"]", " ", text))
        for i in range(len(words)):
            for n in range(1, 7):
                phrase = " ".join(words[i : i + n])
                keys |= {normalise_name(phrase), normalise_name(phrase.strip(".,;:!?`'")), phrase.strip(".,;:!?`'")}
        keys |= {normalise_name(word) for word in re.findall(r"[\w+.#/-]+|\w+", text)}
    keep = [i for i, name in enumerate(full.city_names) if name in keys]
    columns = ("city_names", "city_regions", "city_lats", "city_lons", "city_people")
    cities = {name: [getattr(full, name)[i] for i in keep] for name in columns}
    return dataclasses.replace(full, others={k: v for k, v in full.others.items() if k in keys}, **cities)


def main() -> None:
    """Print agreement by part, or write the small gazetteer."""
    golden = read_lines("golden.jsonl")
    full = read_gazetteer(sys.argv[1])
    if "--shrink" in sys.argv:
        rows = golden + read_lines("read_answers.jsonl")
        texts = [row["answer"] for row in rows] + [row["item"]["prompt"] for row in rows]
        (FOLDER / "golden.gazetteer.json.gz").write_bytes(pack(shrink(full, texts)))
        return
    judge = RuleJudge(full)
    for part in ("seen", "held out"):
        rows = [row for row in golden if row["part"] == part]
        scores = [judge.score(Item.from_dict(row["item"]), row["answer"]) for row in rows]
        human = np.array([row["severity"] for row in rows])
        rule = np.array([score.severity for score in scores])
        off = np.abs(human - rule)
        both = np.column_stack([human, rule])
        kappa, alpha = weighted_kappa(human, rule), krippendorff_alpha(both)
        same_label = np.mean([s.label == row["label"] for s, row in zip(scores, rows, strict=True)])
        print(
            f"{part}: n {len(rows)}, same level {np.mean(off == 0):.3f}, within 0.5 {np.mean(off <= 0.5):.3f}, "
            f"within 1.0 {np.mean(off <= 1):.3f}, same label {same_label:.3f}, bias {np.mean(rule - human):+.3f}, "
            f"quadratic kappa {kappa.estimate:.3f} [{kappa.interval.low:.3f}, {kappa.interval.high:.3f}], "
            f"alpha {alpha.estimate:.3f}, ICC(2,1) {icc(both).single:.3f}"
        )


if __name__ == "__main__":
    main()
