"""The sentence of every figure: what it shows, then the number that stands out. Nothing here draws."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from richter.claims import METRICS
from richter.records import at_most
from richter.words._numbers import among, count, name, number, percent, signed

Found = Mapping[str, Any]
Row = dict[str, Any]
CATASTROPHIC = METRICS["catastrophic_rate"].at or 3.0
MILLION = 1e6
FEW_ERRORS = 10  # below, a curve shows the luck of single answers
FEW_A_CELL = 4
GATES = {
    "G1": "equal mean",
    "G2": "equal tail mean",
    "G3": "enough exceedances",
    "G4": "the law fits",
    "G5": "the shape is stable",
    "P1": "intervals apart",
    "P2": "difference worth a claim",
}


# ---- floors ------------------------------------------------------------------------------------------------------


def describe_differences_figure(rows: Sequence[Row]) -> str:
    """How many differences lie on one side of zero, how many could be seen, and what the costliest takes."""
    one_sided = [r for r in rows if r["low"] is not None and (r["low"] > 0 or r["high"] < 0)]
    seen = [r for r in rows if r["visible"] is not None and abs(r["delta"]) >= r["visible"]]
    needed = [r for r in rows if isinstance(r["labels_needed"], int | float) and r["labels_needed"] > 0]
    sentence = (
        f"Every difference between two conditions with its interval, green where the first named is better, red where "
        f"it is worse, grey where neither was shown. {count(len(one_sided), 'of the intervals', 'of the intervals')} "
        f"out of {len(rows)} {'lies' if len(one_sided) == 1 else 'lie'} wholly on one side of zero; {len(seen)} "
        f"{'is' if len(seen) == 1 else 'are'} as large as these items can show with 80% power."
    )
    if needed:
        most = max(needed, key=lambda r: r["labels_needed"])
        sentence += (
            f" The most expensive to settle is {most['pair']} on {most['measure'].split(' (')[0]}: "
            f"{count(most['labels_needed'], most['unit'])}."
        )
    return sentence


def describe_sets(groups: Sequence[Sequence[str]], n_conditions: int, noun: str) -> str:
    """Which conditions cannot be told apart."""
    together = [g for g in groups if len(g) > 1]
    if not together:
        return f"Every one of the {count(n_conditions, 'condition')} can be told from every other on {noun}."
    return (
        f"Conditions joined by a bar cannot be told apart on {noun}: {count(len(groups), 'set')} of "
        f"{count(n_conditions, 'condition')}; the largest holds {among(max(together, key=len))}."
    )


def describe_flips(rows: Sequence[Row], more: str) -> str:
    """How many items one condition has right and the other wrong."""
    if len({r["pair"] for r in rows}) == 1:
        fixed, broken = (r["items"] for r in rows)
        return (
            f"{count(fixed, 'item')} got right and {count(broken, 'item')} got wrong from {rows[0]['condition']} to "
            f"{rows[0]['other']}; a small net change may hide many of both."
        )
    most = max(rows, key=lambda r: r["items"])
    return (
        f"Items that one condition has wrong and the other right; a small net gain may hide many of both. The most "
        f"are {count(most['items'], 'item')} {most['change']} from {most['condition']} to {most['other']}.{more}"
    )


# ---- severity ----------------------------------------------------------------------------------------------------


def describe_curve(rows: Sequence[Row], conditions: Found) -> str:
    """Whether the fitted law describes the errors, and whose slope is the flattest."""
    errors = sum(r["count"] or 0 for r in rows)
    if errors < FEW_ERRORS:
        return f"There are {number(errors)} errors: too few to draw how often each severity comes."
    slopes = {c: found.get("slope") or {} for c, found in conditions.items()}
    known = {c: s["b"] for c, s in slopes.items() if isinstance(s.get("b"), int | float) and s.get("adequate")}
    sentence = "Points are the share of answers at least that severe, lines the fitted law above its m_min."
    if not known:
        return f"{sentence} It is adequate for no condition, or there are too few errors to say: read the points."
    flattest = min(known, key=lambda c: known[c])
    few = f"{len(known)} of {len(conditions)} conditions" if len(conditions) > 1 else "this condition"
    steepest = f" against {number(max(known.values()))} for the steepest." if len(known) > 1 else "."
    return (
        f"{sentence} It describes the errors of {few}: the flatter, the heavier. {name(flattest)} has the flattest, "
        f"with a slope b of {number(known[flattest])}{steepest}"
    )


def describe_rates_figure(rows: Sequence[Row], level: float) -> str:
    """How often severe answers are to be expected in a million, and for whom most."""
    sentence = (
        f"How often an answer of at least each severity is to be expected in a million, with {number(100 * level)}% "
        "intervals."
    )
    worst = [r for r in rows if r["severity"] == CATASTROPHIC]
    if not worst:
        return sentence
    top = max(worst, key=lambda r: (r["per_million"] or 0.0, r["upper"] or 0.0))  # None where none was seen
    if top["per_million"]:
        most = f"the most is {number(top['per_million'])} for {top['condition']}"
        most += f" [{number(top['low'])}, {number(top['high'])}]"
    else:
        most = f"none was seen, which allows at most {at_most(top['upper'] or MILLION)} for {top['condition']}"
    return f"{sentence} At severity {CATASTROPHIC:g} and above {most}."


def describe_heatmap(rows: Sequence[Row], *, has_enough: bool) -> str:
    """The worst cell of domain and tier."""
    if not has_enough:
        return f"Most cells of domain and tier hold fewer than {FEW_A_CELL} answers: too few to compare them."
    enough = [r for r in rows if r["n"] >= FEW_A_CELL and r["mean_severity"] is not None]
    worst = max(enough, key=lambda r: r["mean_severity"] or 0.0)
    return (
        f"Mean severity by domain and tier (1 easy, 5 hard); darker on white, brighter on black, is worse. The worst "
        f"cell is {worst['domain']}, tier {worst['tier']}, of {worst['condition']}: mean severity "
        f"{number(worst['mean_severity'])}, {percent(worst['error_rate'])} of {number(worst['n'])} answers wrong."
    )


def describe_mechanisms(totals: Counter[str], ranked: Sequence[str]) -> str:
    """The mechanisms by how many errors they account for."""
    share = percent(totals[ranked[0]] / totals.total())
    rest = f", then {among(ranked[1:])}." if len(ranked) > 1 else "."
    return (
        f"Errors by what went wrong, coloured by severity: {ranked[0]} accounts for {share} of "
        f"{number(totals.total())} errors{rest}"
    )


def describe_families(rows: Sequence[Row]) -> str:
    """How often the best law is decisive, and which is best most often."""
    best = [r for r in rows if r["best"]]
    decided = [r for r in best if r["decisive"]]
    return (
        f"How much worse each law fits than the best, by BIC (0 is best, over 10 is strong), is in the table. The "
        f"best law is decisive, and describes the errors, for {len(decided)} of {len(best)} "
        + ("condition" if len(best) == 1 else "conditions")
        + f"; most often best: {Counter(r['family'] for r in best).most_common(1)[0][0]}."
    )


# ---- tail --------------------------------------------------------------------------------------------------------


def describe_gates(pairs: Sequence[Found], gates: Sequence[str]) -> str:
    """How many pairs are verified, and which gate most often fails first."""
    verified = [p for p in pairs if p.get("verdict") == "verified"]
    blocked = [p["blocked_by"] for p in pairs if p.get("blocked_by")]
    verb = "are verified" if len(pairs) > 1 else "pair is verified" if verified else "is verified"
    often = max(sorted(set(blocked)), key=blocked.count) if blocked else ""
    first = f"; most often the first gate to fail is {often} ({GATES.get(often, often)})" if blocked else ""
    return (
        f"Which gates each pair passed on the way to a claim about its tails: {len(verified)} of {len(pairs)} {verb}"
        f"{first}. {'; '.join(f'{g} {GATES[g]}' for g in gates)}."
    )


def describe_stability(column: Any, q: Any) -> str:
    """What a stable shape looks like, and where the protocol's threshold lies."""
    return (
        f"The fitted shape ξ of {name(column or 'the score')} as the threshold rises, with its 95% "
        "interval: a tail that follows the law keeps its shape."
        + (f" The protocol's threshold is at q = {number(q)}." if q else "")
    )


