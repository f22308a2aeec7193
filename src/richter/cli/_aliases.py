"""Old spellings of commands: each works, and prints the new one. This table is the only place that knows them."""

import dataclasses
import itertools
from collections.abc import Mapping

import click


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Alias:
    """An old command: its words, the words of today, and options that were renamed.

    A word of `old` that begins with `--` may stand anywhere behind the others.
    """

    old: str
    new: str
    options: Mapping[str, str] = dataclasses.field(default_factory=dict)


def _alias(old: str, new: str, **options: str) -> Alias:
    renamed = {f"--{before.replace('_', '-')}": f"--{after}" for before, after in options.items()}
    return Alias(old=old, new=new, options=renamed)


# of two that fit, the first counts: more words come before fewer
ALIASES = (
    _alias("agreement", "label agreement"),
    _alias("ask", "audit --only ask"),
    _alias("bench build", "bench"),
    _alias("bench show", "bench"),
    _alias("calibration measure", "calibration"),
    _alias("calibration phase", "size calibration --phase"),
    _alias("calibration pipeline", "calibration --pipeline"),
    _alias("check", "import --dry-run"),
    _alias("draw", "audit --only draw"),
    _alias("export --failing", "search export"),
    _alias("floors data", "size calibration"),
    _alias("floors next", "label next"),
    _alias("floors pipeline", "size calibration", stages="pipeline", labels="n"),
    _alias("floors presets", "size calibration --preset all"),
    _alias("floors published", "size published"),
    _alias("floors", "size calibration"),
    _alias("help all", "help"),
    _alias("judge", "audit --only judge"),
    _alias("kb add", "search base"),
    _alias("kb build", "search base"),
    _alias("kb index", "search index"),
    _alias("kb ingest", "search base"),
    _alias("kb questions", "search questions"),
    _alias("kb show", "search base"),
    _alias("plan check", "verify"),
    _alias("rate", "label"),
    _alias("run list", "run"),
    _alias("run settle", "run"),
    _alias("run show", "run"),
    _alias("search compare", "search show"),
    _alias("search cross", "search retest --kind cross"),
    _alias("search explain", "search retest --kind explain"),
    _alias("size error-rate", "size"),
    _alias("size gap", "size"),
    _alias("size groups", "size calibration"),
    _alias("tail probe", "severity score --probe", n_resamples="resamples"),
    _alias("tail score", "severity score"),
    _alias("tail test", "severity tail", n_resamples="resamples"),
    _alias("kb", "search base"),
    _alias("tail", "severity tail"),
)

# what no command does any more, and why
PAPERS = "only the papers' own tables and simulations need it: papers/, run but not shipped"
SETS = "nobody imports a benchmark so; `richter search export` writes failing questions for other tools"
MAPS = "fit a map with scikit-learn; `richter calibration` says whether what it gives is calibrated"
PILOT = "it missed 4 of 12 gains; `search run` asks at random where it gains nothing"
CONTRASTS = "its clusters name the folders, headings and attributes in which more fails"
CARD = "nobody loads an item set so"
HALF_LIFE = "it computed one formula: in Python richter.floors.half_life"
FORMULA = "it computed one formula, which only the paper uses: papers/tax_formulas.py"
GONE = {
    "calibration apply": MAPS,
    "calibration --save-map": MAPS,
    "floors half-life": HALF_LIFE,
    "floors horizon": FORMULA,
    "floors recalibration": FORMULA,
    "floors transfer": FORMULA,
    "floors simulate": PAPERS,
    "severity --conditions": PAPERS,
    "severity --cost": "multiply the rates at each level (`--all`) by your costs",
    "severity --full": PAPERS,
    "severity --judge-errors": "it took raters as independent, or a table as known; human labels correct (--human)",
    "severity --pair": PAPERS,
    "severity --paper": "`richter severity --all` has the paper's slopes and counts",
    "size calibration --drift": HALF_LIFE,
    "size calibration --ece": FORMULA,
    "size calibration --horizon": FORMULA,
    "size calibration --shift": FORMULA,
    "size calibration --stages": "`--pipeline L1,L2,..` says it with a constant for each stage",
    "tail power": PAPERS,
    "tail test --paper": "nobody reads the LaTeX tables that it wrote",
    "export --paper": "nobody reads the LaTeX tables that it wrote",
    "search pilot": PILOT,
    "search run --pilot": PILOT,
    "search show --over": CONTRASTS,
    "search show --patterns": CONTRASTS,
    "search show --graphml": "nobody reads the file that it wrote; `richter search show RUN --map errors.csv` has it",
    "bench card": CARD,
    "bench --to": SETS,
    "bench export": SETS,
    "bench export --to lm-eval": "lm-eval does not import such sets",
}

FIRST_WORDS = {old.split()[0] for old in (*GONE, *(alias.old for alias in ALIASES))}


def _rest(old: str, argv: list[str]) -> list[str] | None:
    """The arguments without the old words; None where they are others."""
    words = old.split()
    leading = list(itertools.takewhile(lambda word: not word.startswith("--"), words))
    flags = words[len(leading) :]
    if argv[: len(leading)] != leading or not set(flags) <= set(argv):
        return None
    return [word for word in argv[len(leading) :] if word not in flags]


def _rename_option(word: str, names: Mapping[str, str]) -> str:
    option, equals, value = word.partition("=")
    return f"{names.get(option, option)}{equals}{value}"


def respell(argv: list[str]) -> list[str]:
    """The arguments as they are spelt now; the new spelling of an old command is printed, what is gone is refused."""
    for old, reason in GONE.items():
        if _rest(old, argv) is not None:
            raise click.UsageError(f"`richter {old}` is gone: {reason}.")
    for alias in ALIASES:
        rest = _rest(alias.old, argv)
        if rest is None:
            continue
        click.echo(f"`richter {alias.old}` is now `richter {alias.new}`.", err=True)
        for before, after in alias.options.items():
            if any(word.partition("=")[0] == before for word in rest):
                click.echo(f"`{before}` is now `{after}`.", err=True)
        return [*alias.new.split(), *(_rename_option(word, alias.options) for word in rest)]
    return argv
