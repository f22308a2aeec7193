"""The page of the docs and its figure, made of results.json and nothing else."""

import html
import json
from pathlib import Path
from typing import Any

import score

HERE = Path(__file__).resolve().parent
DOCS = HERE.parent.parent / "docs"
MOST_FALSE, BEATEN, BEATEN_SHOWN, ENOUGH = 0.05, 0.05, 0.03, 100
TITLES = {
    "single": "single answers", "epochs": "epochs", "passages": "passages", "partial": "partial credit",
    "judges": "judges", "missing": "missing", "shuffled": "shuffled", "prompts": "best of 12", "peeking": "daily looks",
    "calibration": "calibration", "severity": "severity", "tails": "tails", "two groupings": "two groupings",
    "uneven groups": "uneven groups", "missing not at random": "missing, not at random", "costs": "costs",
    "many measures": "many measures", "rare requirements": "requirements",
}  # fmt: skip
NAMES = {"richter": "Richter", "t_test": "t test", "lm_eval_z": "lm-eval stderr, z",
         "inspect_stderr": "Inspect stderr, z", "verification_tax": "verification tax",
         "errorquake": "ERRORQUAKE", "cje": "cje-eval",
         "multivon": "multivon-eval"}  # fmt: skip
COLUMNS = ("worlds", "contestant", "tables", "false, %", "power, %", "cover, %", "refused, %")
# why a world is open, as far as it was looked into
REASONS: dict[str, str] = json.loads((HERE / "reasons.json").read_text(encoding="utf-8"))

Row = dict[str, Any]


def family_of(spec: Row) -> str:
    """The family by which worlds are shown: equal conditions and effects on single answers go together."""
    return "single" if spec["family"] in ("equal", "effects") else str(spec["family"])


def called(row: Row, ways: dict[str, int]) -> str:
    """A row's name, with its way where it has several."""
    name = NAMES.get(row["contestant"], row["contestant"])
    return f"{name} ({row['way']})" if ways[row["contestant"]] > 1 else name


def open_worlds(rows: list[Row], specs: list[Row]) -> list[tuple[str, str]]:
    """Worlds in which Richter's false claims are shown above 5%, or an honest rival finds more: name and finding."""
    by = {spec["name"]: spec for spec in specs}
    ours = {r["world"]: r for r in rows if r["contestant"] == score.OURS}
    ways = _ways(rows)
    found = []
    for name, row in ours.items():
        if score.shown_above(row["false"], row["n"], MOST_FALSE, looks=len(ours)):
            found.append((name, f"false claims in {_share(row['false'], row['n'])} of {row['n']:,.0f}"))
        if score.is_null(by[name]):
            continue
        for rival in (r for r in rows if r["world"] == name and r["contestant"] != score.OURS):
            gap, low = score.power_gap(rival, looks=len(ours))
            beaten = (gap > BEATEN and rival["shared"] >= ENOUGH) or low > BEATEN_SHOWN
            if beaten and holds(rival, rows, by):
                more = f"{100 * gap:+.1f} points more often ({rival['shared']} shared tables)"
                found.append((name, f"{called(rival, ways)} finds it {more}"))
    return found


def holds(rival: Row, rows: list[Row], by: dict[str, Row]) -> bool:
    """Whether a size holds in a family: it answered in equal worlds there, and false claims are not shown above 5%."""
    nulls = [
        r
        for r in rows
        if (r["contestant"], r["way"]) == (rival["contestant"], rival["way"])
        and family_of(by[r["world"]]) == family_of(by[rival["world"]])
        and score.is_null(by[r["world"]])
        and r["n"] > r["refused"] + r["crashed"]
    ]
    enough = bool(nulls) and min(r["n"] for r in nulls) >= ENOUGH
    return enough and not any(score.shown_above(r["false"], r["n"], MOST_FALSE, level=0.95) for r in nulls)


def open_list(rows: list[Row], specs: list[Row]) -> str:
    """The open worlds as lines."""
    lines: dict[str, list[str]] = {}
    for name, finding in open_worlds(rows, specs):
        lines.setdefault(name, []).append(finding)
    return "\n".join(
        f"- **{name}**: {'; '.join(said)}. {REASONS.get(name, 'Not looked into yet.')}" for name, said in lines.items()
    )


def better_list(rows: list[Row], specs: list[Row]) -> str:
    """Where a rival whose size holds finds more than Richter, or has intervals that are narrower and still cover."""
    by = {spec["name"]: spec for spec in specs}
    ours = {r["world"]: r for r in rows if r["contestant"] == score.OURS}
    ways, lines = _ways(rows), []
    for r in rows:
        if r["contestant"] == score.OURS or r["world"] not in ours or not holds(r, rows, by):
            continue
        gap, low = score.power_gap(r, level=0.975)
        if not score.is_null(by[r["world"]]) and gap > 0.02 and low > 0:
            lines.append(f"- {r['world']}: {called(r, ways)} finds it {100 * gap:+.1f} points more often.")
        mine = ours[r["world"]]
        if min(r["intervals"], mine["intervals"]) >= ENOUGH:
            ratio = r["width"] / r["intervals"] / (mine["width"] / mine["intervals"])
            missed = r["intervals"] - r["covered"]
            if ratio < 0.95 and not score.shown_above(missed, r["intervals"], 0.05, level=0.95):
                cover = _share(r["covered"], r["intervals"])
                lines.append(f"- {r['world']}: intervals of {called(r, ways)}: {ratio:.2f} the width, cover {cover}.")
    return "\n".join(lines) or "None."


