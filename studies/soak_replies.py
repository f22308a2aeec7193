"""Give 10,000 hostile replies to everything that reads what judges, graders and writers of questions reply.

None may raise, and none may take more than 5 seconds of CPU over all the readers and twelve kinds of question.

Usage: python studies/soak_replies.py [NUMBER]
"""

import functools
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from helpers.hostile import hostile_reply, read_everywhere  # noqa: E402
from helpers.soak import campaign  # noqa: E402
from richter_audit.bench import read_gazetteer  # noqa: E402
from richter_audit.judge import RuleJudge  # noqa: E402


@functools.cache
def judge() -> RuleJudge:
    return RuleJudge(read_gazetteer(ROOT / "tests" / "judge" / "golden.gazetteer.json.gz"))


def attempt(k: int) -> str:
    judge()
    began = time.process_time()
    read_everywhere(hostile_reply(k), judge())
    return "read or refused" if time.process_time() - began < 5 else "over 5 s"


if __name__ == "__main__":
    campaign("replies", attempt, number=10_000, batch=500, computes=True)
