"""Repeated draws: stated confidence, and answers grouped into classes that say the same."""

from richter.sampling._offline import REFUSAL, THRESHOLD, AnswerTree, answer_trees, cluster_answers, cluster_questions
from richter.sampling._partition import Partition, judge_classes, judge_grades, read_groups
from richter.sampling._quality import PairQuality, choose_threshold, grouping_quality, pair_quality
from richter.sampling._stated import CONFIDENCE_REQUEST, split_confidence, token_probability

__all__ = [
    "CONFIDENCE_REQUEST",
    "REFUSAL",
    "THRESHOLD",
    "AnswerTree",
    "PairQuality",
    "Partition",
    "answer_trees",
    "choose_threshold",
    "cluster_answers",
    "cluster_questions",
    "grouping_quality",
    "judge_classes",
    "judge_grades",
    "pair_quality",
    "read_groups",
    "split_confidence",
    "token_probability",
]
