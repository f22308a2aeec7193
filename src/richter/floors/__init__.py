"""Is there enough evidence, how much is needed, and when may we stop?"""

from richter.floors._compare import Comparison, ConditionSummary, PairResult, Refusal, compare
from richter.floors._detection import LeCam, detection_limit, detection_power, le_cam
from richter.floors._dynamics import (
    HalfLife,
    Horizon,
    Recalibration,
    dynamics_exponent,
    half_life,
    horizon,
    recalibration_rounds,
    scaling_exponents,
)
from richter.floors._ece_gap import EcePath, ece_gap, ece_path
from richter.floors._gap import METRICS, Gap, GapFinding, Metric, decide_gaps
from richter.floors._lipschitz import Lipschitz, lipschitz
from richter.floors._paired import PairedCounts, PairedTest, clustered_test, mcnemar, misaligned, tango
from richter.floors._published import PublishedGap, published_gap
from richter.floors._rates import Rate, accuracy_floor, active_floor, bias_variance_bins, passive_floor, phase
from richter.floors._self_evaluation import SelfEvaluation, self_evaluation
from richter.floors._sets import maximal_sets
from richter.floors._sizing import (
    LabelsNeeded,
    effective_n,
    labels_needed,
    paired_gap_labels,
    proportion_labels,
    visible_paired_gap,
    zero_error_labels,
)
from richter.floors._structure import (
    PRESETS,
    Groups,
    Pipeline,
    Preset,
    Temperature,
    Transfer,
    compose,
    depth_limit,
    group_labels,
    temperature_rate,
    transfer_labels,
)
from richter.floors._subjects import Subject, SubjectNoise, subject_noise

__all__ = [
    "METRICS",
    "PRESETS",
    "Comparison",
    "ConditionSummary",
    "EcePath",
    "Gap",
    "GapFinding",
    "Groups",
    "HalfLife",
    "Horizon",
    "LabelsNeeded",
    "LeCam",
    "Lipschitz",
    "Metric",
    "PairResult",
    "PairedCounts",
    "PairedTest",
    "Pipeline",
    "Preset",
    "PublishedGap",
    "Rate",
    "Recalibration",
    "Refusal",
    "SelfEvaluation",
    "Subject",
    "SubjectNoise",
    "Temperature",
    "Transfer",
    "accuracy_floor",
    "active_floor",
    "bias_variance_bins",
    "clustered_test",
    "compare",
    "compose",
    "decide_gaps",
    "depth_limit",
    "detection_limit",
    "detection_power",
    "dynamics_exponent",
    "ece_gap",
    "ece_path",
    "effective_n",
    "group_labels",
    "half_life",
    "horizon",
    "labels_needed",
    "le_cam",
    "lipschitz",
    "maximal_sets",
    "mcnemar",
    "misaligned",
    "paired_gap_labels",
    "passive_floor",
    "phase",
    "proportion_labels",
    "published_gap",
    "recalibration_rounds",
    "scaling_exponents",
    "self_evaluation",
    "subject_noise",
    "tango",
    "temperature_rate",
    "transfer_labels",
    "visible_paired_gap",
    "zero_error_labels",
]
