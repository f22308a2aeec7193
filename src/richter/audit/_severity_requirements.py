"""Requirements on a condition's rates of severe answers, after every check; a missing severity counts as the worst."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from richter import severity as sev
from richter.audit._severity_labels import RatedAnswers
from richter.claims import Asked, as_judged
from richter.evidence import (
    Policy,
    SeverityRows,
    has_shared_items,
    lacking_grades,
    outcomes_of,
    run_checks,
    severity_pairs,
)
from richter.severity._grid import TOP
from richter.stats import Indices
from richter.tables import Dataset


def rates_of(
    given: Mapping[str, Any], mix: sev.Traffic | None, *, is_corrected: bool
) -> Callable[[float], sev.DeploymentTable]:
    """The rates of one condition's answers at any level, as people would rate where labels correct them."""
    shared = {"groups": given["groups"], "weights": given["weights"]}
    if is_corrected and mix is None:
        design = {"strata": given["layer"], "probability": given["chance"]}
        return sev.human_corrected_rates(given["severity"], given["label"], **design, **shared)
    return functools.cache(lambda at: sev.deployment_table(given["severity"], traffic=mix, level=at, **shared))


def ask_requirement(
    tables: Dataset,
    rule: sev.Requirement,
    name: str,
    policy: Policy,
    answers: RatedAnswers,
    mix: sev.Traffic | None,
    *,
    is_corrected: bool,
) -> sev.AskedRequirement:
    """A requirement on a condition's rates after every check; missing severities count as the worst, both ways.

    As in a gate, no absence of rows counts as a design.
    """
    policy = dataclasses.replace(policy, is_gate=True, trust_reading=True)
    question = sev.requirement_question(rule, name)
    checked = run_checks(tables, dataclasses.replace(question, measure="mean_severity"), policy)
    if checked.block is not None:
        asked = Asked(
            question=question, metric=sev.requirement_metric(rule), evidence=checked.block, basis=tables.basis,
            notes=checked.notes,
        )  # fmt: skip
        return sev.AskedRequirement(asked=asked)
    given = answers.arrays(name)
    lacking = _lacking(tables, name, policy)
    filled, traffic = _with_worst(given, answers.rows, lacking, mix)
    found = sev.ask_requirement(
        rule,
        name,
        rates_of(given, mix, is_corrected=is_corrected),
        as_worst=rates_of(filled, traffic, is_corrected=is_corrected) if lacking.any() else None,
        missing=int(lacking.sum()),
        level=policy.severity.level,
    )
    judged = "" if is_corrected else as_judged(outcomes_of(tables, "mean_severity").judges)
    known = dataclasses.replace(found.asked.known, judged=judged)
    basis = found.asked.basis if is_corrected else tables.basis or found.asked.basis
    asked = dataclasses.replace(found.asked, evidence=known, basis=basis, notes=checked.notes)
    return dataclasses.replace(found, asked=asked)


def _lacking(tables: Dataset, name: str, policy: Policy) -> Indices:
    """The severities that a condition lacks, by item; none where they are another design or lost at random."""
    rated = tuple(n for n in tables.conditions if n in severity_pairs(tables, policy.severity).columns)
    if not policy.is_both_ways or name not in rated:
        return np.zeros(len(tables.item_ids), dtype=np.intp)
    loose = policy.unpaired or not has_shared_items(tables, "mean_severity")
    found = lacking_grades(tables, "mean_severity", rated, True, loose)
    return np.asarray(found.lacking[:, rated.index(name)])


def _with_worst(
    given: Mapping[str, Any], rows: SeverityRows, lacking: Indices, mix: sev.Traffic | None
) -> tuple[dict[str, Any], sev.Traffic | None]:
    """The answers of a condition with one of the worst severity for each that is missing, and their traffic.

    Where people labelled some, the added are a stratum of their own in which every label is known, or have a chance
    of 1.
    """
    item = np.repeat(np.arange(len(lacking)), lacking)
    first = np.searchsorted(rows.item, item)  # rows stand in the order of items
    added, worst = len(item), np.full(len(item), TOP)
    filled = dict(given)
    filled["severity"] = np.concatenate([given["severity"], worst])
    units = rows.item if rows.groups is None else rows.groups
    if rows.groups is not None or len(np.unique(item)) < added:
        filled["groups"] = np.concatenate([units, units[first]])
    if given["weights"] is not None:
        own = np.ones(len(rows.item)) if rows.weight is None else rows.weight
        draws = np.bincount(rows.item[~np.isnan(given["severity"])], minlength=len(lacking)) + lacking
        weight = own / np.maximum(draws[rows.item], 1)
        filled["weights"] = np.concatenate([weight, weight[first]])  # rows without a severity do not count
    if given["label"] is not None:
        filled["label"] = np.concatenate([given["label"], worst])
        if given["chance"] is not None:
            filled["chance"] = np.concatenate([given["chance"], np.ones(added)])
        else:
            layer = np.zeros(len(rows.item), dtype=np.intp) if given["layer"] is None else given["layer"]
            filled["layer"] = np.concatenate([layer, np.full(added, int(layer.max(initial=0)) + 1)])
    if mix is not None:
        mix = dataclasses.replace(mix, strata=[*mix.strata, *(mix.strata[k] for k in first)])
    return filled, mix
