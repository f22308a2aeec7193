"""Severity: the rubric, judging by rules, by judge models and by people, and what the ratings are worth."""

from richter.judge._guard import LoopbackGuard, error_reply, serve_loopback
from richter.judge._page import RatingPage
from richter.judge._panel import (
    AGREE_WITHIN,
    REPLY_TOKENS,
    RULES,
    PanelScore,
    Rule,
    SelfJudging,
    aggregate,
    audit_self_judging,
    deal,
    judge_decoding,
    judge_detail,
    model_identity,
    rate_answer,
)
from richter.judge._prompt import judge_messages, read_reply, reply_schema
from richter.judge._reliability import (
    Agreement,
    Correction,
    JudgeReport,
    Tabulated,
    Undefined,
    agreement,
    corrections,
    judge_report,
    tabulate,
)
from richter.judge._rubric import GRID, Rubric, check_mechanism, check_severity, rubric, snap
from richter.judge._rules import LABELS, RuleJudge, RuleScore, rule_label
from richter.judge._sample import Sample, band, draw_sample

__all__ = [
    "AGREE_WITHIN",
    "GRID",
    "LABELS",
    "REPLY_TOKENS",
    "RULES",
    "Agreement",
    "Correction",
    "JudgeReport",
    "LoopbackGuard",
    "PanelScore",
    "RatingPage",
    "Rubric",
    "Rule",
    "RuleJudge",
    "RuleScore",
    "Sample",
    "SelfJudging",
    "Tabulated",
    "Undefined",
    "aggregate",
    "agreement",
    "audit_self_judging",
    "band",
    "check_mechanism",
    "check_severity",
    "corrections",
    "deal",
    "draw_sample",
    "error_reply",
    "judge_decoding",
    "judge_detail",
    "judge_messages",
    "judge_report",
    "model_identity",
    "rate_answer",
    "read_reply",
    "reply_schema",
    "rubric",
    "rule_label",
    "serve_loopback",
    "snap",
    "tabulate",
]
