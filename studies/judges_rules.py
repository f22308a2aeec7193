"""The rule judge against answers that were read: false fabrications, and severe errors caught.

    python studies/judges_rules.py [GAZETTEER]

`tests/judge/read_answers.jsonl` holds 500 answers of SmolLM2-135M-Instruct (greedy and at temperature 1, 32 tokens) to
facts questions. One reader labelled each from question, reference and answer, without seeing what the rules say:
correct, minor, severe (a wrong answer), invented (offers as the answer something that does not exist) or no answer; 60
drawn at random were labelled a second time, blind. The rules were mended on the 400 of the part "seen"; "held out" came
after. The gazetteer is the small one beside the file unless another is given.
"""

import json
import sys
from pathlib import Path

from richter.bench import read_gazetteer
from richter.judge import RuleJudge
from richter.records import Item
from richter.stats import wilson

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "judge"
SEVERE = ("severe", "invented", "no answer")


def main() -> None:
    """Print both shares by part, and the agreement of the two passes."""
    rows = [json.loads(line) for line in (FOLDER / "read_answers.jsonl").read_text(encoding="utf-8").splitlines()]
    judge = RuleJudge(read_gazetteer(sys.argv[1] if len(sys.argv) > 1 else FOLDER / "golden.gazetteer.json.gz"))
    for part in ("seen", "held out"):
        own = [(r, judge.score(Item.from_dict(r["item"]), r["answer"])) for r in rows if r["part"] == part]
        honest = [s for r, s in own if r["label"] != "invented"]
        severe = [s for r, s in own if r["label"] in SEVERE]
        wrong, caught = sum(s.mechanism == "fabrication" for s in honest), sum(s.severity >= 2 for s in severe)
        for what, k, n in (("false fabrications", wrong, len(honest)), ("severe errors caught", caught, len(severe))):
            span = wilson(k, n)
            print(f"{part}: {what} {k} of {n}, {k / n:.3f} [{span.low:.3f}, {span.high:.3f}]")
    twice = [r for r in rows if "second" in r]
    same = sum(r["second"] == r["label"] for r in twice)
    print(f"second pass: {same} of {len(twice)} the same label")


if __name__ == "__main__":
    main()
