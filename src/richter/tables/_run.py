"""A run's ledger, opened and read once."""

import polars as pl

from richter.records import Item
from richter.sampling import split_confidence, token_probability
from richter.store import Ledger
from richter.tables._part import OTHERS, ROW, Part, frame_of
from richter.tables._tables import KEY, RATINGS, ReadOptions

__all__ = ["part_of_ledger"]


def part_of_ledger(ledger: Ledger, options: ReadOptions) -> Part:
    """The answers of a ledger with grades, confidences and ratings; a confidence is the imported one, the stated one
    where half of a condition's answers state one, else the tokens' probability."""
    # what refers to something is read before it, so that a run in progress has every item that a rating names
    ratings, grades = ledger.ratings(), ledger.grades()
    sure: dict[tuple[str, str, int], tuple[str, float]] = {}
    for c in ledger.confidences():
        sure.setdefault((c.item, c.condition, c.draw), (c.source, c.value))
    rows, stated, token = [], {}, {}
    for a in ledger.answers():
        key = (a.item, a.condition, a.draw)
        rows.append(
            (*key, None if a.error else a.text, a.error, a.tokens_in, a.tokens_out, a.money_usd, a.latency_s, a.finish)
        )
        if key not in sure and not a.error:
            if "onfidence" in a.text and (said := split_confidence(a.text)[1]) is not None:
                stated[key] = said
            if (probability := token_probability(a.text, a.tokens, a.logprobs)) is not None:
                token[key] = probability
    items = {item.id: item for item in ledger.items()}
    conditions = [c.name for c in ledger.conditions()]
    names = (*KEY, "text", "error", "tokens_in", "tokens_out", "money_usd", "latency_s", "finish")
    answers = pl.DataFrame(rows, schema={name: ROW[name] for name in names}, orient="row")
    answers = answers.join(_of_items(items), on="item", how="left", maintain_order="left")
    sure |= _own_confidences(answers, stated, token)
    main = [(g.item, g.condition, g.draw, g.value, g.correct) for g in grades if g.main]
    graded = pl.DataFrame(
        main, schema={**{k: ROW[k] for k in KEY}, "value": pl.Float64, "correct": pl.Float64}, orient="row"
    )
    # an import that was told what its scores mean (--pass-at, --as-severity) holds another grade than the value says
    plain = pl.when(pl.col("value").is_between(0, 1)).then((pl.col("value") == 1).cast(pl.Float64))
    if graded.filter(pl.col("correct").is_not_null() & pl.col("correct").ne_missing(plain)).height:
        graded = graded.with_columns(pl.col("correct").alias("value"))
    answers = answers.join(graded.drop("correct"), on=KEY, how="left", maintain_order="left")
    if sure:
        confident = pl.DataFrame(
            [(*key, source, value) for key, (source, value) in sure.items()],
            schema={**{k: ROW[k] for k in KEY}, "confidence_source": pl.String, "confidence": pl.Float64},
            orient="row",
        )
        answers = answers.join(confident, on=KEY, how="left", maintain_order="left")
    scorers = list(dict.fromkeys(g.scorer for g in grades if g.main))
    return Part(
        name=ledger.name,
        answers=frame_of(answers, ROW),
        ratings=frame_of(
            pl.DataFrame(
                [(r.item, r.condition, r.draw, r.rater, r.kind, r.severity, r.mechanism, r.reason) for r in ratings],
                schema={k: v for k, v in RATINGS.items() if k != "inclusion"},
                orient="row",
            ),
            RATINGS,
        ),
        others=pl.DataFrame(
            [(g.item, g.condition, g.draw, g.scorer, g.value) for g in grades if not g.main],
            schema=OTHERS,
            orient="row",
        ),
        conditions=conditions,
        items=items,
        score=", ".join(scorers),
    )


def _of_items(items: dict[str, Item]) -> pl.DataFrame:
    rows = [(i.id, i.domain or None, None if i.tier is None else str(i.tier)) for i in items.values()]
    return pl.DataFrame(rows, schema={"item": pl.String, "domain": pl.String, "tier": pl.String}, orient="row")


def _own_confidences(
    answers: pl.DataFrame,
    stated: dict[tuple[str, str, int], float],
    token: dict[tuple[str, str, int], float],
) -> dict[tuple[str, str, int], tuple[str, float]]:
    """The confidence that most answers of a condition have: stated, else the tokens' probability."""
    answered = dict(answers.filter(pl.col("error") == "").group_by("condition").len().iter_rows())
    said: dict[str, int] = {}
    for _, condition, _ in stated:
        said[condition] = said.get(condition, 0) + 1
    probable = {condition for _, condition, _ in token}
    chosen: dict[tuple[str, str, int], tuple[str, float]] = {}
    for source, values in (("stated confidence", stated), ("token probability", token)):
        for key, value in values.items():
            of = key[1]
            states = said.get(of, 0) >= answered.get(of, 0) / 2 or of not in probable
            if states == (source == "stated confidence"):
                chosen[key] = (source, value)
    return chosen
