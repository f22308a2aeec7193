"""`richter tail score`: a continuous severity for every answer."""

from pathlib import Path

import click

from richter.audit._score import answers_of, own_nll, score_nll, score_toxicity, write_scored
from richter.cli._output import console
from richter.cli._progress import asking, downloading
from richter.errors import InputError
from richter.store import is_database, keep_file, run_file, run_folder


@click.command()
@click.argument("source", metavar="RUN|FILE")
@click.option("--scorer", type=click.Choice(["nll", "toxicity"]), required=True)
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="CSV or Parquet to write.")
@click.option("--model", default="smollm2", show_default=True, help="nll: the local judge model (or a GGUF file).")
@click.option("--max-tokens", type=click.IntRange(1), default=256, show_default=True, help="nll: tokens read at most.")
@click.option("--slots", type=click.IntRange(1), default=16, show_default=True, help="nll: texts read in parallel.")
def score(source: str, scorer: str, output: Path, model: str, max_tokens: int, slots: int) -> None:
    """Give every answer of a RUN folder or a FILE (`item`, `condition`, `prompt`, `answer`) a continuous severity.

    nll: the mean negative log-likelihood per token under a judge model that runs here. toxicity: a probability by
    alt-profanity-check, bounded in [0, 1]. Neither says that an answer is wrong.
    Other columns of a table that is already at OUTPUT are kept. Then: richter tail test OUTPUT.

    \b
    richter tail score run1 --scorer nll -o scores.csv
    richter tail score answers.csv --scorer toxicity -o scores.csv
    """
    if output.suffix not in (".csv", ".parquet"):
        raise InputError(f"{output} is neither .csv nor .parquet.", remedy="Choose one of these endings.")
    if Path(source).exists() and output.exists() and output.samefile(source):
        raise InputError(f"{output} would overwrite the input.", remedy="Choose another path with -o.")
    frame = answers_of(source)
    if scorer == "toxicity":
        frame = score_toxicity(frame)
    else:
        run = source if is_database(source) or Path(source).is_dir() else f"{output}.run"
        with asking("scoring") as watch, downloading("SmolLM2-135M") as download:
            frame = score_nll(
                frame,
                model,
                run,
                max_tokens=max_tokens,
                slots=slots,
                known=own_nll(run, model, max_tokens=max_tokens) if run == source else None,
                watch=watch,
                download=download,
            )
    if own := is_database(source) and output.resolve() == (run_folder(source) / output.name).resolve():
        output.parent.mkdir(parents=True, exist_ok=True)
        run_file(source, output.name)  # as the database has it: its columns are kept
    write_scored(frame, output)
    if own:
        keep_file(source, output.name, output.read_bytes())
    empty = int(frame[scorer].null_count())
    out = console()
    out.print(f"Scored {len(frame) - empty:,} answers by {scorer}" + (f"; {empty:,} have none." if empty else "."))
    out.print(
        f"  richter tail test {output} --column {scorer}" + (" --transform logit" if scorer == "toxicity" else "")
    )