def table(rows: list[Row], specs: list[Row]) -> str:
    """The scores by family and contestant, of those that had tables enough."""
    by = {spec["name"]: spec for spec in specs}
    ways = _ways(rows)
    lines = [
        f"| {' | '.join(COLUMNS)} |",
        "|" + "---|" * len(COLUMNS),
    ]
    for family, title in TITLES.items():
        inside = [r for r in rows if family_of(by[r["world"]]) == family]
        for key in _order(inside):
            own = [r for r in inside if (r["contestant"], r["way"]) == key]
            if all(r["same"] for r in own) or _sum(own, "n") < ENOUGH:
                continue
            null = [r for r in own if score.is_null(by[r["world"]])]
            real = [r for r in own if not score.is_null(by[r["world"]])]
            false, n = _sum(null, "false"), _sum(null, "n")
            worlds = _sum(own, "n")
            low, high = score.limits(false, n) if n else (0.0, 1.0)
            lines.append(
                f"| {title} | {called(own[0], ways)} | {worlds:,.0f} "
                f"| {_mark(null, f'{100 * false / n:.1f} [{100 * low:.1f}, {100 * high:.1f}]') if n else '-'} "
                f"| {_mean_percent(real, 'hits', 'n')}{_ahead(real)} "
                f"| {_mean_percent(own, 'covered', 'intervals')} "
                f"| {_percent(_sum(own, 'refused') + _sum(own, 'crashed'), worlds)} |"
            )
    return "\n".join(lines)


def _ahead(real: list[Row]) -> str:
    """How many points of power a contestant is ahead of Richter on the tables that both had, mean over worlds."""
    both = [r for r in real if r["shared"] and r["contestant"] != score.OURS]
    gaps = [100 * (r["only_this"] - r["only_ours"]) / r["shared"] for r in both]
    return f" ({sum(gaps) / len(gaps):+.1f})" if gaps else ""


def _mark(null: list[Row], said: str) -> str:
    """Bold where false claims are shown above 5% in one of these worlds."""
    return (
        f"**{said}**" if any(score.shown_above(r["false"], r["n"], MOST_FALSE, looks=len(null)) for r in null) else said
    )


def _order(rows: list[Row]) -> list[tuple[str, str]]:
    keys = dict.fromkeys((r["contestant"], r["way"]) for r in rows)
    return sorted(keys, key=lambda k: (k[0] != score.OURS, k[0] != "t_test", k[0]))


def _ways(rows: list[Row]) -> dict[str, int]:
    ways: dict[str, set[str]] = {}
    for r in rows:
        ways.setdefault(r["contestant"], set()).add(r["way"])
    return {name: len(found) for name, found in ways.items()}


def _sum(rows: list[Row], key: str) -> float:
    return float(sum(r.get(key, 0.0) for r in rows))


def _percent(k: float, n: float) -> str:
    return f"{100 * k / n:.1f}" if n else "-"


def _mean_share(rows: list[Row], key: str, of: str) -> float:
    """The mean over worlds of their shares."""
    shares = [r[key] / r[of] for r in rows if r[of]]
    return sum(shares) / len(shares) if shares else float("nan")


def _mean_percent(rows: list[Row], key: str, of: str) -> str:
    return f"{100 * _mean_share(rows, key, of):.1f}" if any(r[of] for r in rows) else "-"


def _from_to(numbers: list[float]) -> str:
    least, most = min(numbers), max(numbers)
    return f"{most:,.0f}" if least == most else f"{least:,.0f} to {most:,.0f}"


def _share(k: float, n: float) -> str:
    return f"{100 * k / n:.1f}%"


def figure(rows: list[Row], specs: list[Row]) -> str:
    """Contestants by families: the colour and the upper number say false claims, the bar and the lower number power."""
    by = {spec["name"]: spec for spec in specs}
    ways = _ways(rows)
    keys, families = _order(rows), list(TITLES)
    left, top, wide, high = 190, 46, 76, 34
    width, height = left + wide * len(families) + 10, top + high * len(keys) + 40
    font = 'font-family="sans-serif" font-size="11"'
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {font}>',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
    ]
    for c, family in enumerate(families):
        out.append(
            f'<text x="{left + wide * (c + 0.5):.0f}" y="{top - 10}" text-anchor="middle">{TITLES[family]}</text>'
        )
    for k, key in enumerate(keys):
        y = top + high * k
        own = [r for r in rows if (r["contestant"], r["way"]) == key]
        bold = ' font-weight="bold"' if key[0] == score.OURS else ""
        label = html.escape(called(own[0], ways))
        out.append(f'<text x="{left - 8}" y="{y + 21}" text-anchor="end"{bold}>{label}</text>')
        for c, family in enumerate(families):
            inside = [r for r in own if family_of(by[r["world"]]) == family]
            out += _cell(left + wide * c, y, wide, high, inside, by)
    y = top + high * len(keys) + 24
    for k, (colour, said) in enumerate(COLOURS.values()):
        out.append(f'<rect x="{left + 215 * k}" y="{y - 10}" width="12" height="12" fill="{colour}"/>')
        out.append(f'<text x="{left + 215 * k + 17}" y="{y}">{said}</text>')
    out.append(f'<text x="{left + 215 * 3 + 10}" y="{y}">upper: false claims; bar, lower: power</text>')
    return "\n".join([*out, "</svg>", ""])


