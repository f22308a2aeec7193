import dataclasses
import json

import numpy as np
import pytest

from helpers.server import FakeApi
from helpers.small_base import SimulatedTestee, small_base
from richter.audit import measure_run
from richter.cli import main
from richter.errors import InputError, TooFewErrors
from richter.records import Answer, Condition, Decoding, Rating, of_kind
from richter.store import Call, open_ledger
from richter.tables import read_tables
from richter_audit.ascent import (
    SearchSettings,
    failing_questions,
    prepare_retest,
    run_search,
    score_retest,
)
from richter_audit.llm import messages_for, parse_budget

CONDITION = Condition(name="simulated", model="simulated/testee", decoding=Decoding(max_tokens=8), style="cloze")


@pytest.fixture
def searched(tmp_path):
    base = small_base(tmp_path / "kb")
    testee = SimulatedTestee(lambda document, _: document in (2, 3))
    settings = SearchSettings(strategy="sea", wordings="all", batch=8, neighbours=6, questions=2, phrasings=2)
    found = run_search(tmp_path / "run", base, CONDITION, settings, budget=parse_budget("128calls"), model=testee)
    return base, tmp_path / "run", found


def test_one_wrong_answer_of_each_paragraph_is_asked_with_the_paragraph_in_view(searched):
    base, run, found = searched
    items, condition = prepare_retest(run, base, kind="context", limit=1000, rng=np.random.default_rng(0))
    rows = [int(item.id.split(".")[0]) for item in items]
    assert len(rows) == len(set(rows)) == found.sources_found
    assert {base.document_of(row) for row in rows} <= {2, 3}
    messages, decoding = messages_for(items[0], condition)
    assert base.paragraphs(rows[:1])[0].text in messages[0]["content"]
    assert messages[0]["content"].endswith("Answer:")
    assert len(decoding.choices) == 4
    few, _ = prepare_retest(run, base, kind="open", limit=3, rng=np.random.default_rng(0))
    assert len(few) == 3


def test_sentences_without_their_subject_are_not_asked_again(tmp_path):
    base = small_base(tmp_path / "kb")
    testee = SimulatedTestee(lambda document, _: document in (2, 3))
    settings = SearchSettings(strategy="sea", batch=8, neighbours=6, questions=2, phrasings=2)
    run_search(tmp_path / "run", base, CONDITION, settings, budget=parse_budget("128calls"), model=testee)
    items, _ = prepare_retest(tmp_path / "run", base, kind="open", limit=1000, rng=np.random.default_rng(0))
    assert len(items) > 5
    assert not any(item.bare for item in items)  # which correct for the options' prior, and are nobody's question


def test_open_answers_are_graded_by_their_text(searched, tmp_path):
    base, run, _ = searched
    items, condition = prepare_retest(run, base, kind="open", limit=4, rng=np.random.default_rng(1))
    assert condition.style == "chat"
    with open_ledger(tmp_path / "again", mode="write") as ledger:
        ledger.add_items(items)
        for i, item in enumerate(items):
            text = f"It is {item.reference}." if i == 0 else "It is something else."
            answer = Answer(text=text, item=item.id, condition=condition.name)
            ledger._commit([Call(key=str(i), model="m", request="{}", answer=answer)])
    found = score_retest(tmp_path / "again", items, condition, kind="open")
    assert (found.n, found.right, found.share) == (4, 1, 0.25)
    with pytest.raises(TooFewErrors):
        score_retest(tmp_path / "again", items, CONDITION, kind="open")


def test_another_base_is_refused(searched, tmp_path):
    _, run, _ = searched
    other = small_base(tmp_path / "other", documents=2)
    with pytest.raises(InputError, match="not the base"):
        prepare_retest(run, other, kind="open", limit=4, rng=np.random.default_rng(1))


def _answer_by_letter(run, items, condition, option_of):
    """Put items with their options reversed into a run, each answered by the letter of an option as shown there."""
    with open_ledger(run, mode="write") as ledger:
        shown = [dataclasses.replace(item, options=item.options[::-1]) for item in items]
        ledger.add_items(shown)
        for i, item in enumerate(shown):
            letter = "ABCD"[item.options.index(option_of(item))]
            answer = Answer(text=f"Answer: {letter}", item=item.id, condition=condition.name)
            ledger._commit([Call(key=str(i), model="m", request="{}", answer=answer)])


def test_letters_are_graded_by_the_order_of_options_that_the_retest_showed_by_hand(searched, tmp_path):
    base, run, _ = searched
    items, condition = prepare_retest(run, base, kind="context", limit=6, rng=np.random.default_rng(1))
    condition = dataclasses.replace(condition, style="choice")
    _answer_by_letter(tmp_path / "again", items, condition, lambda item: item.reference)
    found = score_retest(tmp_path / "again", items, condition, kind="context")
    assert (found.n, found.right) == (6, 6)


def test_severities_of_a_searchs_answers_say_that_a_search_chose_them(searched, tmp_path):
    """Judged as they are, they would read as rates of the base: in every claim and in the table that is read."""
    _, run, _ = searched
    with open_ledger(run, mode="write") as ledger:
        ledger.add_ratings(
            Rating(item=a.item, condition=a.condition, rater="simulated judge", kind="judge", severity=2.0)
            for a in ledger.answers()
        )
    assert of_kind(read_tables(run).notes, "search")
    with pytest.raises(SystemExit) as stop:
        main(["severity", str(run), "--json", str(tmp_path / "severity.json")])
    assert stop.value.code == 0
    assert "a search for errors chose these questions" in (tmp_path / "severity.json").read_text()


def test_judges_of_a_search_rate_its_failing_questions_once_each(searched, tmp_path, capsys):
    """By hand: two judges, so twice as many calls as failing questions, priced before and made after."""
    _, run, found = searched
    with FakeApi(reply=lambda _: '{"severity": 2, "reason": "wrong"}') as one, FakeApi(reply=one._reply) as two:
        judges = f"{one.url}#first,{two.url}#second"
        told = {}
        for name, more in (("priced", ["--dry-run"]), ("asked", ["--budget", "500calls"])):
            out = tmp_path / f"{name}.json"
            with pytest.raises(SystemExit) as stop:
                main(["audit", "--only", "judge", str(run), "--judges", judges, "--json", str(out), *more])
            assert stop.value.code == 0, capsys.readouterr().err
            told[name] = json.loads(out.read_text())
    assert told["priced"]["dry_run"]["n_answers"] == found.errors_found
    assert told["asked"]["n_judge"] == 2 * found.errors_found
    with open_ledger(run) as ledger:
        rated = {rating.item for rating in ledger.ratings(kind="judge")}
    assert rated == {q.item.id for q in failing_questions(run, confirmed=False).questions}
    headline = measure_run(run, n_resamples=100).first_lines.headline  # all of them failed: this is not a rate
    assert headline.startswith(f"A search for errors chose these {len(rated)} questions: ")
    assert f" is wrong in {len(rated)}, of mean severity 2.0" in headline


def test_a_search_without_failures_has_nothing_to_judge(tmp_path, capsys):
    base = small_base(tmp_path / "kb")
    settings = SearchSettings(strategy="random", batch=8, questions=1, phrasings=1)
    testee = SimulatedTestee(lambda *_: False)
    run_search(tmp_path / "run", base, CONDITION, settings, budget=parse_budget("16calls"), model=testee)
    with pytest.raises(SystemExit) as stop:
        main(["audit", "--only", "judge", str(tmp_path / "run"), "--judges", "openai/a,openai/b", "--dry-run"])
    assert (stop.value.code, "no failing question" in capsys.readouterr().err) == (1, True)
