"""A tail study as parts of a paper: LaTeX table, methods paragraph, references, deviations."""

import math
import re
from collections.abc import Mapping, Sequence

from richter.records import printable
from richter.tail._gates import GATES
from richter.tail._study import TailStudy

__all__ = ["paper_parts"]

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",  # these three come out as other signs in LaTeX's default encoding
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "±": r"$\pm$",
}

_REFERENCES = r"""@article{zhou2026tail,
  title = {Tail-Shape Estimation in {LLM} Evaluation Is Fragile: A Protocol for Diagnosing False Positives},
  author = {Zhou, Luca},
  journal = {arXiv preprint arXiv:2606.16511},
  year = {2026}
}
@article{choulakian2001goodness,
  title = {Goodness-of-Fit Tests for the Generalized {Pareto} Distribution},
  author = {Choulakian, V. and Stephens, M. A.},
  journal = {Technometrics},
  volume = {43},
  number = {4},
  pages = {478--484},
  year = {2001}
}
@article{grimshaw1993computing,
  title = {Computing Maximum Likelihood Estimates for the Generalized {Pareto} Distribution},
  author = {Grimshaw, Scott D.},
  journal = {Technometrics},
  volume = {35},
  number = {2},
  pages = {185--191},
  year = {1993}
}
@article{smith1987estimating,
  title = {Estimating Tails of Probability Distributions},
  author = {Smith, Richard L.},
  journal = {The Annals of Statistics},
  volume = {15},
  number = {3},
  pages = {1174--1207},
  year = {1987}
}
@article{schuirmann1987comparison,
  title = {A Comparison of the Two One-Sided Tests Procedure and the Power Approach for Assessing the Equivalence of
           Average Bioavailability},
  author = {Schuirmann, Donald J.},
  journal = {Journal of Pharmacokinetics and Biopharmaceutics},
  volume = {15},
  number = {6},
  pages = {657--680},
  year = {1987}
}
"""


