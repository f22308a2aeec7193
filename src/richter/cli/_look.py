"""`richter PATH...` without a command: what the files are, the answer they give, and how to get the page."""

import shlex

import click

from richter.cli._compare import compare
from richter.cli._output import console
from richter.cli._reading import READING, read_given, split_sources
from richter.records import printable
from richter.tables import ReadOptions


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def look(ctx: click.Context, arguments: tuple[str, ...]) -> None:
    """Say what PATH .. hold and what can be said of them: a comparison of conditions, or a summary of one.

    Options are those of `richter compare`.
    """
    inner = compare.make_context("compare", list(arguments), parent=ctx.parent)
    sources = inner.params["sources"]
    files, names = split_sources(sources)
    reading = ReadOptions(**{name: inner.params[name] for name in READING})
    with inner:
        tables = read_given(files, reading, names)
        out = console(inner.params.get("json_path"))
        if len(names or tables.conditions) > 1:
            compare.invoke(inner)
        else:
            from richter.audit import measure_run
            from richter.cli._screen import summarise

            document = measure_run(*files, options=reading, conditions=names).to_dict()
            for line in summarise(document, ascii_only=out.options.ascii_only, after=[]):
                out.print(line, soft_wrap=True)
            out.print(f"Read: {printable(tables.understood)}.", soft_wrap=True)
            for note in tables.notes:
                out.print(f"  {printable(note)}", soft_wrap=True)
    out.print(f"As a page: richter report {shlex.join(sources)} -o report.html", soft_wrap=True)
