"""Every sentence that people read, made from claims and facts: headlines, claims, notes, sizes, terms.

Nothing here decides, measures or lays out. A result carries its own sentence, so that every surface shows the same one.
"""

from typing import TYPE_CHECKING

from richter._lazy import lazy

if TYPE_CHECKING:
    from richter.words._advice import *
    from richter.words._check_words import *
    from richter.words._claim_sentences import *
    from richter.words._document_words import *
    from richter.words._gate_words import *
    from richter.words._glossary import *
    from richter.words._headline import *
    from richter.words._judge_words import *
    from richter.words._label_texts import *
    from richter.words._search_words import *
    from richter.words._size_words import *
    from richter.words._spans import *
    from richter.words._study_words import *

lazy(__name__)
