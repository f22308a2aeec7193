"""The built-in model as a judge: it replies in the schema, and an injected answer reaches it as data."""

import asyncio
from pathlib import Path

import pytest

from judge.injections import INJECTIONS
from richter.errors import RichterError
from richter.models import BUILT_IN
from richter.ratings import GRID
from richter.records import Answer, Condition, Item, Rating
from richter.store import open_ledger
from richter_audit.judge import judge_decoding, rate_answer
from richter_audit.llm import Asker, open_model

pytestmark = [pytest.mark.local_model, pytest.mark.slow, pytest.mark.xdist_group("local_model")]

ITEM = Item(id="q1", prompt="What is the capital of France?", reference="Paris")
TEMPLATE_MARKS = [text for text in INJECTIONS if "<|im_" in text]


def test_the_built_in_model_judges_in_the_schema(tmp_path: Path) -> None:
    judges = [
        Condition(name="plain", model=BUILT_IN, decoding=judge_decoding()),
        Condition(name="strict", model=BUILT_IN, decoding=judge_decoding(), system="Be strict."),
    ]

    async def run() -> list[Rating]:
        try:
            model = open_model(BUILT_IN, slots=2, context_tokens=1024)
        except RichterError as error:
            pytest.skip(f"the built-in model cannot be had: {error}")
        try:
            with open_ledger(tmp_path / "run", mode="write") as ledger:
                asker = Asker(ledger)
                answers = [Answer(text=text, item="q1", condition="c") for text in ("Berlin", *TEMPLATE_MARKS[:1])]
                rated = [await rate_answer(asker, {BUILT_IN: model}, judges, ITEM, answer) for answer in answers]
                return [rating for ratings in rated for rating in ratings]
        finally:
            await model.aclose()

    ratings = asyncio.run(run())
    assert len(ratings) == 4
    assert all(r.severity in GRID or (r.severity is None and r.reason.startswith("no score:")) for r in ratings)
    assert any(r.severity is not None for r in ratings)
