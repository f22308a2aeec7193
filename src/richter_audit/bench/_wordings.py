"""How a question of the knowledge base is worded: five ways each, as a question and as a sentence to complete."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from richter.records import Item, Question
from richter_audit.bench._text_order import leaks, order_by_hash

__all__ = ["without_subject", "word"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A relation's five wordings (question, sentence that the answer completes) and solved examples for a cloze."""

    wordings: tuple[tuple[str, str], ...]
    examples: tuple[tuple[Mapping[str, str], str], ...]


def _relation(examples: Sequence[tuple[Mapping[str, str], str]], *wordings: tuple[str, str]) -> Relation:
    return Relation(wordings=wordings, examples=tuple(examples))


def _solved_examples(rows: str, *slots: str) -> list[tuple[Mapping[str, str], str]]:
    """Solved examples, written as `subject|further slots=answer; ...`."""
    pairs = (row.split("=") for row in rows.split("; "))
    return [(dict(zip(("subject", *slots), values.split("|"), strict=True)), answer) for values, answer in pairs]


RELATIONS: Mapping[str, Relation] = {
    "place-country": _relation(
        _solved_examples(
            "Lyon|city=France; Osaka|city=Japan; Toronto|city=Canada; Lagos|city=Nigeria; Munich|city=Germany; "
            "Cusco|city=Peru",
            "kind",
        ),
        ("In which country is the {kind} of {subject}?", "{subject} is a {kind} in the country of"),
        ("Which country does the {kind} of {subject} belong to?", "The {kind} of {subject} belongs to the country of"),
        ("{subject} is a {kind} in which country?", "The country in which the {kind} of {subject} lies is"),
        (
            "Name the country where the {kind} of {subject} is found.",
            "The {kind} of {subject} can be found in the country of",
        ),
        (
            "In what country would a traveller visit the {kind} of {subject}?",
            "A traveller who visits the {kind} of {subject} is in the country of",
        ),
    ),
    "place-region": _relation(
        _solved_examples(
            "Munich|Germany=Bavaria; Houston|the United States=Texas; Calgary|Canada=Alberta; Florence|Italy=Tuscany; "
            "Pune|India=Maharashtra",
            "land",
        ),
        (
            "In which first-level division of {land} is {subject}?",
            "The first-level division of {land} in which {subject} lies is",
        ),
        ("Which region of {land} does {subject} belong to?", "In {land}, {subject} belongs to the region of"),
        ("{subject} in {land} lies in which region?", "The region of {land} around {subject} is called"),
        (
            "Name the largest kind of administrative division of {land} that holds {subject}.",
            "{subject}, a place in {land}, is part of the division of",
        ),
        (
            "In what part of {land}, at the first level below the state, would one find {subject}?",
            "At the first level below the state, {subject} in {land} is in",
        ),
    ),
    "place-zone": _relation(
        _solved_examples(
            "Lyon=Europe/Paris; Osaka=Asia/Tokyo; Calgary=America/Edmonton; Cusco=America/Lima; Pune=Asia/Kolkata"
        ),
        ("Which IANA time zone applies in {subject}?", "The IANA time zone identifier for {subject} is"),
        ("Clocks in {subject} follow which IANA time zone?", "Clocks in {subject} follow the IANA time zone"),
        ("{subject} keeps the time of which IANA zone?", "{subject} keeps the time of the IANA zone"),
        (
            "Name the IANA time zone identifier for {subject}.",
            "A computer set up in {subject} should use the IANA time zone",
        ),
        (
            "What should the time zone of a computer in {subject} be set to, as an IANA identifier?",
            "The time zone database lists {subject} under",
        ),
    ),
    "place-near": _relation(
        _solved_examples(
            "Versailles=Paris; Windsor in Berkshire=London; Yonkers=New York City; Dachau=Munich; Luxor=Qena"
        ),
        (
            "Which of the larger cities (over 100,000 people) is nearest to {subject}?",
            "The nearest city of over 100,000 people to {subject} is",
        ),
        ("{subject} lies closest to which large city?", "Of all large cities, {subject} lies closest to"),
        ("Name the large city nearest to {subject}.", "The large city next to {subject} is"),
        (
            "From {subject}, which city of over 100,000 people is reached first as the crow flies?",
            "As the crow flies, the first city of over 100,000 people from {subject} is",
        ),
        ("What big city is {subject} nearest to?", "The big city that {subject} is nearest to is"),
    ),
    "place-people": _relation(
        _solved_examples(
            "Paris=2,100,000; Bruges=120,000; Siena=54,000; Oxford in England=170,000; Aspen in Colorado=7,000"
        ),
        ("About how many people live in {subject}?", "The number of people who live in {subject} is about"),
        ("What is the population of {subject}, roughly?", "The population of {subject} is roughly"),
        ("{subject} has about how many inhabitants?", "The inhabitants of {subject} number about"),
        ("Roughly how large is the population of {subject}?", "In {subject} live roughly this many people:"),
        (
            "How many inhabitants does {subject} have, to the nearest round figure?",
            "To a round figure, the inhabitants of {subject} are",
        ),
    ),
    "airport-country": _relation(
        _solved_examples(
            "Heathrow Airport=the United Kingdom; Narita International Airport=Japan; "
            "Galeao International Airport=Brazil; Schiphol Airport=the Netherlands"
        ),
        ("In which country is {subject}?", "{subject} is in the country of"),
        ("Which country is {subject} in?", "The country in which {subject} lies is"),
        ("{subject} is an airfield of which country?", "{subject} is an airfield in the country of"),
        (
            "Name the country that {subject} serves.",
            "An aircraft that lands at {subject} has arrived in the country of",
        ),
        ("In what country would one land at {subject}?", "To land at {subject} is to land in the country of"),
    ),
    "airport-code": _relation(
        _solved_examples(
            "Heathrow Airport=EGLL; Schiphol Airport=EHAM; Narita International Airport=RJAA; Frankfurt Airport=EDDF"
        ),
        ("What is the ICAO code of {subject}?", "The ICAO code of {subject} is"),
        ("Which ICAO code does {subject} have?", "In flight plans {subject} is written"),
        ("{subject} has which ICAO location indicator?", "The ICAO location indicator of {subject} is"),
        ("Name the ICAO code for {subject}.", "Pilots know {subject} by the ICAO code"),
        ("Under what ICAO code is {subject} listed?", "{subject} is listed under the ICAO code"),
    ),
    "airport-region": _relation(
        _solved_examples(
            "Logan International Airport|the United States=Massachusetts; Munich Airport|Germany=Bavaria; "
            "Calgary International Airport|Canada=Alberta; Brisbane Airport|Australia=Queensland",
            "land",
        ),
        ("In which region of {land} is {subject}?", "The region of {land} in which {subject} lies is"),
        ("Which division of {land} does {subject} lie in?", "In {land}, {subject} lies in"),
        ("{subject} is in what part of {land}?", "{subject} is in the part of {land} called"),
        ("Name the region of {land} that holds {subject}.", "The part of {land} that holds {subject} is"),
        ("In what division of {land} would one land at {subject}?", "To land at {subject} in {land} is to land in"),
    ),
    "language-code": _relation(
        _solved_examples("Swahili=swa; Basque=eus; Quechua=que; Welsh=cym; Tamil=tam"),
        ("What is the ISO 639-3 code of the language {subject}?", "The ISO 639-3 code of the language {subject} is"),
        ("Which three letters stand for the language {subject}?", "The three letters for the language {subject} are"),
        ("Under which ISO 639-3 code is {subject} listed?", "ISO 639-3 lists the language {subject} under"),
        ("Name the ISO 639-3 code for {subject}.", "Libraries mark books in {subject} with the code"),
        ("{subject} has which ISO 639-3 code?", "A text in {subject} is tagged with the ISO 639-3 code"),
    ),
    "code-language": _relation(
        _solved_examples("swa=Swahili; eus=Basque; que=Quechua; cym=Welsh; tam=Tamil"),
        ("Which language has the ISO 639-3 code {subject}?", "The language with the ISO 639-3 code {subject} is"),
        ("What language do the letters {subject} stand for in ISO 639-3?", "In ISO 639-3, {subject} stands for"),
        ("The ISO 639-3 code {subject} names which language?", "The ISO 639-3 code {subject} names the language"),
        ("Name the language coded {subject} in ISO 639-3.", "A book marked {subject} is in the language"),
        ("A text tagged {subject} (ISO 639-3) is in which language?", "A text tagged {subject} is written in"),
    ),
    "isotope-protons": _relation(
        _solved_examples("carbon-12=6; iron-56=26; gold-197=79; neon-20=10"),
        ("How many protons does {subject} have?", "The number of protons in {subject} is"),
        ("What is the atomic number of {subject}?", "The atomic number of {subject} is"),
        ("{subject} has how many protons in its nucleus?", "In the nucleus of {subject} the protons number"),
        ("Give the number of protons of {subject}.", "Counting protons, {subject} has"),
        ("What number of protons makes up {subject}?", "The protons that make up {subject} are in number"),
    ),
    "isotope-neutrons": _relation(
        _solved_examples("carbon-12=6; iron-56=30; gold-197=118; neon-20=10"),
        ("How many neutrons does {subject} have?", "The number of neutrons in {subject} is"),
        ("What is the neutron number of {subject}?", "The neutron number of {subject} is"),
        ("{subject} has how many neutrons in its nucleus?", "In the nucleus of {subject} the neutrons number"),
        ("Give the number of neutrons of {subject}.", "Counting neutrons, {subject} has"),
        ("What number of neutrons makes up {subject}?", "The neutrons that make up {subject} are in number"),
    ),
    "isotope-symbol": _relation(
        _solved_examples("carbon-12=C; iron-56=Fe; gold-197=Au; neon-20=Ne"),
        ("Which symbol has the element of {subject}?", "The chemical symbol of the element of {subject} is"),
        ("Under which symbol is {subject} written?", "In a formula, {subject} is written with the symbol"),
        ("{subject} is an isotope of the element with which symbol?", "{subject} is an isotope of the element"),
        ("Give the chemical symbol for {subject}.", "The periodic table shows the element of {subject} as"),
        ("What is the element symbol of {subject}?", "The element symbol of {subject} is"),
    ),
    "division-country": _relation(
        _solved_examples(
            "Bavaria|state=Germany; Tuscany|region=Italy; Ontario|province=Canada; Gujarat|state=India", "kind"
        ),
        ("In which country is the {kind} of {subject}?", "The {kind} of {subject} is in the country of"),
        ("Which country does the {kind} of {subject} belong to?", "The {kind} of {subject} belongs to the country of"),
        ("{subject} is a {kind} of which country?", "The country that has a {kind} called {subject} is"),
        ("Name the country with the {kind} of {subject}.", "To visit the {kind} of {subject} one travels to"),
        ("In what country does the {kind} of {subject} lie?", "The {kind} of {subject} lies in the country of"),
    ),
}


