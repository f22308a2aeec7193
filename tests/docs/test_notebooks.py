"""The notebooks of the documentation run from top to bottom, and what they show can be shown."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def run_cell(source: str, namespace: dict[str, Any]) -> Any:
    """The value of a cell's last line, as a notebook shows it; None where it is no expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), namespace)
    return None if last is None else eval(compile(ast.Expression(last.value), "<cell>", "eval"), namespace)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    namespace: dict[str, Any] = {"__name__": "__notebook__"}
    shown = 0
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == []  # nothing is kept that could go stale
        value = run_cell("".join(cell["source"]), namespace)
        for how in ("_repr_svg_", "_repr_html_"):
            if hasattr(value, how):
                assert getattr(value, how)().lstrip().startswith("<")
                shown += 1
    assert shown >= 1
