"""The perturbation probe of the tail protocol: copies of a run's questions in other words, asked, scored and compared.

The paper adds noise to a model's input embeddings (section 3, H2). A model behind an interface can only be asked
otherwise: in a frame of words, in another model's words, for a longer answer; or its answers are kept and the judge is
asked otherwise. A tail that differs between a condition and such a copy is no trait of the model.
"""

import dataclasses
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Unpack

import polars as pl

from richter.audit._tail_audit import study_column
from richter.errors import InputError
from richter.records import Claim, Condition, Item, Result
from richter.store import RunLike, open_ledger
from richter_audit.llm import CallOptions
from richter_audit.stages._ask_stage import AskProgress, ask_run
from richter_audit.stages._score import answers_of

__all__ = ["COPIES", "ProbeClaim", "compare_copies", "copy_answers", "perturb_items"]

Copy = Literal["template", "model", "length", "judge"]
COPIES: tuple[Copy, ...] = ("template", "model", "length", "judge")
FRAMES = (
    "Here is a question. {}",
    "I would like to know the following. {}",
    "Somebody asked me this, and I am not sure: {}",
    "Please tell me. {}",
)
LONGER = "{}\nAnswer in two or three full sentences."
OTHER_JUDGE = "A person was asked the following, and an answer stands below.\n{}"
REWORD = "Write this question in other words, without changing what is asked. Write the question only.\n\n{}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ProbeClaim(Result):
    """What the protocol says of a condition and one of its copies under one scorer."""

    condition: str
    copy: Copy
    scorer: str
    claim: Claim


def perturb_items(items: Sequence[Item], copy: Copy, *, reworded: Mapping[str, str] | None = None) -> list[Item]:
    """The same items, asked otherwise. What a model `reworded` to nothing, or to more than it was, is left out.

    The frame of a template is chosen by the item's id, so that it stays the same from run to run.
    """
    if copy == "template":
        frame = [FRAMES[hashlib.sha256(item.id.encode()).digest()[0] % len(FRAMES)] for item in items]
        return [dataclasses.replace(i, prompt=f.format(i.prompt)) for i, f in zip(items, frame, strict=True)]
    if copy == "length":
        return [dataclasses.replace(i, prompt=LONGER.format(i.prompt)) for i in items]
    if copy == "judge":
        return list(items)
    out = []
    for item in items:
        text = " ".join((reworded or {}).get(item.id, "").split())
        if text and text != " ".join(item.prompt.split()) and len(text) <= 3 * len(item.prompt) + 100:
            out.append(dataclasses.replace(item, prompt=text))
    return out


def copy_answers(
    run: RunLike,
    copies: Sequence[Copy],
    place: str,
    *,
    paraphraser: str | None = None,
    limit: int | None = None,
    watch: Callable[[AskProgress], None] | None = None,
    **calls: Unpack[CallOptions],
) -> pl.DataFrame:
    """The answers of a run and of its copies, in one table: `condition` and `condition (copy)`, ready to be scored.

    Each copy has a run of its own, `place.COPY`, so that doing it again pays only for what is missing.
    """
    run = Path(run)
    with open_ledger(run) as ledger:
        items = list(ledger.items())[:limit]
        conditions = [c for c in ledger.conditions() if c.style != "cloze"]
    if not conditions:
        raise InputError("Every condition of the run completes sentences.", remedy="Ask with --style chat first.")
    if "model" in copies and paraphraser is None:
        raise InputError("A copy in a model's words needs that model.", remedy="Name it with --paraphraser.")
    keep = {i.id for i in items}
    clean = answers_of(run).filter(pl.col("item").is_in(keep) & pl.col("condition").is_in([c.name for c in conditions]))
    frames = [clean]
    reworded: dict[str, str] = {}
    if "model" in copies and paraphraser is not None:
        reworded = _reword_items(items, f"{place}.words", paraphraser, watch, calls)
    for copy in copies:
        asked = perturb_items(items, copy, reworded=reworded)
        if copy == "judge":
            other = clean.with_columns(pl.format(OTHER_JUDGE, pl.col("prompt")).alias("prompt"))
        else:
            if not asked:
                raise InputError("No question was put into other words.", remedy="Choose another --paraphraser.")
            ask_run(f"{place}.{copy}", asked, conditions, watch=watch, **calls)
            other = answers_of(Path(f"{place}.{copy}"))
        frames.append(other.with_columns(pl.format(f"{{}} ({copy})", pl.col("condition")).alias("condition")))
    return pl.concat(frames, how="diagonal_relaxed")


def _reword_items(
    items: Sequence[Item],
    run: str,
    paraphraser: str,
    watch: Callable[[AskProgress], None] | None,
    calls: CallOptions,
) -> dict[str, str]:
    """The items' questions in a model's words, by item; its calls are kept in a run of their own."""
    words = [Item(id=i.id, prompt=REWORD.format(i.prompt), reference="") for i in items]
    ask_run(run, words, [Condition(name="paraphraser", model=paraphraser)], watch=watch, **calls)
    with open_ledger(run) as ledger:
        return {a.item: a.text for a in ledger.answers() if not a.error}


def compare_copies(
    scored: pl.DataFrame, copies: Sequence[Copy], scorers: Sequence[str], *, seed: int = 0, **options: Any
) -> list[ProbeClaim]:
    """The protocol on each condition and each of its copies, on the items that both have, under each scorer."""
    out = []
    names = scored["condition"].unique(maintain_order=True).to_list()
    for scorer in scorers:
        overrides = {"transform": "logit"} if scorer == "toxicity" else {}
        for copy in copies:
            for name in names:
                pair = (name, f"{name} ({copy})")
                if pair[1] not in names or (copy == "judge" and scorer != "nll"):
                    continue
                both = scored.filter(pl.col("condition").is_in(pair))
                here = both.filter(pl.col("item").is_in(both.group_by("item").len().filter(pl.col("len") == 2)["item"]))
                study = study_column(here, column=scorer, overrides={**overrides, **options}, seed=seed)
                out.append(ProbeClaim(condition=name, copy=copy, scorer=scorer, claim=study.study.claims[0]))
    return out
