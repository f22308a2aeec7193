"""Files that people had and the reader refused or half understood at first sight: what it must make of each."""

import json
from pathlib import Path

import polars as pl
import pytest

from richter.errors import InputError, ReadingProposed
from richter.tables import Dataset, ReadOptions, read_tables

N = 12


def write(path: Path, *lines: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def proposed(*paths: Path) -> ReadingProposed:
    with pytest.raises(ReadingProposed) as asked:
        read_tables(*paths)
    return asked.value


def confirmed(path: Path) -> Dataset:
    """The file read with the options of its proposal, which are then known."""
    tables = read_tables(path, options=proposed(path).options)
    assert tables.is_confirmed
    return tables


def means(tables: Dataset) -> dict[str, float]:
    """The mean of the main score of every condition."""
    main = tables.scores.filter(metric=tables.scores["metric"][0])
    found = main.group_by("condition", maintain_order=True).agg(pl.col("value").mean())
    return {name: round(value, 6) for name, value in found.iter_rows()}


def shown(asked: ReadingProposed) -> str:
    return "\n".join(asked.lines)


# ------------------------------------------------------------------ files that are called alike


def test_files_with_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    files = [
        write(tmp_path / run / "out" / "results.csv", "id,correct", *(f"q{k},{int(k < right)}" for k in range(N)))
        for run, right in (("monday", 3), ("friday", 6))
    ]
    tables = read_tables(*files)
    assert means(tables) == {"monday": 0.25, "friday": 0.5}
    assert tables.is_confirmed


def test_logs_with_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    rows = {run: [{"doc_id": k, "doc": {}, "resps": [["x"]], "filtered_resps": ["x"], "exact_match": float(k < right)}
                  for k in range(N)] for run, right in (("small", 3), ("big", 6))}  # fmt: skip
    files = [write(tmp_path / run / "samples_sums.jsonl", *map(json.dumps, own)) for run, own in rows.items()]
    assert means(read_tables(*files)) == {"sums (small)": 0.25, "sums (big)": 0.5}


def test_helm_statistics_alone_are_named_by_their_runs_folder(tmp_path: Path) -> None:
    def stats(right: int) -> str:
        stat = [{"name": {"name": "exact_match"}, "mean": 1.0}]
        none = [{"name": {"name": "exact_match"}, "mean": 0.0}]
        return json.dumps([{"instance_id": f"id{k}", "stats": stat if k < right else none} for k in range(N)])

    folders = {"mmlu:subject=law,model=org_small": 3, "mmlu:subject=law,model=org_big": 6}
    files = [write(tmp_path / name / "per_instance_stats.json", stats(right)) for name, right in folders.items()]
    assert means(read_tables(*files)) == {"org_small": 0.25, "org_big": 0.5}


# ------------------------------------------------------------------ what is compared


def test_two_columns_that_both_vary_are_both_compared(tmp_path: Path) -> None:
    rows = [f"{k},{model},{prompt},{int((k * step) % 3 == 0)}" for k in range(N)
            for step, (model, prompt) in enumerate([("a", "terse"), ("a", "cot"), ("b", "terse"), ("b", "cot")], 1)
            ]  # fmt: skip
    path = write(tmp_path / "grid.csv", "id,model,prompt,score", *rows)
    asked = proposed(path)
    assert "model and prompt together" in shown(asked)
    assert "not used" not in shown(asked)
    tables = confirmed(path)
    assert tables.conditions == ("a + terse", "a + cot", "b + terse", "b + cot")
    assert tables.answers.height == 4 * N
    assert tables.answers["draw"].max() == 0


def test_a_run_with_a_name_for_every_answer_is_no_model_and_no_repeat(tmp_path: Path) -> None:
    files = [write(tmp_path / f"{name}.csv", "id,run,feedback.correctness",
                   *(f"ex{k},{name}-{k},{int(k < right)}" for k in range(N)))
             for name, right in (("plain", 3), ("rerank", 6))]  # fmt: skip
    tables = read_tables(*files)
    assert means(tables) == {"plain": 0.25, "rerank": 0.5}
    assert tables.answers["draw"].max() == 0


def test_models_within_names_of_columns_are_sides_of_a_preference(tmp_path: Path) -> None:
    won = ["A"] * 6 + ["B"] * 3 + ["tie"] * 3
    rows = [f"{k},sonnet,gpt,{side}" for k, side in enumerate(won)]
    path = write(tmp_path / "pairs.csv", "prompt_id,response_a_model,response_b_model,winner", *rows)
    assert "1 for the winner, 0 for the other, 0.5 each for a tie" in shown(proposed(path))
    assert means(confirmed(path)) == {"sonnet": 0.625, "gpt": 0.375}  # (6 + 3 / 2) of 12


def test_ranks_alone_are_the_score_and_one_is_the_best(tmp_path: Path) -> None:
    rows = [f"p{k},{system},{1 + (k + j) % 3}" for k in range(N) for j, system in enumerate(("red", "green", "blue"))]
    path = write(tmp_path / "ranked.csv", "prompt_id,system,rank", *rows)
    options = proposed(path).options
    assert (options.map, options.better, options.scale) == ({"score": "rank"}, "lower", (1.0, 3.0))


def test_a_rank_beside_a_score_is_not_the_score(tmp_path: Path) -> None:
    rows = [f"p{k},{system},{1 + (k + j) % 2},{k % 2}" for k in range(N) for j, system in enumerate(("red", "green"))]
    tables = read_tables(write(tmp_path / "ranked.csv", "prompt_id,system,rank,correct", *rows))
    assert tables.scored_by == ("column correct",)


# ------------------------------------------------------------------ what a proposal and a note say


def test_a_proposal_says_what_a_layout_does(tmp_path: Path) -> None:
    rows = [f"{k},{k % 2},{k % 3 > 0:d}" for k in range(N)]
    asked = proposed(write(tmp_path / "wide.csv", "id,mini_correct,haiku_correct", *rows))
    assert '"mini", "haiku"' in shown(asked)
    assert "mini_correct, haiku_correct" in shown(asked)
    rows = [f"{part},{k},{m},{(k + j) % 2}" for part in ("law", "art") for k in range(N) for j, m in enumerate("ab")]
    asked = proposed(write(tmp_path / "parts.csv", "category,id,model,correct", *rows))
    assert "category and id name a question" in shown(asked)
    assert "not used" not in shown(asked)


def test_a_proposal_says_which_words_have_no_grade(tmp_path: Path) -> None:
    words = ["success", "failure", "success", "timeout"]
    rows = [f"t{k},{agent},{words[(k + j) % 4]}" for k in range(N) for j, agent in enumerate("ab")]
    assert "6 graded 'timeout' have no grade" in shown(proposed(write(tmp_path / "o.csv", "task,agent,outcome", *rows)))


def test_a_loss_is_on_no_usual_scale(tmp_path: Path) -> None:
    rows = [f"{k},{c},{2 + k * 5 % N / 7 + j / 10:.3f}" for k in range(N) for j, c in enumerate(("ckpt-1", "ckpt-2"))]
    path = write(tmp_path / "nll.csv", "doc_id,checkpoint,nll", *rows)
    assert any("no known ends" in note for note in confirmed(path).notes)


def test_a_seed_that_numbers_the_runs_leaves_no_run_unused(tmp_path: Path) -> None:
    rows = [f"{k},{r},{100 + r},{m},{(k + r + j) % 2}" for k in range(N) for r in (1, 2, 3)
            for j, m in enumerate(("old", "new"))]  # fmt: skip
    tables = read_tables(write(tmp_path / "runs.csv", "question_id,run,seed,model,correct", *rows))
    assert tables.answers["draw"].max() == 2
    assert not [note for note in tables.notes if "not used" in note]


def test_fractions_beside_percentages_are_not_advised_onto_one_scale(tmp_path: Path) -> None:
    old = write(tmp_path / "old.csv", "id,score", *(f"q{k},0.{50 + k}" for k in range(N)))
    new = write(tmp_path / "new.csv", "id,score", *(f"q{k},{50 + k}.5" for k in range(N)))
    with pytest.raises(InputError, match="not on one scale") as refused:
        read_tables(old, new)
    assert refused.value.remedy.startswith("Write both alike")
    assert "Only if old has at most 0.61 of 100: --scale 0:100" in refused.value.remedy


def test_a_log_names_the_scorers_that_do_not_count(tmp_path: Path) -> None:
    rows = [{"input": f"q{k}", "output": "a", "expected": "a", "experiment_id": "e", "root_span_id": f"{k}",
             "scores": {"Factuality": k % 2, "Levenshtein": k / N}} for k in range(N)]  # fmt: skip
    path = write(tmp_path / "one.jsonl", *map(json.dumps, rows))
    notes = read_tables(path).notes
    assert any("also holds Levenshtein. --scorer Levenshtein" in note for note in notes)
    chosen = read_tables(path, options=ReadOptions(scorer="Levenshtein")).notes
    assert not [note for note in chosen if "also holds" in note]
    assert not [note for note in chosen if "wrong" in note and "graded answers" in note]  # partial scores


# ------------------------------------------------------------------ the fourth corpus, by hand


def rows_of(*names: str) -> list[str]:
    """Rows `item,condition,grade` of two conditions: the first is right in 3 of 12 questions, the second in 6."""
    return [f"{k},{name},{int(k < right)}" for name, right in zip(names, (3, 6), strict=True) for k in range(N)]


@pytest.mark.parametrize("item", ["task", "sample", "example", "problem", "instance", "query"])
def test_a_bare_name_of_questions_is_known_where_grades_are_right_or_wrong(tmp_path: Path, item: str) -> None:
    tables = read_tables(write(tmp_path / "t.csv", f"{item},model,correct", *rows_of("a", "b")))
    assert means(tables) == {"a": 0.25, "b": 0.5}
    assert tables.is_confirmed
    assert len(tables.answers["item"].unique()) == N


def test_a_bare_name_of_categories_with_averages_is_not_known(tmp_path: Path) -> None:
    rows = [f"bench{k},{name},0.{50 + k}" for name in "ab" for k in range(N)]
    proposed(write(tmp_path / "t.csv", "task,model,accuracy", *rows))


def test_samples_of_a_domain_are_its_questions_and_no_repeats(tmp_path: Path) -> None:
    rows = [f"{k},d{k % 3},{name},0.{50 + k}" for name in "ab" for k in range(N)]
    asked = proposed(write(tmp_path / "t.csv", "sample,domain,model,score", *rows))
    assert asked.options.map == {"item": "sample"}


@pytest.mark.parametrize("name", ["config", "configuration", "setup", "pipeline", "experiment", "branch"])
def test_names_of_variants_are_known_where_they_vary(tmp_path: Path, name: str) -> None:
    tables = read_tables(write(tmp_path / "t.csv", f"id,{name},correct", *rows_of("a", "b")))
    assert means(tables) == {"a": 0.25, "b": 0.5}
    assert tables.is_confirmed


def test_dates_of_runs_beside_branches_are_proposed_as_runs(tmp_path: Path) -> None:
    rows = [f"{day},{row}" for day in ("2026-05-01", "2026-05-02") for row in rows_of("main", "pr-7")]
    path = write(tmp_path / "t.csv", "run,case_id,branch,passed", *rows)
    assert proposed(path).options.map == {"run": "run"}
    assert means(confirmed(path)) == {"main": 0.25, "pr-7": 0.5}


def test_a_reference_beside_columns_of_0_and_1_leaves_them_known(tmp_path: Path) -> None:
    rows = [f"{k},What is {k} + 5?,{k + 5},{int(k < 3)},{int(k < 6)}" for k in range(N)]
    tables = read_tables(write(tmp_path / "t.csv", "id,question,reference,a,b", *rows))
    assert means(tables) == {"a": 0.25, "b": 0.5}
    assert tables.is_confirmed


def test_columns_of_0_and_1_beside_a_reference_of_0_and_1_are_not_known(tmp_path: Path) -> None:
    rows = [f"{k},{k % 2},{int(k < 3)},{int(k < 6)}" for k in range(N)]
    proposed(write(tmp_path / "t.csv", "id,reference,a,b", *rows))


def with_status(*grades: str) -> list[str]:
    """Twelve rows of one condition: four ended in the first status, the others as their own say."""
    return [f"{k},a,{grades[0]},0" for k in range(4)] + [f"{k},a,{grades[1]},{int(k < 8)}" for k in range(4, N)]


@pytest.mark.parametrize("status", ["api_error", "timeout", "cancelled", "failed"])
def test_a_grade_beside_the_status_of_a_failed_call_is_no_grade(tmp_path: Path, status: str) -> None:
    path = write(tmp_path / "t.csv", "task_id,agent_name,status,score", *with_status(status, "completed"))
    options = ReadOptions(map={"condition": "agent_name"})
    assert means(read_tables(path, options=options)) == {"a": 0.5}
    counted = ReadOptions(map={"condition": "agent_name"}, grade={status: 0.0})
    assert means(read_tables(path, options=counted)) == {"a": round(4 / N, 6)}


def test_a_status_that_only_repeats_the_grade_takes_none_away(tmp_path: Path) -> None:
    rows = [f"{k},a,{'completed' if k < 3 else 'failed'},{int(k < 3)}" for k in range(N)]
    assert means(read_tables(write(tmp_path / "t.csv", "id,model,status,score", *rows))) == {"a": 0.25}


def test_rows_that_are_marked_as_excluded_have_no_grade_and_are_no_model(tmp_path: Path) -> None:
    rows = [f"c{k},{int(k < 5)},{int(k < 8)},{'x' if k < 2 else ''}" for k in range(N)]
    path = write(tmp_path / "t.csv", "Case,Current,New,Exclude?", *rows)
    assert means(read_tables(path)) == {"Current": 0.3, "New": 0.6}


def test_minus_one_beside_a_scale_of_ten_is_asked_about_however_common(tmp_path: Path) -> None:
    rows = [f"{k},{name},{-1 if k < 3 else 3 + k % 8}" for name in "ab" for k in range(N)]
    path = write(tmp_path / "t.csv", "id,model,score", *rows)
    with pytest.raises(InputError, match="--grade -1=missing"):
        read_tables(path)
    wins = [f"{k},{name},{k % 3 - 1}" for name in "ab" for k in range(N)]
    assert means(read_tables(write(tmp_path / "u.csv", "id,model,score", *wins))) == {"a": 0.0, "b": 0.0}


def test_every_measure_of_a_tool_is_read_from_every_file(tmp_path: Path) -> None:
    """As Pydantic Evals writes its reports: assertions are right or wrong, scores are measures beside them."""
    for name, right in (("concise", 3), ("verbose", 6)):
        cases = [
            {"name": f"case_{k}", "inputs": "x", "output": "y", "metrics": {}, "labels": {}, "task_duration": 0.1,
             "scores": {"brevity": {"name": "brevity", "value": k / N}},
             "assertions": {"correct": {"name": "correct", "value": k < right}}}
            for k in range(N)
        ]  # fmt: skip
        write(tmp_path / f"{name}.json", json.dumps({"name": name, "cases": cases}))
    tables = read_tables(tmp_path)
    assert means(tables) == {"concise": 0.25, "verbose": 0.5}
    found = {(m, c) for m, c in tables.scores.select("metric", "condition").unique().iter_rows()}
    assert found == {(m, c) for m in ("accuracy", "cases.scores.brevity.value") for c in ("concise", "verbose")}
