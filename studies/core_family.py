"""How often a family of claims holds a false one, and what it shows: pages of four measures, and pairs with margins.

Pages: three conditions on 400 questions, four measures (accuracy, severity, a score, refusals) whose noise has a
correlation of 0.4. The questions of a comparison go through the checks, the estimators and `decide`. A claim is false
where it shows a difference that is none, or the wrong direction. Power is the share of the true differences shown.

Margins: estimates of one measure with a known standard error of 1, straight into `decide`. A page is false where one
claim says what is not so: a difference where there is none, or "equivalent" of one of the margin or more.
"""

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
from driver import Cell, run_study
from scipy.special import ndtr, ndtri

from helpers.memory_tables import memory_tables
from richter.audit import page_questions
from richter.claims import METRICS, Asked, Evidence, Question, decide, joint_law
from richter.evidence import evidence
from richter.records import Claim, Interval, Verdict
from richter.tables import Dataset

NAMES = ("a", "b", "c")
MEASURES = ("accuracy", "mean_severity", "quality", "refusal_rate")
ITEMS, CORRELATION = 400, 0.4
APART = 0.36  # of the latent noise's standard deviation: about 90% power for accuracy
# a world: each condition's shift of the latent quality, by measure; 0 where it is not named
PAGES: dict[str, dict[str, tuple[float, float, float]]] = {
    "nothing differs": {},
    "one condition apart in accuracy and severity": {
        "accuracy": (0, 0, APART), "mean_severity": (0, 0, 0.55 * APART),
    },
    "accuracy equal, severity differs": {"mean_severity": (0, 0, 0.55 * APART)},
    "all differ": dict.fromkeys(MEASURES, (-0.8 * APART, 0, 0.8 * APART)),
}  # fmt: skip
# means of the conditions and the margin, in standard errors of a difference
MARGINS: dict[str, tuple[list[float], float | None]] = {}
for far in (2.0, 3.6, 6.0):
    MARGINS[f"pair: 0, margin {far}"] = ([0, 0], far)
    MARGINS[f"pair: at the margin {far}"] = ([0, far], far)
    MARGINS[f"pair: half of the margin {far}"] = ([0, far / 2], far)
MARGINS["pair: 2.8, no margin"] = ([0, 2.8], None)
MARGINS["pair: 2.8, margin 2"] = ([0, 2.8], 2.0)
for size in (3, 6):
    MARGINS[f"{size} conditions: all 0, margin 4"] = ([0.0] * size, 4.0)
    for far in (4.0, 8.0):
        MARGINS[f"{size} conditions: one at the margin {far:g}"] = ([far] + [0.0] * (size - 1), far)
    MARGINS[f"{size} conditions: half at the margin 8"] = ([8.0 * (k % 2) for k in range(size)], 8.0)
    MARGINS[f"{size} conditions: steps of half the margin 4"] = ([2.0 * k for k in range(size)], 4.0)
    MARGINS[f"{size} conditions: one 4, margin 3"] = ([4.0] + [0.0] * (size - 1), 3.0)
AGAINST = "against the first, "
MARGINS |= {AGAINST + name: world for name, world in list(MARGINS.items()) if len(world[0]) > 2}


def draw_page(world: Mapping[str, Sequence[float]], rng: np.random.Generator) -> Dataset:
    """Three conditions on the same questions: answers that are right, severe, scored and refused."""
    shape = (ITEMS, len(NAMES))
    hard = rng.normal(size=(ITEMS, 1))
    shared = rng.normal(size=shape)

    def latent(measure: str) -> np.ndarray:
        own = np.sqrt(CORRELATION) * shared + np.sqrt(1 - CORRELATION) * rng.normal(size=shape)
        return own - 0.5 * hard + np.asarray(world.get(measure, (0, 0, 0)))

    severity = np.clip(np.round(2 * (1 - latent("mean_severity"))) / 2, 0, 4)
    return memory_tables(
        {"accuracy": (latent("accuracy") > -0.6).astype(float), "quality": ndtr(latent("quality"))},
        conditions=NAMES, severity=severity, refused=latent("refusal_rate") < -1.5,
    )  # fmt: skip


