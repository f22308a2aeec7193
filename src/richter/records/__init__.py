"""The vocabulary: what is asked, what is answered, how it is rated, and what is claimed."""

from richter.records._audit import Answer, Condition, Confidence, Decoding, Grade, Item, Rating, call_key
from richter.records._finding import Finding, Gate, Interval, Verdict
from richter.records._jsonable import jsonable
from richter.records._knowledge import Document, Paragraph, Question
from richter.records._picture import Mark, Shown, picture
from richter.records._text import markdown_safe, printable

__all__ = [
    "Answer",
    "Condition",
    "Confidence",
    "Decoding",
    "Document",
    "Finding",
    "Gate",
    "Grade",
    "Interval",
    "Item",
    "Mark",
    "Paragraph",
    "Question",
    "Rating",
    "Shown",
    "Verdict",
    "call_key",
    "jsonable",
    "markdown_safe",
    "picture",
    "printable",
]
