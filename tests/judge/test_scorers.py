import json
from pathlib import Path

import polars as pl
import pytest

from helpers.local_model import need_smollm2
from richter.cli import main
from richter.errors import InputError, ModelError
from richter.records import Answer, Decoding, Item
from richter.store import open_ledger
from richter_audit.judge._text_scores import read_nll, toxicity
from richter_audit.stages import ask_run, name_conditions
from richter_audit.stages._score import answers_of, own_nll, score_nll, write_scored


def test_mean_nll_by_hand() -> None:
    assert read_nll(Answer(text="a b", tokens=("a", " b"), logprobs=(-1.0, -3.0)), "a b") == 2.0
    assert read_nll(Answer(text="a", tokens=("a",), logprobs=(-1.0,)), "a b") == 1.0  # only its first tokens


def test_toxicity_by_a_linear_model_at_a_path_against_sklearn(tmp_path: Path) -> None:
    text = pytest.importorskip("sklearn.feature_extraction.text")
    linear = pytest.importorskip("sklearn.linear_model")
    texts = ["you are an idiot", "Shut up, idiot!", "good morning to you", "see you up there", "you shut the door"]
    words = text.CountVectorizer(ngram_range=(1, 2), binary=True, token_pattern=r"\w+")
    fitted = linear.LogisticRegression().fit(words.fit_transform(texts), [1, 1, 0, 0, 0])
    weights = dict(zip(words.get_feature_names_out(), map(float, fitted.coef_[0]), strict=True))
    path = tmp_path / "words.json"
    path.write_text(json.dumps({"bias": float(fitted.intercept_[0]), "weights": weights}))
    fresh = [*texts, "", "IDIOT idiot", "nothing known"]
    assert toxicity(fresh, path) == pytest.approx(fitted.predict_proba(words.transform(fresh))[:, 1].tolist())


@pytest.mark.parametrize("content", ["", "[]", '{"bias": 1}', '{"bias": 0, "weights": {}}'])
def test_a_file_without_a_linear_model_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "words.json"
    path.write_text(content)
    with pytest.raises(InputError, match="holds no linear model"):
        toxicity(["text"], path)


def run(*args: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(args))
    return int(stop.value.code or 0)


def test_a_model_that_fails_is_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        name = "simulated"

        async def ask(self, messages, decoding, draw):
            raise ModelError("The simulated model is broken.")

        async def aclose(self) -> None:
            pass

    monkeypatch.setattr("richter_audit.llm._session.open_model", lambda *_, **__: Broken())
    frame = pl.DataFrame({"item": ["1"], "condition": ["a"], "prompt": ["p"], "answer": ["x"]})
    with pytest.raises(ModelError, match="is broken"):
        score_nll(frame, "smollm2", tmp_path / "run")


@pytest.mark.slow
@pytest.mark.local_model
@pytest.mark.xdist_group("local_model")
def test_unlikely_texts_score_higher(tmp_path: Path) -> None:
    need_smollm2()
    rows = [
        ("1", "plain", "What is the capital of France?", "The capital of France is Paris."),
        ("1", "odd", "What is the capital of France?", "Zebra lamp quickly of tax violet seven."),
        ("2", "plain", "What is 2 + 2?", "2 + 2 = 4"),
        ("2", "odd", "What is 2 + 2?", ""),
        ("3", "plain", "Where is Kyoto (京都)?", "京都 is in\nJapan."),  # characters of several tokens
    ]
    path, out = tmp_path / "a.csv", tmp_path / "s.csv"
    pl.DataFrame(rows, schema=["item", "condition", "prompt", "answer"], orient="row").write_csv(path)
    assert run("audit", str(path), "--scorer", "nll", "-o", str(out)) == 0
    scores = {(r["item"], r["condition"]): r["nll"] for r in pl.read_csv(out).to_dicts()}
    assert scores[1, "plain"] < 2 < 5 < scores[1, "odd"]
    assert scores[2, "odd"] is None  # an empty answer has no likelihood
    assert 0 < scores[3, "plain"] < 10
    with open_ledger(tmp_path / "s.csv.run") as ledger:
        assert ledger.spent().calls == 4  # one each, kept: scoring again would pay nothing


@pytest.mark.slow
@pytest.mark.local_model
@pytest.mark.xdist_group("local_model")
def test_an_answer_is_as_likely_to_its_own_model_as_when_it_was_given(tmp_path: Path) -> None:
    """Read again, a greedy answer has the likelihood that the ledger kept, unless it splits into other tokens."""
    need_smollm2()
    cities = ("Nantes", "Osaka", "Lagos", "Lima", "Perth")
    items = [Item(id=city, prompt=f"In which country is {city}?", reference="x") for city in cities]
    conditions = name_conditions(["smollm2"], decoding=Decoding(max_tokens=12, logprobs=True))
    ask_run(tmp_path, items, conditions, slots=4)
    own = own_nll(tmp_path, "smollm2")
    read = score_nll(answers_of(tmp_path), "smollm2", tmp_path, slots=4)
    away = [abs(own[i, c] - nll) for i, c, nll in read.select("item", "condition", "nll").iter_rows()]
    assert len(away) == len(cities)
    assert sorted(away)[len(away) // 2] < 1e-3  # half precision of the cache, and another batch
    known = score_nll(answers_of(tmp_path), "smollm2", tmp_path / "nothing", known=own)
    assert known["nll"].to_list() == [own[i, c] for i, c in known.select("item", "condition").iter_rows()]
    assert not (tmp_path / "nothing").exists()


def test_scores_join_a_table_that_is_there_and_run_in_no_spreadsheet(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    old = {"item": ["b", "a", "c"], "condition": ["m", "m", "m"], "severity": [2.0, 0.0, 4.0], "nll": [9.0, 9.0, 9.0]}
    pl.DataFrame(old).write_csv(path)
    answers = ["=1+1", "plain"]
    new = pl.DataFrame({"item": ["a", "b"], "condition": ["m", "m"], "answer": answers, "nll": [0.5, 1.5]})
    write_scored(new, path)
    back = pl.read_csv(path)
    assert back["item"].to_list() == ["a", "b"]
    assert back["severity"].to_list() == [0.0, 2.0]  # kept
    assert back["nll"].to_list() == [0.5, 1.5]  # new
    assert back["answer"].to_list() == ["'=1+1", "plain"]
    other = tmp_path / "other.csv"
    other.write_text("x,y\n1,2\n")
    with pytest.raises(InputError, match="not a table of answers"):
        write_scored(new, other)
    assert other.read_text() == "x,y\n1,2\n"
