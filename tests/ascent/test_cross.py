import dataclasses

import pytest

from helpers.small_base import SimulatedTestee, small_base
from richter.ascent import Failures, SearchSettings, cross_matrix, merge_items, read_answers, read_failures, run_search
from richter.errors import InputError
from richter.llm import parse_budget
from richter.records import Condition, Decoding, Item


def test_accuracy_and_correlation_by_hand():
    right = {
        "a": {"1": False, "2": False, "3": True, "4": True},
        "b": {"1": False, "2": True, "3": False, "4": True},
        "c": {"1": True, "2": True, "3": True},
    }
    found = cross_matrix({"a": ["1", "2"], "b": ["1", "3"], "c": []}, right)
    assert found.accuracy == ((0.0, 0.5, 1.0), (0.5, 0.0, 1.0), (None, None, None))
    assert found.correlation[0][1] == pytest.approx(0.0)  # 2 x 2 table of ones
    assert found.correlation[0][0] == pytest.approx(1.0)
    assert found.correlation[0][2] is None  # always right: no correlation
    assert found.items == (2, 2, 0)
    with pytest.raises(InputError, match="at least two"):
        cross_matrix({"a": []}, right)


def test_failures_and_answers_come_from_the_ledger(tmp_path):
    base = small_base(tmp_path / "kb")
    condition = Condition(name="simulated", model="simulated/testee", decoding=Decoding(max_tokens=8), style="cloze")
    testee = SimulatedTestee(lambda document, _: document in (2, 3))
    settings = SearchSettings(batch=8, neighbours=6, questions=1, phrasings=2)
    found = run_search(tmp_path / "run", base, condition, settings, budget=parse_budget("96calls"), model=testee)
    failures = read_failures(tmp_path / "run")
    assert len(failures.items) == 2 * found.sources_found
    right = read_answers([tmp_path / "run", tmp_path / "nothing"], condition)
    assert len(right) == found.answers
    assert sum(not r for r in right.values()) == found.errors_found
    assert not any(right[item.id] for item in failures.items)


def test_searches_of_another_base_or_with_other_questions_are_refused():
    condition = Condition(name="c", model="m")
    item = Item(id="1.0.0", prompt="Who?", reference="Ann")
    one = Failures(run="one", condition=condition, base={"name": "x"}, items=(item,))
    assert merge_items([one, dataclasses.replace(one, run="two")]) == {"1.0.0": item}
    with pytest.raises(InputError, match="two searched another base than one"):
        merge_items([one, dataclasses.replace(one, run="two", base={"name": "y"})])
    other = dataclasses.replace(item, prompt="Who else?")
    with pytest.raises(InputError, match="two asked other questions"):
        merge_items([one, dataclasses.replace(one, run="two", items=(other,))])
