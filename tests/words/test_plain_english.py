"""First screens, README, tutorial and how-to pages in plain English: `make check` runs this file."""

import csv
import html
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from helpers.plain_english import bare_intervals, faults, prose, reading_ease, syllables
from richter.audit import measure_run
from richter.cli import main
from richter.report._first_screen import first_screen

ROOT = Path(__file__).parents[2]
EASIEST = 55.0  # Flesch's reading ease that README, tutorial and first screens must reach
GUIDES = [ROOT / "README.md", ROOT / "docs" / "tutorial.md", *sorted((ROOT / "docs" / "how-to").glob("*.md"))]

Rows = list[dict[str, object]]


def grades(path: Path, right: np.ndarray, *, missing: int = 0, model: str = "") -> Path:
    """A table of right and wrong answers; the first right ones may lack their grade."""
    lacking = set(np.flatnonzero(right == 1)[:missing].tolist())
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "correct"])
        rows.writerows([f"q{k}", "" if k in lacking else int(x)] for k, x in enumerate(right))
    return path


def pair(folder: Path, old: float, new: float, n: int = 200, *, agree: float = 0.5, missing: int = 0) -> list[str]:
    """Two files of grades that agree in part."""
    rng = np.random.default_rng(11)
    shared = rng.random(n)
    sides = [np.where(rng.random(n) < agree, shared, rng.random(n)) < share for share in (old, new)]
    return [
        str(grades(folder / "old.csv", sides[0].astype(int))),
        str(grades(folder / "new.csv", sides[1].astype(int), missing=missing)),
    ]


def board(folder: Path, models: int = 6, **columns: float) -> list[str]:
    """One file of several models, with other measures beside the grades."""
    rng = np.random.default_rng(12)
    path, shared = folder / "board.csv", rng.random(200)
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "model", "correct", *columns])
        for k in range(models):
            right = np.where(rng.random(200) < 0.6, shared, rng.random(200)) < 0.85 - 0.07 * k
            for item in range(200):
                more = [round(scale * float(np.exp(rng.normal(0.1 * k, 0.3))), 6) for scale in columns.values()]
                rows.writerow([f"q{item}", f"model-{'abcdef'[k]}", int(right[item]), *more])
    return [str(path)]


def shuffled(folder: Path) -> list[str]:
    """Two files without a question in common by their numbers of rows."""
    files = pair(folder, 0.6, 0.7, 60)
    text = (folder / "new.csv").read_text(encoding="utf-8").splitlines()
    (folder / "new.csv").write_text("\n".join(text[:4]) + "\n", encoding="utf-8")
    return files


def with_columns(folder: Path, **columns: Callable[[int, int], object]) -> list[str]:
    """One file of two models on 120 questions, with further columns by model and question."""
    rng = np.random.default_rng(13)
    path, shared = folder / "results.csv", rng.random(120)
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "model", "correct", *columns])
        for k, share in enumerate((0.55, 0.75)):
            right = np.where(rng.random(120) < 0.5, shared, rng.random(120)) < share
            for i in range(120):
                rows.writerow([f"q{i}", ("old", "new")[k], int(right[i]), *(of(k, i) for of in columns.values())])
    return [str(path)]


def repeated(folder: Path) -> list[str]:
    """One file of two models that were asked three times."""
    [path] = with_columns(folder, epoch=lambda k, i: 1)
    head, *rows = Path(path).read_text(encoding="utf-8").splitlines()
    more = [row.removesuffix("1") + str(n) for n in (2, 3) for row in rows]
    Path(path).write_text("\n".join([head, *rows, *more]) + "\n", encoding="utf-8")
    return [path]


def unshared(folder: Path) -> list[str]:
    """Two files with questions of their own."""
    files = pair(folder, 0.6, 0.7)
    text = (folder / "new.csv").read_text(encoding="utf-8")
    (folder / "new.csv").write_text(text.replace("\nq", "\nother"), encoding="utf-8")
    return files


SHAPES: dict[str, Callable[[Path], list[str]]] = {
    "better": lambda f: pair(f, 0.6, 0.8),
    "inconclusive": lambda f: pair(f, 0.66, 0.68),
    "missing": lambda f: pair(f, 0.6, 0.7, 600, agree=0.95, missing=60),
    "several": lambda f: board(f, 6, cost=0.002),
    "three": lambda f: board(f, 3),
    "control": lambda f: [*board(f, 4), "--control", "model-a"],
    "equivalent": lambda f: [*pair(f, 0.7, 0.7, 3000, agree=0.99), "--margin", "5pt"],
    "few shared": shuffled,
    "one": lambda f: pair(f, 0.6, 0.8)[:1],
    "groups": lambda f: with_columns(f, passage=lambda k, i: f"p{i // 8}"),
    "repeats": repeated,
    "judged": lambda f: with_columns(f, judge=lambda k, i: "gpt-4o"),
    "labels": lambda f: with_columns(f, human_correct=lambda k, i: i % 2 if i < 60 else ""),
    "costs": lambda f: [
        *with_columns(f, cost=lambda k, i: 0.001 * (k + 1) * (1 + i % 3)),
        "--on",
        "accuracy",
        "--on",
        "money",
    ],
    "different questions": unshared,
    "without pairs": lambda f: [*unshared(f), "--unpaired"],
    "gate passes": lambda f: ["gate", *pair(f, 0.6, 0.8), "--margin", "2pt"],
    "gate fails": lambda f: ["gate", *pair(f, 0.8, 0.6), "--margin", "2pt"],
    "gate judged": lambda f: ["gate", *with_columns(f, judge=lambda k, i: "gpt-4o"), "--margin", "2pt"],
    "gate open": lambda f: ["gate", *pair(f, 0.66, 0.68), "--margin", "2pt"],
    "size": lambda f: ["size", *pair(f, 0.66, 0.68)],
}

