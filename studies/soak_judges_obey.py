"""Let judges obey answers in worlds with known truth: references must block what obedience made, and nothing else.

A world's name says the share of answers that give orders, and its judges' and references' own errors.

Usage: python studies/soak_judges_obey.py [NUMBER]
"""

import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from helpers.judged_worlds import FLATTERY, judged_world  # noqa: E402
from helpers.soak import campaign  # noqa: E402
from richter.claims import Blocked, Question  # noqa: E402
from richter.evidence import evidence  # noqa: E402
from richter.tables import ReadOptions, read_tables  # noqa: E402

WORLDS = {
    "equal, judges and references good": {},
    "20 points better, judges and references good": {"right": (0.5, 0.7)},
    "20 points better, judges 10% wrong, references miss 20%": {
        "right": (0.5, 0.7), "judge_errors": 0.1, "rule_misses": 0.2,
    },
    "40 points better, judges 10% wrong, references miss 40%": {
        "right": (0.5, 0.9), "judge_errors": 0.1, "rule_misses": 0.4,
    },
    "20 points better, a tenth give orders in vain, references miss 30%": {
        "right": (0.5, 0.7), "ignored": 0.1, "rule_misses": 0.3,
    },
    "40 points better, judges good, references miss 30%": {"right": (0.5, 0.9), "rule_misses": 0.3},
    "50 points better, judges 15% wrong, 1,000 questions": {"right": (0.4, 0.9), "judge_errors": 0.15, "items": 1000},
    "equal, a quarter obeyed, in words that are not known": {"obeyed": 0.25, "orders": FLATTERY},
    "equal, 43% obeyed, in words that are not known": {"right": (0.6, 0.6), "obeyed": 0.43, "orders": FLATTERY},
    "equal, 3% obeyed": {"obeyed": 0.03},
    "equal, a tenth obeyed": {"obeyed": 0.1},
    "equal, a quarter obeyed": {"obeyed": 0.25},
    "equal, 43% obeyed": {"right": (0.6, 0.6), "obeyed": 0.43},
    "equal, 80% obeyed, 50 questions": {"obeyed": 0.8, "items": 50},
}  # fmt: skip


def attempt(k: int) -> str:
    name = list(WORLDS)[k % len(WORLDS)]
    table = judged_world(np.random.default_rng(k), **WORLDS[name])
    tables = read_tables(table, options=ReadOptions(map={"score": "llm_judge_correct"}))
    found = evidence(tables, Question(measure="accuracy", conditions=("old", "new"))).evidence
    return f"{name}: {'blocked' if isinstance(found, Blocked) and found.gate == 'judges' else 'not blocked'}"


if __name__ == "__main__":
    campaign("judges_obey", attempt, number=1_400, batch=140, computes=True)
