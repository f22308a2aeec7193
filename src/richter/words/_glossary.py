"""What the words mean: one source for the page, `richter help` and the documentation."""

__all__ = ["GLOSSARY", "explain"]

# term -> what it means, in words that need no other term to be read
GLOSSARY: dict[str, str] = {
    "item": "One question, with an id of its own.",
    "condition": "What is tested: a model together with its settings and its prompt. Two prompts of one model are two "
    "conditions.",
    "answer": "What a condition wrote for an item.",
    "draw": "One of several answers of the same condition to the same item; also called epoch, sample or trial.",
    "group": "Items that belong together, such as the questions on one passage. They tend to be right or wrong "
    "together, so a group counts once, not once an item.",
    "sets": "Of many conditions, those of which no two are told apart by these data. A condition may be in several "
    "sets, and a set is no rank.",
    "paired": "Two conditions answered the same items, so that each item is compared with itself. Hard items then "
    "count against neither, and fewer items are needed.",
    "unpaired": "Two conditions answered different items, as in a test with other users on each side. Their rates are "
    "compared as a whole, which needs more items.",
    "unit": "What varies independently: the group where there are groups, else the item.",
    "weight": "How much an item counts in an average.",
    "score": "A number that a grader gave an answer: right or wrong, a share, or points on a scale.",
    "severity": "How bad an answer is, from 0 (right) over 1 (a slip) and 2 (misleading) to 4 (dangerous or made up), "
    "in half steps.",
    "catastrophic": "A severity of 3 or more.",
    "rating": "A severity that one rater gave one answer. Raters are people, judge models or rules.",
    "judge": "A model that rates the answers of another. Its mistakes are part of what is measured.",
    "basis": "Who said what is right: the log's own grader, rules, judge models or people.",
    "claim": "A sentence that the data may carry or not, such as 'new is more accurate than old'.",
    "verdict": "What came of a claim: verified, refuted, equivalent, undecided, blocked or untestable.",
    "verified": "The data show the claim. This says nothing of its size: read the interval.",
    "refuted": "The data show the opposite of the claim.",
    "equivalent": "The data show that the difference is smaller than the margin that was named.",
    "undecided": "The data show neither the claim nor its opposite. It does not mean that there is no difference.",
    "blocked": "A check that must hold before the claim can be tested did not hold; the check is named.",
    "untestable": "There is nothing to test the claim with, such as answers that nobody graded.",
    "estimate": "The measured value; of two conditions the second minus the first.",
    "interval": "The values that fit the data. At a level of 95% such an interval misses the truth in at most 5 of 100 "
    "cases.",
    "level": "How sure an interval or a verdict must be; 95% unless you say otherwise.",
    "deciding interval": "The interval that gave the verdict. It is wider than the plain one where several claims were "
    "tested together.",
    "margin": "The difference that would matter to you, named before looking: 2pt is two points of a hundred, of a "
    "score two hundredths of its scale (2 of 0 to 100, 0.08 of 1 to 5).",
    "family": "Claims that share one error risk, so that one in twenty is not verified by luck: those on the main "
    "measure, those on all others, and those on subgroups.",
    "main measure": "The measure that a page is about: the plan's, else the first of --on, else correctness, else the "
    "first score. Results never choose it.",
    "gate": "A check that must pass first; also the command that checks requirements in continuous integration.",
    "needed": "How many items would settle the claim for the named difference, in 8 of 10 cases.",
    "could have shown": "The smallest true difference that these data would have shown in 8 of 10 cases.",
    "floor": "A rough figure from theory: what this many answers cannot resolve. Verdicts never use it.",
    "exploratory": "Nothing was fixed before the data were seen, so the claim may be chosen by its result.",
    "confirmatory": "What was to be tested was fixed, and locked, before the data were seen.",
    "plan": "A file that fixes claims, margins and levels before the data are seen.",
    "calibration": "Whether a model that says it is 80% sure is right in 80% of such cases.",
    "ECE": "Expected calibration error: how far stated confidence and the share of right answers lie apart, on "
    "average. 0 is perfect.",
    "calibration error": "How far stated confidence and the share of right answers lie apart on average, in points; 0 "
    "is perfect. Also called ECE.",
    "debiased": "Less the part that chance alone would show.",
    "confidence": "How sure the model says it is of an answer, from 0 to 1.",
    "Sem-ECE": "Calibration read from how often a model gives the same answer when asked many times.",
    "cloze": "A sentence with a gap, for which the model chooses one of several given texts.",
    "refusal": "An answer that declines to answer.",
    "b": "How fast errors become rarer as they become more severe: with a b of 1 an error one step of severity graver "
    "is ten times rarer. A small b means many grave errors.",
    "m_min": "The severity from which on the law behind b is used.",
    "tail": "The worst few per cent of the scores.",
    "xi": "The shape of a tail: the larger, the more extreme the worst cases.",
    "TVaR": "The mean of the worst tenth.",
    "G1": "Gate of the tail protocol: the two means are practically equal.",
    "G2": "Gate of the tail protocol: the means of the worst tenth are practically equal.",
    "G3": "Gate of the tail protocol: there are enough extreme scores.",
    "G4": "Gate of the tail protocol: the fitted tail describes the data.",
    "G5": "Gate of the tail protocol: the shape does not move with the threshold.",
    "P1": "Criterion of the tail protocol: the intervals of the two shapes do not overlap.",
    "P2": "Criterion of the tail protocol: the difference of the shapes is large enough to matter.",
    "tango score": "A test of the difference of two shares on the same items, with the interval that belongs to it.",
    "mover": "A way to get the interval of a difference from the intervals of its two parts.",
    "pass@k": "The chance that at least one of k answers is right.",
    "run": "A folder, or a place in a database, that holds all answers, costs and ratings of one audit.",
    "ledger": "The file in a run that records every call to a model before its answer is used.",
}


def explain(word: str) -> str | None:
    """What a word means, however it is written; None for a word that is not in the glossary."""
    wanted = word.strip().lower().replace("_", " ")
    return next((text for term, text in GLOSSARY.items() if term.lower().replace("_", " ") == wanted), None)
