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

FIELDS = ("sem1_ece", "sem1_ece_low", "sem1_ece_high", "sem2_ece", "sem2_ece_low", "sem2_ece_high", "deployed_accuracy")


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
        nothing = dict.fromkeys(FIELDS, math.nan)
        if not by_sample:
            return nothing
        try:
            found = _sem_ece_of(list(by_sample.values()))
        except InputError:
            return nothing
        return (
            nothing
            | _ece_fields("sem1", found.sem1)
            | _ece_fields("sem2", found.sem2)
            | {"deployed_accuracy": found.sem1.accuracy}
        )

    return compute


def _sem_ece_of(groups: list[list[Score]]) -> calibration.SemEce:
    """Sem-ECE of the epochs of each sample, grouped by what they say."""
    first = [g[0].metadata or {} for g in groups]
    classes = cluster_questions(
        [[s.answer or "" for s in g] for g in groups],
        [m["question"] for m in first],
        [m["references"] for m in first],
    )
    labels = [[c + 1 for c in row] for row in classes]  # refusals, -1, are a class; the pool's missing are -1
    return calibration.sem_ece(labels, [[s.as_float() for s in g] for g in groups])


def _ece_fields(name: str, result: calibration.EceResult | None) -> dict[str, float]:
    """A debiased ECE with its limits; nothing where it cannot be had."""
    if result is None:
        return {}
    ends = result.interval
    return {f"{name}_ece": result.debiased, f"{name}_ece_low": ends.low, f"{name}_ece_high": ends.high}


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
