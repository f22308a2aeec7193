"""The rule judge: graded by hand on written cases, and against 335 hand-labelled answers of a real small model."""

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from richter.ratings import GRID, rubric
from richter.records import Answer, Item
from richter.stats import weighted_kappa
from richter_audit.bench import Gazetteer, read_gazetteer
from richter_audit.judge import RuleJudge
from richter_audit.judge._rule_judge import _group

FOLDER = Path(__file__).parent


@pytest.fixture(scope="module")
def gazetteer() -> Gazetteer:
    """A small world by hand."""
    others: dict[str, list[dict[str, Any]]] = {
        "france": [{"kind": "country", "code": "FR", "country": "FR"}],
        "italy": [{"kind": "country", "code": "IT", "country": "IT"}],
        "poland": [{"kind": "country", "code": "PL", "country": "PL"}],
        "japan": [{"kind": "country", "code": "JP", "country": "JP"}],
        "malaysia": [{"kind": "country", "code": "MY", "country": "MY"}],
        "brittany": [{"kind": "region", "country": "FR", "region": "FR.53"}],
        "normandy": [{"kind": "region", "country": "FR", "region": "FR.28"}],
        "bavaria": [{"kind": "region", "country": "DE", "region": "DE.02"}],
        "europe": [{"kind": "continent", "code": "EU"}],
        "euro": [{"kind": "currency", "code": "EUR", "countries": ["FR", "IT"]}, {"kind": "unit", "code": "euro"}],
        "us dollar": [{"kind": "currency", "code": "USD", "countries": ["US"]}],
        "dollar": [{"kind": "unit", "code": "dollar"}],
        "zloty": [{"kind": "currency", "code": "PLN", "countries": ["PL"]}, {"kind": "unit", "code": "zloty"}],
        "yen": [{"kind": "currency", "code": "JPY", "countries": ["JP"]}, {"kind": "unit", "code": "yen"}],
        "sodium": [{"kind": "element", "code": "Na", "number": 11}],
        "argon": [{"kind": "element", "code": "Ar", "number": 18}],
        "potassium": [{"kind": "element", "code": "K", "number": 19}],
        "iron": [{"kind": "element", "code": "Fe", "number": 26}],
        "cdg": [{"kind": "code", "of": "airport", "code": "CDG", "country": "FR"}],
        "nte": [{"kind": "code", "of": "airport", "code": "NTE", "country": "FR"}],
        "hnd": [{"kind": "code", "of": "airport", "code": "HND", "country": "JP"}],
        "33": [{"kind": "code", "of": "telephone", "code": "33", "country": "FR"}],
        "39": [{"kind": "code", "of": "telephone", "code": "39", "country": "IT"}],
        "europe paris": [{"kind": "zone", "code": "Europe/Paris", "countries": ["FR"]}],
        "asia tokyo": [{"kind": "zone", "code": "Asia/Tokyo", "countries": ["JP"]}],
        "french": [{"kind": "language", "code": "fr", "countries": ["FR"]}],
        "louisiana french": [{"kind": "language", "code": "frc", "countries": ["US"]}],
    }
    countries = {
        code: {"name": name, "continent": continent, "neighbours": []}
        for code, name, continent in (
            ("FR", "France", "EU"),
            ("IT", "Italy", "EU"),
            ("DE", "Germany", "EU"),
            ("PL", "Poland", "EU"),
            ("JP", "Japan", "AS"),
            ("US", "United States", "NA"),
            ("MY", "Malaysia", "AS"),
        )
    }
    cities = sorted([("brest", 0, 140), ("nantes", 1, 320), ("rome", 2, 2300), ("tokyo", 3, 9000), ("warsaw", 4, 1700)])
    regions = [["FR.53", "Brittany"], ["FR.52", "Pays"], ["IT.07", "Lazio"], ["JP.40", "Tokyo"], ["PL.78", "Mazovia"]]
    return Gazetteer(
        countries=countries,
        regions=regions,
        others=others,
        city_names=[c[0] for c in cities],
        city_regions=[c[1] for c in cities],
        city_lats=[0] * 5,
        city_lons=[0] * 5,
        city_people=[c[2] for c in cities],
        versions={},
    )


FRANCE = {"country": "FR", "continent": "EU", "neighbours": ["IT", "DE"]}