def word(
    question: Question, *, identity: str, phrasings: int, domain: str, attributes: Mapping[str, Any] | None = None
) -> list[Item]:
    """The items of one question: its first `phrasings` wordings, each with a cloze stem, four options and two shots.

    Every wording of a question offers the same options in the same order. A question that somebody wrote is asked
    as it stands; its cloze is question and answer in two lines. `attributes` of the paragraph go along.
    """
    options = (
        tuple(order_by_hash([question.answer, *question.wrong[:3]], "options", identity)) if question.wrong else ()
    )
    truth = {"relation": question.relation, "attributes": dict(attributes or {})}
    truth = {key: value for key, value in truth.items() if value}
    items = []
    for i, (prompt, stem, shots) in enumerate(_wordings(question)[:phrasings]):
        items.append(
            Item(
                id=f"{identity}.{i}",
                prompt=prompt,
                reference=question.answer,
                aliases=question.aliases,
                options=options,
                stem=stem if options else "",
                shots=shots if options else (),
                domain=domain,
                truth=truth,
            )
        )
    return items


def without_subject(question: Question, item: Item, *, identity: str) -> Item:
    """An item with its cloze's sentence without the subject beside it, by which the options' prior is corrected."""
    bare = "Question: X?\nAnswer:"
    if not question.wordings:
        first = RELATIONS[question.relation].wordings[0][1]
        bare = _capital(first.format(**{**question.slots, "subject": "X"}))
    return dataclasses.replace(item, id=identity, bare=bare)


_WRITTEN_SHOTS = (
    "Question: What is the capital of France?\nAnswer: Paris",
    "Question: How many legs does a spider have?\nAnswer: eight",
)


def _wordings(question: Question) -> list[tuple[str, str, tuple[str, ...]]]:
    if question.wordings:
        return [(text, f"Question: {text}\nAnswer:", _WRITTEN_SHOTS) for text in question.wordings]
    relation = RELATIONS[question.relation]
    rows = []
    for prompt, stem in relation.wordings:
        asked = stem.format(**question.slots)
        solved = [(f"{stem.format(**slots)} {answer}.", answer) for slots, answer in relation.examples]
        shots = [text for text, answer in solved if not leaks([question.answer], text) and not text.startswith(asked)]
        rows.append((_capital(prompt.format(**question.slots)), _capital(asked), tuple(map(_capital, shots[:2]))))
    return rows


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
