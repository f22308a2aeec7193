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
SHOWN, DECLINED = ("verified", "refuted"), ("blocked", "untestable")


def answer(world, table, way):
    frame, rng = pl.DataFrame(table), np.random.default_rng(0)
    if world["question"] == "miscalibrated":
        found = miscalibration(frame["confidence"].to_numpy(), frame["correct"].to_numpy(), rng=rng)
        return [claim(found.p < 0.05, 1.0)]
    column = next(c for c in ("correct", "score", "severity", "nll") if c in frame.columns)
    values = {str(n): part[column].to_numpy() for (n,), part in frame.group_by("condition", maintain_order=True)}
    if world["question"] == "heavier":
        plan = TailPlan(tolerance_mean=0.1, tolerance_tvar=0.2, n_resamples=1000)
        return _told([compare_tails(*values.values(), plan, rng=rng, names=("first", "second"))])
    if world.get("measure") == "b":
        return _told([c for c in discriminate(values, primary="b", rng=rng).claims if c.measure == "b"])
    if "day" in table:  # limits that hold at every look
        running = difference_sequence(*values.values())
        ends = np.flatnonzero(np.diff(table["day"][: len(running.low)], append=0))
        shown = [k for k in ends if running.low[k] > 0 or running.high[k] < 0]
        seen, low, high = (x[[*shown, ends[-1]][0]] for x in (running.estimate, running.low, running.high))
        return [claim(bool(shown), seen, (low, high))]
    try:
        run = richter.open(frame)
        if world["question"] == "some-better":
            return _told(run.compare(control="baseline", n_resamples=200).of("accuracy"))
        if world["question"] == "requirement":
            return [claim(run_gate(margin_plan(run.tables, world["margin"]), run.tables).exit_code == 0, 1.0)]
        measure = world.get("measure") or run.tables.metric
        return _told(run.compare("first", "second", on=(measure,), n_resamples=200).claims, measure)
    except InputError as error:
        raise Refused(str(error)) from error


def _told(claims, main=""):
    beside = [c for c in claims if c.measure != (main or c.measure) and c.estimate is not None]
    others, claims = [_one(c, f"other:{c.measure}") for c in beside], [c for c in claims if main in ("", c.measure)]
    if not claims or all(c.verdict in DECLINED and c.blocked_by not in ("P1", "P2") for c in claims):
        raise Refused(claims[0].sentence if claims else "no claim")
    return others + [_one(c, c.conditions[-1]) for c in claims if c.estimate is not None]


def _one(c, name):
    return claim(c.verdict in SHOWN, c.estimate, c.plain_interval, name=name, as_judged=bool(c.judged))
