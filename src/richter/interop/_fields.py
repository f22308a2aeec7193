"""The fields of a table, and what people call them."""

import re
import unicodedata
from collections.abc import Iterable
from typing import NamedTuple

__all__ = [
    "BARE_ITEMS",
    "CRITERIA",
    "FIELDS",
    "HINTS",
    "LISTED",
    "LOWER",
    "MEASURE_NAMES",
    "PEOPLE",
    "VARYING",
    "WORDED",
    "RaterName",
    "bears_on_claims",
    "has_no_end",
    "has_no_top",
    "hinted_fields",
    "is_listed",
    "known_fields",
    "leaf_name",
    "less_is_better",
    "plain_name",
    "rater_of",
    "stated_range",
]  # fmt: skip


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


# columns, or keys beside a value, that name the measure of their row; the likelier first
MEASURE_NAMES = ("metric", "metric_name", "scorer", "evaluator", "criterion", "criteria", "measure", "from_name",
                 "kennzahl", "metrik")  # fmt: skip
# words in names of scores of which less is better; a plural in s is one too
LESS = _set(
    "wer cer toxicity toxic error loss losses mistake violation perplexity ppl rmse mae mse nll brier distance"
    " divergence penalty wrong wrongly incorrect fail failed failure hallucination hallucinated bias biased biases harm"
    " harmful unsafe risk attack jailbreak jailbroken leak leaked leakage misuse defect bug crash crashes timeout"
    " flagged frustration annoyance confusion burden effort edit edits corrections revision escalated escalation"
    " rework reworked reopened overturned nacharbeit"
    " nachbesserung korrekturen eskaliert beanstandet beanstandung beschwerde beschwerden plainte plaintes reclamation"
    " signale correcciones quejas reclamaciones reclamos escalado alucinacion alucinaciones halluziniert halluzination"
    " halluzinationen"
    " missed miss misses overlooked omitted omission false fabricated invented adverse dangerous complaint injury"
    " inaccurate incomplete irrelevant unsupported ungrounded unfaithful unanswered untrue misleading"
    " regression severity latency duration delay elapsed time second cost price token rank ranking asr schulnote zensur"
    " fehler falsch faux errores"
)
# beside these it is otherwise: `no_errors`, `attack_blocked`, `error_handling`
UNLESS = _set(
    "no not non free without zero pass passed correct right true hit resisted resistance blocked defended prevented"
    " avoided refused refusal handling handled correction corrected fixed caught reduction reduced saved recovery"
    " recovered robustness robust on correctly rightly accuracy acc precision recall f1 auc awareness efficiency"
    " effectiveness"
)
_REFUSED = _set("refusal refusals refused is was n num number of model answer count rate")  # of no attack
LOWER = ("wer", "cer", "ter", "toxicity", "edit_distance", "rmse", "mae")
# a field of ours and what others call it, the likeliest first; names are compared in lower case with underscores
FIELDS: dict[str, tuple[str, ...]] = {
    "item": ("item", "item_id", "datasource_item_id", "dataset_item_id", "reference_example_id", "id",
             "question_id", "doc_id", "qid", "sample_id", "example_id", "task_id", "case_id",
             "test_id", "prompt_id", "instance_id", "problem_id", "query_id", "uid", "idx", "index", "case", "row_id",
             "global_seg_id", "seg_id", "segment_id", "frage_id", "aufgabe", "nr", "no", "number", "lfd_nr", "ticket",
             "frage_no", "id_pregunta", "identifiant", "identificador", "numero", "itemid", "item_no", "question_no",
             "question_number", "question_nr", "n_question", "numero_question", "num_pregunta", "aufgaben_nr",
             "aufgabennummer", "frage_nr", "ticket_id"),
    "condition": ("condition", "model", "model_name", "model_id", "system", "variant", "arm", "llm", "provider",
                  "engine", "candidate", "agent",
                  "assistant", "bot", "build", "branch", "method", "release", "retriever", "setup", "config",
                  "configuration", "experiment", "pipeline", "version", "prompt_name",
                  "prompt_version", "modell", "modele", "modelo", "variante", "systeme", "sistema",
                  "sprachmodell", "sys", "model_identifier", "checkpoint", "run_name", "experiment_name",
                  "pipeline_name"),
    "score": ("correct", "is_correct", "score", "grade", "passed", "acc", "exact_match", "correctness", "pass",
              "success", "em", "overall", "overall_score",
              "accuracy", "rating", "result", "outcome", "f1", "reward", "points", "mark", "value",
              "richtig", "korrekt", "punktzahl", "punkte", "bewertung", "juste", "reussi", "correcto", "correcta",
              "acierto", "puntuacion", "puntaje",
              "answer_correctness", "factual_correctness", "faithfulness", "answer_relevancy", "context_precision",
              "context_recall", "mqm_avg_score", "mqm_score", "mqm",
              "resolved", "is_resolved", "solved", "is_solved", "thumb", "thumbs",
              "acc_norm", "helpfulness", "relevance", "coherence", "fluency", "groundedness", "completeness",
              "conciseness", "clarity", "quality", "similarity", "ok",
              "harmlessness", "honesty", "readability", "satisfaction", "bleu", "rouge",
              "rouge_l", "chrf", "comet", "meteor", "bertscore", "precision", "recall", "mrr", "ndcg",
              *LOWER),
    "severity": ("severity",),
    "confidence": ("confidence", "certainty", "p_correct"),
    "draw": ("draw", "epoch", "trial", "repeat", "repetition", "attempt", "try", "attempt_no",
             "attempt_number", "replicate", "sample", "k", "iteration"),
    "run": ("run", "run_id", "seed"),
    "group": ("group", "passage", "cluster", "passage_id", "cluster_id", "document", "group_id", "template", "speaker",
              "speaker_id", "conversation", "conversation_id", "dialogue", "dialog_id", "patient", "patient_id",
              "article", "paragraph", "story", "session", "session_id", "doc", "document_id", "source", "source_id",
              "template_id", "prompt_template", "author", "author_id", "user", "user_id", "userid", "customer",
              "customer_id", "participant", "participant_id", "visitor_id", "subject_id", "thread", "thread_id",
              "batch", "batch_id", "annotation_batch", "label_batch", "labeling_batch"),
    "group_2": ("group_2",),
    "domain": ("domain", "subject", "category", "topic", "subtask", "task", "dataset", "benchmark", "split", "subset",
               "suite", "suite_name"),
    "tier": ("tier", "difficulty", "level"),
    "weight": ("weight", "w", "weights", "sample_weight", "item_weight", "importance"),
    "text": ("answer", "response", "output", "prediction", "completion", "generation", "model_answer", "model_output",
             "pred", "y_pred", "predicted_label", "predicted",
             "text", "outputs", "generated_answer", "generated_text", "model_response", "samples",
             "generations", "responses", "completions", "predictions", "generated_answers", "antwort", "reponse",
             "respuesta"),
    "reference": ("reference", "target", "gold", "gold_answer", "expected", "expected_output", "ground_truth", "ideal",
                  "reference_answer", "expected_answer", "correct_answer", "right_answer", "answer_key", "solution",
                  "references", "gold_answers", "gold_label", "true_label", "actual_label", "y_true", "actual", "label",
                  "truth"),
    "prompt": ("prompt", "question", "input", "query", "instruction", "user_input", "inputs", "frage", "pregunta",
               "enonce"),
    "error": ("error", "error_message", "exception", "failure"),
    "refused": ("refused", "refusal", "is_refusal"),
    "rater": ("rater", "annotator", "judge", "reviewer", "rated_by", "grader", "labeler", "bewerter", "korrektor",
              "evaluateur", "correcteur", "evaluador", "traductor", "revisor"),
    "kind": ("kind", "rater_kind"),
    "mechanism": ("mechanism",),
    "reason": ("reason", "rationale"),
    "graded_by": ("graded_by", "judged_by", "judge_model", "grader_model", "scorer_model", "evaluator_model"),
    "inclusion": ("inclusion", "inclusion_probability", "sampling_probability"),
    "layer": ("stratum", "layer", "strata", "label_stratum"),
    "tokens_in": ("tokens_in", "prompt_tokens", "input_tokens"),
    "tokens_out": ("tokens_out", "completion_tokens", "output_tokens", "length"),
    "money_usd": ("money_usd", "cost", "cost_usd", "total_cost", "price"),
    "latency_s": ("latency_s", "latency", "duration", "duration_s", "time_s", "seconds", "latency_seconds",
                  "duration_seconds", "response_time", "latency_ms", "duration_ms", "time_ms", "response_time_ms"),
    "steps": ("steps",),
    "failed_calls": ("failed_calls",),
    "finish": ("finish", "finish_reason", "stop_reason"),
    "clustered_by": ("clustered_by",),
    "human_cluster": ("human_cluster", "corrected_cluster", "cluster_corrected"),
    "token_probability": ("token_probability",),
    "shown_first": ("shown_first",),
    "human": ("human", "human_correct", "human_grade"),
    "human_severity": ("human_severity", "severity_human"),
}  # fmt: skip
# scores of one answer by several criteria, of which none is likelier than another to be the main one
CRITERIA = _set(
    "faithfulness answer_relevancy context_precision context_recall helpfulness relevance coherence fluency"
    " groundedness completeness conciseness clarity harmlessness honesty readability satisfaction quality"
)
# names that are acted on (docs/reference/columns.md lists them); of any other the role is proposed
LISTED: dict[str, frozenset[str]] = {
    "item": _set("item item_id id question_id doc_id test_case testcase qid sample_id example_id task_id"
                 " case_id test_id prompt_id"
                 " instance_id problem_id query_id uid question case ticket ticket_id nr no number lfd_nr frage"
                 " frage_id frage_nr frage_no id_pregunta pregunta identifiant n_question question_no question_nr"
                 " question_number"),
    "condition": _set("condition model model_name model_id system variant arm llm agent assistant bot build candidate"
                      " branch checkpoint config configuration engine experiment method pipeline prompt_name"
                      " prompt_version provider release retriever setup version modell"
                      " sprachmodell modele modelo systeme sistema variante"),
    "score": _set("correct is_correct score grade passed pass acc acc_norm accuracy exact_match em f1 correctness"
                  " success resolved is_resolved solved is_solved rating overall_score reward answer_correctness"
                  " factual_correctness faithfulness answer_relevancy context_precision context_recall helpfulness"
                  " relevance coherence fluency groundedness completeness conciseness clarity harmlessness honesty"
                  " readability satisfaction bleu rouge rouge_l chrf comet meteor bertscore precision recall mrr ndcg"
                  " quality similarity ok richtig korrekt punktzahl punkte correcto correcta puntuacion puntaje"
                  " wer cer ter toxicity"),
    "severity": _set("severity"),
    "confidence": _set("confidence"),
    "human_severity": _set("human_severity severity_human human"),
    "draw": _set("draw epoch repeat attempt trial repetition replicate"),
    "run": _set("seed"),
    "rater": _set("rater annotator judge reviewer grader"),
    "text": _set("answer response output prediction completion generation"),
    "reference": _set("reference target gold expected ground_truth ideal reference_answer expected_answer"
                      " correct_answer"),
}  # fmt: skip
# of these names a column is a score where every cell is a word for right or wrong: a 0 may well be good
WORDED = _set("verdict result outcome status judgement judgment label ergebnis resultat resultado urteil")
# of these a column names the items where no other does and every grade is right or wrong: else it may be a category
BARE_ITEMS = _set("task sample example problem instance query test")
# of these a column names conditions where it has several values: one value may be anything
VARYING = LISTED["condition"] - _set("condition model model_name model_id system variant arm llm")
_FIELD_OF = {name: field for field, names in FIELDS.items() for name in names}


