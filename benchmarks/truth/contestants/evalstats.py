"""evalstats: `load_from` and `compare(factors="model")`, its own method; recommended: a baseline, people's labels.

Its intervals decide ("significant"); over several conditions they are simultaneous. With labels: `judge_alignment`.
"""

import evalstats
import pandas as pd
from play import Refused, claim

requires = "evalstats==0.3.3"
ways = ("default", "recommended")


def answer(world, table, way):
    if world["question"] not in ("difference", "some-better") or world.get("measure") == "b":
        return None
    labels = sum(x is not None for x in table.get("human", ()))
    if way == "recommended" and not labels and world["question"] != "some-better":
        return "same"
    (column,) = (name for name in ("correct", "score", "severity") if name in table)
    frame = pd.DataFrame(table).rename(columns={"condition": "model", column: "score", "epoch": "run"})
    if world.get("measure") == "severity_given_error":
        frame = frame[frame["score"] > 0]
    keep = [c for c in ("item", "model", "score", "run", "human") if c in frame and not (c == "human" and not labels)]
    frame, first = frame[keep], table["condition"][0]
    try:
        more = {}
        if way == "recommended" and labels:
            frame = frame.rename(columns={"score": "llm_score", "human": "human_score"})
            data = evalstats.load_from(frame)
            aligned = evalstats.judge_alignment(
                data, llm_metric="llm_score", human_groundtruth="human_score", selection="random", ci=False
            )
            more = {"metric": "llm_score", "alignment": {"llm_score": aligned}}
        else:
            data = evalstats.load_from(frame.drop(columns="human", errors="ignore"))
        if way == "recommended" and world["question"] == "some-better":
            more["baseline"] = first
        told = evalstats.compare(data, factors="model", **more).to_dict()["pairwise"]
    except (ValueError, evalstats.MissingCellsError, evalstats.InsufficientItemsError) as error:
        raise Refused(str(error)) from error
    return [_claim(row, first) for row in told if first in (row["a"], row["b"])]


def _claim(row, first):
    sign, other = (-1, row["b"]) if row["a"] == first else (1, row["a"])
    limits = sorted(sign * row[name] for name in ("ci_low", "ci_high"))
    return claim(row["significant"], sign * row["diff"], limits, name=other)