MARKS = {  # what shows that a screen is of its shape
    "better": "new is better than old", "inconclusive": "Inconclusive: new scored", "missing": "it depends on the",
    "several": "lead; we can't tell them apart", "three": "can't tell", "control": "compared with model-a",
    "equivalent": "No practical difference", "few shared": "Can't compare", "one": "is right in", "groups": "groups",
    "repeats": "repeats per question", "judged": "nobody checked it", "labels": "labels",
    "costs": "dollars", "different questions": "no graded question in common", "without pairs": "(--unpaired)",
    "gate passes": "PASS: ", "gate fails": "FAIL: ", "gate judged": "by the judge's grades only",
    "gate open": "INCONCLUSIVE: ", "size": "You can detect",
}  # fmt: skip


def screen(arguments: list[str], capsys: pytest.CaptureFixture[str], folder: Path) -> str:
    """What a command prints, without the folder of the test."""
    with pytest.raises(SystemExit):
        main([*arguments, "--yes"])
    return capsys.readouterr().out.replace(f"{folder}/", "")


def spoken(text: str) -> str:
    """The sentences of a screen: no table, no bar, no command."""
    lines = [re.sub(r"(?:: )?richter [a-z].*$", ".", line) for line in text.splitlines()]
    return "\n\n".join(line for line in lines if line.rstrip().endswith((".", ")", "random")) and "  " not in line)


@pytest.mark.parametrize("shape", SHAPES)
def test_first_screens_are_plain_english(shape: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = screen(SHAPES[shape](tmp_path), capsys, tmp_path)
    assert MARKS[shape] in text
    assert not faults(spoken(text), is_first_screen=True)
    assert not bare_intervals(text)
    assert len(text.splitlines()) <= 20


def test_first_screens_read_easily(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    texts = [spoken(screen(make(tmp_path), capsys, tmp_path)) for make in SHAPES.values()]
    assert reading_ease("\n\n".join(texts)) >= EASIEST


@pytest.mark.parametrize("shape", ["better", "inconclusive", "several", "missing", "judged", "groups"])
def test_the_top_of_the_page_is_plain_english(shape: str, tmp_path: Path) -> None:
    document = measure_run(*SHAPES[shape](tmp_path), n_resamples=100).to_dict()
    first = first_screen(document)
    answers = [first["pill"], first["counts"], *(text for _, text in first["lines"])]
    texts = [re.sub(r"<[^>]+>", "", html.unescape(str(x))) for x in (first["answer"], *answers)]
    assert not faults("\n\n".join(texts), is_first_screen=True)


@pytest.mark.parametrize("page", GUIDES, ids=lambda p: p.stem)
def test_guides_are_plain_english(page: Path) -> None:
    is_first = page.name in ("README.md", "tutorial.md")
    text = page.read_text(encoding="utf-8")
    assert not faults(prose(text), is_first_screen=is_first)
    assert len(prose(text).split()) < 600 or is_first


@pytest.mark.parametrize("page", GUIDES[:2], ids=lambda p: p.stem)
def test_readme_and_tutorial_read_easily(page: Path) -> None:
    assert reading_ease(prose(page.read_text(encoding="utf-8"))) >= EASIEST


def test_what_reviewers_did_not_understand_is_found_by_hand() -> None:
    """The sentences of the last version that two reviewers stumbled over."""
    for text in (
        "By accuracy examples and expert are the best of 3; among them no difference is shown.",
        "Whether new is more accurate than old is undecided: +7.5 points on 200 questions.",
        "Nobody is to judge.",
        "Sets in which no pair is told apart.",
        "A rate of +7.5 points [-0.2, +15.2].",
        "A rate of 7.5 points (-0.2 to +15.2).",
    ):
        assert faults(text), text
    assert faults(" ".join(["word"] * 26) + ".")
    assert not faults(" ".join(["word"] * 25) + ".")
    assert not faults("new is better than old: +7.5 points (95% CI +2.1 to +12.9).")


@pytest.mark.parametrize(
    ("word", "number"),
    [("cat", 1), ("question", 2), ("better", 2), ("made", 1), ("table", 2), ("graded", 2), ("inconclusive", 4),
     ("interval", 3), ("changes", 2), ("asked", 1), ("the", 1)],
)  # fmt: skip
def test_syllables_by_hand(word: str, number: int) -> None:
    assert syllables(word) == number


def test_reading_ease_by_hand() -> None:
    """'The cat sat on the mat.' has 6 words of one syllable: 206.835 - 1.015 x 6 - 84.6."""
    assert reading_ease("The cat sat on the mat.") == pytest.approx(206.835 - 1.015 * 6 - 84.6)
