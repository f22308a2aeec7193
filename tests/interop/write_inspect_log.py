"""Have Inspect write a log with its mock model, and print what Inspect itself reads back from it.

A script of its own, since Inspect leaves streams open that pytest would report as errors.
"""

import json
import sys

import inspect_ai
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import read_eval_log
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import Score, accuracy, match, multi_scorer, scorer
from inspect_ai.solver import generate, solver

WORDS = ("Rome", "Oslo", "Ur")


@scorer(metrics=[accuracy()])
def judge(letter):
    async def score(state, target):
        if str(state.sample_id).endswith("3") and letter == "I":
            return Score.unscored(reason="grader_failed")
        return Score(value=letter if state.output.completion == "Oslo" else "C")

    return score


@solver
def fragile():
    async def solve(state, generate):
        if state.sample_id == "q5":
            raise ValueError("no answer today")
        return state

    return solve


def main(folder):
    task = inspect_ai.Task(
        dataset=MemoryDataset([Sample(id=f"q{i}", input=f"Which, {i}?", target=WORDS[i % 3]) for i in range(8)]),
        solver=[fragile(), generate()],
        scorer=[match(location="exact"), multi_scorer([judge("C"), judge("I"), judge("I")], "majority")],
        epochs=2,
        fail_on_error=False,
        name="cities",
    )
    outputs = [ModelOutput.from_content("mockllm/model", WORDS[i % 2]) for i in range(100)]
    model = get_model("mockllm/model", custom_outputs=outputs)
    [log] = inspect_ai.eval(task, model=model, log_dir=folder, display="none", log_realtime=False)
    samples = [
        {
            "id": s.id,
            "epoch": s.epoch,
            "completion": s.output.completion,
            "failed": s.error is not None,
            "match": None if s.error else s.scores["match"].value,
            "panel": None if s.error else str(s.scores["multi_scorer"].value),
            "votes": None if s.error else s.scores["multi_scorer"].metadata["panel"]["votes"],
        }
        for s in read_eval_log(log.location).samples
    ]
    print(json.dumps({"location": log.location, "samples": samples}))


if __name__ == "__main__":
    main(sys.argv[1])
