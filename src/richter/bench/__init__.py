"""Item sets, and the text rules that answers to them are compared by."""

from richter.bench._normalise import content_words, is_refusal, matches_reference, normalise

__all__ = ["content_words", "is_refusal", "matches_reference", "normalise"]
