"""How large the report of a large run is, and how long it takes to build and to open.

    python studies/report_size.py [--conditions 21] [--items 10000]

The run is simulated (`simulated_run.py`), and its wrong answers, questions and reasons are replaced by random words
(60, 25 and 15 of them), because the simulated sentences would compress to nothing. Times are of one core; opening needs
chromium and chromium-driver.
"""

import argparse
import itertools
import random
import sqlite3
import sys
import tempfile
import time
from pathlib import Path

from simulated_run import build_run

from richter.audit import measure_run
from richter.report import write_report
from richter.store import LEDGER_NAME


def make_wordy(ledger: Path) -> None:
    """Random words, as frequent as Zipf's law has it."""
    rng = random.Random(0)
    words = ["".join(rng.choices("etaoinshrdlucmfwypvbgk", k=rng.randint(2, 9))) for _ in range(20_000)]
    weights = list(itertools.accumulate(1 / (k + 1) for k in range(len(words))))

    def text(n: int) -> str:
        return " ".join(rng.choices(words, cum_weights=weights, k=n))

    with sqlite3.connect(ledger) as db:
        wrong = db.execute("SELECT key FROM calls WHERE text LIKE '%wrong%'").fetchall()
        db.executemany("UPDATE calls SET text = ? WHERE key = ?", ((text(60), key) for (key,) in wrong))
        items = db.execute("SELECT id FROM items").fetchall()
        db.executemany(
            "UPDATE items SET body = json_set(body, '$.prompt', ?) WHERE id = ?", ((text(25), key) for (key,) in items)
        )
        rated = db.execute("SELECT item, condition, rater FROM ratings WHERE severity > 0").fetchall()
        db.executemany(
            "UPDATE ratings SET reason = ? WHERE item = ? AND condition = ? AND rater = ?",
            ((text(15), *row) for row in rated),
        )
    db.close()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--conditions", type=int, default=21)
    parser.add_argument("--items", type=int, default=10_000)
    asked = parser.parse_args()
    sys.path.append(str(Path(__file__).parents[1] / "tests"))
    from helpers.browser import open_browser

    sys.path.append(str(Path(__file__).parents[1] / "tests"))

    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        build_run(folder / "run", conditions=asked.conditions, items=asked.items)
        make_wordy(folder / "run" / LEDGER_NAME)
        start = time.process_time()
        document = measure_run(folder / "run").to_dict()
        measured = time.process_time()
        path = write_report(document, folder / "run", folder / "report.html")
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
