"""Semantic-sampling calibration: a sample's epochs are draws, and agreement with itself is the model's confidence."""

import math
from collections import defaultdict

from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, Value, metric, scorer
from inspect_ai.solver import TaskState

from richter import calibration
from richter.errors import InputError
from richter.plugins.inspect._sample_item import item_of
from richter.texts import cluster_questions, matches_reference, split_confidence

__all__ = ["sem_ece", "semantic"]


@metric(scores="unreduced")
def sem_ece() -> Metric:
    """Sem1- and Sem2-ECE of the epochs of each sample, with their accuracy; NaN for Sem2 with one epoch.

    The values are debiased ECEs with honest limits. They say how well agreement between draws stands for being right.
    """

    def compute(scores: list[SampleScore]) -> Value:
        by_sample: dict[str, list[Score]] = defaultdict(list)
        for s in scores:
            if s.score.metadata and not math.isnan(s.score.as_float()):
                by_sample[str(s.sample_id)].append(s.score)
        groups = list(by_sample.values())
        nothing = dict.fromkeys(("sem1_ece", "sem1_ece_low", "sem1_ece_high", "sem2_ece"), math.nan)
        nothing |= dict.fromkeys(("sem2_ece_low", "sem2_ece_high", "deployed_accuracy"), math.nan)
        if not groups:
            return nothing
        first = [g[0].metadata or {} for g in groups]
        classes = cluster_questions(
            [[s.answer or "" for s in g] for g in groups],
            [m["question"] for m in first],
            [m["references"] for m in first],
        )
        labels = [[c + 1 for c in row] for row in classes]  # refusals, -1, are a class; the pool's missing are -1
        try:
            found = calibration.sem_ece(labels, [[s.as_float() for s in g] for g in groups])
        except InputError:
            return nothing
        for name, result in (("sem1_ece", found.sem1), ("sem2_ece", found.sem2)):
            if result is not None:
                nothing[name] = result.debiased
                nothing[f"{name}_low"], nothing[f"{name}_high"] = result.interval.low, result.interval.high
        return nothing | {"deployed_accuracy": found.sem1.accuracy}

    return compute


@scorer(metrics=[sem_ece()])
def semantic() -> Scorer:
    """Whether an answer names the reference (1 or 0), keeping what is needed to group the epochs by meaning."""

    async def score(state: TaskState, target: Target) -> Score:
        item = item_of(state, target)
        names = [item.reference, *item.aliases]
        text, confidence = split_confidence(state.output.completion if state.output else "")
        return Score(
            value=float(matches_reference(text, names)),
            answer=text,
            metadata={"question": item.prompt, "references": names, "confidence": confidence},
        )

    return score
