"""The vocabulary: what is asked, what is answered, how it is rated, and what is claimed."""

from richter.records._audit import Answer, Condition, Confidence, Decoding, Grade, Item, Rating, call_key
from richter.records._claim import Better, Claim, Family, Hypothesis, Refused, Unit
from richter.records._glossary import GLOSSARY, explain
from richter.records._knowledge import Document, Paragraph, Question
from richter.records._picture import Mark, Shown, picture
from richter.records._plain import Result, plain
from richter.records._plain import plain as jsonable
from richter.records._reply import fence, last_object, storable
from richter.records._text import markdown_safe, printable
from richter.records._verdict import Gate, Interval, Verdict

__all__ = [
    "GLOSSARY",
    "Answer",
    "Better",
    "Claim",
    "Condition",
    "Confidence",
    "Decoding",
    "Document",
    "Family",
    "Gate",
    "Grade",
    "Hypothesis",
    "Interval",
    "Item",
    "Mark",
    "Paragraph",
    "Question",
    "Rating",
    "Refused",
    "Result",
    "Shown",
    "Unit",
    "Verdict",
    "call_key",
    "explain",
    "fence",
    "jsonable",
    "last_object",
    "markdown_safe",
    "picture",
    "plain",
    "printable",
    "storable",
]
