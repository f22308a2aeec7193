"""The same data from any source, on any surface, give one number for each claim."""

import asyncio
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from aiohttp import CookieJar
from aiohttp.test_utils import TestClient, TestServer
from click.testing import CliRunner

import richter
import richter.report
from helpers.foreign_logs import inspect_header, inspect_sample, write_inspect
from richter.audit import measure_run
from richter.cli._main import _root
from richter.interop import read_logs, write_run
from richter.records import Answer, Condition, Item, Rating, markdown_safe
from richter.report import RunsApp
from richter.store import Call, open_ledger
from richter.tables import read_tables, scores_table

N = 40
Source = tuple[Any, ...]  # what is given to a command, or to Python


def call(*words: object) -> str:
    done = CliRunner().invoke(_root, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code in (0, 4), done.output
    return done.stdout


Cells = dict[tuple[str, ...], tuple[float | str, ...]]


def cells(comparison: dict[str, Any]) -> Cells:
    """Estimate, limits and sentence of every claim on a difference."""
    return {
        (c["measure"], *c["conditions"]): (c["estimate"], c["interval"]["low"], c["interval"]["high"], c["sentence"])
        for c in comparison["claims"]
        if c["estimate"] is not None and c["interval"]
    }


def told(found: Cells, text: str) -> Cells:
    """The claims whose sentence a text in Markdown holds."""
    return {key: cell for key, cell in found.items() if markdown_safe(str(cell[3])) in text}


def viewed(source: Source) -> Cells:
    """What `richter view` serves of the source: its results, asked for as the browser asks."""

    async def ask(app: RunsApp) -> dict[str, Any]:
        async with TestClient(TestServer(app.app()), cookie_jar=CookieJar(unsafe=True)) as client:
            await client.get(f"/?token={app.guard.token}")
            reply = await client.get("/runs/0/export/results.json")
            found: dict[str, Any] = await reply.json()
            return found

    served: list[dict[str, Any]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(richter.report, "serve_runs", lambda app, **_: served.append(asyncio.run(ask(app))))
        call("view", *source, "--no-browser")
    return cells(served[0]["sections"]["floors"]["comparison"])


def surfaces(source: Source, folder: Path) -> dict[str, Cells]:
    """Every surface that takes the source: Python and the report, and of what has a name the commands, the app too."""
    floors = {"only": ["floors"], "n_resamples": 2000}
    document = measure_run(*source, **floors).to_dict()
    found = {"Python": cells(json.loads(json.dumps(richter.open(*source).compare().to_dict())))}
    found["report"] = cells(document["sections"]["floors"]["comparison"])
    found["Markdown"] = told(found["Python"], richter.report.markdown(document))
    if all(isinstance(s, str | Path) for s in source):
        found["command"] = cells(json.loads(call("compare", *source, "--json", "-")))
        found["command in Markdown"] = told(found["command"], call("compare", *source, "--md", "-"))
        page = json.loads(call("report", *source, "--only", "floors", "--json", "-"))
        found["report command"] = cells(page["sections"]["floors"]["comparison"])
        found["view"] = viewed(source)
    return found


def agree(sources: dict[str, Source], folder: Path) -> None:
    """No cell of the matrix differs: what a surface shows of a claim is what the first one showed."""
    expected: Cells | None = None
    for name, source in sources.items():
        for surface, got in surfaces(source, folder).items():
            assert got, (name, surface)
            expected = expected or got
            if name == next(iter(sources)):
                assert set(got) == set(expected), (name, surface)
            # numbers alone: the sentence says who graded, which not every source knows
            shared = {key: got[key][:3] for key in got if key in expected}
            assert shared, (name, surface)
            assert shared == {key: expected[key][:3] for key in shared}, (name, surface)


@pytest.fixture
def graded(tmp_path: Path, rng: np.random.Generator) -> dict[str, Source]:
    """Grades with confidences: as logs, as a run made of them, as tables of every form, as a frame."""
    rows, logs = [], []
    for name, right in (("old", rng.random(N) < 0.6), ("new", rng.random(N) < 0.7)):
        sure = np.round(rng.uniform(0.5, 1, N), 3)
        samples = []
        for i in range(N):
            rows.append({"item": f"q{i}", "model": name, "is_correct": int(right[i]), "confidence": float(sure[i])})
            score = {"value": "C" if right[i] else "I", "metadata": {"confidence": float(sure[i])}}
            samples.append(inspect_sample(f"q{i}", metadata={}, scores={"match": score}))
        logs.append(f"{name}={write_inspect(tmp_path / f'{name}.eval', samples, inspect_header())}")
    write_run(read_logs(logs), tmp_path / "run")
    frame = pl.DataFrame(rows)
    frame.write_csv(tmp_path / "t.csv")
    frame.with_columns(pl.col("confidence").cast(pl.String).str.replace(r"\.", ",")).write_csv(
        tmp_path / "semicolons.csv", separator=";"
    )
    frame.sample(fraction=1, shuffle=True, seed=1).sort("model", descending=True).write_parquet(tmp_path / "t.parquet")
    (tmp_path / "t.json").write_text(json.dumps(rows))
    frame.pivot("model", index="item", values="is_correct").write_csv(tmp_path / "wide.csv")
    for name in ("old", "new"):
        frame.filter(pl.col("model") == name).drop("model").write_csv(tmp_path / f"{name}.csv")
    return {
        "log": tuple(logs),
        "run imported": (tmp_path / "run",),
        "table": (tmp_path / "t.csv",),
        "table with semicolons": (tmp_path / "semicolons.csv",),
        "table in another order": (tmp_path / "t.parquet",),
        "JSON": (tmp_path / "t.json",),
        "files by name": (f"old={tmp_path / 'old.csv'}", f"new={tmp_path / 'new.csv'}"),
        "frame": (frame,),
        "wide table": (tmp_path / "wide.csv",),
    }


@pytest.mark.slow
def test_grades_agree_from_every_source(graded: dict[str, Source], tmp_path: Path) -> None:
    agree(graded, tmp_path)
    alike = {name: read_tables(*source).data_hash for name, source in graded.items() if name not in ("wide table",)}
    tables = [h for name, h in alike.items() if name not in ("log", "run imported")]  # those know domains and tokens
    assert len(set(tables)) == 1
    assert alike["log"] == alike["run imported"]


def rated_run(place: Any, rng: np.random.Generator, *, people: bool = True, apart: float = 0.5) -> Any:
    """Two judges on every answer, and a person on a few, who disagrees."""
    with open_ledger(place, mode="write") as ledger:
        ledger.add_items([Item(id=f"q{i}", prompt=f"{i}?", reference="r", domain="d") for i in range(N)])
        ledger.add_conditions([Condition(name=c, model="m") for c in ("old", "new")])
        calls, ratings = [], []
        for c, wrong in (("old", 0.5), ("new", 0.3)):
            for i in range(N):
                calls.append(
                    Call(key=f"{c}{i}", model="m", request="", answer=Answer(text="so", item=f"q{i}", condition=c))
                )
                severity = float(rng.integers(2, 9)) / 2 if rng.random() < wrong else 0.0
                other = min(4.0, severity + apart) if severity else 0.0
                given = [("judge a", "judge", severity), ("judge b", "judge", other)]
                given += [("anna", "human", 4.0)] if people and i % 10 == 0 else []
                ratings += [Rating(item=f"q{i}", condition=c, rater=r, kind=k, severity=s) for r, k, s in given]  # type: ignore[arg-type]
        ledger.add_calls(calls)
        ledger.add_ratings(ratings)
    return place


@pytest.mark.slow
def test_severities_agree_from_every_source(tmp_path: Path) -> None:
    run = rated_run(tmp_path / "run", np.random.default_rng(5))
    ratings = read_tables(run).ratings.select("item", "condition", "rater", "kind", "severity")
    ratings.write_csv(tmp_path / "ratings.csv")
    sources: dict[str, Source] = {"run asked": (run,), "table": (tmp_path / "ratings.csv",), "frame": (ratings,)}
    agree(sources, tmp_path)
    # of judges who agree, since a table of medians does not say how each of them voted
    judged = rated_run(tmp_path / "judged", np.random.default_rng(5), people=False, apart=0.0)
    scores = scores_table(read_tables(judged)).select("item", "condition", "severity", "domain")
    scores.write_csv(tmp_path / "scores.csv")
    agree({"run asked": (judged,), "table": (tmp_path / "scores.csv",), "frame": (scores,)}, tmp_path)
