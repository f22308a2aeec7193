"""What every figure says: its finding, which heads it, and how to read it. Nothing here draws."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from richter.claims import METRICS
from richter.records import at_most
from richter.words._spans import among, count, describe_level, name, number, percent, signed

Found = Mapping[str, Any]
Row = dict[str, Any]
Says = tuple[str, str]  # the finding, and how to read the figure
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


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


# ---- differences -------------------------------------------------------------------------------------------------


def describe_difference(row: Row, level: str) -> Says:
    """Which way the difference of two goes, and what the marks are."""
    margin = "" if row["margin"] is None else " The band is the margin within which a difference does not matter."
    sides = {"better": "lies on the better side of zero", "worse": "lies on the worse side of zero"}
    finding = f"The {level} CI {sides.get(row['side'], 'holds differences on both sides of zero')}."
    if row["side"] == "alike":
        finding = f"The {level} CI lies within the margin."
    return finding, margin.strip()


def describe_ranking(
    groups: Sequence[Sequence[str]], names: Sequence[str], noun: str, *, control: Any, has_bars: bool, n_leaders: int
) -> Says:
    """Which models cannot be told apart, and what the marks are."""
    together, reading = [g for g in groups if len(g) > 1], []
    if 0 < n_leaders < len(names):
        reading.append(f"Blue: the {'best' if n_leaders == 1 else 'leaders'}.")
    if has_bars and len(names) > 2:
        reading.append("A bar beside the names joins those that are statistically indistinguishable.")
    if control:
        reading.append(f"The diamond and the dashed line are the baseline, {name(control)}.")
    return _describe_tiers(groups, together, names, noun), " ".join(reading)


def describe_drawn(drawn: Sequence[str], names: Sequence[str], *, most: int) -> str:
    """Which of many models a ranking draws beyond the best, each with its place; empty where it draws all."""
    if len(names) <= most:
        return ""
    more = [f"{name(who, limit=40)} (place {names.index(who) + 1})" for who in drawn[most:]]
    return f"{f' Beside them: {among(more)}.' if more else ''} All {len(names):,} models are under Numbers."


def describe_ranking_heading(noun: str, n_models: int, *, most: int, blocked_by: set[Any] | None) -> str:
    """What stands over a ranking: that its models are not compared, or which of many it has."""
    if blocked_by is not None:
        return f"{'Different questions' if blocked_by == {'shared'} else 'Not comparable'}: do not compare"
    return f"Top {most} of {n_models:,} by {noun}" if n_models > most else ""


def describe_with_levels(noun: str, levels: Sequence[str]) -> str:
    """An axis's title: the measure, and the levels of the intervals that are drawn on it."""
    return f"{noun}, with {' and '.join(levels)} CI" if levels else noun


def describe_rank_heading() -> str:
    """The head of a column of ranks."""
    return "possible rank"


def describe_severe_axis(level: float) -> str:
    """The title of an axis of severe errors."""
    return describe_with_levels(f"severity {CATASTROPHIC:g} or more (lower is better)", [describe_level(level)])


def _describe_tiers(
    groups: Sequence[Sequence[str]], together: Sequence[Sequence[str]], names: Sequence[str], noun: str
) -> str:
    """Which of all are statistically indistinguishable."""
    if len(names) < 2:
        return f"{_capital(noun)} of {among(names)}."
    if not groups:
        return f"No two of the {len(names)} could be compared on {noun}."
    if not together:
        return f"All {len(names)} differ on {noun}."
    largest = max(together, key=len)
    who = f"The {len(names)}" if len(largest) == len(names) else among(largest)
    return f"{_capital(who)} are statistically indistinguishable on {noun}."


def describe_differences_figure(rows: Sequence[Row]) -> Says:
    """How many differences lie on one side of zero, and what the costliest to settle takes."""
    one_sided = [r for r in rows if r["low"] is not None and (r["low"] > 0 or r["high"] < 0)]
    needed = [r for r in rows if isinstance(r["labels_needed"], int | float) and r["labels_needed"] > 0]
    verb = "lies" if len(one_sided) == 1 else "lie"
    finding = f"{len(one_sided)} of {count(len(rows), 'interval')} {verb} wholly on one side of zero."
    reading = "Each line is a difference (first minus second) with its CI. Green is better, red worse, grey neither."
    if needed:
        most = max(needed, key=lambda r: r["labels_needed"])
        measure, unit = most["measure"].split(" (")[0], "question" if most["unit"] == "item" else str(most["unit"])
        reading += f" {most['pair']} on {measure} takes most to settle: {count(most['labels_needed'], unit)}."
    return finding, reading


