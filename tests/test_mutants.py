"""The gate of changed rules has every rule that it changes: code that moved would end it."""

import importlib.util
from pathlib import Path

STUDY = Path(__file__).parents[1] / "studies" / "mutants.py"


def test_every_rule_that_is_changed_stands_in_the_code() -> None:
    spec = importlib.util.spec_from_file_location("mutants_study", STUDY)
    assert spec is not None
    assert spec.loader is not None
    study = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(study)
    source = STUDY.parents[1] / "src" / "richter"
    assert [m.name for m in study.MUTANTS if m.old not in (source / m.file).read_text(encoding="utf-8")] == []
