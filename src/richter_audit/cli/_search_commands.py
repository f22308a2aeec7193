"""The options and help of `search` and all that begins with it; their bodies load when they run."""

from pathlib import Path

import click

from richter.cli._options import command, engine_options, json_option, level_option, one_of, seed_option
from richter_audit.cli._call_options import call_options
from richter_audit.cli._staged_command import StagedCommand


@command("_base_output:base")
@click.argument("places", nargs=-1, required=True, metavar="[facts|PATH] -o BASE | BASE [PATH]")
@click.option("-o", "--output", "--out", "path", type=click.Path(path_type=Path), help="The base to make, a folder.")
@click.option(
    "--part",
    "parts",
    multiple=True,
    type=click.Choice(["places", "airfields", "divisions", "languages", "isotopes"]),
    help="facts: only these. By default all.",
)
@click.option(
    "--embedding",
    "model_path",
    type=click.Path(path_type=Path),
    help="A folder with a sentence-transformers model, instead of WordLlama (pip install 'richter[st]').",
)
@click.option(
    "--sample",
    type=click.IntRange(1),
    is_flag=False,
    flag_value=10,
    help="BASE alone: show ten paragraphs drawn at random, or so many, whole and with their headings.",
)
@seed_option
@engine_options
@json_option
def base() -> None:
    """Build a knowledge base, add texts to one, or show what it holds.

    `facts` is the built-in base: places, airfields, divisions, languages and isotopes, from public data packages (pip
    install 'richter[facts]'). PATH is a folder or file of your own: Markdown, HTML, PDF, DOCX, RST, text, JSONL,
    Parquet, wiki dumps. HTML, PDF, DOCX and RST need pip install 'richter[docs]', dumps 'richter[wiki]'.

    Documents are cut by section into paragraphs of 60 to 300 words. Code, tables, navigation and near copies are left
    out, and what was read and skipped is printed. Rows of JSONL and Parquet have `text`, and may have `title`,
    `category`, `abstract` and `qas` (questions with the answers people gave).

    A command that was stopped goes on when it is given again. Adding a file twice adds nothing.

    \b
    Examples:
      richter search --only base facts -o facts.kb
      richter search --only base handbook/ -o handbook.kb
      richter search --only base handbook.kb notes/           add notes
      richter search --only base handbook.kb                  show it
      richter search --only base handbook.kb --sample         read ten paragraphs before anything is paid
    """


@command("_base_output:questions")
@click.argument("path", metavar="BASE", type=click.Path(path_type=Path))
@click.option("--generator", help="The model that writes the questions.")
@click.option("--checker", help="The model that reads each a second time; the generator unless given.")
@click.option("--per-paragraph", type=click.IntRange(1), default=2, help="Questions at most.")
@click.option("--limit", type=click.IntRange(1), help="Only so many paragraphs, drawn at random.")
@call_options("2000calls, 2Mtok or 5usd, over all that was ever written for BASE.")
@seed_option
@json_option
def questions() -> None:
    """Write questions for a base's paragraphs, checked and kept in the base, for every search and model.

    Each question has four options; a second reading with the text in view keeps those of which exactly the key is right
    by the text and is not given away.

    \b
    Examples:
      richter search --only questions handbook.kb --generator openai/gpt-4o --budget 5usd
    """


@command("_base_output:index")
@click.argument("path", metavar="BASE", type=click.Path(path_type=Path))
@click.option("--at", "url", help="A folder or s3://, gs://, az:// address; default: inside the base, or where it is.")
@click.option("--rebuild", is_flag=True, help="Make it anew, whatever lies there.")
@seed_option
@json_option
def index() -> None:
    """Index a base that outgrows memory, on disk or in an object store, and measure what the index finds.

    Needs LanceDB (pip install 'richter[lance]'), which reads an object store's credentials from the environment. Again
    on a base that has grown, only the new paragraphs are added. `richter search --retrieval index` uses it, and a
    search of a base of more than 2 GiB of vectors does so by itself.

    \b
    Examples:
      richter search --only index wiki.kb
      richter search --only index wiki.kb --at s3://bucket/wiki
    """


