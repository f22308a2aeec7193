"""The options and help of `audit` with its stages, and of `demo`; their bodies load when they run."""

from pathlib import Path

import click

from richter.cli._options import add_options, command, json_option, resamples_option, seed_option
from richter.texts import GRADERS
from richter_audit.cli._call_options import call_options
from richter_audit.cli._staged_command import StagedCommand

bench_options = add_options(
    click.option("--bench", required=True, type=click.Path(path_type=Path), help="Items: JSONL, CSV or Parquet."),
    click.option("--model", "models", required=True, multiple=True, help="A model. May be given several times."),
)
condition_options = add_options(
    click.option(
        "--temperature", "temperatures", multiple=True, type=click.FloatRange(0, 2), help="Default 0 (greedy)."
    ),
    click.option(
        "--system", "systems", multiple=True, help="A system prompt, or @FILE. Several make several conditions."
    ),
)
limit_option = click.option("--limit", type=click.IntRange(1), default=None, help="Only the first N items.")
self_option = click.option(
    "--allow-self", is_flag=True, help="Let a model judge its own answers (a trial; the report says so)."
)


@command("_ask_output:ask", shown="bench model temperature system style max-tokens draws limit budget dry-run json")
@click.argument("run", type=Path)
@bench_options
@condition_options
@click.option(
    "--style",
    type=click.Choice(["chat", "choice", "cloze", "raw"]),
    help="chat: the question alone; choice: with its options, shuffled; cloze: complete a sentence by an option; raw: "
    "continue the question as plain text, without a chat's frame. "
    "Default: choice where items have options and no sentence, else chat.",
)
@click.option(
    "--max-tokens", type=click.IntRange(1), default=500, help="Of an answer; one that is cut off is asked again."
)
@click.option("--seed", type=int, default=None, help="Sampling seed, sent to the model; draws get seeds of their own.")
@click.option(
    "--logprobs",
    is_flag=True,
    help="Keep the log-probabilities of the answer's tokens; of --style choice, how sure the model is of its option.",
)
@click.option("--draws", type=click.IntRange(1), default=1, help="Answers per item and condition.")
@limit_option
@call_options(parallel=True, engine=True, batch=True, dry_run="Price it and ask nothing.")
@click.option("--context-tokens", type=click.IntRange(64), help="Local models: tokens of a prompt and its answer.")
@click.option("--timeout", "timeout_s", type=click.FloatRange(min=0.1), default=120.0, help="Seconds.")
@json_option
def ask() -> None:
    """Ask models the items of a benchmark; answers go into the folder RUN as they arrive.

    \b
    Examples:
      richter bench facts --items 1000 -o facts.jsonl
      richter audit --only ask run1 --bench facts.jsonl --model smollm2 --limit 50 --max-tokens 32
      richter audit --only ask run1 --bench facts.jsonl --model smollm2 --style cloze
      richter audit --only ask run1 --bench facts.jsonl --model openai/gpt-4o-mini --dry-run
      richter audit --only ask run1 --bench facts.jsonl --model openai/gpt-4o-mini --budget 5usd
      richter audit --only ask run1 --bench facts.jsonl --model http://localhost:8000/v1#my-model --temperature 1
    The same command again resumes: only what is missing is asked.
    """