COLOURS = {
    "fine": ("#d9efe1", "false claims not shown above 5%"),
    "high": ("#ffe0a3", "shown above 5%"),
    "wrong": ("#f5b7a8", "shown above 20%"),
}


def _cell(x: int, y: int, wide: int, high: int, rows: list[Row], by: dict[str, Row]) -> list[str]:
    box = f'x="{x + 1}" y="{y + 1}" width="{wide - 2}" height="{high - 2}"'
    middle = f'x="{x + wide // 2}" text-anchor="middle"'
    if not rows or all(r["refused"] + r["crashed"] == r["n"] for r in rows):
        said = f'<text {middle} y="{y + 21}" fill="#666">refused</text>' if rows else ""
        return [f'<rect {box} fill="#f4f4f4"/>', said]
    null = [r for r in rows if score.is_null(by[r["world"]])]
    real = [r for r in rows if not score.is_null(by[r["world"]])]
    above = [
        any(score.shown_above(r["false"], r["n"], share, looks=len(null)) for r in null) for share in (MOST_FALSE, 0.2)
    ]
    colour = COLOURS["wrong" if above[1] else "high" if above[0] else "fine"][0]
    said = f"{_percent(_sum(null, 'false'), _sum(null, 'n'))}%" if null else "-"
    out = [
        f'<rect {box} fill="{colour}"/>',
        f'<text x="{x + wide // 2}" y="{y + 14}" text-anchor="middle">{said}</text>',
    ]
    if real:
        power = _mean_share(real, "hits", "n")
        bar = f'x="{x + 4}" y="{y + 19}" height="10"'
        out.append(f'<rect {bar} width="{(wide - 8) * power:.1f}" fill="#9dbbdc"/>')
        out.append(f'<rect {bar} width="{wide - 8}" fill="none" stroke="#5b7fa6" stroke-width="0.5"/>')
        out.append(
            f'<text x="{x + wide // 2}" y="{y + 28}" font-size="9" text-anchor="middle">{100 * power:.0f}%</text>'
        )
    return out


def contestants_table(everyone: dict[str, Row], rows: list[Row]) -> str:
    """Who takes part, with which version and how."""
    lines = [
        "| contestant | requires | what is called | worlds, of which with refusals or crashes |",
        "|---|---|---|---|",
    ]
    for name in sorted(everyone, key=lambda n: (n != score.OURS, n)):
        told = everyone[name]
        own = [r for r in rows if r["contestant"] == name]
        worlds = {r["world"] for r in own}
        faults = {r["world"] for r in own if r["refused"] or r["crashed"]}
        requires = {".": "this repository", "pip": "nothing"}.get(told["requires"], f"`{told['requires']}`")
        about = told["about"].split("\n\n")[0].split(": ", 1)[-1].replace("\n", " ")
        lines.append(f"| {NAMES.get(name, name)} | {requires} | {about} | {len(worlds)} | {len(faults)} |")
    return "\n".join(lines)


def text(rows: list[Row], specs: list[Row], everyone: dict[str, Row]) -> str:
    """The whole page."""
    ours = [r for r in rows if r["contestant"] == score.OURS]
    others = [r for r in rows if r["contestant"] != score.OURS]
    null = {spec["name"] for spec in specs if score.is_null(spec)}
    real = [r for r in others if r["world"] not in null and not r["same"]]
    said = {
        "worlds": len(specs),
        "ours": _from_to([r["n"] for r in ours]),
        "others": _from_to([r["n"] for r in others]),
        "open": open_list(rows, specs) or "None.",
        "better": better_list(rows, specs),
        "compared": f"{sum(r['shared'] >= ENOUGH for r in real)} of {len(real)}",
        "contestants": contestants_table(everyone, rows),
        "table": table(rows, specs),
    }
    page = (HERE / "page.md").read_text(encoding="utf-8")
    for key, value in said.items():
        page = page.replace("{{" + key + "}}", str(value))
    return page


def write(rows: list[Row], specs: list[Row], everyone: dict[str, Row]) -> None:
    """docs/validation/truth-bench.md and its figure."""
    (DOCS / "validation" / "truth-bench.md").write_text(text(rows, specs, everyone), encoding="utf-8")
    (DOCS / "images" / "truth-bench.svg").write_text(figure(rows, specs), encoding="utf-8")
