"""The section on raters: how far they agree, and how lenient each judge is."""

from typing import Any

import numpy as np

from richter.audit._agreement import AgreementReport, measure_agreement
from richter.audit._judging import NOTE
from richter.audit._measure_run import RunRecords
from richter.judge import SelfJudging, Undefined, audit_self_judging
from richter.records import Condition


def agree_on_run(records: RunRecords, *, seed: int) -> AgreementReport:
    """`richter agreement` on the run's ratings."""
    return measure_agreement(records.ratings_file(), rng=np.random.default_rng(seed), file=records.name)


def self_judging(records: RunRecords) -> SelfJudging | None:
    """Who judged their own answers; None where no judge model rated."""
    judges = [Condition.from_dict(row) for row in records.notes[NOTE].get("judges", [])]
    if not judges or not any(r.kind == "judge" for r in records.ratings):
        return None
    return audit_self_judging(records.ratings, records.conditions, judges)


def judges_section(records: RunRecords, report: AgreementReport) -> dict[str, Any]:
    """Agreement as `richter agreement --json` prints it, with leniency and overcall by judge."""
    held = report.references.get("judge")
    row = report.to_dict() | {"leniency": {}, "overcall": {}, "self_judging": self_judging(records)}
    if held is not None:
        if not isinstance(held.leniency, Undefined):
            row["leniency"] = {held.judges[effect.judge]: effect.to_dict() for effect in held.leniency.effects}
        row["overcall"] = dict(held.overcall)
    return row