@command(
    "_judge_output:judge", shown="rules grader tolerance judges gazetteer allow-self limit output budget dry-run json"
)
@click.argument("run", type=Path)
@click.option("--rules", is_flag=True, help="Judge by rules, from the items' structured truth; no model is asked.")
@click.option(
    "--grader",
    type=click.Choice(["auto", *GRADERS]),
    help="Grade right or wrong by the references alone; auto: the grader that fits each reference.",
)
@click.option("--tolerance", type=click.FloatRange(0), help="Of numbers, relative: 0.01 is one percent.")
@click.option("--judges", "judge_names", help="Judge models, separated by commas; dealt round robin, two an answer.")
@click.option("--gazetteer", type=click.Path(path_type=Path), help="What `richter bench` wrote beside the items.")
@self_option
@click.option("--limit", type=click.IntRange(1), help="Only so many answers go to the judge models.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write a scores table (CSV, Parquet or JSONL).")
@call_options(engine=True, batch=True, dry_run="Count and price the calls; ask nothing.")
@seed_option
@json_option
def judge() -> None:
    """Rate a run's answers from 0 (correct) to 4 (wholesale fabrication), and say how far the ratings can be trusted.

    Two judges rate each answer, never the audited model under any name; where they differ by more than 1.0 a third
    is asked and the median counts. Ratings go into the folder RUN. With --grader answers are graded right or wrong by
    the items' references, without any model; where the run holds other grades of the same answers (of a log, or of
    another grader) the differences are counted and shown.

    \b
    Examples:
      richter audit --only judge run1 --rules
      richter audit --only judge run1 --judges openai/gpt-4o-mini,mistral/mistral-large-latest --budget 2usd
      richter audit --only judge run1 --judges openai/gpt-4o-mini,groq/openai/gpt-oss-120b --dry-run
      richter audit --only judge run1 --grader auto
      richter audit --only judge run1 --grader number --tolerance 0.01
      richter audit --only judge run1 --rules -o scores.csv && richter severity scores.csv
      richter audit --only judge run1 --rules --judges smollm2 --allow-self
    The same command again asks only what is missing.
    """


@command("_draw_output:draw", shown="bench model draws temperature style judge adaptive limit budget dry-run json")
@click.argument("run", type=Path)
@bench_options
@click.option("--draws", type=click.IntRange(1), default=50, help="Answers per item and model.")
@click.option(
    "--temperature",
    "temperatures",
    multiple=True,
    default=(1.0,),
    type=click.FloatRange(0, 2, min_open=True),
    help="Above 0. Several make several conditions.",
)
@click.option(
    "--max-tokens", type=click.IntRange(1), default=200, help="Of an answer; one that is cut off is asked again."
)
@click.option("--seed", type=int, default=0, help="Sampling seed; draws get seeds of their own.")
@click.option(
    "--style",
    type=click.Choice(["chat", "choice", "cloze"]),
    help="choice: with the options listed; cloze: complete a sentence by one. Default as for --only ask.",
)
@click.option("--judge", help="A model that groups the answers by meaning. Without it: offline, by rules and vectors.")
@click.option("--adaptive", is_flag=True, help="Draw no more where the most likely answer is already settled.")
@limit_option
@call_options(parallel=True, engine=True, batch=True, dry_run="Price it and ask nothing.")
@json_option
def draw() -> None:
    """Draw repeated answers to each item, group those that say the same, and write RUN/draws.jsonl.

    \b
    Examples:
      richter audit --only draw run1 --model smollm2 --bench facts.jsonl --draws 20 --limit 60 --style cloze
      richter audit --only draw run1 --model openai/gpt-4o-mini --bench facts.jsonl --draws 50 --dry-run
      richter audit --only draw run1 --model openai/gpt-4o-mini --bench facts.jsonl --draws 50 --budget 5usd
      richter audit --only draw run1 --model smollm2 --bench facts.jsonl --judge openai/gpt-4o-mini
      richter audit --only draw run1 --model smollm2 --bench facts.jsonl --draws 50 --adaptive
      richter audit --only draw run2 --model smollm2 --bench facts.jsonl --temperature 0.5 --temperature 1
    Then: richter calibration run1/draws.jsonl. The same command again resumes: only what is missing is asked.
    """


