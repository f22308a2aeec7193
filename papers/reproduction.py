"""Every table and figure of the five papers: what Richter prints for it, beside what the paper has.

Writes docs/validation/papers.md; the words of its rows are in reproduction.toml.

Real data are read from ../shared/data (or RICHTER_SHARED_DATA); a row without its data, or that needs a model, says
"skipped" and why. Goes on where it stopped (soak/reproduction/rows.json); half an hour on two cores in all.

    python papers/reproduction.py [--again ROW]
"""

import argparse
import ast
import functools
import json
import math
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))  # the simulated search of the tests

import ascent_simulated as sim
import errorquake
import errorquake_robustness as robust
import richter.calibration as cal
import richter.floors as floors
import richter.severity as sev
import richter.tail as tail
import richter_audit.bench as bench
import richter_audit.judge as judge
import sem_ece_convergence
import tail_traps
import tax_formulas
import written_bench
from errorquake_mechanisms import mechanisms_by_severity
from errorquake_scores import Scores
from tail_generators import draw_gpd, draw_pair, draw_severities
from tail_power import simulate_criteria
from tax_simulations import SIMULATIONS, Simulation

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("RICHTER_SHARED_DATA", ROOT.parent / "shared" / "data"))
WORK = ROOT / "soak" / "reproduction"
PAGE = ROOT / "docs" / "validation" / "papers.md"


class Row(NamedTuple):
    paper: str
    name: str
    where: str  # in the paper
    says: str  # the paper's figure
    command: str
    why: str  # the difference, and its reason
    run: Callable[[], str]


class SkippedRowError(Exception):
    """A row that cannot be made here, and why."""


TEXTS = tomllib.loads((ROOT / "papers" / "reproduction.toml").read_text())
PAPERS = TEXTS.pop("papers")
ROWS: list[Row] = []


def row(run: Callable[[], str]) -> Callable[[], str]:
    """A function that makes a row's figure; its words are in reproduction.toml under the function's name."""
    ROWS.append(Row(**TEXTS[run.__name__], run=run))
    return run


def richter(*words: str) -> dict[str, Any]:
    """The JSON of a command, made once."""
    return _richter(tuple(str(w) for w in words))


@functools.cache
def _richter(words: tuple[str, ...]) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        done = subprocess.run(
            [sys.executable, "-m", "richter", *words, "--json", str(out)], capture_output=True, text=True, cwd=WORK
        )
        if not out.exists():
            raise RuntimeError(f"richter {' '.join(words)}: {done.stderr[-500:]}")
        found: dict[str, Any] = json.loads(out.read_text())
        return found


def data(name: str) -> Path:
    path = DATA / name
    if not path.exists():
        raise SkippedRowError(f"data not there ({name})")
    return path


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


# ---------------------------------------------------------------------------------------------------- the tables

OUT_OF_PAPER = ("phi-4-mini-flash-reasoning", "llama-3.1-70b-instruct")  # in the file, not among the paper's 21
SIZES = {
    "llama-3.2-3b-instruct": 3.2, "phi-3.5-mini": 3.8, "gemma-3-4b": 4, "qwen2.5-7b": 7, "llama-3.1-8b-instruct": 8,
    "eurollm-9b": 9, "solar-10.7b": 10.7, "gemma-3-12b": 12, "ministral-14b": 14, "mistral-medium-3": 20,
    "mistral-small-24b": 24, "gemma-2-27b": 27, "gemma-3-27b": 27, "seed-oss-36b": 36,
}  # fmt: skip  # dense models in the order of table 9; only the order counts


@functools.cache
def scores() -> Path:
    path = WORK / "scores.csv"
    frame = pl.read_csv(data("errorquake_4k_judge_scores.csv"))
    frame.filter(~pl.col("condition").is_in(OUT_OF_PAPER)).write_csv(path)
    pl.DataFrame({"condition": list(SIZES), "active_params": list(SIZES.values())}).write_csv(WORK / "models.csv")
    return path


@functools.cache
def grades(name: str) -> Path:
    frame = pl.read_csv(data(f"mcq_{name}_14models.csv"))
    path = WORK / f"{name}.csv"
    frame.select(
        "item",
        pl.col("model").alias("condition"),
        (pl.col("grade") == "Correct").cast(pl.Int64).alias("correct"),
        "confidence",
    ).write_csv(path)
    return path


@functools.cache
def draws() -> Path:
    rows = []
    for line in data("triviaqa_500x20.jsonl").read_text().splitlines():
        q = json.loads(line)
        same = {"item": q["id"], "condition": "m", "question": q["question"], "reference": q["reference"]}
        rows += [same | {"draw": k, "answer": text} for k, text in enumerate(q["samples"])]
    path = WORK / "draws.jsonl"
    pl.DataFrame(rows).write_ndjson(path)
    return path