def describe_flips(rows: Sequence[Row], more: str) -> Says:
    """How many questions one has right and the other wrong."""
    reading = f"A small net change may hide many of both.{more}"
    if len({r["pair"] for r in rows}) == 1:
        fixed, broken = (r["items"] for r in rows)
        return (f"{rows[0]['condition']} → {rows[0]['other']}: {fixed:,} fixed, {broken:,} broken.", reading)
    most = max(rows, key=lambda r: r["items"])
    return (f"Most change: {most['items']:,} {most['change']} from {most['condition']} to {most['other']}.", reading)


# ---- severity ----------------------------------------------------------------------------------------------------


def describe_distribution(rows: Sequence[Row], severe: Mapping[str, float]) -> Says:
    """Who errs severely most and least often."""
    reading = f"Answers by severity (1 slight to 4 dangerous or made up). Numbers: {CATASTROPHIC:g} or more."
    if not severe or not any(severe.values()):
        return f"No answer has a severity of {CATASTROPHIC:g} or more.", reading
    most, least = max(severe, key=lambda c: severe[c]), min(severe, key=lambda c: severe[c])
    if len(severe) == 1:
        return f"{percent(severe[most])} of the answers of {most} are severe errors.", reading
    return (
        f"Severe errors: {percent(severe[least])} of answers for {least}, {percent(severe[most])} for {most}.",
        reading,
    )


def describe_curve(rows: Sequence[Row], conditions: Found) -> Says:
    """Whose fitted slope is the flattest, where the law describes the errors of somebody."""
    slopes = {c: found.get("slope") or {} for c, found in conditions.items()}
    known = {c: s["b"] for c, s in slopes.items() if isinstance(s.get("b"), int | float) and s.get("adequate")}
    reading = "Points are the share of answers at least that severe. Lines are the fitted law; flatter is heavier."
    if not known:
        return "The severity law is not adequate for any of them.", reading
    flattest = min(known, key=lambda c: known[c])
    if len(known) == 1:
        return f"The severity law fits {name(flattest)}: slope b = {number(known[flattest])}.", reading
    steepest = f"{number(max(known.values()))} for the steepest"
    return f"{name(flattest)} has the flattest slope, b = {number(known[flattest])} against {steepest}.", reading


def describe_rates_figure(rows: Sequence[Row], level: float) -> Says:
    """How often severe answers are to be expected in a million, and for whom most."""
    reading = f"Expected answers of at least each severity per million, with {number(100 * level)}% CI."
    worst = [r for r in rows if r["severity"] == CATASTROPHIC]
    if not worst:
        return "Severe answers per million.", reading
    top = max(worst, key=lambda r: (r["per_million"] or 0.0, r["upper"] or 0.0))  # None where none was seen
    if not top["per_million"]:
        most = at_most(top["upper"] or MILLION)
        return f"No severe answer was seen: at most {most} per million for {top['condition']}.", reading
    span = f"({number(100 * level)}% CI {number(top['low'])} to {number(top['high'])})"
    return f"{top['condition']} has most severe answers: {number(top['per_million'])} per million {span}.", reading


def describe_heatmap(rows: Sequence[Row], *, has_enough: bool) -> Says:
    """The worst cell of domain and tier."""
    if not has_enough:
        return f"Most cells of domain and tier hold fewer than {FEW_A_CELL} answers: too few to compare them.", ""
    enough = [r for r in rows if r["n"] >= FEW_A_CELL and r["mean_severity"] is not None]
    worst = max(enough, key=lambda r: r["mean_severity"] or 0.0)
    tier = "" if worst["tier"] == "–" else f", tier {worst['tier']},"
    return (
        f"{worst['condition']} is worst in {worst['domain']}{tier}: mean severity {number(worst['mean_severity'])}.",
        (
            f"Mean severity (0 right to 4) of at least {FEW_A_CELL} answers a cell. "
            f"In the worst cell {percent(worst['error_rate'])} of {number(worst['n'])} answers are wrong."
        ),
    )