@command(
    "_score_output:score",
    reads=("map", "wide", "filter"),
    shown="scorer output model weights test copy paraphraser limit budget dry-run json",
)  # of scores it needs none
@click.argument("source", metavar="RUN|FILE")
@click.option(
    "--scorer",
    "scorers",
    type=click.Choice(["nll", "toxicity", "length"]),
    multiple=True,
    required=True,
    help="Several may be given.",
)
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="CSV or Parquet to write.")
@click.option("--model", default="smollm2", help="nll: the judge model: local, or a vLLM or llama.cpp server.")
@click.option("--weights", type=click.Path(path_type=Path), help="toxicity: a linear model over words, as JSON.")
@click.option("--test", "test_too", is_flag=True, help="Run the tail protocol on every scorer's column.")
@click.option(
    "--copy",
    "copies",
    type=click.Choice(["template", "model", "length", "judge"]),
    multiple=True,
    help="Ask copies of a RUN in other words, score them, and compare the tails. Several may be given.",
)
@click.option("--paraphraser", help="With --copy model: the model that puts the questions into other words.")
@limit_option
@resamples_option(200, default=2000)
@seed_option
@call_options(
    "5usd, 20000calls or 2Mtok, for scoring and for each copy.",
    dry_run="With --copy: ask nothing, say how much it would be.",
)
@json_option
def score() -> None:
    """Give every answer of a RUN or a FILE, which is any data with answers that `richter compare` takes, a continuous
    severity.

    nll: the mean negative log-likelihood per token under a judge model. toxicity: a probability, by alt-profanity-check
    or by --weights, bounded in [0, 1]. length: characters. None says that an answer is wrong. Other columns of a table
    that is already at OUTPUT are kept. Then: richter severity tail OUTPUT, or --test.

    --copy says whether a tail is a trait of the model or of the words that it was asked in. A copy is: template, the
    same questions in a frame of words; model, in another model's words; length, for a longer answer; judge, the same
    answers, the nll judge being asked otherwise. Copies are asked into OUTPUT.COPY and nothing is paid for twice. Every
    condition goes through all gates of the protocol against each of its copies.

    \b
    Examples:
      richter audit run1 --scorer nll -o scores.csv
      richter audit answers.csv --scorer toxicity -o scores.csv --map answer=reply
      richter audit run1 --scorer nll --model vllm/Qwen/Qwen2.5-3B-Instruct -o scores.csv
      richter audit run1 --scorer nll --scorer toxicity --weights words.json --test -o scores.csv
      richter audit run1 --scorer nll --copy template --copy length -o probe.csv
      richter audit run1 --scorer nll --copy model --paraphraser openai/gpt-4o-mini -o probe.csv
    """


