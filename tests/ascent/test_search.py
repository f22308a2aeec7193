import dataclasses
import json

import numpy as np
import pytest

from helpers.server import FakeApi
from helpers.small_base import Killed, SimulatedTestee, small_base
from richter.cli import main
from richter.errors import BudgetExhausted, InputError
from richter.models import Price
from richter.records import Condition, Decoding
from richter.store import open_ledger
from richter_audit.ascent import Field, SearchSettings, plan_step, random_order, run_search
from richter_audit.knowledge import build_index, find_similar
from richter_audit.llm import parse_budget

CONDITION = Condition(name="simulated", model="simulated/testee", decoding=Decoding(max_tokens=8), style="cloze")
SMALL = {"strategy": "sea", "batch": 8, "neighbours": 6, "questions": 2, "phrasings": 2, "wordings": "all"}


def hard_documents(document, _paragraph):
    return document in (2, 3, 7)


def go(run, base, settings, budget, **options):
    model = options.pop("model", None) or SimulatedTestee(hard_documents)
    summary = run_search(run, base, CONDITION, settings, budget=parse_budget(budget), model=model, **options)
    return summary, model


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return small_base(tmp_path_factory.mktemp("kb") / "small")


@pytest.mark.parametrize("strategy", ["portfolio", "modes", "sea", "bayes", "random", "topics"])
def test_no_paragraph_twice_budget_never_exceeded_graph_acyclic(tmp_path, base, strategy):
    settings = SearchSettings(**SMALL | {"strategy": strategy})
    summary, model = go(tmp_path / "run", base, settings, "250calls")
    assert len(model.asked) == len(set(model.asked)) == summary.spent.calls <= 250
    assert 250 - summary.spent.calls < 4  # what is left would not pay for a paragraph
    with open_ledger(tmp_path / "run") as ledger:
        picks, edges = ledger.picks(), ledger.retrievals()
    step = {row: t for row, t, _ in picks}
    assert len(step) == len(picks)
    assert all(step[source] < step[target] for source, target in edges)
    assert bool(edges) == (strategy == "sea") or strategy == "portfolio"  # in which neighbours may have no place
    assert sum(s.paragraphs for s in summary.steps) == len(picks)


def test_ascent_finds_more_errors_than_random_where_errors_cluster(tmp_path, base):
    found = {}
    for strategy in ("sea", "bayes", "random"):
        rates = []
        for seed in range(2):
            settings = SearchSettings(**SMALL | {"strategy": strategy, "seed": seed})
            summary, _ = go(tmp_path / f"{strategy}{seed}", base, settings, "240calls")
            rates.append(summary.errors_found / summary.answers)
        found[strategy] = np.mean(rates)
    # a quarter of the base errs (3 of 12 documents); 60 paragraphs of 240 are asked about, all of which could err
    assert found["random"] < 0.4
    assert found["sea"] > 1.3 * found["random"]
    assert found["bayes"] > 1.3 * found["random"]


@pytest.mark.sampled(1)
@pytest.mark.parametrize("dies_after", [1, 33, 95])
@pytest.mark.slow
def test_a_search_killed_in_the_middle_of_a_step_goes_on_and_ends_the_same(tmp_path, base, dies_after):
    settings = SearchSettings(**SMALL)
    whole, _ = go(tmp_path / "whole", base, settings, "200calls", concurrency=1)
    broken = SimulatedTestee(hard_documents, dies_after=dies_after)
    with pytest.raises(Killed):
        go(tmp_path / "run", base, settings, "200calls", model=broken, concurrency=1)
    again, second = go(tmp_path / "run", base, settings, "200calls", concurrency=1)
    assert not set(broken.asked[:-1]) & set(second.asked)  # at most the call in flight is asked again
    assert again.steps[0] == whole.steps[0]
    with open_ledger(tmp_path / "run") as one, open_ledger(tmp_path / "whole") as other:
        count = len(one.picks())  # a cancelled call counts, so that the last paragraphs may not be affordable
        assert one.picks() == other.picks()[:count]
        assert count >= len(other.picks()) - 1
    assert again.spent.calls <= 200


@pytest.mark.slow
def test_a_token_budget_is_held_in_the_middle_of_a_step(tmp_path, base):
    summary, _ = go(tmp_path / "run", base, SearchSettings(**SMALL), "4000tok", concurrency=1)
    assert 0 < summary.spent.tokens <= 4000
    more, _ = go(tmp_path / "run", base, SearchSettings(**SMALL), "8000tok", concurrency=1)
    assert more.spent.tokens <= 8000
    assert more.answers > summary.answers