@command("_retest_output:retest")
@click.argument("out_run", metavar="OUT", type=Path)
@click.argument("runs", nargs=-1, required=True, type=Path, metavar="RUN ..")
@click.option(
    "--kind",
    type=click.Choice(["open", "context", "cross", "explain"]),
    required=True,
    help="open: without options; context: with the text in view; cross: of each model what the others were asked; "
    "explain: let a model say what the errors have in common.",
)
@click.option(
    "--kb", "base_path", type=click.Path(path_type=Path), help="The base that was searched, if it lies elsewhere now."
)
@click.option("--limit", type=click.IntRange(1), help="Questions at most. [default: 200; explain: 60 paragraphs]")
@click.option("--judge", help="open, context: a model that may call an answer right whose words are others.")
@click.option("--model", help="explain: the model that reads the errors.")
@seed_option
@call_options("Over all that OUT asks.", required=True)
@json_option
def retest() -> None:
    """Ask again what searches found answered wrongly, into the folder OUT.

    open: does the model state something false when left to itself? context: does it use what it is told? cross: do
    models fail alike? RUNS are searches of one base, and what a model answered in its own search is not asked again.
    explain: a model reads each wrong answer, each paragraph, then all of them. Its words are a reading, not a finding.

    \b
    Examples:
      richter search --only retest open run1 --kind open --budget 200calls
      richter search --only retest seen run1 --kind context --budget 200calls
      richter search --only retest both run1 run2 --kind cross --budget 2000calls
      richter search --only retest why run1 --kind explain --model openai/gpt-4o --budget 1usd
    """


@command("_search_export_output:label")
@click.argument("run", type=Path)
@click.option("--n", type=click.IntRange(0), default=30, help="Surviving keys to draw at random beside doubtful ones.")
@click.option("--kb", "base_path", type=click.Path(path_type=Path), help="The base, if it moved.")
@seed_option
def label() -> None:
    """Draw the doubtful keys of a search for a person to settle, after `richter search export` had them read.

    Label them with `richter label`, level 0 for a key that is right. The next export goes by these labels. From 20
    labelled keys of those drawn at random, the share of bad keys comes from the labels.

    \b
    Examples:
      richter search --only label search1
      richter search --only label search1 --n 60
    """


@command(
    "_search_output:search",
    cls=StagedCommand,
    stages={"base": base, "questions": questions, "index": index, "retest": retest, "label": label},
    shown="model kb strategy style questions phrasings generator judge only budget dry-run",
)
@click.argument("run", type=Path)
@click.option("--model", required=True, help="The model to test.")
@click.option(
    "--kb",
    "base_path",
    required=True,
    type=click.Path(path_type=Path),
    help="The base, from `richter search --only base`.",
)
@click.option(
    "--strategy",
    type=one_of("richter_audit.ascent", "STRATEGIES"),
    metavar="STRATEGY",
    default="portfolio",
    help="portfolio: bayes, sea and modes share each step by what they find; sea: the paper's; random: no search; also "
    "tasks.",
)
@click.option(
    "--style",
    type=click.Choice(["chat", "choice", "cloze"]),
    help="choice: options listed; chat: the question alone; cloze. Default: cloze for local models, else choice.",
)
@click.option("--temperature", type=click.FloatRange(0, 2), default=0.0)
@click.option("--xi", type=click.FloatRange(0, 1, max_open=True), default=0.5, help="Source error.")
@click.option("--no-prune", is_flag=True, help="Keep every source.")
@click.option("--batch", type=click.IntRange(1), default=40, help="Paragraphs per step.")
@click.option("--questions", type=click.IntRange(1), default=1, help="Per paragraph, at most.")
@click.option("--phrasings", type=click.IntRange(1), default=2, help="Wordings of each question.")
@click.option(
    "--wordings",
    type=click.Choice(["wrong", "all"]),
    default="wrong",
    help="Other wordings: only of what was answered wrongly, or of all (the paper's).",
)
@click.option("--uniform", type=click.FloatRange(0, 1), default=0.2, help="Share drawn for the base's rate.")
@click.option(
    "--retrieval",
    type=click.Choice(["two-level", "exact", "index"]),
    default=None,
    help="Default: index where the base outgrows memory and has one (`richter search --only index`), else two-level.",
)
@seed_option
@click.option("--steps", type=click.IntRange(1), default=None, help="Stop after this many steps.")
@click.option("--testee-budget", type=click.IntRange(1), help="Calls of the tested model at most, as the paper counts.")
@click.option(
    "--max-tokens",
    type=click.IntRange(1),
    default=256,
    help="Of an answer; one that is cut off is asked again.",
)
@click.option("--generator", help="A model that writes questions where the base has none, and tasks; its calls count.")
@click.option("--checker", help="A model that reads again what the generator writes; the generator unless given.")
@click.option("--judge", help="A model that may call a free-form answer right whose words are others; its calls count.")
@click.option(
    "--embedding",
    "embedding_path",
    type=click.Path(path_type=Path),
    help="For --strategy tasks: the folder of the model that made the base's vectors, unless that was WordLlama.",
)
@call_options("3000calls, 2Mtok or 5usd, over the whole run.", parallel=True, engine=True)
@click.option(
    "--only",
    type=click.Choice(["base", "questions", "index", "retest", "label"]),
    expose_value=False,
    help="One stage, with options of its own: richter search --only base --help",
)
@json_option
def search() -> None:
    """Find where a model fails, under a budget, by following its errors through a knowledge base.

    Everything goes into the folder RUN. The same command again resumes, in the middle of a step too.

    \b
    Examples:
      richter search --only base facts -o facts.kb
      richter search one --model smollm2 --kb facts.kb --budget 3000calls
      richter search rnd --model smollm2 --kb facts.kb --budget 3000calls --strategy random
      richter search two --model openai/gpt-4o-mini --kb wiki.kb --budget 5usd
    """


