"""Richter, by its documented Python entry points; the claims on the main measure are one family."""

import numpy as np
import polars as pl
from play import Refused, claim

import richter
from richter.audit import margin_plan, run_gate
from richter.calibration import miscalibration
from richter.errors import InputError
from richter.floors import difference_sequence
from richter.severity import discriminate
from richter.tail import TailPlan, compare_tails

requires = "."
sequential = ("default",)
SHOWN = ("verified", "refuted")
MEASURES = {name: (name,) for name in ("mean_severity", "severity_given_error", "money")}


def answer(world, table, way):
    frame, rng = pl.DataFrame(table), np.random.default_rng(0)
    if world["question"] == "miscalibrated":
        found = miscalibration(frame["confidence"].to_numpy(), frame["correct"].to_numpy(), rng=rng)
        return [claim(found.p < 0.05, 1.0)]
    column = next(c for c in ("correct", "score", "severity", "nll") if c in frame.columns)
    values = {str(n): part[column].to_numpy() for (n,), part in frame.group_by("condition", maintain_order=True)}
    first = next(iter(values.values()))
    if world["question"] == "heavier":
        plan = TailPlan(tolerance_mean=0.1, tolerance_tvar=0.2, n_resamples=1000)
        return _told([compare_tails(first, values["second"], plan, rng=rng, names=("first", "second"))])
    if world.get("measure") == "b":
        return _told([c for c in discriminate(values, primary="b", rng=rng).claims if c.measure == "b"])
    if "day" in table:  # limits that hold at every look
        running = difference_sequence(first, values["second"])
        ends = np.flatnonzero(np.diff(table["day"][: len(first)], append=0))
        shown = [k for k in ends if running.low[k] > 0 or running.high[k] < 0]
        k = shown[0] if shown else ends[-1]
        return [claim(bool(shown), running.estimate[k], (running.low[k], running.high[k]))]
    try:
        run = richter.open(frame)
        if world["question"] == "some-better":
            return _told(run.compare(control="baseline", n_resamples=200).of("accuracy"))
        if world["question"] == "requirement":
            (met,) = run_gate(margin_plan(run.tables, world["margin"]), run.tables).claims
            return [claim(met.verdict == "verified", 1.0)]
        measure = world.get("measure") or run.tables.metric
        return _told(run.compare("first", "second", on=MEASURES.get(measure, ()), n_resamples=200).claims, measure)
    except InputError as error:
        raise Refused(str(error)) from error


def _told(claims, main=""):
    beside = [c for c in claims if main and c.measure != main and c.estimate is not None]
    others = [claim(c.verdict in SHOWN, c.estimate, name=f"other:{c.measure}") for c in beside]
    claims = [c for c in claims if not main or c.measure == main]
    declined = ("blocked", "untestable")
    if not claims or all(c.verdict in declined and c.blocked_by not in ("P1", "P2") for c in claims):
        raise Refused(claims[0].sentence if claims else "no claim")
    known = [(c, c.plain_interval) for c in claims if c.estimate is not None]
    return others + [
        claim(c.verdict in SHOWN, c.estimate, i and (i.low, i.high), name=c.conditions[-1], as_judged=bool(c.judged))
        for c, i in known
    ]
