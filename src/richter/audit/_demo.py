"""The demonstration: a real small model, real facts, two conditions, every question Richter answers."""

import dataclasses
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from richter.audit._ask import AskProgress, ask_run, name_conditions
from richter.audit._calibration import CalibrationReport, measure_calibration
from richter.audit._compare import CompareReport, compare_grades
from richter.audit._draw import draw_run
from richter.audit._grades import read_grades
from richter.audit._judging import GAZETTEER_NAME, JudgingResult, judge_run, score_rows
from richter.audit._severity import SeverityReport, weigh_scores
from richter.bench import build_facts, matches_reference, pack, write_bytes
from richter.interop import export_table
from richter.judge import judge_decoding
from richter.llm import BUILT_IN
from richter.records import Answer, Decoding, Interval, Item
from richter.stats import wilson
from richter.store import open_ledger

__all__ = ["AccuracyRow", "DemoResult", "DemoSize", "grade_by_alias", "run_demo"]

STRICT = "Be strict: when in doubt, give the higher severity."


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DemoSize:
    """How much the demonstration asks."""

    items: int = 240
    judged: int = 60
    drawn: int = 60
    draws: int = 20

    @classmethod
    def quick(cls) -> "DemoSize":
        """A third of the questions, fewer draws."""
        return cls(items=80, judged=12, drawn=12, draws=10)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AccuracyRow:
    """How many of a group's answers contain the reference or an alias of it, with Wilson's interval."""

    condition: str
    group: str  # "all", a domain, or "tier 1" .. "tier 5"
    correct: int
    n: int
    interval: Interval

    @property
    def accuracy(self) -> float:
        """The share of correct answers."""
        return self.correct / self.n

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "condition": self.condition,
            "group": self.group,
            "correct": self.correct,
            "n": self.n,
            "accuracy": self.accuracy,
            "interval": self.interval.to_dict(),
        }


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class DemoResult:
    """Accuracy by condition, domain and tier, some wrong answers, and what each room says of the run."""

    run: str
    rows: tuple[AccuracyRow, ...]
    wrong: tuple[tuple[Item, Answer], ...]
    judging: JudgingResult
    comparison: CompareReport
    severity: SeverityReport
    calibration: CalibrationReport

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        wrong = [{"item": i.id, "prompt": i.prompt, "reference": i.reference, "answer": a.text} for i, a in self.wrong]
        return {
            "run": self.run,
            "accuracy": [row.to_dict() for row in self.rows],
            "wrong": wrong,
            "judging": self.judging.to_dict(),
            "comparison": self.comparison.to_dict(),
            "severity": self.severity.to_dict(),
            "calibration": self.calibration.to_dict(),
        }


def grade_by_alias(item: Item, answer: Answer) -> bool:
    """Whether an answer contains the reference or one of its aliases."""
    return matches_reference(answer.text, (item.reference, *item.aliases))


def run_demo(
    run: str | Path,
    *,
    size: DemoSize | None = None,
    seed: int = 0,
    model: str = BUILT_IN,
    max_tokens: int = 32,
    watch: Callable[[str], AbstractContextManager[Callable[[AskProgress], None]]] | None = None,
    download: Callable[[int, int], None] | None = None,
) -> DemoResult:
    """Ask a model facts questions, greedy and at temperature 1, and put the answers through every room.

    Graded by alias match; rated by rules and, a sample, by two judge conditions of the same model (a trial of the
    panel, marked as self-judging); compared; weighed; and, with repeated draws on some of the questions, asked
    whether it knows when it is wrong. Each stage resumes from the run folder.
    """
    size = size or DemoSize()
    stage = watch or (lambda _: nullcontext(lambda _: None))
    bench = build_facts(items=size.items, seed=seed)
    questions = bench.items
    conditions = name_conditions(
        [model], temperatures=(0.0, 1.0), decoding=Decoding(max_tokens=max_tokens, seed=seed, logprobs=True)
    )
    with stage("asking") as tell:
        ask_run(
            run, questions, conditions, bench=f"facts, {size.items} items, seed {seed}", watch=tell, download=download
        )
    write_bytes(pack(bench.gazetteer), Path(run) / GAZETTEER_NAME)
    judges = name_conditions([model], systems=("", STRICT), decoding=judge_decoding())
    with stage("judging") as tell:
        judging = judge_run(run, rules=True, judges=judges, allow_self=True, limit=size.judged, watch=tell)
    scores = Path(run) / "scores.csv"
    export_table(pl.DataFrame(score_rows(run), infer_schema_length=None), scores)
    names = [c.name for c in conditions]
    grades = read_grades([run], ratings="rule")
    # free-form draws of so small a model rarely agree; held to the options' texts they say how sure it is
    drawn = name_conditions(
        [model], temperatures=(1.0,), style="cloze", decoding=Decoding(max_tokens=16, seed=seed, logprobs=True)
    )
    with stage("drawing") as tell:
        draw_run(Path(run) / "draws", questions[: size.drawn], drawn, draws=size.draws, watch=tell)
    by_id = {item.id: item for item in questions}
    with open_ledger(run) as ledger:
        graded = [(by_id[a.item], a, grade_by_alias(by_id[a.item], a)) for a in ledger.answers() if not a.error]
    return DemoResult(
        run=str(run),
        rows=tuple(row for name in names for row in _rows(name, graded)),
        wrong=tuple((item, answer) for item, answer, correct in graded if not correct),
        judging=judging,
        comparison=compare_grades(grades, conditions=names, rng=np.random.default_rng(seed)),
        severity=weigh_scores(scores, seed=seed),
        calibration=measure_calibration(Path(run) / "draws", rng=np.random.default_rng(seed)),
    )


def _rows(condition: str, graded: Sequence[tuple[Item, Answer, bool]]) -> list[AccuracyRow]:
    own = [(item, correct) for item, answer, correct in graded if answer.condition == condition]
    groups = {"all": [c for _, c in own]}
    groups |= {d: [c for i, c in own if i.domain == d] for d in sorted({i.domain for i, _ in own})}
    groups |= {f"tier {t}": [c for i, c in own if i.tier == t] for t in sorted({i.tier or 0 for i, _ in own})}
    return [
        AccuracyRow(condition=condition, group=g, correct=sum(m), n=len(m), interval=wilson(sum(m), len(m)))
        for g, m in groups.items()
    ]
