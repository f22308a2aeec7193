"""The gate of changed rules has every rule that it changes, and excuses only what is there: code moves."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.audit  # the study loads all before it forks
STUDY = Path(__file__).parents[1] / "tools" / "mutants.py"
SOURCE = STUDY.parents[1] / "src" / "richter"


@pytest.fixture(scope="module")
def study() -> Any:
    spec = importlib.util.spec_from_file_location("mutants", STUDY)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_every_rule_that_is_changed_stands_in_the_code(study: Any) -> None:
    assert [m.name for m in study.MUTANTS if m.old not in (SOURCE / m.file).read_text(encoding="utf-8")] == []


def test_every_change_that_nothing_can_tell_can_be_made(study: Any) -> None:
    made = set()
    for name in study.WHOLE:
        text = (SOURCE / name).read_text(encoding="utf-8")
        made |= {(name, change.what, text.splitlines()[change.line - 1]) for change in study.changes(text)}
    lost = [key for key in study.SAME if not any(m[:2] == key[:2] and key[2] in m[2] for m in made)]
    assert lost == []
