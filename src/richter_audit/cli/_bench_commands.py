"""The options and help of `bench`; its body loads when it runs."""

from pathlib import Path

import click

from richter.cli._options import command, json_option
from richter_audit.cli._call_options import call_options


@command("_bench_output:bench", shown="output items seed generator checker domain examples budget dry-run json")
@click.argument("source", metavar="facts|written|FILE")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="facts, written: the file to write.")
@click.option("--items", default=10_000, help="facts, written: how many questions.")
@click.option("--seed", type=click.IntRange(0), default=0, help="facts: another seed draws other questions.")
@click.option("--generator", help="written: the model that writes.")
@click.option("--checker", help="written: another model, which answers each question and names its tier.")
@click.option(
    "--domain",
    "domains",
    multiple=True,
    help="written: a field to ask about; may be repeated. Default: the eight of the ERRORQUAKE paper.",
)
@click.option("--examples", default=1, help="FILE: questions to print for each domain and tier.")
@call_options("written: 5usd, 20000calls or 2Mtok, never exceeded.", parallel=True, batch=True)
@json_option
def bench() -> None:
    """Build a benchmark from facts, have one written by a model, or show a set of questions.

    `facts` builds 8 domains and 5 tiers, with a free-form prompt and four options for every question. The same number,
    seed and versions of the data packages give the same file everywhere. A smaller benchmark is the beginning of a
    larger one. Beside it go a gazetteer (OUTPUT with .gazetteer.json.gz), by which wrong answers are graded, and a note
    of what reproduces it (.build.json).

    `written` has a model write questions for domains and five tiers. Another model answers each question and names
    its tier without seeing either. Duplicates, keys that it does not confirm and questions of another tier are
    written anew. What was paid for is kept beside OUTPUT (.run): the same command again resumes.

    FILE is a set of questions to show: JSONL, CSV or Parquet.

    \b
    Examples:
      richter bench facts --items 1000 -o facts.jsonl
      richter bench written --items 400 --generator openai/gpt-4.1 --checker mistral/mistral-large-latest --dry-run
      richter bench written --items 400 --domain law --domain medicine --generator openai/gpt-4.1 --checker
      mistral/mistral-large-latest --budget 5usd -o questions.jsonl
      richter bench facts.jsonl --examples 3
    """
