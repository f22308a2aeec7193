"""Whether a free answer offers its reference beside something else: "Paris or Rome"."""

import re

from richter.records import Item
from richter.texts._choices import reference_names
from richter.texts._normalise import normalise, plain_text

_MAYBE = r"(?:(?:maybe|perhaps|possibly|probably|even|in|on|by|at|it is|it's|it was|the|an?)\s+)*"
_BEFORE = re.compile(rf"([^\s,.;:!?()]+)\)?(?:\s*,)?\s+or\s+{_MAYBE}$")
_NO_RIVAL = "so more less rather simply just similar other another equivalent"  # "or so", "or a similar one"
_AFTER = re.compile(rf"[\"'’”)*_]*(?:\s*,)?\s+or\s+{_MAYBE}(?!(?:{'|'.join(_NO_RIVAL.split())})\b|,)([^\s,.;:!?()]+)")


def is_hedged(item: Item, text: str) -> bool:
    """Whether an answer names the reference, and each time beside another answer ("Lima or Cusco").

    Another name of the reference ("George Eliot or Mary Ann Evans") is not another answer, and a question that offers
    the two itself is answered by neither.
    """
    names = [plain_text(name).strip() for name in reference_names(item) if name.strip()]
    words = {word for name in names for word in normalise(name).split()}
    plain = plain_text(text)
    places = [m for name in names for m in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", plain)]
    return bool(places) and all(_has_rival(plain, place, words) for place in places)


def _has_rival(plain: str, place: re.Match[str], words: set[str]) -> bool:
    """Whether other words than the reference's stand across an "or" from a place."""
    before = _BEFORE.search(plain[max(0, place.start() - 80) : place.start()])
    after = _AFTER.match(plain, place.end())
    return any(not set(normalise(side[1]).split()) <= words for side in (before, after) if side is not None)
