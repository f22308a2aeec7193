"""evalstats: `load_from` and `compare(factors="model")`, its method; recommended: what its pages and messages advise.

That is a baseline for several, `score_range` for scores, `complete_items` where grades lack, `design="unpaired"` where
items differ, and `tests.ttest` with people's labels. Over several conditions its intervals are simultaneous.
"""

import evalstats
import pandas as pd
from play import Refused, claim

requires = "evalstats==0.3.3"
ways = ("default", "recommended")


def answer(world, table, way):
    if world["question"] not in ("difference", "some-better") or world.get("measure") == "b":
        return None
    labels, best = any(x is not None for x in table.get("human", ())), way == "recommended"
    errors = world.get("measure") == "severity_given_error"
    (column,) = (name for name in ("correct", "score", "severity") if name in table)
    if (
        best
        and column == "correct"
        and not labels
        and None not in table[column]
        and "baseline" not in table["condition"]
    ):
        return "same"
    frame = pd.DataFrame(table).rename(columns={"condition": "model", column: "score", "epoch": "run"})
    first = table["condition"][0]
    if best and labels:  # people graded other items of the one than of the other
        a, b = (frame[frame["model"] == name] for name in ("second", first))
        human = [part["human"].to_numpy(dtype=float) for part in (a, b)]
        told = evalstats.tests.ttest(
            a=a["score"].to_numpy(dtype=float), b=b["score"].to_numpy(dtype=float), a_lab=human[0], b_lab=human[1],
            paired=False, print_result=False,
        )  # fmt: skip
        return [claim(told.corrected_p_value < 0.05, sum(told.corrected_ci) / 2, told.corrected_ci)]
    if errors:
        frame = frame[frame["score"] > 0]
    more = {"design": "unpaired"} if best and errors else {"baseline": first} if best else {}
    if best and column != "correct":  # the scale is known to whoever graded
        more["score_range"] = (0, 4) if column == "severity" else (1, 5) if frame["score"].min() >= 1 else (0, 1)
    try:
        data = evalstats.load_from(frame[[c for c in ("item", "model", "score", "run") if c in frame]])
        data = evalstats.complete_items(data, "model")[0] if best and None in table[column] else data
        told = evalstats.compare(data, factors="model", **more).to_dict()["pairwise"]
    except (ValueError, evalstats.MissingCellsError, evalstats.InsufficientItemsError) as error:
        raise Refused(str(error)) from error
    return [_claim(row, first) for row in told if first in (row["a"], row["b"])]


def _claim(row, first):
    sign, other = (-1, row["b"]) if row["a"] == first else (1, row["a"])
    limits = sorted(sign * row[name] for name in ("ci_low", "ci_high"))
    return claim(row["significant"], sign * row.get("diff", row.get("point_estimate")), limits, name=other)