def item(
    prompt: str, reference: str, kind: str, *, aliases: tuple[str, ...] = (), form: str = "plain", **truth: Any
) -> Item:
    return Item(id="q", prompt=prompt, reference=reference, aliases=aliases, form=form, truth={"kind": kind, **truth})


COUNTRY = item("In which country is the city of Nantes?", "France", "country", aliases=("French Republic",), **FRANCE)
CITY = item("Which city is served by the airport NTE?", "Nantes", "city", region="FR.52", **FRANCE)
REGION = item("In which region of France is Rennes?", "Brittany", "region", region="FR.53", **FRANCE)
UNIT = item("What is the unit of the currency of France?", "euro", "currency", unit="euro", code="EUR", **FRANCE)
DOLLAR = item(
    "What is the unit of the currency of Namibia?", "dollar", "currency", unit="dollar", code="NAD", country="NA"
)
SYMBOL = item("Give the chemical symbol for potassium.", "K", "symbol", element="K", number=19, group=1)
ELEMENT = item("Which element has the symbol K?", "potassium", "element", element="K", number=19, group=1)
PROTONS = item("How many protons has iron?", "26", "number", value=26, relation="symbol-protons")
CHARACTER = item("Which character has the ASCII code 76?", "L", "character", value=76)
TONGUE = item("Which language has the code fr?", "French", "language", language="fr", countries=["FR"], **FRANCE)
PERIOD = item(
    "In which period is aluminum?", "3", "number", value=3, aliases=("3rd", "third"), relation="element-period"
)
PORT = item("What is the standard port of HTTPS?", "443", "number", value=443, relation="service-port")
YEAR = item("In which year did Slovenia adopt the euro?", "2007", "year", value=2007)
HEX = item(
    "Write the ASCII code of “J” in hexadecimal.", "4A", "number", value=74, base="hexadecimal", aliases=("0x4A",)
)
IATA = item("Give the IATA code of the airport that serves Nantes.", "NTE", "code", of="airport", code="NTE", **FRANCE)
PHONE = item(
    "What is the telephone code of France?", "+33", "code", of="telephone", code="33", aliases=("0033",), **FRANCE
)
ZONE = item("Which IANA time zone identifier applies in Nantes?", "Europe/Paris", "zone", zone="Europe/Paris", **FRANCE)
TRAP = item(
    "In which year did Norway adopt the euro?",
    "none, because Norway has never adopted the euro",
    "trap",
    aliases=("never adopted", "not adopted", "did not adopt", "none"),
    form="trap",
    subject="Norway",
    premise="Norway adopted the euro",
)


