"""Messages of the command line in the words of Python: `--map item=Frage` is `map={"item": "Frage"}`."""

import functools
import re
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from richter.errors import RichterError

P = ParamSpec("P")
T = TypeVar("T")
PAIRS = ("map", "grade")  # options that are given as NAME=VALUE, several times
RANGES = ("scale", "as-severity")  # options that are given as LOW:HIGH
NUMBERS = ("tried", "level", "chance", "min-shared", "pass-at", "seed")
TEXTS = ("on", "missing", "better", "ratings", "control", "by", "about", "margin", "scorer", "filter")
FLAGS = (
    "unpaired", "trust-ids", "trust-raters", "trust-labels", "trust-reading", "accept-judge", "adjust", "confirm",
)  # fmt: skip
NAMES = ("accuracy", "discordance", "phi", "cluster-size", "intraclass")  # options that are named without a value
_WORD = r"([^\s,;()|]+[^\s,;()|.])"
_OPTION = re.compile(
    rf"--(?:(?P<pair>{'|'.join(PAIRS)})[ =](?P<name>[\w.@^-]+)=(?P<value>'[^']*'|\"[^\"]*\"|{_WORD})"
    rf"|(?P<range>{'|'.join(RANGES)})[ =](?P<low>[\w.+-]+):(?P<high>[\w.+-]*\w)"
    rf"|(?P<number>{'|'.join(NUMBERS)})[ =](?P<amount>\w+(?:\.\d+)?)"
    rf"|(?P<text>{'|'.join(TEXTS)})[ =](?P<word>{_WORD})"
    rf"|(?P<flag>{'|'.join(FLAGS)})(?![\w-])|(?P<yes>yes)(?![\w-])"
    rf"|(?P<bare>{'|'.join(NAMES)})(?![\w-]))"
)


def in_python(message: str) -> str:
    """A message with the options of the command line as Python's keyword arguments.

    >>> in_python("Name the column: --map score=quality, or --unpaired.")
    'Name the column: map={"score": "quality"}, or unpaired=True.'
    """
    return _OPTION.sub(_argument, message)


def _argument(option: re.Match[str]) -> str:
    if option["pair"]:
        value = option["value"].strip("'\"")
        return f'{option["pair"]}={{"{option["name"]}": "{value}"}}'
    if option["range"]:
        return f"{_spelled(option['range'])}=({option['low']}, {option['high']})"
    if option["number"]:
        return f"{_spelled(option['number'])}={option['amount']}"
    if option["text"]:
        return f'{_spelled(option["text"])}="{option["word"]}"'
    if option["bare"]:
        return _spelled(option["bare"])
    return "confirm=True" if option["yes"] else f"{_spelled(option['flag'])}=True"


def _spelled(option: str) -> str:
    return option.replace("-", "_")


def speaks_python(function: Callable[P, T]) -> Callable[P, T]:
    """A decorator: errors of the function name keyword arguments in place of options."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except RichterError as error:
            error.what, error.remedy = in_python(error.what), in_python(error.remedy)
            error.args = (f"{error.what} {error.remedy}".strip(),)
            raise

    return call
