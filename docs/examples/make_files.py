"""Make the simulated files of this folder again; old.csv, new.csv and prompts.csv hold real answers.

Usage: python docs/examples/make_files.py
"""

import csv
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
SUBJECTS = ("history", "physics", "law", "sport")


def write(name: str, columns: str, rows: list[tuple[object, ...]]) -> None:
    """Write a table."""
    with (HERE / name).open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([columns.split(","), *rows])


def severities() -> None:
    """300 questions, two models: right or wrong, how bad, how sure, and a token NLL; a person rated 60 of them."""
    rng = np.random.default_rng(1)
    hard = rng.random(300)
    rows, people = [], []
    for name, skill, scale in (("old", 0.70, 1.0), ("new", 0.78, 1.2)):
        for k in range(300):
            right = int(rng.random() < np.clip(skill + 0.3 * (0.5 - hard[k]), 0, 1))
            severity = 0.0 if right else float(min(4, round(2 * (0.5 + rng.exponential(scale))) / 2))
            sure = round(float(np.clip(0.5 + 0.3 * right + rng.normal(0, 0.12), 0.02, 0.98)), 2)
            nll = round(float(rng.gamma(2, 0.5 * scale) + (1 - right)), 3)
            asked, answered = (
                f"Which number belongs to case {k} of {SUBJECTS[k % 4]}?",
                k if right else k + 1 + int(severity),
            )
            rows.append((f"q{k:03}", name, SUBJECTS[k % 4], asked, answered, right, severity, sure, nll))
            if k < 30:
                people.append((f"q{k:03}", name, "ann", severity if rng.random() < 0.8 else min(4.0, severity + 0.5)))
    write("severities.csv", "item,condition,subject,question,answer,correct,severity,confidence,nll", rows)
    write("confidences.csv", "item,correct,confidence", [(row[0], row[5], row[7]) for row in rows if row[1] == "new"])
    write("ratings.csv", "item,condition,rater,severity", people)
    write("traffic.csv", "domain,share", [("history", 0.4), ("physics", 0.3), ("law", 0.2), ("sport", 0.1)])


def days() -> None:
    """30 days of 100 questions; from day 20 on a tenth of the answers that were right is wrong."""
    rng = np.random.default_rng(2)
    skill = rng.uniform(0.7, 1.0, 100)
    rows = []
    for day in range(30):
        for k in range(100):
            right = rng.random() < skill[k] and not (day >= 20 and k % 10 == 0)
            rows.append((f"2026-09-{day + 1:02}", f"q{k:02}", int(right)))
    write("days.csv", "day,item,correct", rows)


if __name__ == "__main__":
    severities()
    days()