def page(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """Whether each family of a page holds a false claim, and the share of its true differences that are shown."""
    world = PAGES[cell["page"]]
    tables = draw_page(world, rng)
    questions = page_questions(tables, on=MEASURES).questions
    false, shown = {"main": 0.0, "other": 0.0}, {"main": list[bool](), "other": list[bool]()}
    for claim in decide([evidence(tables, q) for q in questions if q.measure in MEASURES]):
        assert claim.family is not None
        assert claim.estimate is not None
        first, second = (NAMES.index(name) for name in claim.conditions)
        shifts = world.get(claim.measure, (0, 0, 0))
        gain = shifts[second] - shifts[first]
        is_shown = claim.verdict in (Verdict.VERIFIED, Verdict.REFUTED)
        is_right = gain * claim.estimate * (1 if claim.better == "higher" else -1) > 0
        false[claim.family.name] = max(false[claim.family.name], is_shown and not is_right)
        if gain:
            shown[claim.family.name].append(is_shown and is_right)
    power = {f"{name} power %": float(np.mean(own)) if own else math.nan for name, own in shown.items()}
    return {f"{name} false %": value for name, value in false.items()} | {"any false %": max(false.values())} | power


def normal_evidence(estimate: float) -> Evidence:
    """Evidence with a standard error of 1."""

    def interval(level: float) -> Interval:
        reach = float(ndtri(0.5 + level / 2))
        return Interval(low=estimate - reach, high=estimate + reach, level=level, method="normal")

    return Evidence(
        estimate=estimate, interval=interval, p=lambda value: 2 * float(ndtr(-abs(estimate - value))), n=9, units=9,
        standard_error=1.0,
    )  # fmt: skip


def margins(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """Whether a page with a margin holds a false claim, and the shares of claims by verdict."""
    means, margin = MARGINS[cell["margins"]]
    size, measure, is_control = len(means), METRICS["mean_score"], cell["margins"].startswith(AGAINST)
    pairs = [(0, k) for k in range(1, size)] if is_control else list(itertools.combinations(range(size), 2))
    names = [("abcdef"[i], "abcdef"[j]) for i, j in pairs]
    seen = np.array(means) + rng.normal(size=size) / np.sqrt(2)
    asked = [
        Asked(
            question=Question(measure=measure.name, conditions=conditions, margin=margin), metric=measure,
            evidence=normal_evidence(float(seen[j] - seen[i])),
        )
        for (i, j), conditions in zip(pairs, names, strict=True)
    ]  # fmt: skip
    joint = None
    if is_control:
        noise = rng.normal(size=(ITEMS, size))
        noise -= noise.mean(axis=0)
        sums = np.stack([noise[:, j] - noise[:, i] for i, j in pairs], axis=1)
        joint = joint_law([(measure.name, n) for n in names], sums, rng=rng, n_resamples=1000)
    claims = decide(asked, joint=joint)
    return {
        "false %": any(is_false(c, means[j] - means[i]) for c, (i, j) in zip(claims, pairs, strict=True)),
        "verified %": float(np.mean([c.verdict is Verdict.VERIFIED for c in claims])),
        "equivalent %": float(np.mean([c.verdict is Verdict.EQUIVALENT for c in claims])),
    }


def is_false(claim: Claim, truth: float) -> bool:
    """Whether a claim says what is not so."""
    is_alike = claim.verdict is Verdict.EQUIVALENT and claim.margin is not None
    is_real = claim.verdict is Verdict.VERIFIED or "real but within" in claim.sentence
    return (is_real and truth == 0) or (is_alike and abs(truth) >= (claim.margin or 0.0))


def trial(cell: Cell, rng: np.random.Generator) -> dict[str, float]:
    """One page."""
    return page(cell, rng) if "page" in cell else margins(cell, rng)


if __name__ == "__main__":
    cells = [{"page": name} for name in PAGES] + [{"margins": name} for name in MARGINS]
    run_study(__file__, cells, trial, trials=4000)
