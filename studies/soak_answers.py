"""Ask a server whose every other reply is hostile, sent twice or late: 200 runs of 100 questions, 10,000 such replies.

No run may end early, no neighbour of a hostile reply may be lost, no answer be another question's, and nothing that was
answered be paid for again.

Usage: python studies/soak_answers.py [NUMBER]
"""

import random
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from helpers.raw_server import RawApi, hostile_reply, http, reply  # noqa: E402
from helpers.server import answer_for  # noqa: E402
from helpers.soak import campaign  # noqa: E402
from llm.test_http import ask_prompts  # noqa: E402


def attempt(k: int) -> str:
    rng = random.Random(k)
    prompts = [f"question {n}" for n in range(100)]
    hostile = set(rng.sample(prompts, 50))

    def respond(prompt: str, _: dict) -> bytes | tuple[bytes, ...]:
        if prompt in hostile:
            return hostile_reply(rng)
        whole = http(reply(answer_for(prompt)))
        return (whole, whole) if rng.random() < 0.2 else whole

    with (
        tempfile.TemporaryDirectory() as folder,
        RawApi(respond, delay_s=lambda: rng.choice((0.0, 0.001, 0.01))) as api,
    ):
        _, answers = ask_prompts(Path(folder), api.model, prompts, max_attempts=2)
        paid = dict(api.requests)
        ask_prompts(Path(folder), api.model, prompts, max_attempts=1)
        again = [p for p in prompts if not answers[p].error and api.requests[p] > paid[p]]
    wrong = [p for p in prompts if p not in hostile and answers[p].text != answer_for(p)]
    if set(answers) != set(prompts) or wrong or again:
        return f"LOST {100 - len(answers)}, WRONG {len(wrong)}, PAID AGAIN {len(again)}"
    return "whole"


if __name__ == "__main__":
    campaign("answers", attempt, number=200, batch=20)
