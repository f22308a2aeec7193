import dataclasses
import json

import pytest

from helpers.server import FakeApi
from helpers.small_base import SimulatedTestee, small_base
from richter.cli import main
from richter.errors import InputError
from richter.records import Condition, Decoding, Item
from richter_audit.ascent import (
    SearchSettings,
    Subset,
    cross_matrix,
    merge_items,
    read_answers,
    read_subset,
    run_search,
)
from richter_audit.llm import parse_budget


def test_accuracy_and_correlation_by_hand():
    right = {
        "a": {"1": False, "2": False, "3": True, "4": True},
        "b": {"1": False, "2": True, "3": False, "4": True},
        "c": {"1": True, "2": True, "3": True},
    }
    found = cross_matrix({"a": ["1", "2"], "b": ["1", "3"], "c": []}, right)
    assert found.accuracy == ((0.0, 0.5, 1.0), (0.5, 0.0, 1.0), (None, None, None))
    assert found.correlation[0] == (None, None, None)  # a is always wrong on its own failures: no correlation
    assert found.items == (2, 2, 0)
    with pytest.raises(InputError, match="at least two"):
        cross_matrix({"a": []}, right)


def test_correlation_is_that_of_the_searched_models_own_subset_by_hand():
    """On items 1 to 4 the table is one of each: 0. On 1 to 3 it is (0,0), (0,1), (1,0): phi = -1/2."""
    right = {
        "a": {"1": False, "2": False, "3": True, "4": True},
        "b": {"1": False, "2": True, "3": False, "4": True},
    }
    found = cross_matrix({"a": ["1", "2", "3", "4"], "b": ["1", "2", "3"]}, right)
    assert found.correlation[0] == pytest.approx((1.0, 0.0))
    assert found.correlation[1] == pytest.approx((-0.5, 1.0))


def test_subsets_and_answers_come_from_the_ledger(tmp_path):
    base = small_base(tmp_path / "kb")
    condition = Condition(name="simulated", model="simulated/testee", decoding=Decoding(max_tokens=8), style="cloze")
    testee = SimulatedTestee(lambda document, _: document in (2, 3))
    settings = SearchSettings(strategy="sea", wordings="all", batch=8, neighbours=6, questions=1, phrasings=2)
    found = run_search(tmp_path / "run", base, condition, settings, budget=parse_budget("96calls"), model=testee)
    assert len(read_subset(tmp_path / "run").items) == found.answers
    right = read_answers([tmp_path / "run", tmp_path / "nothing"], condition)
    assert len(right) == 2 * found.answers  # in both wordings
    assert sum(not r for r in right.values()) == 2 * found.errors_found


def test_the_command_asks_each_model_what_the_others_were_asked(tmp_path, capsys):
    """Two models behind a scripted server: one knows documents below 6, the other the even ones."""
    small_base(tmp_path / "kb", questions=1)

    def reply(prompt):
        document, paragraph = (int(word[1:]) for word in prompt.replace("?", "").split()[1:3])
        knows = document < 6 if "#one" in asked[0] else document % 2 == 0
        return f"right {document} {paragraph} 0" if knows else "wrong 1"

    asked = [""]
    with FakeApi(reply=reply) as api:
        for name in ("#one", "#two"):
            asked[0] = name
            arguments = ["--kb", tmp_path / "kb", "--budget", "48calls", "--questions", "1", "--phrasings", "1"]
            run(["search", tmp_path / name[1:], "--model", f"{api.url}{name}", "--batch", "12", *arguments])
        before = len(api.requests)
        out = [tmp_path / "out", tmp_path / "one", tmp_path / "two", "--budget", "200calls"]
        capsys.readouterr()
        run(["search", "--only", "retest", "--kind", "cross", *out, "--dry-run"])
        promised = int(capsys.readouterr().out.split()[0])
        asked[0] = "#two"  # of both models: the second knows the even ones, and so does the first now
        run(["search", "--only", "retest", "--kind", "cross", *out, "--json", tmp_path / "j.json"])
    found = json.loads((tmp_path / "j.json").read_text())
    assert found["conditions"] == ["one choice", "two choice"]
    assert found["items"] == [48, 48]
    assert promised > 0
    assert sum(api.requests.values()) == 96 + promised
    assert before <= 96
    assert "Correlation" in capsys.readouterr().out


def run(arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    assert stop.value.code == 0


def test_searches_of_another_base_or_with_other_questions_are_refused():
    condition = Condition(name="c", model="m")
    item = Item(id="1.0.0", prompt="Who?", reference="Ann")
    one = Subset(run="one", condition=condition, base={"name": "x"}, items=(item,))
    assert merge_items([one, dataclasses.replace(one, run="two")]) == {"1.0.0": item}
    with pytest.raises(InputError, match="two searched another base than one"):
        merge_items([one, dataclasses.replace(one, run="two", base={"name": "y"})])
    other = dataclasses.replace(item, prompt="Who else?")
    with pytest.raises(InputError, match="two asked other questions"):
        merge_items([one, dataclasses.replace(one, run="two", items=(other,))])