@command(
    "_audit_output:audit",
    cls=StagedCommand,
    stages={"ask": ask, "draw": draw, "judge": judge, "score": score},
    named_by={"--scorer": "score"},
    shown="bench model generator judges draws kb stop-when plan only budget dry-run",
)
@click.argument("run", type=Path, metavar="RUN|DOCUMENTS")
@click.option("--bench", type=click.Path(path_type=Path), help="Items: JSONL, CSV or Parquet.")
@click.option("--model", "models", required=True, multiple=True, help="A model. May be given several times.")
@click.option("--generator", help="Without --bench: the model that writes questions about a folder of documents.")
@click.option("--settle", "claims", multiple=True, metavar="CLAIM", help="Of documents: the claim to settle.")
@click.option("--questions", type=click.IntRange(1), default=400, help="Of documents: questions to write, at most.")
@click.option("-o", "--output", type=Path, metavar="RUN", help="Of documents: the run. Default: DOCUMENTS.audit.")
@condition_options
@click.option(
    "--style", type=click.Choice(["chat", "choice"]), help="By default choice where items have options, else chat."
)
@click.option(
    "--max-tokens", type=click.IntRange(1), default=200, help="Of an answer; one that is cut off is asked again."
)
@limit_option
@click.option(
    "--grader", type=click.Choice(["auto", *GRADERS]), help="Right or wrong by the references, without a model."
)
@click.option("--tolerance", type=click.FloatRange(0), help="Of numbers, relative: 0.01 is one percent.")
@click.option(
    "--judges",
    "judge_names",
    default="",
    show_default=False,
    help="Judge models, separated by commas; two rate an answer.",
)
@click.option("--judged", type=click.IntRange(1), default=None, help="How many answers the judges rate. Default: all.")
@self_option
@click.option(
    "--gazetteer",
    type=click.Path(path_type=Path),
    help="The names that the rules know. Default: the file beside the bench.",
)
@click.option("--draws", type=click.IntRange(0), default=20, help="Answers to each repeated item. 0: none.")
@click.option("--drawn", type=click.IntRange(1), default=60, help="Items that are asked repeatedly.")
@click.option("--nll", metavar="MODEL", help="Score every answer's token NLL by this model, for the tail.")
@click.option("--kb", "base", type=click.Path(path_type=Path), help="Search this knowledge base for errors.")
@click.option("--search-calls", type=click.IntRange(1), default=600, help="Calls of the search for each model.")
@click.option("--canaries", type=Path, metavar="RUN", help="Re-ask this run's items and re-rate its answers.")
@click.option("--plan", "plan_path", type=click.Path(path_type=Path), help="A plan. Lock it first.")
@click.option("--stop-when", metavar="CLAIM", help="Stop when decided: 'error_rate < 0.05', 'A better than B'.")
@click.option(
    "--only",
    metavar="STAGE|SECTIONS",
    help="One stage: ask, judge, draw or score (its options: richter audit --only ask --help). Or the sections to "
    "measure, separated by commas: severity, tail, calibration, floors, search, judges.",
)
@seed_option
@call_options(
    "The most to spend over all stages: 5usd, 20000calls or 2Mtok.",
    parallel=True,
    engine=True,
    batch=True,
    dry_run="Price every stage and ask nothing.",
)
@json_option
def audit() -> None:
    """Audit models on a benchmark: how often they fail, how badly, where, and if they know it. All goes into RUN.

    Stages: ask, judge, draw (repeated answers), score for the tail (--nll), search (--kb). Rules judge where the
    benchmark allows it, then --judges, else the references. At the end Richter measures everything and writes
    RUN/report.html. Each stage goes on where it stopped. With a plan that has requirements the exit status is 0 (met),
    3 (violated) or 4 (inconclusive).

    With --generator the first argument is a folder of documents. A model writes questions about them. Richter asks,
    judges and repeats them until every claim is settled. By default the claims are: which model is better, how often
    each makes severe errors, and how far its confidence is off (--settle). The next batch is always the one that
    brings open claims nearest to a verdict per cost. Then Richter searches for errors and rates them.

    \b
    Examples:
      richter bench facts --items 400 -o facts.jsonl
      richter audit run1 --bench facts.jsonl --model smollm2 --temperature 0 --temperature 1 --nll smollm2
      richter audit run2 --bench facts.jsonl --model openai/gpt-4o-mini --model openai/gpt-4o --dry-run
      richter audit run2 --bench facts.jsonl --model openai/gpt-4o-mini --model openai/gpt-4o --budget 5usd
      richter audit run3 --bench facts.jsonl --model smollm2 --plan plan.toml
      richter audit run4 --bench facts.jsonl --model smollm2 --stop-when "error_rate < 0.05" --draws 0
      richter audit run1 --bench facts.jsonl --model smollm2 --only severity,floors
      richter audit run1 --only ask --bench facts.jsonl --model smollm2 --limit 50
      richter audit run1 --scorer nll -o scores.csv          a continuous severity of every answer
      richter audit run5 --bench qa.csv --model openai/gpt-4o-mini
      richter audit handbook/ --model openai/gpt-4o-mini --model openai/gpt-4o --generator openai/gpt-4.1 --judges
      mistral/mistral-large-latest,groq/openai/gpt-oss-120b --budget 20usd
    Run the same command again to resume. It asks only what is missing.
    """


@command("_audit_output:demo")
@click.argument("run", type=Path, default="demo")
@click.option(
    "--quick",
    is_flag=True,
    help="50 questions instead of 300, in about a minute. Most comparisons then stay inconclusive.",
)
@click.option(
    "--also", metavar="MODEL", help="A second model, asked as `examples` is: gemma-270m (253 MB, Gemma's terms)."
)
@json_option
def demo() -> None:
    """Is the new prompt better? Try it on three prompts for the built-in small model, with real questions.

    `plain` is a sentence to complete. `examples` puts two solved ones before it. `expert` also tells the model that it
    is an expert. You need no key and no GPU, and no network after the first download. The demo ends in a page.

    \b
    Examples:
      richter demo
      richter demo --quick
      richter demo --also gemma-270m
    """
