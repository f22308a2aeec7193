"""`richter view`."""

import contextlib
import tempfile
import webbrowser
from pathlib import Path
from typing import Any

from richter.cli._io import as_run, console, is_plain
from richter.errors import InputError, RichterError
from richter.tables import ReadOptions


def view(
    runs: tuple[str, ...], reading: ReadOptions, port: int, no_browser: bool, is_list: bool, json_path: str | None
) -> None:
    """Look at runs or files in a local web app: progress, report, the answers behind each figure, rating, export."""
    if is_list or json_path is not None:
        from richter.cli._run_output import list_runs

        list_runs([Path(run) for run in runs or (".",)], json_path)
        return
    from richter.report import find_runs

    plain = [run for run in runs if is_plain(run)]
    with tempfile.TemporaryDirectory() as scratch:
        made = [str(as_run(plain, reading, Path(scratch)))] if plain else []
        others = [run for run in runs if run not in plain]
        found = [*(find_runs(others or (".",)) if others or not plain else []), *made]
        if not found:
            raise InputError("There is no run here.", remedy="Make one (`richter demo`), or name runs or files.")
        _serve(found, port=port, browser=not no_browser)


def _serve(found: list[str], *, port: int, browser: bool) -> None:
    from richter.audit import history_of, label_page, measure_run
    from richter.report import RunsApp, serve_runs

    def measure(*runs: str) -> dict[str, Any]:
        document = measure_run(*runs).to_dict()
        if len(runs) == 1 and len(found) > 2:
            with contextlib.suppress(RichterError):  # runs of several audits have no history in common
                document["history"] = history_of(*found[-30:])
        return document

    out = console()

    def ready(address: str) -> None:
        word = "run" if len(found) == 1 else "runs"
        out.print(f"{len(found)} {word}, on this machine only. Open (it works once):")
        out.print(address, soft_wrap=True)
        out.print("Stop with Ctrl-C.")
        if browser:
            webbrowser.open(address)

    serve_runs(RunsApp(found, measure=measure, rating=label_page), port=port, ready=ready)