def describe_excesses(rows: Sequence[Row]) -> str:
    """The excess that lies furthest from the fitted law."""
    off = max(rows, key=lambda r: abs(r["observed"] - r["model"]))
    return (
        f"Excesses over the threshold against those of the fitted law, {count(len(rows), 'point')}: on the dashed "
        f"line the law is right. The furthest from it is {off['condition']}, {number(off['observed'])} where the "
        f"law expects {number(off['model'])}."
    )


# ---- judges ------------------------------------------------------------------------------------------------------


def describe_agreement(rows: Sequence[Row], accepted: float) -> str:
    """Krippendorff's alpha, else the first statistic, with its interval."""
    alpha = next((r for r in rows if r["statistic"] == "Krippendorff's alpha"), rows[0])
    return (
        f"Agreement within each kind of rating, with 95% intervals: {alpha['statistic']} of the {alpha['kind']} "
        f"ratings is {number(alpha['estimate'])} [{number(alpha['low'])}, {number(alpha['high'])}]; the dashed "
        f"line is {accepted}, under which Krippendorff advises against conclusions."
    )


def describe_leniency(rows: Sequence[Row]) -> str:
    """The most lenient and the strictest judge."""
    strict, mild = max(rows, key=lambda r: r["estimate"]), min(rows, key=lambda r: r["estimate"])
    return (
        f"How much higher or lower each judge rates the same answers than the judges' mean: {mild['judge']} is the "
        f"most lenient ({signed(mild['estimate'])}), {strict['judge']} the strictest "
        f"({signed(strict['estimate'])})."
    )


