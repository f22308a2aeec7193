"""Names that people cannot tell from each other: which of several are alike, and how each is written to be seen."""

import re
import unicodedata
from collections.abc import Iterable

__all__ = ["odd_characters", "tell_apart"]

# letters of other scripts that look like a Latin one in most typefaces
_CYRILLIC = dict(zip("аеорсухіѕјһԁԛԝӏАВЕКМНОРСТХІЅЈУҮԌԚԜ", "aeopcyxisjhdqwlABEKMHOPCTXISJYYGQW", strict=True))
_GREEK = dict(zip("ονρυιακΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ovpuiakABEZHIKMNOPTYX", strict=True))
_ARMENIAN = dict(zip("օսհոցզյլՍՏԼՕ", "ouhngqjlUSLO", strict=True))
_CHEROKEE = dict(zip("ᎠᎡᎢᎪᎫᎬᎳᎷᎻᎽᏀᏃᏆᏎᏚᏞᏟᏢᏦᏙᏴ", "DRTAJEWMHYGZI4SLCPKVB", strict=True))
_PHONETIC = dict(zip("ɑɡıɩᴄᴏꜱᴜᴠᴡᴢ", "agiicosuvwz", strict=True))
_SIGNS = dict(
    zip("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2018\u2019\u02bc\u2024\u2044\u2215", "-------'''.//", strict=True)
)
_LIKE = {**_CYRILLIC, **_GREEK, **_ARMENIAN, **_CHEROKEE, **_PHONETIC, **_SIGNS}
_SAME_GLYPH = ("<wide>", "<narrow>", "<noBreak>", "<font>", "<compat>")
# marks and fillers without a glyph of their own, selectors of an emoji's form among them
_UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
_SPACES = re.compile(r"\s+")
_EXTRA_SPACE = re.compile(r"^\s+|\s+$|(?<=\s)\s")


def tell_apart(names: Iterable[str]) -> dict[str, str]:
    """How each name that looks like another one is written so that it is seen to be another; no name else.

    Of names that look alike the one without odd characters stays as it is. In the others what is odd becomes an escape:
    a letter of another script, an accent in a character of its own, a space at an end or of another kind.

    >>> tell_apart(["GPT", "G\\u0420T", "other"])
    {'GРT': 'G\\\\u0420T'}
    """
    alike: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        alike.setdefault(_skeleton(name), []).append(name)
    return {
        name: _escape_odd(name) for skeleton, own in alike.items() if len(own) > 1 for name in own if name != skeleton
    }


def odd_characters(name: str) -> list[str]:
    """What in a name is not as most people would type it, in words: each odd character once."""
    places = _odd_places(name)
    return list(dict.fromkeys(_describe(name[k]) for k in sorted(places)))


def _skeleton(name: str) -> str:
    """The name as it looks: accents composed, letters that look Latin as Latin, spaces plain, nothing invisible."""
    if name.isascii() and name == " ".join(name.split()):
        return name
    letters = "".join(map(_as_seen, unicodedata.normalize("NFD", name)))
    return _SPACES.sub(" ", unicodedata.normalize("NFC", letters)).strip()


def _as_seen(char: str) -> str:
    """What a character looks like; empty for what is not seen."""
    if char in _LIKE:
        return _LIKE[char]
    if char.isspace():
        return " "
    if unicodedata.category(char) in ("Cc", "Cf", "Co", "Cn") or _UNSEEN.match(char):
        return ""
    kind, _, codes = unicodedata.decomposition(char).partition(" ")
    if kind in _SAME_GLYPH:
        return "".join(_as_seen(chr(int(code, 16))) for code in codes.split())
    return char


def _odd_places(name: str) -> set[int]:
    """The places of a name's odd characters."""
    places = {k for found in _EXTRA_SPACE.finditer(name) for k in range(*found.span())}
    is_composed = unicodedata.is_normalized("NFC", name)
    for k, char in enumerate(name):
        seen = unicodedata.normalize("NFC", "".join(map(_as_seen, unicodedata.normalize("NFD", char))))
        if seen != char or (not is_composed and unicodedata.combining(char)):
            places.add(k)
    if not places and not is_composed:  # a script whose parts are letters too
        places = {k for k, char in enumerate(name) if not char.isascii()}
    return places


def _escape_odd(name: str) -> str:
    places = _odd_places(name)
    return "".join(_escape(char) if k in places else char for k, char in enumerate(name))


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _describe(char: str) -> str:
    if char == " ":
        return "an extra space"
    name = unicodedata.name(char, "").lower()
    return f"{name} (U+{ord(char):04X})" if name else f"U+{ord(char):04X}"
