"""The table of commands: few, quick to explain themselves, and under old spellings too."""

import ast
import subprocess
import sys
from pathlib import Path

import click
import pytest

from helpers.spelling import command_of, lines_in, options_of, unknown_options
from richter.cli._aliases import ALIASES, GONE, respell
from richter.cli._io import _CONFIRMING, _POLICY
from richter.cli._io import READING as READ_BY
from richter.cli._main import COMMANDS, GROUPS
from richter.cli._options import CONFIRMING, READING, VOUCHING

ROOT = Path(__file__).parents[2]
MOST_COMMANDS = 36
FIRST_SCREEN = ("compare", "report", "view", "gate", "size", "label", "audit", "import", "help")
STAGES = ("ask", "judge", "draw")
HEAVY = ("numpy", "polars", "scipy", "numba", "rich", "aiohttp", "jinja2")
# asks every command for its help in one process, and says what was loaded
HELP = """
import sys
from richter.cli import main
for words in sys.argv[1:]:
    try:
        main([*words.split(), "--help"])
    except SystemExit as end:
        assert not end.code, words
print(*[name for name in %r if name in sys.modules], file=sys.stderr)
"""
# every command of version 0.1 with its options
READS = "--map --scale --better --as-severity --grade --wide --ratings --scorer --filter --pass-at"
VOUCHES = "--missing --trust-ids --trust-raters --trust-labels --unpaired"
ENGINE = "--engine --workers"
PAID = "--budget --prices --price"
PARALLEL = "--concurrency --slots --most-tokens"
OLD = {
    "agreement": "--kind --reference --by --any-scale --seed --json",
    "ask": f"--bench --model --temperature --system --style --shots --max-tokens --top-p --seed --logprobs --draws "
    f"--limit {PAID} {PARALLEL} {ENGINE} --dry-run --context-tokens --timeout --json",
    "audit": "--bench --model --temperature --system --style --max-tokens --limit --grader --tolerance --judges "
    f"--judged --allow-self --gazetteer --draws --drawn --nll --kb --search-calls --canaries --plan --stop-when "
    f"--only --seed {PAID} {PARALLEL} {ENGINE} --dry-run --json",
    "bench build": "--items --seed --output --json",
    "bench show": "--examples --json",
    "calibration measure": f"{READS} --bins --binning --level --target-error --by --refusals --splits --precision "
    f"--questions --svg --seed {ENGINE} --json",
    "calibration phase": f"{READS} --runs --level --svg --seed --json",
    "calibration pipeline": "--level --seed --json",
    "check": f"{READS} --json",
    "compare": f"--margin --on --control --by {VOUCHES} --tail-plan --tried "
    f"--min-shared {READS} --level --resamples --seed --md --json",
    "demo": "--quick --also --json",
    "doctor": "--json",
    "draw": f"--bench --model --draws --temperature --max-tokens --top-p --seed --style --plain --no-logprobs --judge "
    f"--adaptive --limit {PAID} {PARALLEL} {ENGINE} --dry-run --json",
    "export": f"--output --table --force --mlflow --wandb {READS}",
    "floors": "--n --error-rate --lipschitz --delta --autocorrelation --cluster-size --intraclass --json",
    "floors data": f"{READS} --seed --level --json",
    "floors next": "--budget --size --condition --signal --seed --level --memory --json",
    "floors pipeline": "--stages --error-rate --delta --labels --json",
    "floors presets": "--json",
    "floors published": "--n --n-b --names --level --json",
    "gate": f"--margin --on --baseline --page {VOUCHES} --accept-judge --level {READS} --junit --md --history --json",
    "help": "",
    "import": f"--output {READS} --kind --json",
    "judge": f"--rules --grader --tolerance --judges --judge-system --gazetteer --allow-self --limit --output {PAID} "
    f"{ENGINE} --dry-run --seed --json",
    "kb add": f"--embedding {ENGINE} --json",
    "kb build": f"--output --out --part --embedding {ENGINE} --json",
    "kb index": "--at --recall --rebuild --seed --json",
    "kb ingest": f"--output --out --documents --embedding {ENGINE} --json",
    "kb questions": f"--generator --checker --per-paragraph --limit {PAID} --dry-run --concurrency --rejects "
    "--seed --json",
    "kb show": "--head --recall --seed --json",
    "label": "--on --rater --n --batch --most --seed --port --no-browser --sheet --import",
    "plan check": "--json",
    "plan lock": "--json",
    "plan new": "--set --output",
    "report": f"--output --md --figures --format --only --plan --history --level --margin --seed --redact --force "
    f"--schema {READS} {ENGINE} --json",
    "run list": "--json",
    "run settle": "--billed --json",
    "run show": "--item --errors --head --json",
    "search compare": "--json",
    "search cross": f"--subset {PAID} --dry-run --json",
    "search explain": f"--model --kb --limit --seed {PAID} --dry-run --json",
    "search export": f"--output --to --again {PAID} --dry-run --kb --force",
    "search retest": f"--kb --kind --limit --judge --seed {PAID} --dry-run --json",
    "search run": "--model --kb --strategy --style --temperature --xi --gamma --no-prune --neighbours --batch "
    "--questions --phrasings --wordings --uniform --start --retrieval --seed --steps --max-tokens --generator --judge "
    f"--embedding {PAID} {PARALLEL} {ENGINE} --dry-run --json",
    "search show": "--categories --failing --kb --map --json",
    "severity": f"--control --on --margin {VOUCHES} --min-shared --all --human "
    f"--plan --any-scale {READS} --traffic --require --resamples --level --seed "
    f"{ENGINE} --json",
    "size calibration": "--delta --error-rate --lipschitz --power --json",
    "size error-rate": "--rate --half-width --below --errors --cluster-size --intraclass --level --json",
    "size gap": f"--margin --discordance --accuracy --phi --pairs --on --cost-item --cost-draw --cluster-size "
    f"--intraclass {READS} --power --level --json",
    "size groups": "--preset --groups --min-share --delta --error-rate --lipschitz --json",
    "size tail": "--delta-xi --true-xi --q --xi --alpha --power --floor --conditions --usd-per-call --model --tokens "
    "--json",
    "tail probe": f"--copy --scorer --output --model --max-tokens --slots --paraphraser --limit --n-resamples --seed "
    f"{PAID} --dry-run --json",
    "tail score": "--scorer --output --model --max-tokens --slots --map --wide --filter --test --json",
    "tail test": f"{READS} --plan --q --transform --tolerance-mean --tolerance-tvar --delta --pairing --family "
    f"{VOUCHES} --level --n-resamples --probe --scan --seed --exit-code {ENGINE} --json",
    "verify": f"{READS} --json",
    "view": f"{READS} --port --no-browser",
    "watch": f"--condition --margin --date {READS} --independent-days --deployed --level --json",
}


