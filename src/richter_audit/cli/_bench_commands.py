"""The options and help of `bench`; its body loads when it runs."""

from pathlib import Path

import click

from richter.cli._options import command, json_option


@command("_bench_output:bench")
@click.argument("source", metavar="facts|FILE")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="facts: the file to write.")
@click.option("--items", default=10_000, help="facts: how many questions.")
@click.option("--seed", type=click.IntRange(0), default=0, help="facts: another seed draws other questions.")
@click.option("--examples", default=1, help="FILE: questions to print for each domain and tier.")
@json_option
def bench() -> None:
    """Build a benchmark from facts, or show a set of questions.

    `facts` builds 8 domains and 5 tiers, with a free-form prompt and four options for every question. The same number,
    seed and versions of the data packages give the same file everywhere. A smaller benchmark is the beginning of a
    larger one. Beside it go a gazetteer (OUTPUT with .gazetteer.json.gz), by which wrong answers are graded, and a note
    of what reproduces it (.build.json).

    FILE is a set of questions to show: JSONL, CSV or Parquet.

    \b
    Examples:
      richter bench facts --items 1000 -o facts.jsonl
      richter bench facts.jsonl --examples 3
    """