@functools.cache
def severity() -> dict[str, Any]:
    """What `papers/errorquake.py` makes of the scores."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        words = [str(scores()), "--conditions", str(WORK / "models.csv"), "--json", str(out)]
        errorquake.main([*words, *(w for a, b in PAIRS for w in ("--pair", f"{a},{b}"))])
        found: dict[str, Any] = json.loads(out.read_text())
        return found


PAIRS = (
    ("llama-3.2-3b-instruct", "llama-3.1-8b-instruct"),
    ("qwen2.5-7b", "llama-3.1-8b-instruct"),
    ("deepseek-v3.1", "deepseek-v3.2"),
)


def analysis(name: str) -> Any:
    return severity()["analyses"][name]


def span(values: list[float], form: str = "{:g}") -> str:
    low, high = form.format(min(values)), form.format(max(values))
    return low if low == high else f"{low} to {high}"


# ---------------------------------------------------------------------------------------------------- ERRORQUAKE


@row
def rubric() -> str:
    item = bench.read_items(bench.cached_facts(items=1000))[0] if _facts() else None
    if item is None:
        raise SkippedRowError("the facts extra is not installed")
    text = (
        judge.judge_messages(item, "an answer")[0]["content"] + judge.judge_messages(item, "an answer")[-1]["content"]
    )
    levels = [f"{k / 2:.1f}" for k in range(9)]
    return f"{sum(level in text for level in levels)} of 9 levels in the judges' prompt, with examples"


def _facts() -> bool:
    try:
        bench.cached_facts(items=1000)
    except Exception:
        return False
    return True


@row
def benchmark() -> str:
    if not _facts():
        raise SkippedRowError("the facts extra is not installed")
    items = bench.read_items(bench.cached_facts(items=1000))
    cells = {(i.domain, i.tier) for i in items}
    return (
        f"of 1,000 items: {len({d for d, _ in cells})} domains, {len({t for _, t in cells})} tiers, {len(cells)} cells"
    )


@row
def written_queries() -> str:
    there, taken, calls, n = written_bench.run_once(written_bench.read_pool(DATA), 0, 150, 0.85, 0.65)
    found = {
        name: [sum(counts[k] for k in counts if k.startswith(name)) for counts in (there, taken)]
        for name in ("wrong tier", "bad key", "duplicate")
    }
    rejected = ", ".join(f"{all_ - left} of {all_} of {name}" for name, (all_, left) in found.items())
    return f"simulated: {n} questions in {calls} calls; rejected {rejected}"


@row
def dual_judge() -> str:
    near, far = judge.aggregate(1.0, 2.0), judge.aggregate(0.0, 4.0, 1.0)
    return f"(1, 2) gives {near.severity:g}; (0, 4) asks a third, and with 1 gives {far.severity:g}"


@row
def human_study() -> str:
    raise SkippedRowError("needs people")


@row
def agreement() -> str:
    found = richter("label", "agreement", data("errorquake_4k_judge_scores.csv"))["kinds"]["judge"]
    linear, quadratic = (next(iter(found[f"kappa_{k}"].values()))["estimate"] for k in ("linear", "quadratic"))
    return (
        f"ICC(2,1) {found['icc']['single']:.3f}, ICC(2,2) {found['icc']['average']:.3f}, kappa linear {linear:.3f}, "
        f"quadratic {quadratic:.3f} on {found['n_complete']:,} pairs; alpha {found['alpha']['estimate']:.3f}"
    )


@row
def families() -> str:
    rows = [c["families"] for c in severity()["conditions"].values()]
    best = {name: sum(r["best"] == name for r in rows) for name in sorted({r["best"] for r in rows})}
    told = ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in sorted(best.items(), key=lambda p: -p[1]))
    return (
        f"{told}; decisive by the paper's rule {sum(r['decisive_paper'] for r in rows)}; adequate "
        f"{sum(r['adequate'] for r in rows)} of {len(rows)}"
    )


@row
def b_values() -> str:
    b = {name: c["paper"]["b"] for name, c in severity()["conditions"].items()}
    printed = {
        "llama-3.2-3b-instruct": 1.046,
        "phi-3.5-mini": 1.309,
        "gemma-3-4b": 0.979,
        "qwen2.5-7b": 1.257,
        "llama-3.1-8b-instruct": 1.001,
        "eurollm-9b": 1.067,
        "solar-10.7b": 0.905,
        "gemma-3-12b": 0.938,
        "ministral-14b": 1.122,
        "mistral-medium-3": 0.906,
        "mistral-small-24b": 0.999,
        "gemma-2-27b": 0.619,
        "gemma-3-27b": 0.956,
        "seed-oss-36b": 0.574,
    }
    same = sum(abs(b[name] - value) < 0.0006 for name, value in printed.items())
    return f"{min(b.values()):.3f} to {max(b.values()):.3f}; {same} of 14 as printed in table 9"


@row
def discriminator() -> str:
    c = severity()["counts"]
    return (
        f"the paper's rule {c['paper']} ({c['paper_min_gap']} with the gap), of {c['matched']} matched; "
        f"without a law, Holm, {c['law_free']} of {c['pairs']}; by b behind its gate {c['law']}"
    )


@row
def matched() -> str:
    c = severity()["counts"]
    return f"{c['matched']} pairs with a point inside the band, {c['equal_rates']} shown equal within 5 points"


@row
def jackknife() -> str:
    return span([r["disjoint_min_gap"] for r in analysis("leave_one_domain_out")]) + " disjoint pairs with the gap"


@row
def aggregation() -> str:
    def told(rows: list[dict[str, Any]]) -> str:
        return ", ".join(f"{r['rule'].split('_')[0]} {r['disjoint_min_gap']}" for r in rows)

    return f"{told(analysis('aggregation_rules'))}; dual coverage: {told(analysis('dual_coverage'))}"


@row
def sweep() -> str:
    return ", ".join(
        f"T = {t}: {r['count']['disjoint_min_gap']} pairs, {r['count']['n_conditions']} models"
        for t, r in analysis("exceedance_sweep").items()
    )


@row
def fixed() -> str:
    return (
        ", ".join(f"{r['rule'].replace('m_min = ', '')}: {r['disjoint']}" for r in analysis("fixed_m_min"))
        + " disjoint pairs"
    )


@row
def tail_ratio() -> str:
    t = analysis("tail_summaries")
    return (
        ", ".join(f"{n} above {k}" for k, n in t["pairs_by_ratio"].items()) + f"; against b {t['ratio_against_b']:+.2f}"
    )


@row
def log_linear() -> str:
    t = analysis("tail_summaries")
    return f"{next(iter(t['pairs_by_slope'].values()))} of {t['matched']} matched pairs"


@row
def fisher() -> str:
    return "; ".join(
        f"M >= {r['severity']:g}: Fisher {r['fisher']}, McNemar {r['mcnemar']}" for r in analysis("catastrophes")
    )


@row
def hierarchical() -> str:
    h = analysis("hierarchical_bootstrap")
    return f"median {h['median']:g} [{h['low']:.0f}, {h['high']:.0f}]"


@row
def more_queries() -> str:
    """On 10,000 queries drawn with replacement from the 4,000: what more queries alone would change."""
    frame = pl.read_csv(scores())
    path, out = WORK / "more_queries.csv", WORK / "more_queries.json"
    found = []
    for seed in range(3):
        chosen = np.random.default_rng(seed).choice(frame["item"].unique().sort(), 10_000)
        drawn = pl.DataFrame({"item": chosen, "again": [f"{item} {k}" for k, item in enumerate(chosen)]})
        drawn.join(frame, on="item").drop("item").rename({"again": "item"}).write_csv(path)
        errorquake.main([str(path), "--json", str(out)])
        made = json.loads(out.read_text())
        tails, fisher = made["analyses"]["tail_summaries"], made["analyses"]["catastrophes"]
        found.append(
            {
                "disjoint": made["counts"]["paper_min_gap"],
                "tail ratio above 0.01": tails["pairs_by_ratio"]["0.01"],
                "log-linear": next(iter(tails["pairs_by_slope"].values())),
                "hierarchical median": made["analyses"]["hierarchical_bootstrap"]["median"],
                **{f"Fisher at {r['severity']:g}": r["fisher"] for r in fisher},
            }
        )
    return "resampled, 3 times: " + ", ".join(f"{name} {span([f[name] for f in found])}" for name in found[0])


@row
def judges_out() -> str:
    found = analysis("leave_one_judge_out")
    counts = ", ".join(f"{r['rule']} {r['disjoint_min_gap']} pairs" for r in found["counts"])
    trend = [r["spearman"] for r in found.get("scaling", {}).values() if "spearman" in r]
    return counts + (f"; trend with size {span(trend, '{:+.2f}')}" if trend else "")


@row
def scaling() -> str:
    found = analysis("scaling")["strategies"]
    return ", ".join(f"{name} {r['spearman']:+.3f} (p {r['permutation_p']:.2g})" for name, r in found.items())


@row
def prediction() -> str:
    return "; ".join(
        f"M >= {r['severity']:g}: {r['correlation']['spearman']:.3f}, {r['within']} of {r['n']} within 1.5 times"
        for r in analysis("prediction")
    )


@row
def domains() -> str:
    d = analysis("domain_variation")
    order = sorted(d["mean_b"], key=d["mean_b"].get)
    ends = ", ".join(f"{k} {d['mean_b'][k]:.3f}" for k in (order[0], order[1], order[-1]))
    return f"Friedman p {d['friedman_p']:.3f}, W {d['kendall_w']:.3f}; {ends}"


@row
def pipelines() -> str:
    return "; ".join(
        f"{r['first']} / {r['second']} {r['delta_b']:+.2f} (p {r['p']:.2g})" for r in analysis("pipeline_pairs")
    )


@row
def s1() -> str:
    told = ", ".join(f"{r['spearman']:.3f} ({r['n_levels']} levels)" for r in analysis("coarsening"))
    own = [robust.coarsen_scale(_scores(), n, recipe=sev.PAPER).spearman for n in (7, 5)]
    return f"{told}; evenly spaced {own[0]:.2f}, {own[1]:.2f}"


@functools.cache
def _scores() -> Scores:
    wide = pl.read_csv(scores()).pivot(on="condition", index="item", values="severity")
    names = tuple(c for c in wide.columns if c != "item")
    return Scores(items=tuple(wide["item"]), conditions=names, severity=wide.select(names).to_numpy().astype(float))


@row
def s2() -> str:
    found = analysis("overcalls")
    at = robust.correct_overcalls(
        _scores(), overcall_rate=0.335, as_paper=True, n_trials=1, recipe=sev.PAPER, rng=rng()
    )
    own = robust.correct_overcalls(_scores(), recipe=sev.PAPER, rng=rng())
    return (
        f"{found['mean_spearman']:.3f} at 33%, {at.mean_spearman:.3f} at 33.5%; drawn anew "
        f"{own.mean_spearman:.2f} ({own.low:.2f} to {own.high:.2f})"
    )


@row
def s3() -> str:
    return f"{analysis('subsampling')['median']:.3f}"


@row
def s4() -> str:
    return "-"


@row
def s5() -> str:
    b = {k: v for k, v in analysis("m_min")["b"].items() if k in SIZES}
    return "; ".join(f"{name} {span([r[name] for r in b.values()], '{:.3f}')}" for name in ("1.5", "clauset"))


@row
def deployment() -> str:
    names = ("gemma-3-4b", "llama-3.2-3b-instruct", "qwen3-next-80b", "llama-4-maverick")
    rates = severity()["conditions"]
    return ", ".join(f"{n} {rates[n]['per_million']['3.0']['per_million']:,.0f}" for n in names)


@row
def mechanisms() -> str:
    g = rng()
    level = g.choice([0.5, 1.5, 3.0], size=519)
    kind = np.where(
        level == 0.5,
        g.choice(["retrieval", "reasoning"], size=519, p=[0.71, 0.29]),
        np.where(
            level == 1.5,
            g.choice(["retrieval", "amplification"], size=519, p=[0.62, 0.38]),
            g.choice(["retrieval", "fabrication"], size=519, p=[0.26, 0.74]),
        ),
    )
    found = mechanisms_by_severity(kind.tolist(), level, rng=g)
    return f"simulated: p {found.p:.2g}, Cramer's V {found.cramers_v:.2f}"


@row
def information() -> str:
    found = analysis("information")
    i, r = found["information"], found["resolution"]
    return (
        f"{i['bits']:.2f} bits (noise alone {i['noise_bits']:.2f}, p {i['p']:.2f}), R^2 "
        f"{i['r_squared']:.3f}; {r['minimum_detectable']:.3f} at SE {r['median_standard_error']:.3f}"
    )


@row
def croissant() -> str:
    with tempfile.TemporaryDirectory() as folder:
        words = (str(scores()), f"{folder}/dataset", "--license", "cc-by-4.0", "--creator", "Us")
        subprocess.run(
            [sys.executable, ROOT / "papers" / "croissant_dataset.py", *words], check=True, capture_output=True
        )
        return "wrote " + ", ".join(sorted(path.name for path in Path(folder, "dataset").iterdir()))


# ------------------------------------------------------------------------------------------------- tail protocol


@functools.cache
def mqm() -> dict[str, np.ndarray]:
    frame = pl.read_csv(data("mqm_newstest2020_ende_scores.tsv"), separator=" ", has_header=True, ignore_errors=True)
    names = frame.columns
    out = {}
    for system in frame[names[0]].unique().sort():
        part = frame.filter(pl.col(names[0]) == system)[names[1]].cast(pl.Float64, strict=False).drop_nulls().to_numpy()
        if len(part) > 1000:
            out[str(system)] = -part
    return out


@row
def gpd() -> str:
    g = rng()
    fits = [tail.fit_gpd(draw_gpd(500, 0.2, 1.0, rng=g)) for _ in range(500)]
    inside = np.mean([0.2 in f.interval for f in fits])
    spread = np.std([f.xi for f in fits]) * math.sqrt(500)
    return f"simulated, xi 0.2, n 500: covers {inside:.3f} of 500, sd x sqrt(n) {spread:.2f} (1.20)"


@row
def tvar() -> str:
    values = draw_severities(200_000, 0.2, rng=rng())
    return f"simulated with a true TVaR of 4: {tail.tvar(values):.3f}"


@row
def bounded() -> str:
    g = rng()
    logits = -6 + 2.6 * g.gumbel(size=30_000)
    p = 1 / (1 + np.exp(-logits))
    raw, fixed = (tail.fit_gpd(x[x > np.quantile(x, 0.99)] - np.quantile(x, 0.99)) for x in (p, logits))
    return f"simulated: xi {raw.xi:+.2f} in probabilities, {fixed.xi:+.2f} after the logit"


def _trap(gate: str, trials: int = 10) -> str:
    found = tail_traps.simulate_trap(gate, rng=rng(), trials=trials, n_resamples=200)
    return f"{gate}: naive claim in {found.naive_rate:.0%}, killed in {found.killed_rate:.0%} of {trials}"


@row
def gates() -> str:
    return "simulated traps: " + "; ".join(_trap(g) for g in ("G3", "G4", "G5"))


@row
def bound() -> str:
    return ", ".join(f"{tail.required_exceedances(d):,}" for d in (0.05, 0.07, 0.10, 0.20))


@row
def stability() -> str:
    spreads = [np.nanstd([p.xi for p in tail.stability_scan(v, min_exceedances=50).points]) for v in mqm().values()]
    return f"MQM, {len(spreads)} systems: std {span(spreads, '{:.3f}')}"


@row
def matrix() -> str:
    values = dict(list(mqm().items())[:4])
    spread = float(np.std(np.concatenate(list(values.values()))))
    plan = tail.TailPlan(tolerance_mean=0.1 * spread, tolerance_tvar=0.2 * spread, n_resamples=300)
    found = tail.compare_conditions(values, plan, rng=rng(), band=False)
    verdicts = [c.verdict.value for c in found.claims]
    return (
        f"MQM, 4 systems: {', '.join(f'{verdicts.count(v)} {v}' for v in sorted(set(verdicts)))} of "
        f"{len(verdicts)} pairs"
    )


@row
def tolerance() -> str:
    g = rng()
    a, b = draw_pair(31_400, 0.2, rng=g)
    out = []
    for factor in (0.5, 1.0, 2.0):
        plan = tail.TailPlan(tolerance_mean=0.1 * factor, tolerance_tvar=0.2 * factor, n_resamples=500)
        out.append(f"x{factor:g} {tail.compare_tails(a, b, plan, rng=rng()).verdict.value}")
    return "simulated: " + ", ".join(out)


@row
def recovery() -> str:
    cells = simulate_criteria([0.10, 0.15, 0.20], [1570], rng=rng(), trials=200, n_resamples=200)
    return ", ".join(f"{c.pass_rate:.0%} at {c.delta:.2f}" for c in cells.cells) + " of 200"


@functools.cache
def small_run() -> Path:
    """Forty answers of the built-in model, at two temperatures; its weights are not fetched for this."""
    from richter.models import weights_cached

    if not _facts() or weights_cached("smollm2") is None:
        raise SkippedRowError("the weights of the built-in model are not here")
    run = WORK / "smollm2"
    items = bench.cached_facts(items=1000)
    richter("audit", "--only", "ask", run, "--bench", items, "--model", "smollm2", "--temperature", "0",
            "--temperature", "1", "--limit", "20", "--max-tokens", "24", "--style", "chat")  # fmt: skip
    return run


@row
def scorers() -> str:
    found = richter("audit", small_run(), "--scorer", "nll", "--scorer", "length", "--test",
                    "-o", WORK / "two.csv")["scorers"]  # fmt: skip
    claims = {name: r["claim"] for name, r in found.items()}
    return "SmolLM2, 40 answers: " + ", ".join(
        f"{name} {c['verdict']}" + (f" by {c['blocked_by']}" if c.get("blocked_by") else "")
        for name, c in claims.items()
    )


@row
def probe() -> str:
    words = (
        "audit",
        small_run(),
        "--scorer",
        "nll",
        "-o",
        WORK / "probe.csv",
        "--resamples",
        "200",
    )
    found = richter(*words, "--copy", "template", "--copy", "length", "--copy", "judge")["probes"]
    return "SmolLM2, 40 answers: " + ", ".join(
        f"{p['condition']} {p['copy']} {p['claim']['verdict']}"
        for p in found
        if p["condition"] == found[0]["condition"]
    )


@row
def registration() -> str:
    with tempfile.TemporaryDirectory() as folder:
        run = functools.partial(subprocess.run, cwd=folder, capture_output=True, text=True)
        start = [sys.executable, "-m"]
        for line in re.findall("`(.+?)`", TEXTS["registration"]["command"]):  # the commands that the page prints
            run([*start, *shlex.split(line)], check=True)
        plan = Path(folder) / "plan.toml"
        locked = run([*start, "richter", "verify", "plan.toml"])
        plan.write_text(plan.read_text().replace("\nq = 0.95\n", "\nq = 0.96\n"))
        changed = run([*start, "richter", "verify", "plan.toml"])
    why = "changed since the lock" if "was changed after it was locked" in changed.stdout else changed.stdout
    return (
        f"locked plan: exit status {locked.returncode}; with another threshold afterwards: exit status "
        f"{changed.returncode}, {why}"
    )


# -------------------------------------------------------------------------------------------------------- Sem-ECE


def sem() -> dict[str, Any]:
    return next(iter(richter("calibration", draws())["conditions"].values()))


@row
def sampling() -> str:
    return f"{sem()['questions']} questions x {sem()['draws']} draws, accuracy {sem()['accuracy']:.3f}"


@row
def clustering() -> str:
    s = sem()["sensitivity"]
    return "; ".join(
        f"{name}: {r['classes_per_question']:.1f} classes, Sem2-ECE {r['sem2']:.3f}" for name, r in s.items()
    )


@row
def estimators() -> str:
    return f"Sem1-ECE {sem()['sem1']['ece']:.3f}, Sem2-ECE {sem()['sem2']['ece']:.3f}"


@row
def regimes() -> str:
    from scipy.optimize import brentq

    root = brentq(lambda u: float(cal.oracle_gap_constant(u / 2)), 0.3, 1.0)
    told = "; ".join(
        f"{b['name']}: {b['observed_confidence']:.3f} against {b['predicted_halves']:.3f} ({b['n']} questions)"
        for b in sem()["gap"]["boundaries"]
    )
    r = sem()["regimes"]
    return f"u* {root:.6f}; {r['large']} large, {r['low']} low ({r['jensen']} Jensen); {told}"


@row
def strata() -> str:
    s = sem()["strata"]
    return (
        f"Sem1 - Sem2 confidence {s[0]['confidence_drop']:.3f} in the lowest of {len(s)} strata, "
        f"{s[-1]['confidence_drop']:.3f} in the highest"
    )


@row
def convergence() -> str:
    curves = []
    for k in range(3):
        labels = (np.random.default_rng(k).random((2000, 400)) < 0.5).astype(np.int64)
        pool = cal.answer_pool(labels, np.zeros(labels.shape))
        curves.append(
            sem_ece_convergence.convergence(pool, rng=rng(), sizes=range(10, 51, 10), n_resamples=100, repeats=1)
        )
    found = sem_ece_convergence.pool_slopes(curves)
    slope = (
        "none" if found.slope is None else f"{found.slope:.2f} ({found.interval.low:.2f} to {found.interval.high:.2f})"
    )
    (real,) = (curve.slope for curve in sem_ece_convergence.curves_of(draws()).values())
    return f"simulated: {slope}; TriviaQA: {'none (the gap changes sign)' if real is None else f'{real:.2f}'}"


@row
def paired() -> str:
    def told(x: dict[str, Any]) -> str:
        return f"{x['estimate']:+.3f} [{x['interval']['low']:+.3f}, {x['interval']['high']:+.3f}]"

    g = sem()["gap"]
    return f"confidence {told(g['confidence'])}; ECE {told(g['ece'])}; low margin {told(g['low_margin_ece'])}"


@row
def reliability() -> str:
    found, claim = sem(), sem()["claim"]
    low, high = found["sem1"]["interval"]["low"], found["sem1"]["interval"]["high"]
    return f"{claim['verdict']}; Sem1-ECE {found['sem1']['debiased']:.3f} debiased ({low:.3f} to {high:.3f})"


# ----------------------------------------------------------------------------------------------- verification tax


@row
def floor_rates() -> str:
    told = [floors.passive_floor(n, e).value for n, e in ((14042, 0.15), (817, 0.40), (164, 0.30))]
    return (
        ", ".join(f"{x:.4f}" for x in told)
        + f"; {floors.accuracy_floor(14042, 0.16):.4f}; {floors.passive_floor(14042, 0.16, lipschitz=1.4).value:.4f}"
    )


@row
def sizing() -> str:
    law = [
        floors.group_labels(d, e, min_share=p, groups=k).total
        for d, e, p, k in ((0.02, 0.05, 0.05, 10), (0.01, 0.03, 0.1, 5), (0.01, 0.02, 0.05, 8))
    ]
    need = floors.labels_needed(0.01, 0.05)
    return (
        f"{', '.join(f'{x:.2e}' for x in law)}; {floors.le_cam(1000, 0.01).constant:.3f} to "
        f"{floors.le_cam(1000, 0.35).constant:.3f}; {need.estimation:,} to estimate, "
        f"{need.detection_bound} (bound) and {need.detection_test:,} (test) to detect"
    )


def _floors(name: str) -> dict[str, Any]:
    return richter("size", "calibration", grades(name))["conditions"]


@row
def lipschitz() -> str:
    out = []
    for name in ("arc", "truthfulqa"):
        found = [c["lipschitz_detail"] for c in _floors(name).values() if c.get("lipschitz_detail")]
        told, above = span([f["estimate"] for f in found], "{:.2f}"), sum(f["estimate"] > f["noise"] for f in found)
        out.append(f"{name}: {len(found)} of 14 have one, {told}; above noise {above}")
    return "; ".join(out)


@row
def self_evaluation() -> str:
    return "; ".join(
        f"{name}: {richter('size', 'calibration', grades(name))['self_evaluation'].split(':')[0]}"
        for name in ("arc", "truthfulqa")
    )


PUBLISHED = """benchmark,model,score,n
MMLU,GPT-4,0.864,14042
MMLU,Claude 3 Opus,0.868,14042
MMLU,Gemini 1.5 Pro,0.859,14042
HumanEval,GPT-4,0.670,164
HumanEval,GPT-4o,0.902,164
HumanEval,Claude 3.5 Sonnet,0.919,164
HumanEval,Gemini 1.5 Pro,0.715,164
GPQA,GPT-4o,0.536,198
GPQA,Claude 3.5 Sonnet,0.593,198
"""  # the scores behind pairs that table 2 names


@row
def leaderboard() -> str:
    (WORK / "published.csv").write_text(PUBLISHED)
    found = richter("size", "--published", WORK / "published.csv")
    told = ", ".join(f"{b['name']} {b['shown']} of {b['pairs']}" for b in found["benchmarks"])
    below = sum(b["below"] for b in found["benchmarks"])
    return f"shown: {told}; below the paper's floor {below} of {len(found['claims'])}"


def simulation(name: str) -> Simulation:
    return SIMULATIONS[name](rng=rng())


@row
def phase() -> str:
    found = richter("size", "calibration", "--phase", grades("truthfulqa"), "--runs", "20")
    text = simulation("phase").sentence
    first = {name: next((p["n"] for p in points if p["shown"] >= 0.8), None) for name, points in found.items()}
    known = sorted(n for n in first.values() if n)
    return (
        f"{text.split(':')[0]}; TruthfulQA: 80% shown at {known[0]} to {known[-1]} labels "
        f"({len(known)} of {len(first)} models)"
    )


@row
def active() -> str:
    return simulation("active").sentence


@row
def sequential() -> str:
    g = rng()
    missed, runs = 0, 200
    for _ in range(runs):
        c = g.uniform(0.5, 1, size=1500)
        a = (g.random(1500) < c).astype(float)
        found = floors.ece_sequence(c, a)
        missed += bool(np.any(np.asarray(found.low) > 0))
    return f"simulated, calibrated, 1,500 labels: ever above 0 in {missed} of {runs}"


@row
def composition() -> str:
    return f"{simulation('composition').sentence} {_pipeline()}"


def _pipeline() -> str:
    frame = pl.read_csv(grades("arc"))
    wide = [
        frame.filter(pl.col("condition") == c).select(
            "item", pl.col("correct").alias(f"correct_{k}"), pl.col("confidence").alias(f"confidence_{k}")
        )
        for k, c in enumerate(("Llama-70b", "gpt-3.5-turbo"), 1)
    ]
    path = WORK / "stages.csv"
    wide[0].join(wide[1], on="item").with_columns(pl.lit("two stages").alias("condition")).write_csv(path)
    (found,) = richter("calibration", "--pipeline", path)["conditions"]
    return f"Real stages: {found['sentence'] if 'sentence' in found else found['claim']['sentence']}"


@row
def fairness() -> str:
    one, all_ = (floors.group_labels(0.02, 0.05, min_share=s).total for s in (0.05, 1.0))
    return f"{one / all_:.0f} times ({one:,} against {all_:,})"


@row
def horizon() -> str:
    return f"{tax_formulas.horizon(14_000).passive:.2e}"


@row
def half_life() -> str:
    h = floors.half_life(0.02, 0.001)
    return f"gap 0.02, drift 0.001: expires after {h.expires_after:g}, {h.labels_per_unit:g} labels a unit"


@row
def trap() -> str:
    return f"1,000 labels, ECE 0.1 halved each time: {tax_formulas.recalibration_rounds(1000, 0.1, 0.1)} rounds"


@row
def transfer() -> str:
    found = tax_formulas.transfer_labels(0.02, 0.01, 0.1)
    return f"{found.with_transfer:,.0f} against {found.from_scratch:,.0f} labels"


@row
def synthetic() -> str:
    return " ".join(simulation(name).sentence for name in ("slope", "pseudo"))


# ------------------------------------------------------------------------------------------------------------ SEA


@functools.cache
def field() -> tuple[Any, ...]:
    """A simulated base of 20,000 paragraphs and a testee whose chance of error is smooth over their vectors."""
    vectors, codes, abstracts, first = sim.base(20_000, np.random.default_rng(1))
    return vectors, codes, abstracts, first, sim.field(vectors, 0.1, np.random.default_rng(2))


@functools.cache
def searched(strategy: str, seed: int = 0, paragraphs: int = 400, testee: int = 2, **options: Any) -> Any:
    vectors, codes, abstracts, first, chance = field()
    if testee != 2:
        chance = sim.field(vectors, 0.1, np.random.default_rng(testee))
    return sim.search(vectors, codes, abstracts, first, chance, strategy, seed, paragraphs, **options)[0]


def _rates(strategy: str, **options: Any) -> float:
    return float(np.mean([searched(strategy, seed, **options).rate for seed in range(3)]))


SIMULATED = "simulated testee, 20,000 paragraphs, base rate 10%"


@row
def knowledge_base() -> str:
    with tempfile.TemporaryDirectory() as folder:
        found = richter("search", "--only", "base", ROOT / "docs", "-o", Path(folder) / "docs.kb")
    return f"{found['documents']} documents, {found['paragraphs']} paragraphs"


@row
def retrieval() -> str:
    from richter_audit.knowledge import measure_recall

    vectors, _, abstracts, first, _ = field()
    found = measure_recall(vectors, abstracts, first, rng=rng())
    return f"{SIMULATED}: two-level finds {found.recall:.2f} of the exact 50 nearest"


@row
def generation() -> str:
    raise SkippedRowError("needs a generator model")


@row
def ascent() -> str:
    found = searched("sea", uniform=0.0)
    steps = [np.mean([found.errors[r] for r in batch]) for batch in found.batches]
    return f"{SIMULATED}: error {steps[0]:.2f} in the first step, {np.mean(steps[-3:]):.2f} in the last three"


@row
def graph() -> str:
    from richter_audit.ascent import follow

    found = searched("sea", uniform=0.0)
    trails = follow([list(b) for b in found.batches], list(found.edges), found.errors)
    return (
        f"{SIMULATED}: {len(found.edges):,} edges; {len({p for t in trails for p in t.pruned})} sources "
        f"pruned, {len(trails[-1].sources)} left"
    )


@row
def budget() -> str:
    return f"asked for 400 paragraphs: {len(searched('sea', uniform=0.0).errors)} asked about, none twice"


@row
def ablations() -> str:
    r, n, s = _rates("random", uniform=0.0), _rates("sea", uniform=0.0, gamma=None), _rates("sea", uniform=0.0)
    return f"{SIMULATED}: random {r:.3f}, without pruning {n:.3f}, SEA {s:.3f} (3 seeds)"


@row
def baselines() -> str:
    t, s = _rates("topics", uniform=0.0), _rates("sea", uniform=0.0)
    return f"{SIMULATED}: topics {t:.3f}, SEA {s:.3f}: {s / t:.1f} times"


def failing_groups(strategy: str, *, nearby: bool = True, **options: Any) -> tuple[Any, str]:
    """The groups in which more fails, categories (and neighbourhoods, if `nearby`), and how many fail in words."""
    from richter_audit.ascent import find_failing_groups

    vectors, codes, *_ = field()
    found = searched(strategy, **options)
    rows = np.array(list(found.errors))
    fails = np.array([found.errors[row] > 0.5 for row in rows])
    places = [{f"category {code}"} for code in codes[rows]]
    groups = find_failing_groups(fails, places=places, vectors=vectors[rows] if nearby else ()).groups
    return groups, f"{SIMULATED}: {int(fails.sum())} of {len(rows)} fail, {len(groups)} clusters"


@row
def error_map() -> str:
    groups, told = failing_groups("sea")
    surest = (f"; the surest: {g.failing} of {len(g.members)}, adjusted p {g.p_value:.2g}" for g in groups[:1])
    return told + "".join(surest)


@row
def patterns() -> str:
    groups, told = failing_groups("random", nearby=False, paragraphs=1200, uniform=0.0)
    return told + "".join(f"; {g.name}: {g.failing} of {len(g.members)}" for g in groups[:1])


@row
def cross() -> str:
    from richter_audit.ascent import cross_matrix

    vectors, *_ = field()
    truth = {}
    for name, seed in (("a", 2), ("b", 5)):
        chance = sim.field(vectors, 0.1, np.random.default_rng(seed))
        truth[name] = np.random.default_rng([seed, 99]).random(len(vectors)) >= chance
    subsets = {n: [str(r) for r in searched("sea", testee=t, uniform=0.0).errors] for n, t in (("a", 2), ("b", 5))}
    asked = {i for s in subsets.values() for i in s}
    found = cross_matrix(subsets, {n: {i: bool(truth[n][int(i)]) for i in asked} for n in subsets})
    return f"{SIMULATED}: accuracy on own / other's subset " + _cross_text(found)


def _cross_text(found: Any) -> str:
    accuracy = np.asarray(found.accuracy, dtype=float)
    own, other = np.mean(np.diag(accuracy)), np.mean(accuracy[~np.eye(len(accuracy), dtype=bool)])
    return f"{own:.2f} / {other:.2f}"


@row
def retests() -> str:
    raise SkippedRowError("needs a model")


@row
def predictor() -> str:
    from richter_audit.ascent import predict_failures

    vectors, *_ = field()
    found = searched("random", paragraphs=1200, uniform=0.0)
    rows = np.array(list(found.errors))
    told = predict_failures(vectors[rows], np.array([found.errors[r] > 0.5 for r in rows]), rng=rng())
    return f"{SIMULATED}: AUROC {told.auc:.2f} held out"


@row
def costs() -> str:
    with tempfile.TemporaryDirectory() as folder:
        kb = Path(folder) / "docs.kb"
        richter("search", "--only", "base", ROOT / "docs", "-o", kb)
        found = richter(
            "search",
            str(Path(folder) / "r"),
            "--model",
            "openai/gpt-4o",
            "--kb",
            kb,
            "--budget",
            "20000calls",
            "--generator",
            "openai/gpt-4o",
            "--strategy",
            "sea",
            "--questions",
            "5",
            "--phrasings",
            "5",
            "--wordings",
            "all",
            "--uniform",
            "0",
            "--dry-run",
        )["dry_run"]
    return f"{found['paragraphs']} paragraphs, at most {found['calls_most']:,} calls and ${found['money_usd_most']:.2f}"


# ------------------------------------------------------------------------------------------------------- the page

HEAD = """# The papers, and what Richter prints for them