def describe_mechanisms(totals: Counter[str], ranked: Sequence[str]) -> Says:
    """The mechanisms by how many errors they account for."""
    share = percent(totals[ranked[0]] / totals.total())
    rest = f" Then come {among(ranked[1:])}." if len(ranked) > 1 else ""
    return f"{_capital(ranked[0])} accounts for {share} of {count(totals.total(), 'error')}.{rest}", (
        "Errors by mechanism and severity."
    )


def describe_families(rows: Sequence[Row]) -> Says:
    """How often the best law is decisive, and which is best most often."""
    best = [r for r in rows if r["best"]]
    decided = [r for r in best if r["decisive"]]
    often = Counter(r["family"] for r in best).most_common(1)
    return (
        f"{_capital(often[0][0])} fits best for {often[0][1]} of {count(len(best), 'model')}; "
        f"decisive for {len(decided)}."
        if best
        else "No law could be fitted.",
        "Laws of severity compared by BIC: lower is better, and a lead of 10 decides.",
    )


# ---- tail --------------------------------------------------------------------------------------------------------


def describe_gates(pairs: Sequence[Found], gates: Sequence[str]) -> Says:
    """How many pairs show a difference in their tails, and which gate most often fails first."""
    shown = [p for p in pairs if p.get("verdict") == "verified"]
    blocked = [p["blocked_by"] for p in pairs if p.get("blocked_by")]
    often = max(sorted(set(blocked)), key=blocked.count) if blocked else ""
    first = f" Most often {often} fails first ({GATES.get(often, often)})." if blocked else ""
    return (
        (
            f"{len(shown)} of {count(len(pairs), 'pair')} {'shows' if len(shown) == 1 else 'show'} a difference in the "
            f"tails.{first}"
        ),
        f"Gates that a pair passes before a claim on its tails: {'; '.join(f'{g} {GATES[g]}' for g in gates)}.",
    )


def describe_stability(column: Any, q: Any) -> Says:
    """What a stable shape looks like, and where the protocol's threshold lies."""
    at = f" The protocol's threshold is at q = {number(q)}." if q else ""
    return (
        f"Shape ξ of {name(column or 'the score')} as the threshold rises.",
        f"A tail that follows the law keeps its shape. Bars are 95% CI.{at}",
    )


def describe_excesses(rows: Sequence[Row]) -> Says:
    """The excess that lies furthest from the fitted law."""
    off = max(rows, key=lambda r: abs(r["observed"] - r["model"]))
    return (
        f"Off the law most: {off['condition']}, {number(off['observed'])} where it expects {number(off['model'])}.",
        (
            f"Excesses over the threshold against the fitted law, {count(len(rows), 'point')}. "
            "On the dashed line the law is right."
        ),
    )


# ---- judges ------------------------------------------------------------------------------------------------------


def describe_agreement(rows: Sequence[Row], accepted: float) -> Says:
    """Krippendorff's alpha, else the first statistic, with its interval."""
    alpha = next((r for r in rows if r["statistic"] == "Krippendorff's alpha"), rows[0])
    span = f"(95% CI {number(alpha['low'])} to {number(alpha['high'])})"
    return (
        f"{_capital(alpha['statistic'])} of the {alpha['kind']} ratings is {number(alpha['estimate'])} {span}.",
        f"Agreement within each kind of rating. Under {accepted} (dashed) Krippendorff advises against conclusions.",
    )


def describe_leniency(rows: Sequence[Row]) -> Says:
    """The most lenient and the strictest judge."""
    strict, mild = max(rows, key=lambda r: r["estimate"]), min(rows, key=lambda r: r["estimate"])
    return (
        (
            f"{mild['judge']} is the most lenient ({signed(mild['estimate'])}), {strict['judge']} the strictest "
            f"({signed(strict['estimate'])})."
        ),
        "How much higher or lower each judge rates the same answers than the judges' mean.",
    )


def describe_against_labels(rows: Sequence[Row]) -> Says:
    """How far the judge that agrees least agrees with people."""
    least = min((r for r in rows if r["statistic"] == "agreement"), key=lambda r: r["estimate"])
    kappa = next(r for r in rows if (r["judge"], r["statistic"]) == (least["judge"], "kappa"))
    span = f"95% CI {kappa['low']:.2f} to {kappa['high']:.2f}"
    finding = f"{least['judge']} agrees with people on {percent(least['estimate'])} of the answers"
    reading = (
        f"{count(least['n'], 'label')}. Kappa and AC1 leave out agreement by chance. Sensitivity: the share of wrong "
        "answers that the judge finds. Specificity: the share of right ones that it passes."
    )
    return f"{finding} (kappa {kappa['estimate']:.2f}, {span}).", reading


