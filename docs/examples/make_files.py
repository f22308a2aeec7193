"""Make the simulated files of this folder again; old.csv, new.csv and prompts.csv hold real answers.

Usage: python docs/examples/make_files.py
"""

import csv
import itertools
import json
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


def agents() -> None:
    """Two simulated agents on 40 tasks, five runs each, with their steps; `old` fails and repeats calls more often."""
    rng = np.random.default_rng(3)
    ease = rng.normal(0, 1.2, 40)
    lines = []
    for name, lift, slips in (("old", 0.2, 0.35), ("new", 1.0, 0.15)):
        for task, run in itertools.product(range(40), range(5)):
            success = bool(rng.random() < 1 / (1 + np.exp(-ease[task] - lift)))
            lines.append(_agent_run(rng, name, task, run, success, slips))
    (HERE / "agents.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def _agent_run(
    rng: np.random.Generator, agent: str, task: int, run: int, success: bool, slips: float
) -> dict[str, object]:
    """One run: it searches, perhaps slips, perhaps deletes a file, and answers or gives up."""
    found = {"tool": "search", "arguments": {"order": task}, "result": f"total {1000 + 7 * task}"}
    steps: list[dict[str, object]] = [found]
    if rng.random() < slips:
        failed = {"tool": "bash", "arguments": {"command": f"cat {task}.txt"}, "error": "No such file"}
        steps.append(failed if rng.random() < 0.7 else found)
    if rng.random() < 0.1:
        steps.append({"tool": "delete", "arguments": {"file": f"{task}.tmp"}, "result": "Deleted"})
    answer = f"The total is {1000 + 7 * task + 100 * (not success)}, order {1000 + 7 * task}."
    answer = answer if success or rng.random() < 0.7 else "I could not complete the task."
    cost = round(float(0.02 * len(steps) * rng.lognormal(0, 0.4)), 4)
    return {"task": f"task {task}", "agent": agent, "run": run + 1, "success": success, "cost_usd": cost,
            "seconds": round(30 * cost / 0.02, 1), "answer": answer, "steps": steps}  # fmt: skip


if __name__ == "__main__":
    severities()
    days()
    agents()