Richter implements five papers that partly contradict each other. Each estimator's page says where it departs from its
paper and why; the paper's own variant stays available by name. Made by `make papers`, which goes on where it stopped.
"""
SCRIPTS = """
The papers' own simulations and analyses are scripts, which are run and tested and not installed with Richter.

| script | what it does |
|---|---|
"""
ROWS_HEAD = """
Below is every table and figure of the papers. A row whose data or model are missing says "skipped". Paper's data are
used where they are public: the severity paper's own judge scores on its first 4,000 queries (`scores.csv`: the 21
models of the paper), grades of 14 models on ARC and TruthfulQA (`grades.csv`), 500 TriviaQA questions with 20 answers
(`draws.jsonl`), MQM scores of translations. Everything else is simulated, and says so.
"""


def head() -> str:
    """The papers, and the scripts by the first sentence of each."""
    parts = [HEAD, "\n| paper | what Richter takes from it | room |\n|---|---|---|\n"]
    parts += [f"| {paper['title']} | {paper['takes']} | {paper['room']} |\n" for paper in PAPERS.values()]
    parts.append(SCRIPTS)
    for path in sorted((ROOT / "papers").glob("*.py")):
        text = path.read_text()
        if "__main__" in text:
            parts.append(f"| `papers/{path.name}` | {ast.get_docstring(ast.parse(text)).splitlines()[0]} |\n")
    return "".join([*parts, ROWS_HEAD])


def page(results: dict[str, str]) -> str:
    parts, skipped = [head()], []
    for paper in PAPERS:
        parts.append(f"\n## {paper}\n\n| row | where | command | Richter | the paper | difference and its reason |\n")
        parts.append("|---|---|---|---|---|---|\n")
        for r in ROWS:
            if r.paper == paper:
                told = results.get(f"{r.paper}: {r.name}", "skipped: not run yet")
                cells = (r.name, r.where, r.command, told, r.says, r.why)
                parts.append("| " + " | ".join(c.replace("|", "/") for c in cells) + " |\n")
                if told.startswith("skipped: "):
                    skipped.append(f"{r.name} ({told.removeprefix('skipped: ')})")
    parts.append(f"\n## Skipped in this run\n\n{'; '.join(skipped) or 'Nothing'}.\n")
    return "".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--again", help="the row to run anew, or 'all'")
    again = parser.parse_args().again
    WORK.mkdir(parents=True, exist_ok=True)
    store = WORK / "rows.json"
    results: dict[str, str] = json.loads(store.read_text()) if store.exists() else {}
    for r in ROWS:
        key = f"{r.paper}: {r.name}"
        if key in results and again not in (r.name, "all") and not results[key].startswith("failed"):
            continue
        start = time.perf_counter()
        try:
            results[key] = r.run()
        except SkippedRowError as reason:
            results[key] = f"skipped: {reason}"
        except Exception as error:
            results[key] = f"failed: {type(error).__name__}: {error}"[:200]
        print(f"{key}: {results[key]} [{time.perf_counter() - start:.0f} s]", flush=True)
        store.write_text(json.dumps(results, indent=1))
    PAGE.write_text(page(results))
    failed = [k for k, v in results.items() if v.startswith("failed")]
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
