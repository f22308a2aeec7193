"""The design tokens that the page, the app and the label page share: `page/tokens.css`, read in one place."""

import functools
import re
from importlib import resources

_COLOUR = re.compile(r"(--[\w-]+):\s*light-dark\((#\w{6}),\s*(#\w{6})\)")


@functools.cache
def tokens_css() -> str:
    """The tokens as CSS: type, spacing, and every colour for light and dark."""
    return resources.files("richter.report").joinpath("page", "tokens.css").read_text(encoding="utf-8")


def light_colours() -> dict[str, str]:
    """The colours on white by their variables, for drawings that are files of their own."""
    return {variable: light for variable, light, _ in _COLOUR.findall(tokens_css())}