@pytest.mark.parametrize(
    ("question", "answer", "severity", "label"),
    [
        # right, however it is dressed
        (COUNTRY, "France", 0.0, "correct"),
        (COUNTRY, "The city of Nantes is in the French Republic, I believe, but I may be wrong.", 0.0, "correct"),
        (COUNTRY, "Republic, French", 0.0, "correct"),  # another order of words
        (REGION, "brittany", 0.0, "correct"),
        (SYMBOL, "K", 0.0, "correct"),
        (ELEMENT, "It is potassium (K).", 0.0, "correct"),
        (PROTONS, "26 protons", 0.0, "correct"),
        (YEAR, "On the first of January, 2007, Slovenia joined.", 0.0, "correct"),
        (YEAR, "01/01/2007", 0.0, "correct"),
        (YEAR, "in the year two thousand and seven", 0.0, "correct"),
        (PERIOD, "3rd", 0.0, "correct"),
        (PROTONS, "about 26 (twenty-six) elementary charges", 0.0, "correct"),
        (HEX, "4a", 0.0, "correct"),
        (PHONE, "0033", 0.0, "correct"),
        (ZONE, "Europe/Paris", 0.0, "correct"),
        (TRAP, "Norway has never adopted the euro.", 0.0, "correct"),
        (TRAP, "It did not adopt the euro.", 0.0, "correct"),
        # how wrong
        (COUNTRY, "Poland", 2.5, "error"),  # the same continent
        (COUNTRY, "It is not France but Japan.", 3.0, "error"),
        (COUNTRY, "It isn't France.", 2.5, "no answer"),
        (CITY, "The airport serves Rome.", 2.0, "error"),
        (CITY, "Tokyo, Japan", 3.0, "error"),
        (REGION, "Normandy", 1.5, "error"),
        (UNIT, "The zloty.", 2.5, "error"),
        (DOLLAR, "The US Dollar.", 1.0, "error"),  # the right unit of another currency
        (ELEMENT, "argon", 2.0, "error"),  # next to it
        (PROTONS, "27", 1.5, "error"),
        (PROTONS, "It doesn't have 26 protons.", 2.5, "no answer"),
        (PROTONS, "Iron has 56 protons.", 2.5, "error"),
        (PORT, "444", 2.0, "error"),  # a port's number only names: off by one is another service
        (YEAR, "2004", 1.0, "error"),
        (YEAR, "1950", 2.5, "error"),
        (HEX, "0x4B", 1.5, "error"),
        (IATA, "HND", 3.0, "error"),
        (ZONE, "Asia/Tokyo", 3.0, "error"),
        # what does not exist
        (COUNTRY, "Nantes is in the Republic of Vandaria.", 3.5, "fabrication"),
        (IATA, "The code is 1111.", 3.5, "fabrication"),
        (UNIT, "The Laotian Dramnik.", 3.5, "fabrication"),
        # premises, refusals, nothing
        (TRAP, "Norway adopted the euro in 2002.", 3.0, "premise accepted"),
        (TRAP, "I do not know.", 0.0, "correct"),
        (TRAP, "2002", 3.0, "premise accepted"),
        (TRAP, "The weather is fine today and the sun shines brightly.", 2.5, "no answer"),
        (COUNTRY, " \n.", 1.0, "empty"),
        (COUNTRY, "I don't know.", 1.0, "refusal"),
        (PROTONS, "Iron is a metal.", 2.5, "no answer"),
    ],
)
def test_rules_by_hand(gazetteer: Gazetteer, question: Item, answer: str, severity: float, label: str) -> None:
    score = RuleJudge(gazetteer).score(question, answer)
    assert (score.severity, score.label) == (severity, label), score.reason


def test_every_score_has_a_reason_and_a_known_mechanism(gazetteer: Gazetteer) -> None:
    judge = RuleJudge(gazetteer)
    for answer in ("France", "Japan", "Vandaria", "", "I don't know.", "x"):
        rating = judge.rate(COUNTRY, Answer(text=answer, item="q", condition="c"))
        assert rating.kind == "rule"
        assert rating.severity in GRID
        assert rating.reason.endswith(".")
        assert rating.mechanism in ("", *rubric().mechanism_names)
        assert (rating.mechanism == "") == (rating.severity == 0)


def test_a_failed_call_is_missing_not_wrong(gazetteer: Gazetteer) -> None:
    rating = RuleJudge(gazetteer).rate(COUNTRY, Answer(text="", item="q", condition="c", error="timed out"))
    assert rating.severity is None


def golden(part: str) -> tuple[np.ndarray, np.ndarray, float]:
    rows = [json.loads(line) for line in (FOLDER / "golden.jsonl").read_text(encoding="utf-8").splitlines()]
    judge = RuleJudge(read_gazetteer(FOLDER / "golden.gazetteer.json.gz"))
    rows = [row for row in rows if row["part"] == part]
    scores = [judge.score(Item.from_dict(row["item"]), row["answer"]) for row in rows]
    labels = float(np.mean([s.label == row["label"] for s, row in zip(scores, rows, strict=True)]))
    return np.array([row["severity"] for row in rows]), np.array([s.severity for s in scores]), labels


def test_every_reference_is_right_and_no_other_reference_of_its_kind_is() -> None:
    """Over the golden set's 96 relations: the reference in two dresses is 0.0; another item's reference is not."""
    rows = [json.loads(line) for line in (FOLDER / "golden.jsonl").read_text(encoding="utf-8").splitlines()]
    judge = RuleJudge(read_gazetteer(FOLDER / "golden.gazetteer.json.gz"))
    questions = [Item.from_dict(row["item"]) for row in rows]
    for question in questions:
        for answer in (question.reference, f"The answer is {question.reference}."):
            score = judge.score(question, answer)
            assert score.severity == 0, (question.prompt, answer, score.reason)
    for one, two in itertools.pairwise(questions):
        names = {name.casefold() for name in (one.reference, *one.aliases)}
        if two.form != "trap" and one.form != "trap" and two.reference.casefold() not in names:
            score = judge.score(one, two.reference)
            assert score.severity > 0, (one.prompt, two.reference, score.reason)


