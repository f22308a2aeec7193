"""Give every answer of a run or a file a continuous severity, for the tail protocol."""

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

import polars as pl

from richter.errors import InputError
from richter.interop import export_table, read_frame
from richter.models import resolve
from richter.store import RunLike, open_ledger
from richter.tables import ReadOptions, read_tables
from richter_audit.judge._text_scores import nll_job, read_nll, toxicity
from richter_audit.llm import Asker, CallOptions, Model, at_once, check_models, with_models
from richter_audit.stages._ask_stage import AskProgress, progress_of

MOST_READ = 256  # tokens of an answer


def answers_of(source: RunLike, reading: ReadOptions | None = None) -> pl.DataFrame:
    """The first answers of a run or a file: `item`, `condition`, `prompt` where it is known, `answer`.

    What a file says of severities, domains and tiers stays beside them.
    """
    if Path(source).is_dir():
        with open_ledger(source) as ledger:
            prompts = {item.id: item.prompt for item in ledger.items()}
            rows = [
                {"item": a.item, "condition": a.condition, "prompt": prompts.get(a.item, ""), "answer": a.text}
                for a in ledger.answers()
                if a.draw == 0 and not a.error and a.item in prompts
            ]
        frame = pl.DataFrame(rows, schema=dict.fromkeys(("item", "condition", "prompt", "answer"), pl.String))
    else:
        tables = read_tables(str(source), options=reading)
        prompts = {name: item.prompt for name, item in tables.items.items() if item.prompt}
        frame = tables.rows.filter(pl.col("draw") == 0, pl.col("text").is_not_null())
        frame = frame.select(
            "item",
            "condition",
            *([pl.col("item").replace_strict(prompts, default="").alias("prompt")] if prompts else []),
            pl.col("text").alias("answer"),
            *(name for name in ("severity", "domain", "tier") if frame[name].null_count() < len(frame)),
        )
    if not (frame["answer"].fill_null("") != "").any():
        raise InputError(
            f"{source} holds no answers with a text.",
            remedy="Ask first (richter audit --only ask), or name the column that holds them: --map answer=COLUMN",
        )
    return frame


def write_scored(frame: pl.DataFrame, output: Path) -> None:
    """Write scored answers; columns that a table already there has for them, such as severities, are kept.

    What models wrote goes out as `export_table` writes it: a spreadsheet runs no cell of it.
    """
    keys = ["item", "condition"]
    if output.exists():
        old = read_frame(output)
        if not set(keys) <= set(old.columns):
            raise InputError(
                f"{output} exists and is not a table of answers (`item`, `condition`).",
                remedy="Choose another path with -o.",
            )
        columns = [name for name in old.columns if name not in frame.columns]
        old = old.with_columns(pl.col(keys).cast(pl.String)).unique(keys, keep="first", maintain_order=True)
        frame = frame.join(old.select(*keys, *columns), on=keys, how="left", maintain_order="left")
    export_table(frame, output)


def score_by(
    frame: pl.DataFrame,
    scorers: Sequence[str],
    *,
    model: str = "smollm2",
    weights: Path | None = None,
    run: RunLike,
    **options: Any,
) -> pl.DataFrame:
    """Add a column a scorer; `length` is the number of characters of the answer, which needs no model."""
    texts = frame["answer"].fill_null("")
    for scorer in dict.fromkeys(scorers):
        if scorer == "toxicity":
            frame = frame.with_columns(pl.Series("toxicity", toxicity(texts.to_list(), weights), dtype=pl.Float64))
        elif scorer == "length":
            frame = frame.with_columns(texts.str.len_chars().cast(pl.Float64).alias("length"))
        else:
            frame = score_nll(frame, model, run, **options)
    return frame


def score_nll(
    frame: pl.DataFrame,
    model_name: str,
    run: RunLike,
    *,
    known: Mapping[tuple[str, str], float] | None = None,
    watch: Callable[[AskProgress], None] | None = None,
    **calls: Unpack[CallOptions],
) -> pl.DataFrame:
    """Add `nll`, the mean negative log-likelihood per token under a judge model; null for an empty answer.

    A model over HTTP reads plain text, a local one is asked in a chat. Calls go through the ledger in the folder `run`,
    so that scoring again pays only for what is missing. Nothing is paid for answers whose score is `known` by item and
    condition (`own_nll`).
    """
    if "prompt" not in frame.columns:
        raise InputError("Scoring by nll needs the column `prompt`.", remedy="The likelihood is given the question.")
    prompts, texts = frame["prompt"].fill_null("").to_list(), frame["answer"].fill_null("").to_list()
    places = zip(frame["item"].to_list(), frame["condition"].to_list(), strict=True)
    scores = [(known or {}).get(place) for place in places]
    missing = [k for k, text in enumerate(texts) if text and scores[k] is None]
    if not missing:
        return frame.with_columns(pl.Series("nll", scores, dtype=pl.Float64))
    context = _context_tokens([prompts[k] + texts[k] for k in missing])
    with open_ledger(run, mode="write") as ledger:

        async def work(asker: Asker, opened: Mapping[str, Model]) -> None:
            waiting, started, done = iter(missing), time.monotonic(), 0

            async def score() -> None:
                nonlocal done
                for k in waiting:
                    job = nll_job(opened[model_name], prompts[k], texts[k], max_tokens=MOST_READ, raw=remote)
                    scores[k] = read_nll(await asker.ask(job), texts[k])
                    done += 1
                    if watch is not None:
                        answered = asker.tally.answered
                        watch(progress_of(asker, total=len(missing), done=done, answered=answered, started=started))

            await at_once(score, calls["concurrency"])

        slots = calls.get("slots", 16)
        remote = resolve(model_name).backend != "local"
        calls = {
            "concurrency": 64 if remote else slots,
            **calls,
            "slots": slots,
            "context_tokens": context,
            "batch": False,
        }
        check_models([model_name], calls)
        with_models(ledger, [model_name], work, calls)
    return frame.with_columns(pl.Series("nll", scores, dtype=pl.Float64))


def _context_tokens(texts: Sequence[str]) -> int:
    """What a local model must hold of the longest text, in whole blocks: half a token a character, and some more."""
    return -(-(max(map(len, texts)) // 2 + 64 + MOST_READ) // 256) * 256


def own_nll(run: RunLike, model_name: str) -> dict[tuple[str, str], float]:
    """The scores that the ledger holds already: of answers by a local judge model itself, with their log-probabilities.

    A model that was asked the bare question in a chat gave each token of its answer the very probability that it would
    give it as a judge: nothing is to be asked again. It is the likelihood of the tokens that the answer was made of;
    where the tokenizer would split the same text in another way (3 of 20 answers of SmolLM2), reading it gives another.
    """
    spec = resolve(model_name)
    with open_ledger(run) as ledger:
        own = {c.name for c in ledger.conditions() if c.model == spec.name and c.style == "chat" and not c.system}
        return {
            (a.item, a.condition): -sum(a.logprobs[:MOST_READ]) / len(a.logprobs[:MOST_READ])
            for a in ledger.answers()
            if spec.backend == "local" and a.condition in own and a.draw == 0 and a.logprobs
        }
