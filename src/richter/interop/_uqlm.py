"""uqlm: the frame of a result's `to_df()`, saved as CSV, Parquet or JSON lines.

From the code of uqlm 0.6.7 (UQResult.to_df and the scorers' names); it was not run.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from richter.interop._record import Reading, Sample, Setup, count_number, flat_text, pick
from richter.interop._rows import table_rows

# what uqlm calls its scorers: each a confidence in [0, 1]
UQLM_SCORERS = (
    *("semantic_negentropy", "noncontradiction", "entailment", "exact_match", "cosine_sim", "bert_score", "bleurt"),
    *("semantic_sets_confidence", "monte_carlo_probability", "consistency_and_confidence", "semantic_density"),
    *("normalized_probability", "sequence_probability", "min_probability", "mean_token_negentropy", "p_true"),
    *("min_token_negentropy", "probability_margin", "ensemble_score", "avg", "median", "min", "max"),
)
_JUDGE = re.compile(r"judge_\d+")


def read_uqlm(path: Path, reading: Reading) -> Iterator[Sample]:
    """Responses with each scorer's confidence; judges' scores are confidences too; sampled responses are draws."""
    columns, rows = table_rows(path, reading)
    sure = [c for c in columns if c in UQLM_SCORERS or _JUDGE.fullmatch(c)]
    graded = [c for c in columns if c.lower() in ("correct", "response_correct", "is_correct", "grade")]
    reading.scorer = graded[0] if graded else ""
    for place, row in enumerate(rows):
        values = {c: count_number(row[c], reading) for c in sure}
        setup = Setup(flat_text(pick(row, "model", "llm", "condition")) or "unknown model")
        prompt = flat_text(pick(row, "prompt", "prompts", "question"))
        reference = flat_text(pick(row, "answer", "reference", "ideal", "ground_truth", "target"))
        yield Sample(
            item=flat_text(pick(row, "item", "id")) or str(place),
            setup=setup,
            draw=0,
            prompt=prompt,
            references=(reference,) if reference else (),
            answer=flat_text(pick(row, "response", "responses")),
            scores={c: count_number(row[c], reading) for c in graded},
            confidences={c: v for c, v in values.items() if v is not None and 0 <= v <= 1},
        )
        others = row.get("sampled_responses")
        for k, text in enumerate(others if isinstance(others, list) else [], 1):
            yield Sample(
                item=flat_text(pick(row, "item", "id")) or str(place), setup=setup, draw=k, answer=flat_text(text)
            )
