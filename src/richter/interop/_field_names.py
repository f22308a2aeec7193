"""What others call the fields of a table, in the languages people keep their tables in."""

import re
import unicodedata
from collections.abc import Iterable

__all__ = ["FIELDS", "known_fields", "leaf_name", "plain_name"]

# a field of ours and what others call it, the likeliest first; names are compared in lower case with underscores
FIELDS: dict[str, tuple[str, ...]] = {
    "item": ("item", "item_id", "id", "question_id", "doc_id", "qid", "sample_id", "example_id", "task_id", "case_id",
             "test_id", "prompt_id", "instance_id", "problem_id", "query_id", "uid", "idx", "index", "case", "row_id",
             "global_seg_id", "seg_id", "segment_id", "frage_id", "aufgabe", "nr", "identifiant", "identificador",
             "identificativo", "elemento", "numero"),
    "condition": ("condition", "model", "model_name", "model_id", "system", "variant", "arm", "llm", "provider",
                  "engine", "candidate", "agent", "setup", "config", "experiment", "version", "prompt_name",
                  "prompt_version", "modell", "modele", "modelo", "modello", "variante", "systeme", "sistema"),
    "score": ("correct", "is_correct", "score", "grade", "passed", "acc", "exact_match", "correctness", "pass",
              "success", "em", "accuracy", "rating", "result", "outcome", "f1", "reward", "points", "mark", "value",
              "richtig", "korrekt", "punktzahl", "punkte", "bewertung", "juste", "reussi", "correcto", "correcta",
              "acierto", "puntuacion", "puntaje", "corretto", "giusto", "punteggio", "pontuacao", "correto", "goed",
              "answer_correctness", "factual_correctness", "faithfulness", "answer_relevancy", "context_precision",
              "context_recall", "mqm_avg_score", "mqm_score", "mqm"),
    "severity": ("severity",),
    "confidence": ("confidence", "prob", "probability", "certainty", "p_correct", "p"),
    "draw": ("draw", "epoch", "trial", "repeat", "repetition", "attempt", "replicate", "sample", "k", "iteration"),
    "run": ("run", "run_id", "seed"),
    "group": ("group", "passage", "cluster", "passage_id", "cluster_id", "document", "group_id", "template"),
    "domain": ("domain", "subject", "category", "topic", "subtask", "task", "dataset", "benchmark"),
    "tier": ("tier", "difficulty", "level"),
    "weight": ("weight", "w"),
    "text": ("answer", "response", "output", "prediction", "completion", "generation", "model_answer", "model_output",
             "pred", "text", "outputs", "antwort", "reponse", "respuesta", "risposta", "resposta"),
    "reference": ("reference", "target", "gold", "gold_answer", "expected", "expected_output", "ground_truth", "ideal",
                  "label", "truth"),
    "prompt": ("prompt", "question", "input", "query", "user_input", "inputs", "frage", "pregunta", "domanda",
               "pergunta", "vraag"),
    "error": ("error", "error_message", "exception", "failure"),
    "refused": ("refused", "refusal", "is_refusal"),
    "rater": ("rater", "annotator", "judge", "reviewer", "rated_by", "grader", "labeler"),
    "kind": ("kind", "rater_kind"),
    "mechanism": ("mechanism",),
    "reason": ("reason", "rationale"),
    "inclusion": ("inclusion", "inclusion_probability"),
    "layer": ("stratum", "layer"),
    "tokens_in": ("tokens_in", "prompt_tokens", "input_tokens"),
    "tokens_out": ("tokens_out", "completion_tokens", "output_tokens", "length"),
    "money_usd": ("money_usd", "cost", "cost_usd", "total_cost", "price"),
    "latency_s": ("latency_s", "latency", "duration", "duration_s", "time_s", "seconds"),
    "finish": ("finish", "finish_reason", "stop_reason"),
    "clustered_by": ("clustered_by",),
    "human_cluster": ("human_cluster", "corrected_cluster", "cluster_corrected"),
    "token_probability": ("token_probability",),
    "human": ("human", "human_correct", "human_grade"),
}  # fmt: skip
_FIELD_OF = {name: field for field, names in FIELDS.items() for name in names}


def plain_name(column: str) -> str:
    """`Question ID`, `questionId` and `question-id` are one name, `Modèle` and `modele` too."""
    bare = "".join(c for c in unicodedata.normalize("NFD", column.strip()) if not unicodedata.combining(c))
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", bare)
    return re.sub(r"[\s\-./]+", "_", spaced).lower().strip("_")


def leaf_name(column: str) -> str:
    """The last part of a name that others nest: `metrics.acc` and `exact_match/score` end in `acc` and `score`."""
    return plain_name(re.split(r"[./]", column.strip().rstrip("./"))[-1])


def known_fields(columns: Iterable[str]) -> set[str]:
    """The fields that these columns are known as."""
    return {field for c in columns for n in (plain_name(c), leaf_name(c)) if (field := _FIELD_OF.get(n)) is not None}
