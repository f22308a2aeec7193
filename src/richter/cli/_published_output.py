"""What `richter size published` prints: do published scores differ, when the answers are not at hand?"""

import click

from richter import floors
from richter.audit import published_scores
from richter.claims import claim_words
from richter.cli._io import PLAIN, listing, publish
from richter.records import printable
from richter.words import describe_span


def size_published(
    scores: tuple[str, ...],
    n: int | None,
    n_b: int | None,
    names: tuple[str, str],
    level: float,
    json_path: str | None,
) -> int:
    """Print and write whether published scores differ; the exit status."""
    if len(scores) == 1:
        return _decide_board(scores[0], level=level, json_path=json_path)
    try:
        score_a, score_b = (float(x) for x in scores)
    except ValueError as error:
        raise click.UsageError("Give two scores, or one table of them.") from error
    if n is None:
        raise click.UsageError("Two scores need --n, the number of questions of the benchmark.")
    result = floors.published_gap(score_a, score_b, n, n_b=n_b, names=names, level=level)
    out, claim = publish(result, json_path), result.claim
    assert claim.interval is not None
    assert claim.estimate is not None
    out.print(printable(claim.sentence))
    out.print(
        f"{describe_span(claim_words(claim), claim.estimate, claim.interval, is_difference=True)}, unpaired, "
        f"p = {claim.p:.2g}; accuracy floor {100 * result.floor:.1f} points"
    )
    if result.p_if_paired_at_best is not None and not claim.decided:
        out.print(
            "Next: ask for the answers to each question. Compared in pairs, they could give p = "
            f"{result.p_if_paired_at_best:.2g} at best."
        )
    return 0 if claim.decided else 4


def _decide_board(file: str, *, level: float, json_path: str | None) -> int:
    """Print and write the decisions on all pairs of a table of scores; the exit status."""
    board = floors.published_board(published_scores(file), level=level)
    out = publish(board, json_path, inputs=[file])
    out.print(board.sentence)
    columns = "benchmark: {r.name}|pairs: {r.pairs:,}|shown: {r.shown:,}|not shown: {r.undecided:,}|"
    out.print(listing(columns + "below the paper's floor: {r.below:,}", board.benchmarks, **PLAIN))
    for claim in [c for c in board.claims if not c.decided][:10]:
        out.print(printable(f"  {claim.sentence}"))
    return 0 if all(c.decided for c in board.claims) else 4
