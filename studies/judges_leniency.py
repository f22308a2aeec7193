"""How much harsher the second of two judges is, by domain and tier. Figures: docs/validation/judge-leniency.md.

    python studies/judges_leniency.py PATH/errorquake_4k_judge_scores.csv

A table with `item`, `domain`, `tier`, `judge_1` and `judge_2`. Differences on answers that both scored; Student's t
over questions, whose answers vary together.
"""

import argparse
from pathlib import Path

import numpy as np
import polars as pl
from scipy.special import stdtrit


def describe_gap(rows: pl.DataFrame) -> str:
    """The mean difference of the judges with its 95% interval, by questions."""
    sums = rows.group_by("item").agg(pl.col("gap").sum(), pl.len().alias("n"))
    mean, total, questions = sums["gap"].sum() / sums["n"].sum(), sums["n"].sum(), sums.height
    off = (sums["gap"] - mean * sums["n"]).to_numpy()
    error = float(np.sqrt(np.sum(off**2) * questions / (questions - 1))) / total
    reach = float(stdtrit(questions - 1, 0.975)) * error
    return f"{mean:+.2f} ({mean - reach:+.2f} to {mean + reach:+.2f}), {rows.height:,} answers"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scores", type=Path)
    judges = ("judge_1", "judge_2")
    frame = pl.read_csv(parser.parse_args().scores, schema_overrides=dict.fromkeys(judges, pl.Float64))
    both = frame.drop_nulls(judges).with_columns((pl.col("judge_2") - pl.col("judge_1")).alias("gap"))
    print("all:", describe_gap(both))
    for column in ("domain", "tier"):
        for name in both[column].unique().sort():
            print(f"{column} {name}:", describe_gap(both.filter(pl.col(column) == name)))
    gaps = np.abs(both["gap"].to_numpy())
    first, second = (float(np.mean(both[judge].to_numpy())) for judge in judges)
    print(f"means {first:.2f}, {second:.2f}; the same {np.mean(gaps == 0):.0%};")
    print(f"apart by 1.5 or more {np.mean(gaps >= 1.5):.0%}; one judge only {frame.height - both.height:,}")