@command("_search_show_output:search_show")
@click.argument("runs", nargs=-1, required=True, type=Path, metavar="RUN ..")
@click.option(
    "--kb", "base_path", type=click.Path(path_type=Path), help="The base that was searched, if it lies elsewhere now."
)
@click.option(
    "--map", "map_path", type=click.Path(path_type=Path), help="Write the map of errors here (.csv, .parquet)."
)
@level_option
@json_option
def search_show() -> None:
    """Show what a search found, step by step, what its errors have in common, and what it says of the whole base.

    Several searches are compared: wrong questions per question asked, categories and cost. One run of each says nothing
    of chance: with at least two searches of a strategy and two random ones the ratio has an interval.

    Map, clusters and prediction come from the base's vectors: they need the base where the search found it, or --kb.

    \b
    Examples:
      richter search show run1
      richter search show run1 --map errors.csv
      richter search show first second third
    """


@command("_search_export_output:search_export")
@click.argument("run", type=Path)
@click.option("-o", "--output", type=click.Path(path_type=Path), required=True, help="The file or folder to write.")
@click.option("--to", type=click.Choice(["items", "promptfoo", "inspect", "pytest"]), default="items", help="For whom.")
@click.option(
    "--again",
    type=click.IntRange(0),
    help="Ask each N times again first and keep what fails every time; 1 unless told, 0 asks nothing.",
)
@click.option(
    "--keys",
    type=click.Choice(["sound", "all"]),
    default="sound",
    help="sound: only questions whose key the tested model, its writer and --checker find right; all: read no keys.",
)
@click.option("--checker", help="One more model that reads the keys with the paragraph in view.")
@call_options("Of asking again and of reading keys.", dry_run="Say what it would ask.")
@click.option("--kb", "base_path", type=click.Path(path_type=Path), help="The base, if it moved.")
@click.option("--force", is_flag=True, help="Overwrite the output if it exists.")
def search_export() -> None:
    """Write the questions that a search found answered wrongly, as a set of items.

    Each question is asked once more before it is written, and kept where it fails again. Keys that a model wrote are
    read again with the paragraph in view; questions with a doubtful key are left out, and the share of bad keys that
    is left is said.

    \b
    Examples:
      richter search export search1 --to promptfoo -o regressions.yaml
      richter search export search1 --to pytest --again 2 --budget 500calls -o tests/regressions
      richter search export search1 --again 0 -o items.jsonl
    """