def describe_biases(rows: Sequence[Row]) -> Says:
    """The largest bias of a judge that is shown; of none shown the largest one seen."""
    shown = [r for r in rows if r["low"] is not None and (r["low"] > 0 or r["high"] < 0)]
    largest = max(shown or rows, key=lambda r: abs(r["estimate"]))
    sides = {"length": "longer answers", "formatting": "formatted answers", "family": "its own family's answers"}
    how = f"{number(abs(largest['estimate']), digits=2)} points {'more' if largest['estimate'] > 0 else 'less'} often"
    finding = f"{largest['judge']} passes {sides[largest['kind']]} {how}."
    reading = "What a judge's grades depend on among equally correct answers. An interval that holds 0 shows no bias."
    return finding if shown else f"No bias is shown. The largest seen: {finding}", reading


def describe_overcall(rows: Sequence[Row], reference: Any) -> Says:
    """The judge that overcalls most."""
    worst = max(rows, key=lambda r: r["estimate"])
    span = f"(95% CI {percent(worst['low'])} to {percent(worst['high'])})"
    return (
        f"{worst['judge']} overcalls most: {percent(worst['estimate'])} of {number(worst['n'])} {span}.",
        (
            f"Of the answers that a judge scored 2, the share that {name(reference or 'reference')} ratings score "
            "0.5 or less."
        ),
    )


def describe_screening(row: Row) -> Says:
    """What one judge finds at one severity."""
    return (
        (
            f"{row['judge']} finds {percent(row['estimate'])} of {count(row['n'], 'answer')} of severity "
            f"{number(row['threshold'])} or more."
        ),
        "At each severity: what share a judge finds, what share of others it clears, how often it is right.",
    )


# ---- calibration -------------------------------------------------------------------------------------------------


def describe_reliability(
    studies: Sequence[tuple[str, str, Found]], *, has_enough: bool, top: int, undrawn: Sequence[str]
) -> Says:
    """Whose confidence is furthest off, and to which side; `undrawn` have one confidence only, and so no diagram."""
    reading = (
        "How often answers are right at each confidence, with 95% CI. Below the dashed line a model is overconfident. "
        f"Grey columns count answers; the tallest holds {top:,}."
    )
    reading += f" Not drawn, with one confidence for all answers: {among(undrawn)}." if undrawn else ""
    known = [(c, source, f["debiased"], f) for c, source, f in studies if isinstance(f.get("debiased"), int | float)]
    if not has_enough:
        return "There are too few answers to draw calibration.", ""
    if not known:
        return "Confidence against right answers.", reading
    who, source, error, found = max(known, key=lambda k: k[2])
    sure, right = found.get("mean_confidence"), found.get("accuracy")
    if not isinstance(sure, int | float) or not isinstance(right, int | float):
        return f"The furthest off is {who} ({source}): calibration error {100 * error:.1f} points.", reading
    averages = f"{100 * sure:.0f}% sure on average, right in {100 * right:.0f}%"
    if len({k[0] for k in known}) == 1:
        return f"{who} is {averages}: calibration error {100 * error:.1f} points.", reading
    return f"The furthest off is {who}: {averages}, calibration error {100 * error:.1f} points.", reading


def describe_phase(rows: Sequence[Row]) -> Says:
    """The fewest labels that show miscalibration in four of five parts."""
    reached = [r for r in rows if r["shown"] >= 0.8]
    reading = "How often parts of the grades show that the model is miscalibrated."
    if not reached:
        return "No part of the grades shows miscalibration reliably.", reading
    least = min(reached, key=lambda r: r["n"])
    labels = count(least["n"], "label")
    return f"For {least['condition']}, {labels} show miscalibration in four of five parts.", reading


def describe_groups(rows: Sequence[Row]) -> Says:
    """The group of which least is known."""
    widest = max(rows, key=lambda r: r["high"] - r["low"])
    return (
        f"Least is known of {widest['group']}: {count(widest['n'], 'question')}.",
        "Calibration error of each group with its CI, alone and pooled towards the others as far as noise explains.",
    )


