"""An item set in the forms that others run: promptfoo, Inspect, pytest, and Richter's own."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from richter.errors import InputError
from richter.records import Item
from richter.store import write_file

__all__ = ["SETS", "write_set"]

LETTERS = "ABCDEFGHIJ"
_LAST_LINE = 'One option is right. End your reply with a line "Answer: " and its letter.'
SETS = ("items", "promptfoo", "inspect", "pytest")

_INSPECT = '''"""Questions as an Inspect task: inspect eval task.py --model openai/gpt-4o-mini"""

from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset
from inspect_ai.scorer import choice, includes
from inspect_ai.solver import generate, multiple_choice

HERE = Path(__file__).parent
'''
_INSPECT_TASKS = {
    "chosen": '''

@task
def chosen():
    """Those with options."""
    return Task(dataset=json_dataset(str(HERE / "chosen.jsonl")), solver=multiple_choice(), scorer=choice())
''',
    "opened": '''

@task
def opened():
    """Those without."""
    return Task(dataset=json_dataset(str(HERE / "opened.jsonl")), solver=generate(), scorer=includes())
''',
}
_PYTEST = '''"""Questions as tests, one each: RICHTER_MODEL=openai/gpt-4o-mini pytest {name}"""

import os
from pathlib import Path

import pytest

from richter_audit.ascent import ask_item
from richter_audit.bench import read_items

ITEMS = read_items(Path(__file__).with_name("items.jsonl"))
MODEL = os.environ.get("RICHTER_MODEL")


@pytest.mark.skipif(not MODEL, reason="RICHTER_MODEL names no model")
@pytest.mark.parametrize("item", ITEMS, ids=[item.id for item in ITEMS])
def test_it_is_answered_rightly(item):
    verdict, answer = ask_item(MODEL, item)
    assert verdict == "right", f"{{verdict}}: {{answer[:200]}} (the answer is {{item.reference}})"
'''


def write_set(items: Sequence[Item], path: str | Path, *, to: str, name: str, force: bool = False) -> list[Path]:
    """Write items in one of the forms of `SETS`; returns the files. Forms of several files make a folder."""
    if to not in SETS:
        raise InputError(f"There is no form {to!r}.", remedy=f"Use one of {', '.join(SETS)}.")
    files = _set_files(items, Path(path), to, name)
    taken = [file for file in files if file.exists()]
    if taken and not force:
        raise InputError(f"{taken[0]} exists.", remedy="Choose another name, or add --force.")
    return [write_file(file, text, into_new=True) for file, text in files.items()]


def _set_files(items: Sequence[Item], target: Path, to: str, name: str) -> dict[Path, str]:
    """The files of a form, and what each holds."""
    if to == "promptfoo":
        return {target: json.dumps(_promptfoo(items, name), indent=2, ensure_ascii=False) + "\n"}
    if to == "inspect":
        kinds = {"chosen": [i for i in items if i.options], "opened": [i for i in items if not i.options]}
        held = {kind: own for kind, own in kinds.items() if own}
        tasks = {target / "task.py": _INSPECT + "".join(_INSPECT_TASKS[kind] for kind in held)}
        return tasks | {target / f"{kind}.jsonl": _lines(map(_sample, own)) for kind, own in held.items()}
    lines = _lines(item.to_dict() for item in items)
    if to == "items":
        return {target: lines}
    test = f"test_{re.sub(r'[^a-z0-9]+', '_', name.lower()).strip('_') or 'questions'}.py"
    return {target / test: _PYTEST.format(name=test), target / "items.jsonl": lines}


def _lines(rows: Any) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _right(item: Item) -> str:
    return LETTERS[item.options.index(item.reference)]


def _meta(item: Item) -> Mapping[str, Any]:
    fields = {"domain": item.domain, "source": item.source, "reference": item.reference}
    return {key: value for key, value in (fields | dict(item.truth)).items() if value}


def _inert(value: Any) -> Any:
    """The same texts, none of them a template or a file to promptfoo, which fills in keys and runs programs so."""
    if isinstance(value, Mapping):
        return {key: _inert(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [_inert(own) for own in value]
    if not isinstance(value, str):
        return value
    return re.sub(
        r"^(\s*(?:file|package|exec|python)):", r"\1 :", re.sub(r"\{(?=[{%#])", "{ ", value), flags=re.IGNORECASE
    )


def _promptfoo(items: Sequence[Item], name: str) -> dict[str, Any]:
    """A promptfoo configuration (JSON is YAML); the provider is the user's to name."""
    tests = []
    for item in items:
        if item.options:
            listed = "\n".join(f"{letter}. {text}" for letter, text in zip(LETTERS, item.options, strict=False))
            asked = f"{item.prompt}\n\n{listed}\n\n{_LAST_LINE}"
            wanted: dict[str, Any] = {"type": "regex", "value": rf"[Aa]nswer:\W*{_right(item)}\b"}
        else:
            asked, wanted = item.prompt, {"type": "icontains-any", "value": [item.reference, *item.aliases]}
        test = {"description": item.id, "vars": {"question": asked}, "assert": [wanted], "metadata": _meta(item)}
        tests.append(_inert(test))
    return {"description": name, "prompts": ["{{question}}"], "providers": ["openai:gpt-4o-mini"], "tests": tests}


def _sample(item: Item) -> dict[str, Any]:
    """An Inspect sample."""
    sample: dict[str, Any] = {"id": item.id, "input": item.prompt, "metadata": _meta(item)}
    if item.options:
        return sample | {"choices": list(item.options), "target": _right(item)}
    return sample | {"target": [item.reference, *item.aliases]}
