"""Eight results as pages, and pictures of each at two widths, light and dark, to be looked at by somebody.

    python studies/page_shots.py FOLDER [NAME ..]

All answers are simulated: short sums with answers in words, right with a known probability. Each page is written to
FOLDER/NAME.html, its first screen to NAME-WIDTH-light.png and NAME-WIDTH-dark.png, the whole page to
NAME-WIDTH-whole.png. What is printed of each: its size, how wide and high it is, and its first paint. Needs chromium
and chromium-driver.
"""

import argparse
import csv
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from richter.cli import main as richter

ROOT = Path(__file__).parents[1]
SIZES = ((1440, 900), (390, 844))
TALLEST = 6_000  # pixels of a picture
DOMAINS = ("addition", "products", "powers", "shares", "dates", "units")
Row = dict[str, Any]


def write_rows(path: Path, rows: Sequence[Row]) -> str:
    """The name of the table that these rows are written to."""
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.DictWriter(file, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    return path.name


def questions(number: int) -> Iterator[tuple[int, str, int]]:
    """Sums: their number, their words and what is right."""
    for k in range(number):
        a, b = 12 + 7 * k % 83, 11 + 5 * k % 71
        yield k, f"What is {a} times {b}, less {k % 9}?", a * b - k % 9


def say(right: int, answer: int, *, is_long: bool) -> str:
    """An answer in words."""
    if not is_long:
        return f"The result is {answer}."
    why = "I multiplied first and subtracted then" if answer == right else "I subtracted first and multiplied then"
    return f"The result is {answer}. {why}."


def answers(names: Sequence[str], rates: Sequence[float], number: int, *, seed: int, agree: float = 0.6) -> list[Row]:
    """Answers of every model to every question; `agree` is how often two models share their luck."""
    rng = np.random.default_rng(seed)
    shared, rows = rng.random(number), []
    for j, (name, rate) in enumerate(zip(names, rates, strict=True)):
        own = np.where(rng.random(number) < agree, shared, rng.random(number)) < rate
        for k, question, right in questions(number):
            answer = right if own[k] else right + int(rng.integers(1, 9)) * 10
            rows.append(
                {
                    "item": f"q{k:04d}",
                    "model": name,
                    "question": question,
                    "reference": str(right),
                    "answer": say(right, answer, is_long=j % 2 == 1),
                    "correct": int(own[k]),
                    "domain": DOMAINS[k % len(DOMAINS)],
                }
            )
    return rows


def two_prompts(folder: Path) -> list[str]:
    rows = answers(("old", "new"), (0.66, 0.75), 240, seed=1, agree=0.75)
    found = []
    for name in ("old", "new"):
        own = [{k: v for k, v in row.items() if k != "model"} for row in rows if row["model"] == name]
        found.append(write_rows(folder / f"{name}.csv", own))
    return found


def six_models(folder: Path) -> list[str]:
    names = ("atlas-large", "atlas-small", "birch-7b", "cedar-70b", "cedar-8b", "delta-mini")
    rows = answers(names, (0.82, 0.74, 0.61, 0.80, 0.66, 0.55), 300, seed=2)
    rng = np.random.default_rng(3)
    shift = dict(zip(names, (0.5, 0.2, -0.4, 0.4, -0.1, -0.5), strict=True))
    price = dict(zip(names, (0.012, 0.003, 0.0008, 0.009, 0.0009, 0.0005), strict=True))
    for row in rows:
        row["helpfulness"] = int(np.clip(round(rng.normal(3.4 + shift[row["model"]], 1.0)), 1, 5))
        row["faithfulness"] = round(float(np.clip(rng.beta(8, 2) + 0.1 * shift[row["model"]], 0, 1)), 3)
        row["latency"] = round(float(rng.gamma(4, 0.3 + 20 * price[row["model"]])), 3)
        row["cost"] = round(price[row["model"]] * float(rng.gamma(20, 0.05)), 6)
    return [write_rows(folder / "models.csv", rows), "--map", "score=correct"]


def fifty_models(folder: Path) -> list[str]:
    names = [f"model-{k:02d}" for k in range(1, 51)]
    rows = answers(names, tuple(np.linspace(0.86, 0.42, 50)), 400, seed=4, agree=0.7)
    return [write_rows(folder / "board.csv", [{k: r[k] for k in ("item", "model", "correct")} for r in rows])]


def judge_only(folder: Path) -> list[str]:
    rows = answers(("baseline", "candidate"), (0.60, 0.74), 260, seed=5)
    return [write_rows(folder / "judged.csv", [{**r, "graded_by": "judge-model-1"} for r in rows])]


def severities(folder: Path) -> list[str]:
    rows = answers(("cautious", "default", "terse"), (0.72, 0.66, 0.58), 300, seed=6)
    rng = np.random.default_rng(7)
    weights = {"cautious": (5, 4, 2, 0.5), "default": (4, 4, 3, 1.5), "terse": (3, 4, 4, 3)}
    for row in rows:
        p = np.array(weights[row["model"]]) / sum(weights[row["model"]])
        row["severity"] = 0 if row.pop("correct") else int(rng.choice(4, p=p)) + 1
    return [write_rows(folder / "severity.csv", rows)]


def repeats(folder: Path) -> list[str]:
    rows = [
        {**row, "epoch": draw}
        for draw in range(5)
        for row in answers(("warm", "cold"), (0.70, 0.71), 120, seed=8 + draw % 2, agree=0.85)
    ]
    return [write_rows(folder / "epochs.csv", rows)]


def one_model(folder: Path) -> list[str]:
    rows = answers(("assistant",), (0.68,), 300, seed=9)
    rng = np.random.default_rng(10)
    for row in rows:
        row["confidence"] = round(float(np.clip(rng.beta(9, 2) - 0.1 * (1 - row["correct"]), 0.05, 0.99)), 2)
    return [write_rows(folder / "assistant.csv", rows)]


def all_blocked(folder: Path) -> list[str]:
    rows = answers(("spring", "autumn"), (0.66, 0.75), 200, seed=11)
    for row in rows:  # one question in ten is shared
        if row["model"] == "autumn" and int(row["item"][1:]) % 10:
            row["item"] = f"autumn-{row['item']}"
    return [write_rows(folder / "seasons.csv", rows)]


MAKERS: dict[str, Callable[[Path], list[str]]] = {
    "two-prompts": two_prompts,
    "six-models": six_models,
    "fifty-models": fifty_models,
    "judge-only": judge_only,
    "severities": severities,
    "repeats": repeats,
    "one-model": one_model,
    "all-blocked": all_blocked,
}


def write_page(name: str, folder: Path) -> Path:
    """The page of one of the eight results."""
    data = folder / "data"
    data.mkdir(parents=True, exist_ok=True)
    arguments, page = MAKERS[name](data), folder / f"{name}.html"
    here = Path.cwd()
    os.chdir(data)
    try:
        richter(["report", *arguments, "-o", str(page), "--json", str(folder / f"{name}.json"), "--yes"])
    except SystemExit as end:
        if end.code not in (0, None):
            raise
    finally:
        os.chdir(here)
    return page


def take_pictures(browser: Any, page: Path) -> None:
    """First screens at both widths, light and dark, and the whole page at both widths."""
    for width, height in SIZES:
        for dark in (False, True):
            browser.size(width, height)
            browser.dark(dark)
            browser.go(page.as_uri())
            browser.wait("window.RICHTER_REPORT")
            time.sleep(0.4)  # the answers are unpacked when they come near
            browser.picture(page.with_name(f"{page.stem}-{width}-{'dark' if dark else 'light'}.png"))
        browser.dark(False)
        high = browser.script("return document.documentElement.scrollHeight")
        browser.size(width, min(high, TALLEST))
        time.sleep(0.4)
        browser.picture(page.with_name(f"{page.stem}-{width}-whole.png"))
        wide = browser.script("return document.documentElement.scrollWidth")
        paint = browser.script("return performance.getEntriesByName('first-contentful-paint')[0].startTime")
        print(f"{page.stem}: {width} px, {high} high, {wide} wide, first paint {paint / 1000:.2f} s")
    print(f"{page.stem}: {page.stat().st_size / 1e6:.2f} MB")


def main() -> None:
    """Write and picture the pages that are named, else all eight."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", choices=[*MAKERS, []], metavar="NAME")
    asked = parser.parse_args()
    sys.path.append(str(ROOT / "tests"))
    from helpers.browser import open_browser

    folder = asked.folder.resolve()
    pages = [write_page(name, folder) for name in asked.names or MAKERS]
    with tempfile.TemporaryDirectory() as profile, open_browser(Path(profile)) as browser:
        for page in pages:
            take_pictures(browser, page)


if __name__ == "__main__":
    main()