def describe_margins(rows: Sequence[Row]) -> Says:
    """By how much the two estimators differ where a race is close and where it is clear."""
    first = rows[0]["condition"]
    own = [r for r in rows if r["condition"] == first]
    close, clear = (abs(pair[0]["ece"] - pair[1]["ece"]) for pair in (own[:2], own[-2:]))
    return (
        f"For {first} the two differ by {number(close)} in close races and by {number(clear)} in clear ones.",
        "Calibration error by all repeats (Sem1) and by held-out halves (Sem2), by how far the commonest answer leads.",
    )


def describe_regimes(rows: Sequence[Row], clear: str) -> Says:
    """How many questions are close races, and how many are wrong though one answer leads clearly."""
    total = sum(r["questions"] for r in rows)
    close = sum(r["questions"] for r in rows if r["regime"] != clear)
    sure_wrong = sum(r["questions"] for r in rows if r["answer"] == "wrong" and r["regime"] == clear)
    return (
        (
            f"{percent(close / total)} of {count(total, 'question')} are close races; "
            f"{number(sure_wrong)} {'is' if sure_wrong == 1 else 'are'} wrong though one answer clearly leads."
        ),
        "Each question by how far its commonest answer leads. In close races agreement flatters the model.",
    )


# ---- search ------------------------------------------------------------------------------------------------------


def describe_steps(label: str, search: Found) -> Says:
    """How many errors a search found, and what its random sample says of the paragraphs it could draw."""
    population = search.get("population") or {}
    finding = f"{label} found {count(search.get('errors_found'), 'error')} in {count(search.get('answers'), 'answer')}."
    reading = "The share of wrong answers at each step (points) and over all steps (line)."
    if population.get("error_rate") is not None:
        is_all = (search.get("frame") or {}).get("kind") == "all"
        reading += (
            f" By its random sample (dashed, n = {number(population.get('n'))}) {percent(population['error_rate'])} of "
            f"{'all paragraphs' if is_all else 'the paragraphs with questions'} is wrong. The steps do not tell."
        )
    for recall in ((search.get("base") or {}).get("index") or {}).get("recall", ())[:1]:
        reading += (
            f" Neighbours come from a disk index that finds {percent(recall['recall'])} of the exact "
            f"{number(recall['k'])}, measured on {number(recall['queries'])} random paragraphs."
        )
    return finding, reading


def describe_failing(rows: Sequence[Row], searches: Sequence[Found]) -> Says:
    """How many questions fail, in which modes, with one as an example."""
    total = sum(search.get("n_failing") or 0 for search in searches)
    counts = Counter(r["mode"] for r in rows)
    commonest = [f"{mode or 'no category'} ({number(n)})" for mode, n in counts.most_common(3)]
    listed = f" The first {number(len(rows))} are listed." if total > len(rows) else ""
    return (
        f"{count(total, 'different question')} fail in {count(len(counts), 'mode')}: most in {among(commonest)}.",
        (
            "They are answered wrongly and not right in other words. "
            f"For example: {rows[0]['question']} Answered: {rows[0]['answered']}; right: {rows[0]['right']}."
            f"{listed} `richter search export` writes them as a set."
        ),
    )


def describe_map(rows: Sequence[Row], ranked: Sequence[str], *, has_shared_places: bool) -> Says:
    """How many paragraphs fail and pass, and on what most fail."""
    counts = Counter(row["category"] for row in rows if row["fails"])
    passing = len(rows) - counts.total()
    then = f", then {among(ranked[1:])}" if len(ranked) > 1 else ""
    places = " A paragraph lies at the same place in every search of a base." if has_shared_places else ""
    return (
        f"Most failing paragraphs are on {ranked[0]} ({number(counts[ranked[0]])}){then}.",
        (
            f"{count(counts.total(), 'failing paragraph')} and {number(passing)} that "
            f"{'pass' if passing != 1 else 'passes'}, near each other where they are near in meaning. "
            f"The axes have no unit.{places}"
        ),
    )


def describe_categories(rows: Sequence[Row]) -> Says:
    """The error rate of the category that was sampled most."""
    first = rows[0]
    span = f"(95% CI {percent(first['low'])} to {percent(first['high'])})"
    return (
        f"{first['category']}: {percent(first['error'])} wrong {span}, {count(first['drawn'], 'paragraph')}.",
        "From the random sample alone, the most sampled first.",
    )
