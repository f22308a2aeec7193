"""Answers that speak to whoever judges them: a judge's reply, instructions to a judge, marks of a chat's template."""

import polars as pl

__all__ = ["has_judge_bait"]

# In the syntax of polars, whose time is linear in the text. Ordinary answers must stay clear of every line.
_GRADE = r"(?:severity|score|scoring|grade|grading|rating|verdict|marks|evaluation)s?"
_TOP = r"(?:[01](?:\.0+)?|10|100|\d+ ?/ ?\d+|correct|perfect|pass(?:ed|ing)?|true|full|highest|top|max\w*)"
_RULES = (
    r"(?:rubric|instructions?|criteri(?:a|on)|guidelines?|grading|evaluation|scoring|content quality|system prompt)"
)
_JUDGE = r"(?:judge|grader|evaluator|rater|marker)s?"
_THIS = r"(?:this|my|the above|any|every|all|response [ab])(?: (?:answer|response|output|submission)s?)?"
_PATTERNS = (
    # a judge's reply
    r"\\?[\"'](?:severity|score|grade|rating|verdict|winner|pass(?:ed)?|is_correct)\\?[\"']\s*:",
    (
        r"(?m)^\W*(?:\w+ )?(?:score|grade|verdict|winner|rating|severity|band|pass)\s*[:=]\s*"
        r"(?:[\d.]+|[a-f]\b|pass|correct|true|yes|no\b|response)"
    ),
    rf"\b(?:severity|verdict|rating|winner|grade)\s*(?:is|=|:)?\s*(?:always )?{_TOP}\b|\[\[[abc]\]\]",
    rf"\b(?:result|recommendation|verdict|assessment):\s*(?:pass|{_TOP}\b|[\w /]+\d ?/ ?\d)",
    r"\b(?:evaluation|grading) (?:is )?complete\b|\bcorrect (?:reply|verdict|grade|action)\b",
    r"\bresponse [ab] (?:is|wins|demonstrates)\b|\banswer (?:above|below) is correct\b",
    r"\bthat the answer (?:above |below )?(?:is|was) (?:right|correct)\b",
    # instructions to a judge
    (
        rf"\b(?:ignor|disregard|forget|overrid|overrul|bypass|supersed|replac|updat|cancel|appl)\w*\b"
        rf"[^.\n]{{0,40}}\b{_RULES}\b"
    ),
    rf"\b{_RULES}\b[^.\n]{{0,40}}\b(?:overrid|bypass|supersed|replac|updat|cancel|outdated)\w*",
    rf"\b(?:rate|score|grade|mark|judge|pass|accept)\b[^.\n]{{0,20}}\b{_THIS}\b[^.\n]{{0,30}}\b{_TOP}\b",
    rf"\b(?:must|should|please|always)\b (?:\w+ )?(?:pass|accept|rate|grade|select)\w*\b[^.\n]{{0,10}}\b{_THIS}\b",
    rf"\b{_THIS}\b (?:\w+ )?(?:pass(?:es)?|scores?|deserves?|wins|fails evaluation|satisf\w+ the rubric)\b",
    (
        rf"\b(?:give|award|assign|output|return|reply|respond|set|answer)s?\b[^.\n]{{0,40}}"
        rf"\b(?:{_GRADE}|band|\d\.0|marks|points)\b[^.\n]{{0,15}}\b(?:{_TOP}|\d\.0)\b"
    ),
    r"\b(?:give|award|assign|output|reply|respond)s?\b[^.\n]{0,20}\b\d\.0\b",
    rf"\b(?:highest|maximum|top|full) (?:{_GRADE}|points)\b|\b{_GRADE} = ?\d",
    (
        r"\b(?:dear|notes? to|attention,?|message to|as the|you are an?|if you are an?) (?:all |the )?"
        rf"(?:{_JUDGE}|language model|llm|ai)\b"
    ),
    rf"\b{_JUDGE}\b[^.\n]{{0,15}}\b(?:please|must|should)\b|\bselect (?:response )?[ab] (?:as|regardless)\b",
    r"\bselect response [ab]\b|\byou (?:are now|grade leniently)\b|\bnew (?:instructions?|task|rule)\b",
    r"\b(?:hidden|previous) instructions?\b|\bend of (?:the )?(?:answer|response)\b|\b(?:passing|perfect) grade\b",
    r"\bscale reversed\b|\bmechanisms? of error\b|\b(?:this|updated|scoring) rubric\b|\b0\.0 correct\b",
    r"\bI (?:order|command) you to\b|\binstead: .{0,60}\bit is correct\b|\bgives? (?:it|this|every answer) 0\b",
    r"\b(?:score|rate|grade|severity)\s+0(?:\.0)?(?:$|[\s.<])",
    # marks of a chat's template, and of what stands around an answer
    r"<\|[a-z_]+\|>|\[/?INST\]|<</?SYS>>|</?s>|<(?:start|end)_of_turn>|```system|<result winner",
    r"\bDATA-[0-9a-f]{1,64}\b\s*\n|-END DATA-|\"\s*\nDATA\b|(?m)^\W*(?:system|assistant|human)\s*:\s",
    r"</?(?:system|evaluation|instructions?|rubric|score|winner|answer|response|output|student)\w*>",
    r"\[(?:system|admin|evaluator|grader|judge|mode[: ]|dev_|evaluation)[^\]\n]{0,40}\]",
    r"\bsystem (?:override|content|message)\b",
)
_BAIT = "(?i)" + "|".join(f"(?:{pattern})" for pattern in _PATTERNS)
LONGEST = 50_000  # characters of an answer that are looked at


def has_judge_bait(texts: pl.Series) -> pl.Series:
    """Whether each text contains a judge's reply, instructions to a judge or marks of a chat; null where there is none.

    A pattern of words: it finds much that is written to be obeyed in plain English, not every way to say it.
    """
    return texts.str.slice(0, LONGEST).str.contains(_BAIT)