def describe_biases(rows: Sequence[Row]) -> str:
    """The largest bias of a judge."""
    largest = max(rows, key=lambda r: abs(r["estimate"]))
    sides = {"length": "longer answers", "formatting": "formatted answers", "family": "its own family's answers"}
    return (
        f"What a judge's grades depend on among equally correct answers: {largest['judge']} passes "
        f"{sides[largest['kind']]} {signed(largest['estimate'])} points more often."
    )


def describe_overcall(rows: Sequence[Row], reference: Any) -> str:
    """The judge that overcalls most."""
    worst = max(rows, key=lambda r: r["estimate"])
    return (
        f"Of the answers that a judge scored 2, the share that the {name(reference or 'reference')} "
        f"ratings score 0.5 or less: most for {worst['judge']}, {percent(worst['estimate'])} of "
        f"{number(worst['n'])} [{percent(worst['low'])}, {percent(worst['high'])}]."
    )


def describe_screening(row: Row) -> str:
    """What one judge finds at one severity."""
    return (
        f"At each severity: the share of such answers that a judge finds, of the others that it clears, and of its "
        f"calls that are right. {row['judge']} finds {percent(row['estimate'])} of {number(row['n'])} at "
        f"severity {number(row['threshold'])} and over."
    )


# ---- calibration -------------------------------------------------------------------------------------------------


def describe_reliability(studies: Sequence[tuple[str, str, Found]], *, has_enough: bool) -> str:
    """Whose confidence is furthest off."""
    sentence = (
        "How often answers are right at each confidence; on the dashed line the model is calibrated, below it "
        "overconfident."
    )
    known = [(c, source, f["debiased"]) for c, source, f in studies if isinstance(f.get("debiased"), int | float)]
    if known:
        worst = max(known, key=lambda k: k[2])
        sentence += f" The furthest off is {worst[0]} ({worst[1]}): debiased ECE {number(worst[2])}."
    return sentence if has_enough else f"{sentence} There are too few answers to draw it."


def describe_phase(rows: Sequence[Row]) -> str:
    """The fewest labels that show miscalibration in four of five parts."""
    reached = [r for r in rows if r["shown"] >= 0.8]
    sentence = "How often parts of the grades show that the model is miscalibrated."
    if not reached:
        return sentence
    least = min(reached, key=lambda r: r["n"])
    return f"{sentence} For {least['condition']} {count(least['n'], 'label')} show it in four of five parts."


def describe_coverage(conditions: Found) -> str:
    """From which confidence the first condition that has a safe threshold may answer alone."""
    safe = [(name(c), f["safe"]) for c, f in conditions.items() if (f.get("safe") or {}).get("threshold") is not None]
    sentence = "How often answers are wrong when only the most confident are given alone."
    if not safe:
        return sentence
    first, found = safe[0]
    return (
        f"{sentence} {first} may answer alone from a confidence of {number(found['threshold'])} on, with under "
        f"{percent(found['target'])} wrong."
    )


def describe_groups(rows: Sequence[Row]) -> str:
    """The group of which least is known."""
    widest = max(rows, key=lambda r: r["high"] - r["low"])
    return (
        f"Calibration error of each group with its interval, alone and drawn towards the others as far as noise "
        f"explains (pooled). Least is known of {widest['group']}: {count(widest['n'], 'item')}."
    )


def describe_margins(rows: Sequence[Row]) -> str:
    """By how much the two estimators differ where a race is close and where it is clear."""
    first = rows[0]["condition"]
    own = [r for r in rows if r["condition"] == first]
    close, clear = (abs(pair[0]["ece"] - pair[1]["ece"]) for pair in (own[:2], own[-2:]))
    return (
        f"The calibration error by all draws (Sem1) and by held-out halves (Sem2) of questions by how far their "
        f"commonest answer leads: for {first} they differ by {number(close)} where the race is closest and by "
        f"{number(clear)} where one answer clearly leads."
    )