def test_commands_are_few_and_the_first_screen_has_nine() -> None:
    assert len(COMMANDS) <= MOST_COMMANDS
    assert next(iter(GROUPS.values())) == FIRST_SCREEN
    assert sorted(name for names in GROUPS.values() for name in names) == sorted(COMMANDS)


def test_help_loads_no_data_no_statistics_and_no_page() -> None:
    words = ["", "search", "plan", *COMMANDS, *(f"audit --only {stage}" for stage in STAGES)]
    done = subprocess.run([sys.executable, "-c", HELP % (HEAVY,), *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr.split() == []


def test_help_names_the_options_for_reading_that_there_are() -> None:
    assert tuple(READ_BY) == READING

    def bare() -> None: ...

    for option in (*_POLICY, *_CONFIRMING):
        option(bare)
    assert {p.name for p in vars(bare)["__click_params__"]} == {*VOUCHING, *CONFIRMING}


@pytest.mark.parametrize("old", OLD)
def test_every_old_command_works_under_its_spelling_or_says_the_new_one(
    old: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = respell([*old.split(), *OLD[old].split()])
    message = capsys.readouterr().err
    name, command = command_of(words) or ("", None)
    assert command is not None
    options = {word for word in words if word.startswith("--")}
    assert options <= options_of(command), f"{name}: {options - options_of(command)}"
    assert (f"richter {old}" in message) is (old != name)


@pytest.mark.parametrize("alias", ALIASES, ids=lambda alias: alias.old)
def test_no_old_spelling_hides_a_command_of_today(alias: object) -> None:
    assert isinstance(alias, type(ALIASES[0]))
    assert alias.old not in COMMANDS
    assert command_of(alias.new.split()) is not None
    assert respell(alias.new.split()) == alias.new.split()


def test_a_renamed_option_is_renamed_with_its_value(capsys: pytest.CaptureFixture[str]) -> None:
    assert respell(["tail", "test", "f.csv", "--n-resamples=300"]) == ["severity", "tail", "f.csv", "--resamples=300"]
    assert "--resamples" in capsys.readouterr().err
    assert respell(["export", "run", "--failing", "-o", "x"]) == ["search", "export", "run", "-o", "x"]
    assert respell(["export", "run", "-o", "x"]) == ["export", "run", "-o", "x"]


@pytest.mark.parametrize("old", GONE)
def test_what_is_gone_is_refused_with_the_reason(old: str) -> None:
    with pytest.raises(click.UsageError, match="gone"):
        respell([*old.split(), "more"])


def test_the_page_of_spellings_is_the_table() -> None:
    page = (ROOT / "docs" / "commands" / "spellings.md").read_text(encoding="utf-8")
    assert all(f"| `{alias.old}` | `{alias.new}`" in page for alias in ALIASES)
    assert all(f"| `{old}` | {reason} |" in page for old, reason in GONE.items())


def printed() -> list[tuple[str, list[str]]]:
    """Every command line in the texts of the program and of the documentation, with where it stands."""
    found = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        if path.name == "_aliases.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                text = "".join(str(p.value) if isinstance(p, ast.Constant) else "X" for p in node.values)
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            else:
                continue
            found += [(path.name, words) for line in text.splitlines() for words in lines_in(line)]
    others = [
        p for kind in ("md", "html", "js", "toml", "yml") for p in ROOT.rglob(f"*.{kind}") if p.name != "CHANGELOG.md"
    ]
    for path in others:
        if not any(
            part.startswith(".") or part in ("build", "node_modules", "site", "demo", "soak")
            for part in path.relative_to(ROOT).parts
        ):
            text = path.read_text(encoding="utf-8")
            found += [(path.name, words) for line in text.splitlines() for words in lines_in(line)]
    return found


def _is_old(words: list[str]) -> bool:
    try:
        return respell(list(words)) != words
    except click.UsageError:
        return True


def test_every_printed_command_is_spelt_as_today() -> None:
    """A command line in a remedy, a next step, a page or the documentation: its command and its options exist."""
    first, old = {name.split()[0] for name in COMMANDS}, {alias.old.split()[0] for alias in ALIASES}
    wrong = []
    for place, words in printed():
        if words[0] not in first | old or (len(words) == 1 and words[0] in first):
            continue  # prose ("what richter does"), or all commands of a first word
        if command_of(words) is None or _is_old(words) or unknown_options(words):
            wrong.append(f"{place}: richter {' '.join(words)}")
    assert not wrong, "\n".join(wrong)