# a range at the end of a name: (0-20), [1 to 5], (out of 10), out of 10, (%)
_RANGE = re.compile(
    r"[\s_]*[(\[]\s*(?:scale\s*)?(-?\d+)\s*(?:-|–|—|to|bis|\.\.|:|/)\s*(\d+)\s*(?:points?|pts|punkte)?\s*[)\]]\s*$"
    r"|[\s_]*[(\[]\s*(?:/|out of|max\.?|von|sur)\s*(\d+)\s*[)\]]\s*$|[\s_]+(?:/|out[ _]of|von|sur)[\s_]*(\d+)\s*$"
    r"|[\s_]*[(\[]\s*(?:in )?(%)\s*[)\]]\s*$|[\s_]*[(\[]\s*-?\d+\s*[=:][^()]*[)\]]\s*$",
    re.IGNORECASE,
)
_LEGEND = re.compile(r"(-?\d+)\s*[=:]\s*([^,;/|=]*[^,;/|=\d\s)\]])")  # 1 = very good, 6 = insufficient
_GOOD = _set("best good excellent perfect gut beste ausgezeichnet bon meilleur bueno mejor")
_BAD = _set("worst bad poor terrible awful severe critical catastrophic schlecht ungenugend mangelhaft mauvais pire"
            " malo peor")  # fmt: skip


