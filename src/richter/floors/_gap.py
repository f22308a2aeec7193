"""From measured differences to claims: multiplicity, verdicts, and sentences that agree with the sign."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from richter.records import Finding, Interval, Shown, Verdict, jsonable
from richter.stats import benjamini_hochberg, holm

__all__ = ["METRICS", "Gap", "GapFinding", "Metric", "decide_gaps"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """How a difference in one quantity is spoken of. `points` prints it times 100."""

    name: str
    better: str
    worse: str
    alike: str
    higher_is_better: bool
    points: bool = True

    def amount(self, value: float, *, sign: bool = False) -> str:
        """A difference in words of the metric's unit."""
        shown = 100 * value if self.points else value
        digits = 1 if self.points else 3
        if 0 < abs(shown) < 0.5 * 10**-digits:
            digits += 2
        return f"{shown:+.{digits}f}" if sign else f"{shown:.{digits}f}"

    @property
    def unit(self) -> str:
        """The unit's name, with a leading space where there is one."""
        if self.name == "calibration":
            return " points of ECE"
        return " points" if self.points else ""


METRICS = {
    m.name: m
    for m in (
        Metric(
            name="accuracy",
            better="more accurate",
            worse="less accurate",
            alike="equally accurate",
            higher_is_better=True,
        ),
        Metric(
            name="calibration",
            better="better calibrated",
            worse="worse calibrated",
            alike="equally well calibrated",
            higher_is_better=False,
        ),
        Metric(
            name="mean_severity",
            better="milder in its errors on average",
            worse="graver in its errors on average",
            alike="equally severe on average",
            higher_is_better=False,
            points=False,
        ),
        Metric(
            name="catastrophic_rate",
            better="less often catastrophically wrong",
            worse="more often catastrophically wrong",
            alike="catastrophically wrong equally often",
            higher_is_better=False,
        ),
    )
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Gap(Shown):
    """One measured difference b - a, before multiplicity is allowed for.

    `labels_needed` are the items that would settle a true gap of `labels_needed_for`; `visible` is the smallest gap
    that this set shows with 80% power.
    """

    a: str
    b: str
    delta: float
    interval: Interval
    p: float
    p_equivalence: float | None
    n: int
    labels_needed: int | None
    labels_needed_for: float
    visible: float | None
    floor: float | None
    detail: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class GapFinding(Shown):
    """A decided difference. `delta` is b minus a; `q` is Benjamini-Hochberg's, `p_familywise` Holm's.

    The verdict rests on `p_familywise`. `claim` says what was verified or refuted.
    """

    claim: str
    verdict: Verdict
    sentence: str
    gap: Gap
    q: float
    p_familywise: float

    def to_finding(self, *, exploratory: bool = True) -> Finding:
        """The same as the record that reports print."""
        return Finding(
            claim=self.claim,
            verdict=self.verdict,
            sentence=self.sentence,
            estimate=self.gap.delta,
            interval=self.gap.interval,
            n=self.gap.n,
            floor=self.gap.floor,
            needed=self.gap.labels_needed if self.verdict is Verdict.UNDECIDED else None,
            exploratory=exploratory,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values in one row."""
        row = {f.name: getattr(self.gap, f.name) for f in dataclasses.fields(self.gap) if f.name != "detail"}
        for name in ("a", "b", "n"):
            del row[name]
        if self.verdict is not Verdict.UNDECIDED:
            row["labels_needed"] = None
        row |= {"q": self.q, "p_familywise": self.p_familywise, "verdict": self.verdict}
        row |= {"claim": self.claim, "sentence": self.sentence, "direction": "b minus a"}
        return {k: jsonable(v) for k, v in (row | dict(self.gap.detail)).items()}


def decide_gaps(
    gaps: Sequence[Gap],
    metric: Metric,
    *,
    margin: float | None = None,
    tried: int = 1,
    alpha: float = 0.05,
    directed: bool = False,
) -> list[GapFinding]:
    """Give every difference of one metric its verdict, with the family-wise error over all of them at `alpha`.

    `equivalent`: the equivalence p-value, Holm-adjusted, is at most alpha (only with a margin; it wins over a real
    but smaller difference). Else `verified` where the adjusted p-value of a difference is, in the direction the
    sentence states; with `directed` the claim is "b is better than a" and may be `refuted`. Else `undecided`.
    `tried` multiplies every p-value: the best of that many attempts is on show.
    """
    if not gaps:
        return []
    raw = [min(1.0, g.p * tried) for g in gaps]
    adjusted, q = holm(raw), benjamini_hochberg(raw)
    within: list[float] = [1.0] * len(gaps)
    if margin is not None:
        within = [
            float(x)
            for x in holm([1.0 if g.p_equivalence is None else min(1.0, g.p_equivalence * tried) for g in gaps])
        ]
    findings = []
    for gap, p_family, q_value, p_within in zip(gaps, adjusted, q, within, strict=True):
        improves = (gap.delta > 0) == metric.higher_is_better and gap.delta != 0
        if margin is not None and gap.p_equivalence is not None and p_within <= alpha:
            verdict = Verdict.EQUIVALENT
        elif p_family <= alpha and gap.delta != 0:
            verdict = Verdict.REFUTED if directed and not improves else Verdict.VERIFIED
        else:
            verdict = Verdict.UNDECIDED
        if directed or improves:
            claim = f"{gap.b} is {metric.better} than {gap.a}"
        else:
            claim = f"{gap.b} is {metric.worse} than {gap.a}"
        findings.append(
            GapFinding(
                claim=claim,
                verdict=verdict,
                sentence=_sentence(gap, metric, verdict, margin=margin, improves=improves),
                gap=gap,
                q=float(q_value),
                p_familywise=float(p_family),
            )
        )
    return findings


def _sentence(gap: Gap, metric: Metric, verdict: Verdict, *, margin: float | None, improves: bool) -> str:
    span = (
        f"{metric.amount(gap.delta, sign=True)}{metric.unit} "
        f"[{metric.amount(gap.interval.low, sign=True)}, {metric.amount(gap.interval.high, sign=True)}]"
    )
    word = metric.better if improves else metric.worse
    if verdict is Verdict.EQUIVALENT and margin is not None:
        return f"{gap.b} and {gap.a} are {metric.alike} within {metric.amount(margin)}{metric.unit}: {span}."
    if verdict in (Verdict.VERIFIED, Verdict.REFUTED):
        return f"{gap.b} is {word} than {gap.a}: {span}."
    text = f"Whether {gap.b} is {metric.better} than {gap.a} is undecided: {span} on {gap.n:,} item{'s' * (gap.n != 1)}"
    if gap.labels_needed is not None:
        aim = f"{metric.amount(gap.labels_needed_for)}{metric.unit}"
        more = "would settle" if gap.labels_needed > gap.n else "were enough for"
        text += f"; {gap.labels_needed:,} {more} a gap of {aim}"
    return text + "."
