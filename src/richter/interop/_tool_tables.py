"""Tables that tools write, told by their columns: which of them is the question, and which the score."""

import dataclasses
import re
from collections.abc import Mapping, Sequence

__all__ = ["ToolTable", "tool_table"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ToolTable:
    """A table of a tool: the columns by which it is told, the column of each field as a pattern, steps of layout."""

    name: str
    has: tuple[str, ...]
    places: Mapping[str, str]
    layout: tuple[str, ...] = ()

    def columns(self, names: Sequence[str]) -> dict[str, str] | None:
        """The column of each field; None where one is not there."""
        found = {f: next((n for n in names if re.fullmatch(p, n)), "order" if p == "order" else "")
                 for f, p in self.places.items()}  # fmt: skip
        return None if "" in found.values() else found


TOOL_TABLES = (
    ToolTable(
        name="Ragas", has=("user_input", "response"),
        places={"item": "user_input",
                "score": "answer_correctness|factual_correctness.*|faithfulness|.*relevancy|.*recall|.*precision"},
    ),
    ToolTable(name="MLflow", has=("inputs", "outputs"), places={"item": "inputs", "score": ".*/score"}),
    ToolTable(
        name="Pydantic Evals", has=("cases.name", "cases.inputs"),
        places={"item": r"cases\.name", "score": r"cases\.(assertions|scores)\..*\.value"},
    ),
    ToolTable(
        name="EvalPlus", has=("eval.task_id", "eval.base_status", "eval.plus_status"),
        places={"item": r"eval\.task_id", "score": r"eval\.base_status", "draw": "order"},
    ),
    ToolTable(
        name="AlpacaEval", has=("instruction", "generator_1", "generator_2", "preference"),
        places={"item": "instruction"}, layout=("preferences",),
    ),
    ToolTable(
        name="OpenCompass", has=("details.origin_prediction", "details.correct"),
        places={"item": r"details\.prompt(\.prompt)?", "score": r"details\.correct"},
    ),
    ToolTable(
        name="Amazon Bedrock", has=("automatedEvaluationResult.scores.result", "inputRecord.prompt"),
        places={"item": r"inputRecord\.prompt", "condition": r"modelResponses\.modelIdentifier",
                "score": r"automatedEvaluationResult\.scores\.result"},
    ),
)  # fmt: skip


def tool_table(names: Sequence[str]) -> ToolTable | None:
    """The tool whose table has these columns; None for any other table."""
    fits = (tool for tool in TOOL_TABLES if {*tool.has} <= {*names})
    return next((tool for tool in fits if tool.columns(names) is not None), None)
