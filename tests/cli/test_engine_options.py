"""The options by which a command is given more than one machine."""

import click
import pytest
from click.testing import CliRunner

from richter.cli._options import engine_options


@click.command()
@engine_options
def show(engine: str, workers: int | None) -> None:
    click.echo(f"{engine} {workers}")


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ([], "local None"),
        (["--engine", "ray"], "ray None"),
        (["--workers", "3", "--engine", "ray://host:10001"], "ray://host:10001 3"),
    ],
)
def test_options_reach_the_command(given: list[str], seen: str):
    assert CliRunner().invoke(show, given).output.strip() == seen


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (["--workers", "2"], "--workers needs --engine ray"),
        (["--engine", "ray", "--workers", "0"], "0 is not in the range"),
    ],
)
def test_options_that_cannot_be_meant_are_refused(given: list[str], complaint: str):
    found = CliRunner().invoke(show, given)
    assert found.exit_code == 2
    assert complaint in found.output


def test_help_says_that_no_number_changes():
    assert "Numbers stay the same" in " ".join(CliRunner().invoke(show, ["--help"]).output.split())
