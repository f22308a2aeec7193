"""How well replies are read where a model is shown options, on SQuAD and on facts: SmolLM2 in process, real replies.

`python studies/choice_replies.py squad_wiki48.jsonl facts.kb [--questions 200]` asks the same questions with shuffled
options (style `choice`) and openly (`chat`), prints what came of them, and writes every reply beside what was read to
`soak/choice/replies.jsonl`, for reading by hand. Replies that say one letter, one line "Answer: X", or one option's
text and nothing else are counted as plain: what they choose is beyond dispute. The others are to be read by a person.
"""

import argparse
import json
import re
from collections import Counter
from pathlib import Path

import numpy as np

from richter.records import Condition, Decoding
from richter.store import open_ledger
from richter.texts import read_choice
from richter_audit.ascent import SearchSettings, grade
from richter_audit.ascent._outcome import paragraph_items
from richter_audit.knowledge import open_base, read_documents, write_base
from richter_audit.stages import ask_run

LETTERS = "ABCDEFGHIJ"


def questions_of(base, count):
    """The first questions of some paragraphs drawn at random, those with options."""
    rows = np.random.default_rng(26).permutation(np.flatnonzero(base.askable))[: 2 * count]
    items = [
        item
        for row, paragraph in zip(rows, base.paragraphs([int(r) for r in rows]), strict=True)
        for item in paragraph_items(int(row), paragraph, SearchSettings(phrasings=1))
        if len(item.options) > 1
    ]
    return items[:count]


def plain(item, text):
    """The option that a reply chooses beyond dispute: it is nothing but a letter, an option, or both."""
    said = re.sub(r"(?i)^\W*(?:the )?(?:right |correct )?answer(?: is)?\W*", "", text.strip()).strip(" .*\"'()")
    for letter, option in zip(LETTERS, item.options, strict=False):
        if said.casefold() in {letter.casefold(), option.casefold().strip(" .")}:
            return option
        if re.fullmatch(rf"{letter}\W+{re.escape(option.strip(' .'))}", said, re.IGNORECASE):
            return option
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("squad", type=Path)
    parser.add_argument("facts", type=Path)
    parser.add_argument("--keep", type=Path, default=Path("soak") / "choice")
    parser.add_argument("--questions", type=int, default=200)
    options = parser.parse_args()
    options.keep.mkdir(parents=True, exist_ok=True)
    if not (options.keep / "squad.kb" / "base.json").exists():
        write_base(options.keep / "squad.kb", read_documents(options.squad), name="squad")
    conditions = [
        Condition(name=style, model="smollm2", style=style, decoding=Decoding(max_tokens=64))
        for style in ("choice", "chat")
    ]
    lines = []
    for name, folder in (("squad", options.keep / "squad.kb"), ("facts", options.facts)):
        run = options.keep / f"{name}.run"
        ask_run(run, questions_of(open_base(folder), options.questions), conditions, prices={})
        with open_ledger(run) as ledger:
            items = {item.id: item for item in ledger.items()}
            answers = list(ledger.answers())
        verdicts, undisputed, agree = {c.name: Counter() for c in conditions}, 0, 0
        for answer in answers:
            item = items[answer.item]
            verdict = grade(item, answer, answer.condition)
            verdicts[answer.condition][verdict] += 1
            if answer.condition == "choice":
                sure, read = plain(item, answer.text), read_choice(item, answer.text)
                undisputed += sure is not None
                agree += sure is not None and sure == read
            else:
                sure = read = None
            lines.append(
                {
                    "set": name,
                    "style": answer.condition,
                    "verdict": verdict,
                    "plain": sure,
                    "read": read,
                    "prompt": item.prompt,
                    "options": item.options,
                    "reference": item.reference,
                    "text": answer.text,
                }
            )
        print(f"{name}: {undisputed} plain replies, {agree} of them read as they are;", verdicts, flush=True)
    (options.keep / "replies.jsonl").write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))


if __name__ == "__main__":
    main()