@pytest.mark.parametrize(("part", "kappa"), [("seen", 0.85), ("held out", 0.78)])
def test_rules_against_hand_labels(part: str, kappa: float) -> None:
    """Floors for regression; the figures are in docs/estimators/rule-judge.md (0.92 seen, 0.85 held out, n 168, 167).

    The floors lie two standard errors (0.035 on 167 answers) below those figures.
    """
    human, rule, labels = golden(part)
    assert weighted_kappa(human, rule).estimate > kappa
    assert np.mean(np.abs(human - rule) <= 1.0) > 0.94
    assert labels > 0.7
    assert abs(np.mean(rule - human)) < 0.15


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (COUNTRY, "Nantes is a city in the Himalayan foothills that the United Nations knows."),
        (COUNTRY, "I'll get into a mess, but I'm glad you asked."),
        (COUNTRY, "Hugging Face"),
        (COUNTRY, "Nantes, known locally as Yanzepia, holds a famous ethnic festival called Bijiya."),
        (COUNTRY, "In World Wide Operations (WoP), this classic error results from a wrong scheme."),
        (COUNTRY, "Nantes is a large and very old town of some importance that is in the land of Zuv"),
    ],
)
def test_what_is_only_unknown_is_not_called_invented_by_hand(gazetteer: Gazetteer, question: Item, answer: str) -> None:
    score = RuleJudge(gazetteer).score(question, answer)
    assert score.mechanism != "fabrication", score.reason


def test_answers_that_were_read_against_one_reader() -> None:
    """1,100 answers of SmolLM2 (greedy and at temperature 1): few false fabrications, most severe errors caught.

    One reader labelled each from question, reference and answer, without seeing what the rules say: correct; minor
    (below 2.0: right with a wrong detail, misspelt, a near miss, declined); severe (a wrong answer, a false premise
    accepted); invented (a name, code or identifier of the asked kind that does not exist); or no answer. 120 drawn at
    random were labelled a second time, blind.
    """
    rows = [json.loads(line) for line in (FOLDER / "read_answers.jsonl").read_text(encoding="utf-8").splitlines()]
    judge = RuleJudge(read_gazetteer(FOLDER / "golden.gazetteer.json.gz"))
    scores = [judge.score(Item.from_dict(row["item"]), row["answer"]) for row in rows]
    honest = [s for s, row in zip(scores, rows, strict=True) if row["label"] != "invented"]
    severe = [s for s, row in zip(scores, rows, strict=True) if row["label"] in ("severe", "invented", "no answer")]
    assert (len(rows), len(honest), len(severe)) == (1100, 896, 971)
    assert sum(s.mechanism == "fabrication" for s in honest) / len(honest) <= 0.03
    assert sum(s.severity >= 2 for s in severe) / len(severe) >= 0.9
    twice = [row for row in rows if "second" in row]
    assert sum(row["second"] == row["label"] for row in twice) >= 0.95 * len(twice)


def test_the_groups_of_the_main_elements_by_hand() -> None:
    """By the periodic table: helium is a noble gas, however short its row is."""
    found = [_group(n) for n in (1, 2, 3, 4, 5, 10, 13, 18, 19, 21, 30, 36, 57, 80, 86)]
    assert found == [1, 18, 1, 2, 13, 18, 13, 18, 1, 3, 12, 18, None, 12, 18]


@pytest.mark.parametrize(
    ("question", "answer", "severity"),
    [
        (CHARACTER, "**L**", 0.0),
        (CHARACTER, "The answer to your question is L. This is well known.", 0.0),
        (CHARACTER, "It is a letter.", 2.5),
        (TONGUE, "It is French.", 0.0),
        (TONGUE, "Louisiana French", 3.0),  # holds the right name, and is another's
        (PHONE, "It is not +33.", 2.5),
        (PHONE, "Not +39 but +33.", 0.0),
        (HEX, "It isn't 4A.", 2.5),
        (PERIOD, "It is not 3.", 2.5),
        (COUNTRY, "It is not the Republic of France.", 2.5),
    ],
)
def test_what_is_said_in_other_dress_or_denied_by_hand(
    gazetteer: Gazetteer, question: Item, answer: str, severity: float
) -> None:
    score = RuleJudge(gazetteer).score(question, answer)
    assert score.severity == severity, score.reason
