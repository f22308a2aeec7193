"""Does a test notice when a rule of a verdict is changed? Each rule below is changed in a copy, and its tests are run.

A mutant is killed when a test fails. Prints one line a mutant and the survivors; exit status 1 where one survives.
`--fast` runs the first of each file, for continuous integration.

    python studies/mutants.py [--fast] [word in the name]
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
DECIDE = ("claims/_decide.py", "tests/claims/test_decide.py tests/claims/test_compare_outcomes.py")
REQUIRE = ("claims/_require.py", "tests/claims/test_require.py")
SIZING = ("floors/_sizing.py", "tests/floors/test_rates.py tests/floors/test_commands.py tests/floors/test_size_gap.py")


class Mutant(NamedTuple):
    """What is changed, where, from what to what, and the tests that must notice."""

    name: str
    file: str
    tests: str
    old: str
    new: str


MUTANTS = (
    Mutant("equivalence at 20%", *DECIDE, "interval(1 - 2 * level)", "interval(1 - 8 * level)"),
    Mutant("no family", *DECIDE, "level = alpha / len(left)", "level = alpha"),
    Mutant("direction turned", *DECIDE, "rising = evidence.estimate > question.value\n        against",
           "rising = evidence.estimate < question.value\n        against"),
    Mutant("tried ignored", *DECIDE, "alpha = (1 - level) / tried", "alpha = 1 - level"),
    Mutant("secondary tested first", *DECIDE, "going = going and all(", "going = True or all("),
    Mutant("sized one-sided", *DECIDE, "ndtri(1 - alpha / 2) + ndtri(POWER)", "ndtri(1 - alpha) + ndtri(POWER)"),
    Mutant("units by the first power", *DECIDE,
           "evidence.standard_error / aim) ** 2", "evidence.standard_error / aim) ** 1"),
    Mutant("gate met on the point estimate", *REQUIRE, "if _side(question, interval) > 0",
           "if (evidence.estimate > question.value) == (question.relation == 'above')"),
    Mutant("gate violated on the point estimate", *REQUIRE, "if float(p_violated) <= alpha:", "if True:"),
    Mutant("gate without multiplicity", *REQUIRE, "violated = holm(against)", "violated = against"),
    Mutant("gate's sign", *REQUIRE,
           '(1 if question.relation == "above" else -1)', '(-1 if question.relation == "above" else 1)'),
    Mutant("gate's level", *REQUIRE,
           "interval = evidence.interval(1 - 2 * alpha)\n", "interval = evidence.interval(1 - 8 * alpha)\n"),
    Mutant("gate's needed", *REQUIRE, "spread / room**2", "spread / room"),
    Mutant("band satisfied by one threshold", "tail/_study.py", "tests/tail/test_compare.py",
           "if kept == len(usable):", "if kept >= 1:"),
    Mutant("tail gate P2", "tail/_gates.py", "tests/tail/test_compare.py",
           "passed=abs(difference) > plan.delta if known", "passed=abs(difference) > 0 if known"),
    Mutant("tail verdict without gates", "tail/_gates.py", "tests/tail/test_compare.py",
           "blocked = first_failed(gates[:5])\n", "blocked = first_failed(gates[:4])\n"),
    Mutant("severity violated by its upper limit", "severity/_requirement.py",
           "tests/severity/test_deployment.py tests/cli/test_severity.py", ".lower * (1 - at", ".upper * (1 - at"),
    Mutant("law's gate", "severity/_discriminate.py", "tests/severity/test_discriminate.py",
           "passed=all(side.adequate for side in sides if side is not None)", "passed=True"),
    Mutant("estimation's exponent", *SIZING, "error_rate / delta**3", "error_rate / delta**2"),
    Mutant("detection's exponent", *SIZING, "error_rate / delta**2", "error_rate / delta"),
    Mutant("paired size", *SIZING, "(2 * gap)) ** 2", "(2 * gap)) ** 1"),
    Mutant("half width's size", *SIZING, "/ half_width**2", "/ half_width"),
    Mutant("floor's exponent", "floors/_rates.py", "tests/floors/test_rates.py",
           "(lipschitz * error_rate / n) ** (1 / 3)", "(lipschitz * error_rate / n) ** (1 / 2)"),
    Mutant("Neyman without shrinkage", "floors/_active.py", "tests/floors/test_active.py",
           "size * (sigma + np.mean(sigma)) / 2", "size * sigma"),
    Mutant("side of a claim", "claims/_answer.py", "tests/claims/test_answer.py",
           'return "better" if above ==', 'return "worse" if above =='),
)  # fmt: skip


def killed(mutant: Mutant) -> bool | None:
    """Whether a test fails on the changed copy; None where the rule is no longer written so."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "src"
        shutil.copytree(ROOT / "src", copy, ignore=shutil.ignore_patterns("__pycache__"))
        file = copy / "richter" / mutant.file
        text = file.read_text(encoding="utf-8")
        if mutant.old not in text:
            return None
        file.write_text(text.replace(mutant.old, mutant.new, 1), encoding="utf-8")
        tests = [name for name in mutant.tests.split() if (ROOT / name).exists()]
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            "-o",
            f"pythonpath={copy} tests",
            *tests,
        ]
        env = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
        return done.returncode == 1


def main() -> None:
    chosen = list(MUTANTS)
    if "--fast" in sys.argv:
        chosen = list({m.file: m for m in reversed(MUTANTS)}.values())
    words = [w for w in sys.argv[1:] if not w.startswith("--")]
    chosen = [m for m in chosen if all(w in m.name for w in words)]
    survivors = []
    for mutant in chosen:
        found = killed(mutant)
        said = {True: "killed", False: "SURVIVED", None: "NOT FOUND"}[found]
        print(f"{said:<10} {mutant.file}: {mutant.name}", flush=True)
        if not found:
            survivors.append(mutant.name)
    print(
        f"{len(chosen) - len(survivors)} of {len(chosen)} killed"
        + (f"; left: {', '.join(survivors)}" if survivors else "")
    )
    sys.exit(bool(survivors))


if __name__ == "__main__":
    main()
