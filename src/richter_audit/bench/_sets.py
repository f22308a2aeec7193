"""An item set in the forms that others run: promptfoo, Inspect, lm-evaluation-harness, pytest, and Richter's own."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from richter.errors import InputError
from richter.records import Item
from richter.store import write_file, write_folder

__all__ = ["SETS", "write_lm_eval_tasks", "write_set"]

LETTERS = "ABCDEFGHIJ"
_LAST_LINE = 'One option is right. End your reply with a line "Answer: " and its letter.'
SETS = ("items", "promptfoo", "inspect", "lm-eval", "pytest")

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
    target = Path(path)
    if to == "lm-eval":
        write_lm_eval_tasks(items, target, name=name, force=force)
        return sorted(target.iterdir())
    lines = _lines(item.to_dict() for item in items)
    files: dict[Path, str]
    if to == "items":
        files = {target: lines}
    elif to == "promptfoo":
        files = {target: json.dumps(_promptfoo(items, name), indent=2, ensure_ascii=False) + "\n"}
    elif to == "inspect":
        kinds = {"chosen": [i for i in items if i.options], "opened": [i for i in items if not i.options]}
        held = {kind: own for kind, own in kinds.items() if own}
        files = {target / "task.py": _INSPECT + "".join(_INSPECT_TASKS[kind] for kind in held)}
        files |= {target / f"{kind}.jsonl": _lines(map(_sample, own)) for kind, own in held.items()}
    elif to == "pytest":
        test = f"test_{re.sub(r'[^a-z0-9]+', '_', name.lower()).strip('_') or 'questions'}.py"
        files = {target / test: _PYTEST.format(name=test), target / "items.jsonl": lines}
    else:
        raise InputError(f"There is no form {to!r}.", remedy=f"Use one of {', '.join(SETS)}.")
    taken = [file for file in files if file.exists()]
    if taken and not force:
        raise InputError(f"{taken[0]} exists.", remedy="Choose another name, or add --force.")
    return [write_file(file, text, into_new=True) for file, text in files.items()]


def _lines(rows: Any) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _right(item: Item) -> str:
    return LETTERS[item.options.index(item.reference)]


def _meta(item: Item) -> Mapping[str, Any]:
    found = {"domain": item.domain, "source": item.source, "reference": item.reference}
    return {key: value for key, value in (found | dict(item.truth)).items() if value}


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
    found: dict[str, Any] = {"id": item.id, "input": item.prompt, "metadata": _meta(item)}
    if item.options:
        return found | {"choices": list(item.options), "target": _right(item)}
    return found | {"target": [item.reference, *item.aliases]}


_LOADER = '''"""Loads the items beside this file. It needs nothing but lm-eval's own packages."""

import json
import re
import unicodedata
from pathlib import Path

import datasets


def load(domain=None, cloze=False, **_):
    """The items as one split; with `cloze` those that have a stem and options."""
    with (Path(__file__).parent / "items.jsonl").open(encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    if domain is not None:
        rows = [row for row in rows if row["domain"] == domain]
    if cloze:
        rows = [row for row in rows if row["stem"] and row["options"]]
    return {"test": datasets.Dataset.from_list(rows)}


def plain(text):
    """Lower case without accents, articles and punctuation, between spaces."""
    text = "".join(c for c in unicodedata.normalize("NFKD", text.lower()) if not unicodedata.combining(c))
    words = re.findall(r"[^\\W_]+", text)
    return " " + " ".join(w for w in words if w not in ("a", "an", "the")) + " "


def named(doc, results):
    """1 where the answer names the reference or an alias."""
    said = plain(results[0])
    return {"named": float(any(plain(name) in said for name in [doc["reference"], *doc["aliases"]]))}
'''

_CLOZE = """\
output_type: multiple_choice
custom_dataset: !function utils.load
test_split: test
doc_to_text: "{{context}}"
doc_to_choice: options
doc_to_target: answer
target_delimiter: " "
metric_list:
  - metric: acc
    aggregation: mean
    higher_is_better: true
"""

_OPEN = """\
output_type: generate_until
custom_dataset: !function utils.load
test_split: test
doc_to_text: "Question: {{prompt}}\\nAnswer:"
doc_to_target: reference
process_results: !function utils.named
generation_kwargs:
  until: ["\\n"]
  do_sample: false
  temperature: 0.0
  max_gen_toks: 48
metric_list:
  - metric: named
    aggregation: mean
    higher_is_better: true
"""


def write_lm_eval_tasks(items: Sequence[Item], folder: str | Path, *, name: str, force: bool = False) -> list[str]:
    """Write the folder and return its groups: `NAME_cloze` (options scored by likelihood) and `NAME_open`.

    Each group has one task a domain, and the group's figure weights them by size. Include it with
    `lm_eval --include_path FOLDER --tasks NAME_cloze`.
    """
    target = Path(folder)
    if target.exists() and any(target.iterdir()) and not force:
        raise InputError(f"{target} exists and is not empty.", remedy="Choose another folder, or add --force.")
    prefix = _slug(name)
    rows = [_row(item) for item in items]
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    files = {"items.jsonl": "".join(f"{line}\n" for line in lines), "utils.py": _LOADER}
    groups = []
    for kind, body, metric in (("cloze", _CLOZE, "acc"), ("open", _OPEN, "named")):
        usable = [row for row in rows if kind == "open" or (row["stem"] and row["options"])]
        domains = list(dict.fromkeys(str(row["domain"]) for row in usable))
        if not domains:
            continue
        tasks = []
        for domain in domains:
            task = f"{prefix}_{kind}_{_slug(domain) or 'all'}"
            options = {"domain": domain, "cloze": kind == "cloze"}
            head = f"task: {task}\ntask_alias: {json.dumps(domain or 'all')}\ndataset_kwargs: {json.dumps(options)}\n"
            files[f"{task}.yaml"] = head + body + "metadata:\n  version: 1.0\n"
            tasks.append(task)
        if len(set(tasks)) < len(tasks):
            raise InputError("Two domains have names that differ in punctuation only.", remedy="Rename one.")
        group = f"{prefix}_{kind}"
        files[f"_{group}.yaml"] = (
            f"group: {group}\ntask: {json.dumps(tasks)}\n"
            f"aggregate_metric_list:\n  - metric: {metric}\n    weight_by_size: true\nmetadata:\n  version: 1.0\n"
        )
        groups.append(group)
    write_folder(target, files)
    return groups


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def _row(item: Item) -> dict[str, object]:
    """Every row has every key, of one type, as `datasets` wants it."""
    return {
        "id": item.id,
        "prompt": item.prompt,
        "reference": item.reference,
        "aliases": list(item.aliases),
        "options": list(item.options),
        "answer": item.options.index(item.reference) if item.reference in item.options else -1,
        "stem": item.stem,
        "context": "\n".join([*item.shots, item.stem]),
        "domain": item.domain,
        "tier": item.tier or 0,
        "form": item.form,
    }
