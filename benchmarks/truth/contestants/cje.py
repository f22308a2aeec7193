"""cje-eval: `analyze_dataset` on a judge's scores with people's labels, then `compare_policies`.

Without labels it gives raw judge means that it marks as uncalibrated; a claim on them is refused here, as it says.
"""

from cje import analyze_dataset
from play import Refused, claim

requires = "cje-eval==0.9.3"


def answer(world, table, way):
    if "human" not in table:
        return None
    if not any(x is not None for x in table["human"]):
        raise Refused("no labels: UNCALIBRATED")
    draws = {}
    rows = zip(table["item"], table["condition"], table["correct"], table["human"], strict=True)
    for item, condition, score, label in rows:
        row = {"prompt_id": item, "judge_score": float(score), "oracle_label": label}
        draws.setdefault(condition, []).append(row)
    told = analyze_dataset(fresh_draws_data=draws).compare_policies("second", "first")
    return [claim(told["significant"], told["difference"], (told["ci_lower"], told["ci_upper"]))]
