"""The rule judge against answers that were read: false fabrications, and severe errors caught.

    python studies/judges_rules.py [GAZETTEER]

`tests/judge/read_answers.jsonl` holds 1,100 answers of SmolLM2-135M-Instruct (greedy and at temperature 1, 32 tokens)
to facts questions. One reader labelled each from question, reference and answer, without seeing what the rules say:
correct; minor (below 2.0: right with a wrong detail, misspelt, a near miss, declined); severe (a wrong answer, a false
premise accepted); invented (a name, code or identifier of the asked kind that does not exist, offered as the answer or
as part of it; a wrong number is severe, and a thing of another kind is no answer); or no answer. 120 drawn at random
were labelled a second time, blind. The rules were mended on the parts "seen", "held out", "fresh 1" and "fresh 2", each
of which was labelled before they were run on it; since they were run on "fresh 3" no answer here has changed them.
The gazetteer is the small one beside the file unless another is given.
"""

import json
import sys
from pathlib import Path

from richter.records import Item
from richter.stats import clopper_pearson
from richter_audit.bench import read_gazetteer
from richter_audit.judge import RuleJudge

FOLDER = Path(__file__).resolve().parents[1] / "tests" / "judge"
SEVERE = ("severe", "invented", "no answer")


def main() -> None:
    """Print both shares by part, and the agreement of the two passes."""
    rows = [json.loads(line) for line in (FOLDER / "read_answers.jsonl").read_text(encoding="utf-8").splitlines()]
    judge = RuleJudge(read_gazetteer(sys.argv[1] if len(sys.argv) > 1 else FOLDER / "golden.gazetteer.json.gz"))
    for part in ("seen", "held out", "fresh 1", "fresh 2", "fresh 3"):
        own = [(r, judge.score(Item.from_dict(r["item"]), r["answer"])) for r in rows if r["part"] == part]
        honest = [s for r, s in own if r["label"] != "invented"]
        severe = [s for r, s in own if r["label"] in SEVERE]
        wrong, caught = sum(s.mechanism == "fabrication" for s in honest), sum(s.severity >= 2 for s in severe)
        invented = [s.mechanism == "fabrication" for r, s in own if r["label"] == "invented"]
        for what, k, n in (
            ("false fabrications", wrong, len(honest)),
            ("severe errors caught", caught, len(severe)),
            ("inventions called so", sum(invented), len(invented)),
        ):
            span = clopper_pearson(k, n)
            print(f"{part}: {what} {k} of {n}, {k / n:.3f} [{span.low:.3f}, {span.high:.3f}]")
    twice = [r for r in rows if "second" in r]
    same = sum(r["second"] == r["label"] for r in twice)
    print(f"second pass: {same} of {len(twice)} the same label")


if __name__ == "__main__":
    main()
