"""What looks wrong in what was read: scales that differ, a value far off, a code, ids that differ in writing only."""

import itertools

import polars as pl

from richter.errors import InputError
from richter.records import printable
from richter.tables._tables import ReadOptions

SHARED = 10  # items that have one broken score
FAR = 2.0  # times the end of a scale from which a lone value is doubted
CODES = (-1.0, -9.0, -99.0, -999.0, 9.0, 99.0, 999.0)  # that people write for "missing"
RARE = 0.1
USUAL = (1.0, 5.0, 7.0, 10.0, 100.0)  # upper ends of scales


def doubts(answers: pl.DataFrame, conditions: tuple[str, ...], options: ReadOptions, what: str) -> list[str]:
    """One line for each doubt. Codes, and fractions beside points, are refused unless a scale is stated."""
    scored = answers.filter(pl.col("value").is_not_null())
    values, same = scored["value"], list[str]()
    _no_averages(scored, what)
    if options.scale is None:
        _one_scale(scored, what)
        same += _no_codes(values, what)
    if len(values) > 9 and values.n_unique() == 1:
        said = f"every one of {len(values):,} scores is {values[0]:g}: nothing varies"
        same += [f"{said}. Is it the right column? --map score=COLUMN"]
    return [
        *same,
        *_off(scored, options),
        *_written(answers, conditions),
        *_shortened(answers),
    ]


def _no_averages(scored: pl.DataFrame, what: str) -> None:
    """Refuse a broken number that all items of a condition, or of its domain, share: an average written beside each."""
    each = scored.group_by("condition", "domain", maintain_order=True).agg(
        pl.col("value").first(), (pl.col("value").n_unique() == 1).alias("same"), pl.col("item").n_unique().alias("n")
    )
    broken = (each["value"] != each["value"].round()).any()
    if each.is_empty() or not each["same"].all() or each["n"].min() < SHARED or not broken:  # type: ignore[operator]
        return
    name, domain, value, _, n = each.filter(each["value"] != each["value"].round()).row(0)
    of = printable(name, limit=40) + (f" in {printable(domain, limit=40)}" if domain is not None else "")
    raise InputError(
        f"{what}: all {n:,} items of {of} have the score {value:g}: an average that is written beside each item, not "
        "the results of single items.",
        remedy="Name the column with each item's own result: --map score=COLUMN (two averages and their n: richter "
        "floors published).",
    )


def _one_scale(scored: pl.DataFrame, what: str) -> None:
    """Refuse conditions of which one is scored in fractions and another in points or percentages."""
    value = pl.col("value")
    ends = scored.group_by("condition", maintain_order=True).agg(
        value.max().alias("most"),
        value.median().alias("middle"),
        (value != value.round()).any().alias("broken"),
        pl.len(),
    )
    small = ends.filter((pl.col("most") <= 1) & pl.col("broken") & (pl.col("len") > 3))
    large = ends.filter((pl.col("middle") > 10) & (pl.col("len") > 3))
    if len(small) and len(large):
        one, two = (printable(own["condition"][0], limit=40) for own in (small, large))
        raise InputError(
            f"{what}: the scores of {one} run up to {small['most'][0]:g}, those of {two} up to {large['most'][0]:g}: "
            "they are not on one scale.",
            remedy="Write both alike (85% as 0.85 or as 85), or state the scale: --scale 0:100",
        )


def _off(scored: pl.DataFrame, options: ReadOptions) -> list[str]:
    """A value or two far above all others: mistyped, perhaps."""
    values = scored["value"].sort(descending=True)
    if options.scale is not None or len(values) < 20 or values[0] <= FAR:
        return []
    for k in range(1, 3):
        top = next((end for end in USUAL if values[k] <= end), None)
        if top is not None and values[k - 1] > FAR * top and top < 100:
            first = scored.filter(pl.col("value") == values[0]).row(0, named=True)
            said = (
                f"{k} of {len(values):,} scores lies far above the others, which end at {values[k]:g}: {values[0]:g} "
                f"for item {printable(first['item'], limit=40)} under {printable(first['condition'], limit=40)}; "
                f"mistyped? (--scale LOW:{top:g} refuses it)"
            )
            return [said]
    return []


def _no_codes(values: pl.Series, what: str) -> list[str]:
    """Refuse a number of some rows that people write where there is no grade: 9 or 99 off the scale, a rare -1.

    A -1 of more than a tenth of the rows may well be a score, a loss beside ties and wins: it is pointed out.
    """
    for code in CODES:
        rest = values.filter(values != code)
        if not 0 < len(values) - len(rest) <= 0.3 * len(values):
            continue
        least, most = float(rest.min()), float(rest.max())  # type: ignore[arg-type]
        top = next((end for end in USUAL if most <= end), 0.0)
        whole = bool((rest == rest.round()).all())
        if least >= 0 and whole and (code < 0 or (code > top > 1 and most > 1)) and (code >= 0 or most <= 10):
            many = (
                f"{len(values) - len(rest):,} of {len(values):,} scores are {code:g}, the others {least:g} to {most:g}"
            )
            settle = f"--grade {code:g}=missing (or =wrong)"
            if code == -1 and len(rest) < (1 - RARE) * len(values):
                return [f"{many}: a code for no grade? Then {settle}; it counts as a score now"]
            raise InputError(
                f"{what}: {many}: a code for no grade, it seems.",
                remedy=f"Say what it counts as: {settle}; if it is a score: "
                f"--scale={min(code, least):g}:{max(code, most):g}",
            )
    return []


def _written(answers: pl.DataFrame, conditions: tuple[str, ...]) -> list[str]:
    """Conditions that share no item, and would if capitals, spaces, signs and leading zeros did not count."""
    if not 1 < len(conditions) <= 20:
        return []
    ids = {c: answers.filter(condition=c)["item"].unique() for c in conditions}
    for one, two in itertools.combinations(conditions, 2):
        if ids[one].is_in(ids[two].implode()).any():
            continue
        plain = [_plain(ids[c]) for c in (one, two)]
        shared = plain[0].is_in(plain[1].implode())
        if 2 * shared.sum() > min(len(ids[one]), len(ids[two])):
            first = ids[one].filter(shared)[0]
            other = ids[two].filter(plain[1] == plain[0].filter(shared)[0])[0]
            said = (
                f"the items of {printable(one, limit=40)} and {printable(two, limit=40)} differ in writing only "
                f"({printable(first, limit=30)!r} and {printable(other, limit=30)!r}): write them alike to compare"
            )
            return [said]
    return []


def _plain(ids: pl.Series) -> pl.Series:
    letters = ids.str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]", "")
    return letters.str.replace_all(r"([^0-9]|^)0+([0-9])", "${1}${2}")


def _shortened(answers: pl.DataFrame) -> list[str]:
    """Long ids that a spreadsheet wrote as 1.23E+10: several may have become one."""
    short = answers["item"].unique().str.contains(r"^\d[.,]\d+[eE]\+\d+$")
    if 2 * short.sum() <= len(short):
        return []
    return [f"ids such as {answers['item'][0]} were shortened by a spreadsheet: different items may have become one"]