def test_a_money_budget_is_held_over_tested_model_and_generator(tmp_path):
    """Prices per million tokens: 1000 in, 2000 out; the server counts its own tokens (3 out)."""
    price = Price(input_usd=1000.0, output_usd=2000.0)
    condition = Condition(name="fake", model="", decoding=Decoding(max_tokens=8))
    bare = small_base(tmp_path / "kb", questions=0)

    def reply(prompt):
        if '"options":' in prompt:
            shown = json.loads(prompt.splitlines()[1])
            key = next(line[0] for line in shown["options"].splitlines() if line[3:] in shown["text"].split())
            return json.dumps({"right": [key], "given_away": False})
        if "SOURCE-" not in prompt:
            return "I do not know"
        number = prompt.split("fact number ")[1].split()[0]
        wrong = ["901", "902", "903"]
        return json.dumps({"questions": [{"question": "Which one is it?", "answer": number, "wrong": wrong}]})

    def run(folder, api, budget):
        tested, writer = f"{api.url}#tested", f"{api.url}#writer"
        return run_search(
            tmp_path / folder,
            bare,
            dataclasses.replace(condition, model=tested),
            SearchSettings(batch=6, neighbours=4, questions=1, phrasings=1),
            budget=parse_budget(budget),
            prices={tested: price, writer: price},
            generator=writer,
        )

    with FakeApi(reply=reply) as api:
        found = run("run", api, "20usd")
        paid = sum(price.cost(len(prompt) // 4 + 1, 3) * count for prompt, count in api.answered.items())
        assert {row.role for row in found.costs} == {"tested", "generator"}
        assert found.spent.money_usd == pytest.approx(paid)
        assert found.to_dict()["spent"]["money"] == pytest.approx(sum(row.money_usd for row in found.costs))
        # a call is held at its bound: a token a byte of the messages, 256 for the template, and the most it may answer
        longest = price.cost(1500 + 256, 1500)
        assert 20 - longest < found.spent.money_usd <= 20
        more = run("run", api, "40usd")
        assert found.spent.money_usd < more.spent.money_usd <= 40
        with pytest.raises(BudgetExhausted):  # not one call fits: said, and not shown as a search without errors
            run("poor", api, "0.0001usd")
        assert found.failed == 0
        with pytest.raises(InputError, match="The price of"):
            run_search(
                tmp_path / "unpriced",
                bare,
                dataclasses.replace(condition, model=api.model),
                SearchSettings(),
                budget=parse_budget("5usd"),
                prices={},
                generator=api.model,
            )


def test_a_search_by_an_index_that_finds_all_is_the_exact_search(tmp_path):
    pytest.importorskip("lancedb")
    base = small_base(tmp_path / "kb", documents=30)
    with pytest.raises(InputError, match="has no index"):
        go(tmp_path / "early", base, SearchSettings(retrieval="index", **SMALL), "100calls")
    assert not (tmp_path / "early").exists()
    info = build_index(base, target=0.9999, rng=np.random.default_rng(0))
    found = {}
    for retrieval in ("exact", "index"):
        run = tmp_path / retrieval
        found[retrieval], _ = go(run, base, SearchSettings(retrieval=retrieval, **SMALL), "200calls")
        with open_ledger(run) as ledger:
            found[retrieval, "picks"] = ledger.picks()
    assert found["exact", "picks"] == found["index", "picks"]
    assert found["index"].to_dict()["base"]["index"] == info.to_dict()
    assert "index" not in found["exact"].base


def test_the_sample_is_the_random_order_whoever_asked_about_its_members(tmp_path, base):
    settings = SearchSettings(seed=5, uniform=0.5, **SMALL)
    summary, _ = go(tmp_path / "run", base, settings, "600calls")
    with open_ledger(tmp_path / "run") as ledger:
        sample = ledger.sample()
        design = {row: d for row, _, d in ledger.picks()}
    assert sample == random_order(base.askable, 5)[: len(sample)].tolist()
    assert {design[row] for row in sample} > {"uniform"}  # some had been chosen by the ascent before: not asked again
    truth = np.array([hard_documents(base.document_of(row), 0) for row in sample]).mean()
    assert summary.population.error_rate == pytest.approx(truth)
    assert summary.population.n == len(sample)


def test_a_base_smaller_than_a_batch_is_asked_about_whole(tmp_path):
    tiny = small_base(tmp_path / "kb", documents=2, paragraphs=3)
    summary, model = go(tmp_path / "run", tiny, SearchSettings(questions=2, phrasings=2, wordings="all"), "1000calls")
    assert len(model.asked) == 6 * 4
    assert [s.paragraphs for s in summary.steps] == [6]
    # the uniform share of the only batch is 20% of 40 = 8 >= 6: all paragraphs, by two of their questions
    assert (summary.population.n, summary.population.size) == (6, 6)
    assert summary.population.interval.high > summary.population.interval.low


def test_bad_input_is_refused(tmp_path, base):
    with pytest.raises(InputError, match="cannot pay for one paragraph"):
        go(tmp_path / "a", base, SearchSettings(**SMALL), "3calls")
    with pytest.raises(InputError, match="without a budget"):
        go(tmp_path / "b", base, SearchSettings(**SMALL), "")
    go(tmp_path / "c", base, SearchSettings(**SMALL), "32calls")
    with pytest.raises(InputError, match="seed=0, not seed=1"):
        go(tmp_path / "c", base, SearchSettings(seed=1, **SMALL), "64calls")
    silent = small_base(tmp_path / "kb", documents=1, questions=0)
    with pytest.raises(InputError, match="no paragraph with a question"):
        go(tmp_path / "d", silent, SearchSettings(**SMALL), "64calls")
    with pytest.raises(InputError, match="xi 1"):
        SearchSettings(xi=1.0)


def test_compare_gives_the_ratio_to_random(tmp_path, base, capsys):
    for strategy in ("sea", "random"):
        for seed in (0, 1):
            go(
                tmp_path / f"{strategy}{seed}",
                base,
                SearchSettings(**SMALL | {"strategy": strategy, "seed": seed}),
                "120calls",
            )
    runs = [str(tmp_path / name) for name in ("sea0", "sea1", "random0", "random1")]
    with pytest.raises(SystemExit):
        main(["search", "show", *runs, "--json", "-"])
    found = json.loads(capsys.readouterr().out)
    one, other, first, second = found["runs"]
    assert one["ratio_to_random"] == pytest.approx(one["errors_per_answer"] / first["errors_per_answer"])
    (ratio,) = found["ratios_to_random"].values()
    means = [(a["errors_per_answer"] + b["errors_per_answer"]) / 2 for a, b in ((one, other), (first, second))]
    assert ratio["ratio"] == pytest.approx(means[0] / means[1])
    assert ratio["interval"]["low"] <= ratio["ratio"] <= ratio["interval"]["high"]
    with pytest.raises(SystemExit):  # one of each: no interval, and it is not made up
        main(["search", "show", runs[0], runs[2], "--json", "-"])
    assert json.loads(capsys.readouterr().out)["ratios_to_random"] == {}


def test_a_paragraph_cannot_be_chosen_twice_even_by_mistake(tmp_path):
    with open_ledger(tmp_path / "run", mode="write") as ledger:
        ledger.add_step(1, picks=[(7, "start")], retrievals=[], sample=[])
        with pytest.raises(Exception, match="UNIQUE"):
            ledger.add_step(2, picks=[(8, "ascent"), (7, "ascent")], retrievals=[(7, 8)], sample=[3])
        assert [row for row, _, _ in ledger.picks()] == [7]  # the whole step was refused
        assert ledger.sample() == []


def test_first_batch_is_uniform_over_categories():
    codes = np.repeat([0, 1, 2, 3], [500, 30, 5, 1])
    field = Field(
        vectors=np.eye(536, 4, dtype=np.float32), codes=codes, free=np.ones(536, dtype=bool), find=lambda *_: None
    )
    settings = SearchSettings(uniform=0.0)
    order = random_order(field.free, 0)
    plan = plan_step(field, settings, step=1, order=order, sampled=0, sources=(), size=16)
    counts = np.bincount(codes[[row for row, _ in plan.picks]], minlength=4)
    assert counts.tolist() == [5, 5, 5, 1]  # the last category has one paragraph only


def test_the_same_seed_chooses_the_same():
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(300, 8)).astype(np.float32)

    def plan(seed):
        field = Field(
            vectors=vectors,
            codes=np.arange(300) % 7,
            free=np.ones(300, dtype=bool),
            find=lambda rows, k, used: find_similar(vectors[rows], vectors, k, exclude=used),
        )
        field.take([1, 2])
        field.errors = {1: 1.0, 2: 0.0}
        settings = SearchSettings(seed=seed)
        order = random_order(np.ones(300, dtype=bool), seed)
        return plan_step(field, settings, step=2, order=order, sampled=8, sources=(1,), size=20)

    assert plan(3) == plan(3)
    assert plan(3) != plan(4)
