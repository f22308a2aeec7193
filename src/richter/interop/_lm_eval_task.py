"""An item set as tasks that lm-evaluation-harness includes: a folder of YAML, the items, and a small loader."""

import json
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from richter.errors import InputError, StorageError
from richter.records import Item

__all__ = ["write_lm_eval_tasks"]

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
    try:
        target.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".{target.name}.") as made:
            for file, text in files.items():
                (Path(made) / file).write_text(text, encoding="utf-8")
            for file in files:
                (Path(made) / file).replace(target / file)
    except OSError as error:
        raise StorageError(f"{target} cannot be written: {error.strerror}.", remedy="Choose another folder.") from error
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
