"""A gate's outcome as a small picture for a README."""

from html import escape

__all__ = ["badge_svg"]

_COLOURS = {"PASS": "#1a7f4b", "FAIL": "#b42318"}  # white text on each has a contrast above 4.5
_OTHER = "#5f6b7a"
_LETTER_PX, _PADDING_PX = 7, 8


def badge_svg(word: str, *, label: str = "richter gate") -> str:
    """An SVG that says `label` and `word`, coloured by the word, which it also spells out."""
    left, right = (len(text) * _LETTER_PX + 2 * _PADDING_PX for text in (label, word))
    texts = "".join(
        f'<text x="{x + width / 2:g}" y="14" textLength="{width - 2 * _PADDING_PX}">{escape(text)}</text>'
        for x, width, text in ((0, left, label), (left, right, word))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="{escape(f"{label}: {word}")}"><title>{escape(f"{label}: {word}")}</title>'
        f'<rect width="{left}" height="20" fill="#3b4453"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{_COLOURS.get(word, _OTHER)}"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">{texts}</g>'
        "</svg>\n"
    )