_NUMBER_SIGN = re.compile(r"\s*(?:n\s?[°º]\.?|№|#)\s*", re.IGNORECASE)  # a column of numbers of questions


def _range(name: str) -> re.Match[str] | None:
    """The range at the end of a name: looked for in its last characters, since a cell may be as long as a file."""
    return _RANGE.search(name, max(len(name) - 500, 0))


def _without_range(column: str) -> str:
    name = column.strip()
    match = _range(name)
    return name if match is None else name[: match.start()].strip() or name


def plain_name(column: str) -> str:
    """`Question ID`, `questionId` and `question-id` are one name, `Modèle` and `modele` too."""
    apart = unicodedata.normalize("NFD", _without_range(column))
    bare = unicodedata.normalize("NFC", re.sub("[\u0300-\u036f]", "", apart))  # accents, and no part of a letter
    if _NUMBER_SIGN.fullmatch(bare):
        return "nr"
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", re.sub(r"[?#°º*:!]", "", bare).strip())
    return re.sub(r"[\s\-./]+", "_", spaced).lower().strip("_")


def leaf_name(column: str) -> str:
    """The last part of a name that others nest: `metrics.acc` and `exact_match/score` end in `acc` and `score`."""
    return plain_name(re.split(r"[./]", _without_range(column).rstrip("./"))[-1])


def stated_range(column: str) -> tuple[float, float] | None:
    """The range that a name states: `Total (0-20)`, `score out of 10`, `Punkte (von 4)`; None where it states none."""
    match = _range(column.strip())
    if match and match[5]:
        return 0.0, 100.0
    if len(ends := _ends(column)) > 1:
        return min(ends), max(ends)
    end = match and (match[2] or match[3] or match[4])
    low, high = (float(match[1] or 0), float(end)) if match and end else (0.0, 0.0)
    return (low, high) if low < high else None


def _ends(name: str) -> dict[float, int]:
    """The numbers that a name explains in a bracket at its end, and whether each is good (1), bad (-1) or neither."""
    match = _range(name.strip())
    words_by_end = {
        float(at): {*plain_name(word).split("_")} for at, word in _LEGEND.findall(match[0] if match else "")
    }
    return {at: bool(words & _GOOD) - bool(words & _BAD) for at, words in words_by_end.items()}


# amounts, of which there is no most
_AMOUNTS = _set(
    "latency duration delay elapsed time second sec ms millisecond minute cost price usd dollar euro token word char"
    " character length len step turn call hop dauer kosten preis zeit duree cout tiempo coste prix"
)


_LOSSES = _set("nll loss losses perplexity ppl rmse mse mae")


def _words(plain: str) -> set[str]:
    return {w for word in plain.split("_") for w in (word, word.removesuffix("s"))}


def has_no_end(name: str) -> bool:
    """Whether a name says that its numbers are an amount (time, money, tokens, a length), which has no usual scale."""
    words = _words(plain_name(re.sub(r"[()\[\]]", " ", name)))
    return bool(words & _AMOUNTS) and not words & (HINTS["score"] | {"rate", "ratio", "share", "percent", "efficiency"})


def has_no_top(name: str) -> bool:
    """Whether a name says that its numbers have no usual scale: an amount, or a loss that has no worst value."""
    return has_no_end(name) or bool(_words(plain_name(name)) & _LOSSES)


def less_is_better(name: str) -> bool:
    """Whether a score's name says that less of it is better: `toxicity`, `n_errors`, `failed`, not `pass_fail`.

    Refusing is good of an attack (`attack_refused`) and bad where it is said to be so (`over_refusal`). What a name
    explains goes before its words: `mark (1 = very good, 6 = insufficient)`.
    """
    ends = _ends(name)
    if any(ends.values()):
        middle = (min(ends) + max(ends)) / 2
        return sum(good * (at - middle if len(ends) > 1 else -1) for at, good in ends.items()) < 0
    plain = plain_name(name)
    words = _words(plain)
    if words & {"refusal", "refused"} and words & {"over", "false", "falsely", "wrong", "wrongly"}:
        return True
    fast = re.search(r"per_(?:s|sec|second|minute|hour)$", plain)  # tokens and calls
    otherwise = {w for word in plain.split("_") if word not in LESS for w in _words(word)} & UNLESS
    less = words & (LESS | {"refusal", "refused"} if _REFUSED.issuperset(plain.split("_")) else LESS)
    return plain in LOWER or (bool(less) and not (otherwise - less) and not fast)


def is_listed(field: str, column: str) -> bool:
    """Whether a column's name is one of those that are acted on for this field."""
    names = LISTED.get(field, FIELDS[field])
    return plain_name(column) in names or leaf_name(column) in names


def known_fields(columns: Iterable[str]) -> set[str]:
    """The fields that these columns are known as."""
    return {field for c in columns for n in (plain_name(c), leaf_name(c)) if (field := _FIELD_OF.get(n)) is not None}


# fields, and words in names, of what changes a claim though it is no result: who belongs together, who graded, ...
_BEARING = {"group", "group_2", "weight", "layer", "inclusion", "rater", "graded_by", "run", "confidence", "human",
            "human_severity"}  # fmt: skip
_BEARING_WORDS = _set("group cluster weight stratum strata inclusion propensity probability prob rater judge annotator"
                      " grader labeler labeller reviewer run seed human gold confidence certainty")  # fmt: skip
_REMARKS = _set("comment reason reasoning rationale explanation justification text note feedback prompt answer response"
             " output url link email time date duration latency cost token")  # fmt: skip


def bears_on_claims(name: str) -> bool:
    """Whether a name is that of a grouping, weight, stratum, chance, rater, run, human label or confidence."""
    words = _words(plain_name(name))
    named = bool(words & _BEARING_WORDS) and not words & _REMARKS
    return named or bool(known_fields([name]) & _BEARING)


# words that a name holds where it is none of the above: they settle what the cells leave open, and no more
HINTS: dict[str, frozenset[str]] = {
    "item": _set(
        "id item question example case task ticket sample prompt instance problem query uid uuid key"
        " number no nr num frage aufgabe fall testfall cas caso codigo pregunta identifiant numero"
    ),
    "condition": _set(
        "model system bot chatbot assistant variant version candidate llm configuration config setup agent"
        " engine provider arm prompt experiment pipeline modell sprachmodell variante modele systeme moteur modelo"
        " sistema"
    ),
    "score": _set(
        "score grade rating verdict result correct correcte hit right ok acceptable accepted pass passed success label"
        " quality mark points outcome correctness accuracy acc judgement judgment evaluation graded"
        " richtig korrekt bewertung punkte ergebnis note urteil resultat reussi juste correcto correcta"
        " resultado acierto valoracion puntuacion nota resolved solved gelost resolu resuelto"
    ),
    # numbers beside a grade that are none
    "other": _set(
        "retries attempts latency token cost time timestamp date duration second seconds sec ms length len char word"
        " price usd seed temperature page elapsed year lead count rank ranking vote index created updated started"
        " ended finished confidence probability prob logprob size step turn age n total"
        " created_at completed difficulty difficult hardness hard easy complexity level tier priority importance hops"
        " options hash sha commit chapter fold urgency schwierigkeit difficulte dificultad"
    ),
    # measures of which a table has several for one answer
    "metric": _set(
        "ndcg mrr chrf meteor comet bleurt satisfaction csat nps trust appropriateness"
        " fluency relevance coherence helpfulness clarity safety groundedness faithfulness toxicity bleu"
        " rouge bertscore similarity f1 em precision recall completeness conciseness style tone"
        " harmlessness honesty consistency informativeness readability adequacy accuracy correctness"
        " factuality bias politeness empathy usefulness depth creativity verbosity hallucination"
        " instruction quality overall score rating"
    ),
}


def hinted_fields(column: str) -> set[str]:
    """The roles that a word of the name speaks for: item, condition, score, metric, or another number."""
    leaf = re.split(r"\.(?=\S)", column.strip())[-1]  # of a nested name the last part
    plain = plain_name(re.sub(r"[()\[\]{},;|]", " ", leaf))
    words = _words(plain)
    found = {
        role for role, known in HINTS.items()
        if words & known or any(not word.isascii() and word in plain for word in known)
    }  # fmt: skip
    if re.match(r"\s*(n\s?[°º.]|№|#)|.*#\s*$", column, re.IGNORECASE):
        return found - {"other"} | {"item"}
    if not re.match(r"(n|num|nb|count|number_of)_\w+s$", plain):
        return found
    faults = less_is_better(plain) and not has_no_end(plain)
    return found - {"other"} if "score" in found or faults else {"other"}


PEOPLE = _set(
    "human person people expert crowd annotator rater reviewer labeler labeller assessor bewerter gutachter"
    " dr prof frau herr mme sra"
)
JUDGES = _set("judge autograder grader evaluator auto automatic")


_FIRST = _set("first second third 1st 2nd 3rd primary secondary erster zweiter")


class RaterName(NamedTuple):
    """The word that says that somebody rates, and which one; both are empty where there is none."""

    word: str = ""
    which: str = ""


def rater_of(column: str) -> RaterName:
    """Who rates by the name of a column: `rater` and `1` of `Rater 1` or `rater1_score`."""
    words = re.sub(r"(?<=[a-z])(?=\d)", "_", plain_name(re.sub(r"[()\[\]]", " ", column))).split("_")
    words = words[words[0] in ("llm", "ai", "model") and len(words) > 1 :]
    at = next((k for k, word in enumerate(words) if word in PEOPLE | JUDGES), len(words) - 1)
    if at == 1 and words[0] in _FIRST:
        words = [words[1], words[0], *words[2:]]
        at = 0
    if words[at] not in PEOPLE | JUDGES or (at > 0 and words[0] not in HINTS["score"]):
        return RaterName()
    while words[at + 1 :] and words[-1] in HINTS["score"]:
        words.pop()
    return RaterName() if len(words) > at + 2 else RaterName(words[at], "".join(words[at + 1 :]))