def paper_parts(
    study: TailStudy,
    *,
    data: str,
    column: str,
    seed: int,
    plan_hash: str | None = None,
    locked_at: str | None = None,
    deviations: Sequence[str] = (),
    reasons: Sequence[str] = (),
    versions: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """File names and contents: `table.tex`, `methods.tex`, `references.bib` and `deviations.tex`.

    Everything in them is computed from the study or given here; an exploratory study says so in all of them.
    """
    return {
        "table.tex": _table(study, column),
        "methods.tex": _methods(study, data, column, seed, plan_hash, locked_at, versions or {}),
        "references.bib": _REFERENCES,
        "deviations.tex": _deviations(study, deviations, reasons),
    }


def _tex(text: str) -> str:
    return re.sub("|".join(re.escape(c) for c in _SPECIAL), lambda m: _SPECIAL[m.group()], printable(text))


def _number(value: float, digits: int = 3) -> str:
    return "--" if math.isnan(value) else f"${value:+.{digits}f}$"


def _table(study: TailStudy, column: str) -> str:
    kind = "exploratory" if study.claim.exploratory else "confirmatory"
    lines = [
        r"% needs \usepackage{amssymb,booktabs,natbib}",
        r"\begin{table}",
        r"\centering\small",
        r"\begin{tabular}{lrrrrrr}",
        r"\toprule",
        (
            rf"condition & $n$ & $n_{{\mathrm{{exc}}}}$ & mean & TVaR$_{{{study.plan.tvar_q:g}}}$ "
            rf"& $\hat\xi$ [{100 * (1 - study.plan.alpha):g}\%] & AD $p$ \\"
        ),
        r"\midrule",
    ]
    for name, c in study.conditions.items():
        interval = (
            "--" if c.interval is None else f"{_number(c.xi)} [{_number(c.interval.low)}, {_number(c.interval.high)}]"
        )
        p = "--" if c.gof is None else f"{c.gof.p:.3f}"
        tail = "--" if math.isnan(c.tvar) else f"{c.tvar:.4g}"
        lines.append(rf"{_tex(name)} & {c.n} & {c.n_exc} & {c.mean:.4g} & {tail} & {interval} & {p} \\")
    lines += [
        r"\bottomrule",
        r"\end{tabular}",
        "",
        r"\medskip",
        "",
        r"\begin{tabular}{l" + "r" + "c" * len(GATES) + "l}",
    ]
    lines += [r"\toprule", r"pair & $\Delta\hat\xi$ & " + " & ".join(GATES) + r" & verdict \\", r"\midrule"]
    marks = {True: r"$\checkmark$", False: r"$\times$", None: "--"}
    for pair in study.claims:
        by_name = {g.name: g.passed for g in pair.gates}
        verdict = pair.verdict.value + (f" ({pair.blocked_by})" if pair.blocked_by else "")
        cells = " & ".join(marks[by_name[g]] for g in GATES)
        names = " -- ".join(map(_tex, pair.conditions))
        delta = _number(math.nan if pair.estimate is None else pair.estimate)
        lines.append(rf"{names} & {delta} & {cells} & {verdict} \\")
    lines += [
        r"\bottomrule",
        r"\end{tabular}",
        (
            rf"\caption{{Tail shape of {_tex(column)} ({_tex(study.transform)} scale) above each condition's "
            rf"{study.q:g} quantile, and every gate of the protocol of \citet{{zhou2026tail}} for each pair; {kind}. "
            rf"{_tex(study.claim.sentence)}}}"
        ),
        r"\end{table}",
        "",
    ]
    return "\n".join(lines)


def _methods(
    study: TailStudy,
    data: str,
    column: str,
    seed: int,
    plan_hash: str | None,
    locked_at: str | None,
    versions: Mapping[str, str],
) -> str:
    plan = study.plan
    pairs = len(study.claims)
    level = 1 - plan.alpha / (max(pairs, 1) if plan.family == "bonferroni" else 1)
    resampled = "items jointly for all conditions" if study.paired else "each condition independently"
    if study.claim.exploratory:
        status = "No locked plan covers this analysis: it is exploratory."
    else:
        status = (
            f"All choices were fixed in a plan locked on {_tex(locked_at or '')} (SHA-256 {(plan_hash or '')[:16]})."
        )
    path = ""
    if len(study.path) > 1:
        steps = "; ".join(
            f"{step['transform']} at $q={step['q']:g}$"
            + (f", left because of {' and '.join(step['left_because'])}" if step["left_because"] else ", kept")
            for step in study.path
        )
        path = f" Scale and threshold follow the plan's decision tree: {steps}."
    sentences = [
        (
            f"We compared the upper tails of {_tex(column)} ({_tex(data)}) on the {_tex(study.transform)} scale with "
            r"the protocol of \citet{zhou2026tail}. "
            f"{status}{path}"
        ),
        (
            rf"A generalised Pareto distribution was fitted by maximum likelihood \citep{{grimshaw1993computing}} to "
            f"the exceedances of each condition's {study.q:g} quantile."
        ),
        rf"Mean and TVaR$_{{{plan.tvar_q:g}}}$ had to be equivalent within $\pm{plan.tolerance_mean:.3g}$ and "
        rf"$\pm{plan.tolerance_tvar:.3g}$ ({1 - plan.alpha:.0%} interval inside the band; ".replace("%", r"\%")
        + rf"\citealp{{schuirmann1987comparison}}), each condition had to have the exceedances that detect "
        rf"$\Delta\xi={plan.delta:g}$ with power {plan.power:g} \citep{{smith1987estimating}}, the fit had to pass an "
        rf"Anderson--Darling test with estimated parameters at {plan.gof_p:g} \citep{{choulakian2001goodness}}, and "
        rf"$\hat\xi$ had to move by less than {plan.stability_tolerance:g} over $q\pm{plan.stability_width:g}$.",
        (
            rf"A claim then needed disjoint {level:.4g} intervals and $|\Delta\hat\xi|>{plan.delta:g}$. Intervals are "
            rf"percentile bootstrap with {plan.n_resamples:,} resamples of {resampled} (seed {seed})."
        ),
    ]
    if versions:
        sentences.append("Software: " + ", ".join(f"{_tex(k)} {_tex(v)}" for k, v in sorted(versions.items())) + ".")
    return "\n".join(sentences) + "\n"


def _deviations(study: TailStudy, deviations: Sequence[str], reasons: Sequence[str]) -> str:
    lines = [f"The analysis is exploratory: {_tex('; '.join(reasons) or 'there was no plan')}."]
    if not study.claim.exploratory:
        lines = ["The plan was locked before outcomes were shown (as far as this machine knows) and not changed since."]
    if not deviations:
        return "\n".join([*lines, "There are no deviations from it." if not study.claim.exploratory else ""]) + "\n"
    items = [rf"\item {_tex(d)}" for d in deviations]
    return "\n".join([*lines, "Deviations from the plan:", r"\begin{itemize}", *items, r"\end{itemize}"]) + "\n"