def describe_regimes(rows: Sequence[Row], clear: str) -> str:
    """How many questions are close races, and how many are wrong though one answer leads clearly."""
    total = sum(r["questions"] for r in rows)
    close = sum(r["questions"] for r in rows if r["regime"] != clear)
    sure_wrong = sum(r["questions"] for r in rows if r["answer"] == "wrong" and r["regime"] == clear)
    return (
        f"Each question by how far its commonest answer leads: {percent(close / total)} of "
        f"{count(total, 'question')} are close, where agreement with itself flatters the model; "
        f"{number(sure_wrong)} {'is' if sure_wrong == 1 else 'are'} wrong though one answer clearly leads."
    )


# ---- search ------------------------------------------------------------------------------------------------------


def describe_steps(label: str, search: Found) -> str:
    """How many errors a search found, and what its random sample says of the paragraphs it could draw."""
    population = search.get("population") or {}
    sentence = (
        f"The share of wrong answers at each step (points) and over all steps (line). {label} found "
        f"{count(search.get('errors_found'), 'error')} in {count(search.get('answers'), 'answer')}"
    )
    if population.get("error_rate") is not None:
        about = (
            "all paragraphs" if (search.get("frame") or {}).get("kind") == "all" else "the paragraphs with questions"
        )
        sentence += (
            f"; of {about} {percent(population['error_rate'])} is wrong by its random sample "
            f"(dashed, n = {number(population.get('n'))}), of which the steps say nothing"
        )
    for recall in ((search.get("base") or {}).get("index") or {}).get("recall", ())[:1]:
        sentence += (
            f". Neighbours come from a disk index that finds {percent(recall['recall'])} of the exact "
            f"{number(recall['k'])}, measured on {number(recall['queries'])} random paragraphs"
        )
    return sentence + "."


def describe_failing(rows: Sequence[Row], searches: Sequence[Found]) -> str:
    """How many questions fail, in which modes, with one as an example."""
    total = sum(search.get("n_failing") or 0 for search in searches)
    counts = Counter(r["mode"] for r in rows)
    commonest = [f"{mode or 'no category'} ({number(n)})" for mode, n in counts.most_common(3)]
    checks = [search["keys"] for search in searches if search.get("keys")]
    bad_keys = "".join(
        f" People found {number(c['bad'])} of {number(c['n'])} generated keys bad ({percent(c['share'])} "
        f"[{percent(c['interval']['low'])}, {percent(c['interval']['high'])}])."
        for c in checks[:1]
    )
    return (
        f"{count(total, 'different question')} answered wrongly and not right in other words, in "
        f"{count(len(counts), 'mode')}: most in {among(commonest)}. For example: {rows[0]['question']} Answered: "
        f"{rows[0]['answered']}; right: {rows[0]['right']}.{bad_keys} "
        + (f"The first {number(len(rows))} are listed; " if total > len(rows) else "")
        + "`richter search export` writes them as a set."
    )


def describe_map(rows: Sequence[Row], ranked: Sequence[str], *, has_shared_places: bool) -> str:
    """How many paragraphs fail and pass, and on what most fail."""
    counts = Counter(row["category"] for row in rows if row["fails"])
    passing = len(rows) - counts.total()
    return (
        f"{count(counts.total(), 'failing paragraph')} and {number(passing)} that "
        f"{'pass' if passing != 1 else 'passes'}, near each other where they are near in meaning; the axes have no "
        f"unit{', and a paragraph lies at the same place in every search of a base' if has_shared_places else ''}. "
        f"Most failing ones are on {ranked[0]} ({number(counts[ranked[0]])})"
        + (f", then {among(ranked[1:])}." if len(ranked) > 1 else ".")
    )


def describe_patterns(rows: Sequence[Row]) -> str:
    """The first group that fails more often than the rest."""
    top = rows[0]
    return (
        f"Groups that fail more often (dot) than the rest (start of the line) in what was asked about: "
        f"{top['group']} is wrong in {percent(top['error'])} of {count(top['paragraphs'], 'paragraph')} against "
        f"{percent(top['low'])}."
    )


def describe_categories(rows: Sequence[Row]) -> str:
    """The error rate of the category that was sampled most."""
    first = rows[0]
    return (
        f"From the random sample alone, with 95% intervals, the most sampled first: {first['category']} "
        f"{percent(first['error'])} [{percent(first['low'])}, {percent(first['high'])}] from "
        f"{count(first['drawn'], 'paragraph')}."
    )
