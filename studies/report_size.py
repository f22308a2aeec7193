"""How large the report of a large run is, and how long it takes to build and to open.

    python studies/report_size.py [--conditions 21] [--items 10000]

The run is simulated (`simulated_run.py`), and its answers, questions and reasons are replaced by random words
(60, 25 and 15 of them), because the simulated sentences would compress to nothing. Times are of one core; opening needs
chromium and chromium-driver.
"""

import argparse
import dataclasses
import itertools
import random
import sys
import tempfile
import time
from pathlib import Path

import polars as pl
from simulated_run import build_run

from richter.audit import measure_run
from richter.report import write_report
from richter.tables import Dataset


def make_wordy(tables: Dataset) -> Dataset:
    """The same with random words, as frequent as Zipf's law has it."""
    rng = random.Random(0)
    words = ["".join(rng.choices("etaoinshrdlucmfwypvbgk", k=rng.randint(2, 9))) for _ in range(20_000)]
    weights = list(itertools.accumulate(1 / (k + 1) for k in range(len(words))))

    def texts(count: int, n: int) -> pl.Series:
        return pl.Series(
            [" ".join(rng.choices(words, cum_weights=weights, k=n)) for _ in range(count)], dtype=pl.String
        )

    answers = tables.answers.with_columns(texts(len(tables.answers), 60).alias("text"))
    ratings = tables.ratings.with_columns(texts(len(tables.ratings), 15).alias("reason"))
    prompts = texts(len(tables.items), 25)
    items = {i: dataclasses.replace(item, prompt=p) for (i, item), p in zip(tables.items.items(), prompts, strict=True)}
    return dataclasses.replace(tables, answers=answers, ratings=ratings, items=items)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--conditions", type=int, default=21)
    parser.add_argument("--items", type=int, default=10_000)
    asked = parser.parse_args()
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    from helpers.browser import open_browser

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        build_run(folder / "run", conditions=asked.conditions, items=asked.items)
        start = time.process_time()
        results = measure_run(folder / "run")
        document, measured = results.to_dict(), time.process_time()
        tables = make_wordy(results.tables)
        measured, start = time.process_time(), start + time.process_time() - measured
        path = write_report(document, tables, folder / "report.html")
        print(f"measured in {measured - start:.1f} s of CPU, built in {time.process_time() - measured:.1f} s")
        print(f"{path.stat().st_size / 1e6:.2f} MB")
        with open_browser(folder) as browser:
            for _ in range(3):
                browser.go("about:blank")
                browser.go(path.as_uri())
                print(
                    "opened in {:.2f} s, first words after {:.2f} s".format(
                        *browser.script(
                            "const [n] = performance.getEntriesByType('navigation');"
                            "const [p] = performance.getEntriesByName('first-contentful-paint');"
                            "return [n.loadEventEnd / 1000, p.startTime / 1000]"
                        )
                    )
                )


if __name__ == "__main__":
    main()
