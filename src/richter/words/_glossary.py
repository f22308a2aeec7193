"""What the words mean: one source for the page, `richter help` and the documentation."""

import re

__all__ = ["GLOSSARY", "describe_terms", "explain"]

# term -> what it means, in words that need no other term to be read
GLOSSARY: dict[str, str] = {
    "item": "One question, with an ID of its own. The first screen says question.",
    "question": "One item of a test, with an ID of its own.",
    "condition": "What is tested: a model together with its settings and its prompt. Two prompts of one model are "
    "two conditions.",
    "answer": "What a model wrote for a question.",
    "draw": "One of several answers of the same model to the same question. Also called epoch, repeat, sample or "
    "trial.",
    "repeat": "One of several answers of the same model to the same question. Also called draw or epoch.",
    "group": "Questions that belong together, such as those on one passage. They tend to be right or wrong "
    "together. So a group counts once.",
    "rank": "The places that a model may have, 1 being the best. It is a range where pairs can't be told apart. All "
    "ranges hold together at the stated level.",
    "tier": "A set of models of which no two can be told apart with these data. Tiers may overlap: a model can be "
    "in two.",
    "paired": "Both models answered the same questions, so each question is compared with itself. This needs fewer "
    "questions.",
    "unpaired": "The two models answered different questions, as in a test with other users on each side. Their "
    "rates are compared as a whole, which needs more questions.",
    "fixed": "Questions that the old one got wrong and the new one gets right.",
    "broken": "Questions that the old one got right and the new one gets wrong.",
    "points": "Percentage points: from 70% to 75% is 5 points.",
    "unit": "What varies independently: the group where there are groups, else the question.",
    "weight": "How much a question counts in an average.",
    "accuracy": "The share of questions that a model gets right.",
    "error rate": "The share of questions that a model gets wrong.",
    "baseline": "What the new one is compared with: the old model or prompt. The first file unless you say otherwise.",
    "regression": "Something that got worse: a question that was right before and is wrong now, or a lower score.",
    "score": "A number that a grader gave an answer: right or wrong, a share, or points on a scale.",
    "severity": "How bad an answer is, from 0 (right) over 1 (a slip) and 2 (misleading) to 4 (dangerous or made "
    "up), in half steps.",
    "catastrophic": "A severity of 3 or more: a severe error.",
    "severe errors": "Errors of severity 3 or more.",
    "rating": "A severity that one rater gave one answer. Raters are people, judge models or rules.",
    "judge": "A model that grades the answers of another. Its mistakes are part of what is measured.",
    "human labels": "Grades that people gave to a sample of answers. They show how far a judge is off, and correct it.",
    "basis": "Who graded the answers: the log's own grader, rules, judge models or people.",
    "kappa": "How far two raters agree beyond chance: 1 is full agreement, 0 is what chance gives. Above 0.8 is good.",
    "alpha": "Krippendorff's alpha: how far raters agree beyond chance, also with missing ratings. 1 is full "
    "agreement.",
    "claim": "A sentence that the data may support or not, such as 'new is more accurate than old'.",
    "verdict": "What came of a claim. In JSON: verified, refuted, equivalent, undecided, blocked or untestable.",
    "verified": "The data show the claim. This says nothing about its size: read the interval.",
    "refuted": "The data show the opposite of the claim.",
    "equivalent": "The data show that the difference is smaller than the margin you named. On screen: no practical "
    "difference.",
    "no practical difference": "The data show that the difference is smaller than the margin you named.",
    "undecided": "The data show neither the claim nor its opposite. On screen: inconclusive.",
    "inconclusive": "The data show neither the claim nor its opposite. This does not mean that there is no difference.",
    "blocked": "A check that must pass before the comparison failed. The message names the check and the way out.",
    "untestable": "There is nothing to test the claim with, such as answers that nobody graded.",
    "estimate": "The measured value. For two models it is the second minus the first.",
    "interval": "The values that fit the data. A 95% interval misses the truth in at most 5 of 100 cases.",
    "confidence interval": "The values that fit the data, short CI. A 95% interval misses the truth in at most 5 "
    "of 100 cases. If it contains 0, the data do not show a difference.",
    "CI": "Confidence interval: the values that fit the data.",
    "one-sided": "A limit on one side only, as a gate needs: 'at worst -0.4 points (one-sided 95%)'. The truth is "
    "worse in at most 5 of 100 cases.",
    "level": "How sure an interval or a verdict must be: 95% unless you say otherwise.",
    "adjusted": "Wider, to allow for multiple comparisons. An unadjusted interval is the one for a single comparison.",
    "p-value": "How often a difference at least this large would appear if there were none. Below 0.05 is usually "
    "called significant. It says nothing about how large the difference is.",
    "significance": "A difference is significant at 5% if luck alone would show one in at most 5 of 100 cases. "
    "Richter then says better or worse.",
    "null hypothesis": "The assumption that there is no difference. A small p-value speaks against it.",
    "false discovery rate": "The share of false ones among all differences that are claimed. Richter is stricter: it "
    "limits the risk of any false one (Holm).",
    "t-test": "A test of a mean difference by its standard error. Richter uses it for scores, groups and repeats.",
    "McNemar's test": "A test of two models on the same questions, by those that only one gets right. Richter uses it "
    "for right and wrong answers.",
    "Wilson interval": "An interval for a share, such as 30 of 40 right, that holds for small counts too.",
    "standard deviation": "How far single values typically lie from their mean. Its square is the variance.",
    "correlation": "How far two models are right on the same questions: 1 is always, 0 is as chance has it. Also "
    "called phi.",
    "standard error": "How far an estimate typically lies from the truth, by chance alone. A 95% interval is about two "
    "of them to each side.",
    "bootstrap": "A way to find an interval: draw the questions again and again from those at hand, and see how much "
    "the result moves.",
    "sample size": "How many questions a claim rests on. Questions that belong together count less.",
    "effect size": "How large the difference is, not how sure it is. Here it is the estimate, in points.",
    "false positive": "A difference that the data seem to show and that is not real. At the 5% level at most 5 of 100 "
    "equal pairs give one.",
    "power": "How often a test of this size shows a real difference. Sizes here are for 80%: four of five tests "
    "show it.",
    "detectable difference": "The smallest true difference that these data would show in 8 of 10 cases (80% power).",
    "effective sample size": "How many independent questions your questions are worth when some belong together.",
    "non-inferiority": "Showing that new is not worse than old by more than a margin. A gate tests this.",
    "multiple comparisons": "Testing many pairs or measures at once. Some differ by luck, so each interval is made "
    "wider (Holm's rule).",
    "Holm": "A rule that keeps the risk of any false claim at 5% when many are tested together.",
    "margin": "The difference that would matter to you, named before looking: 2pt is two percentage points. On a "
    "score it is two hundredths of the scale.",
    "family": "Multiple comparisons that share one error risk: those on the main measure, those on all others, "
    "those on subgroups.",
    "main measure": "The measure that a page is about: the plan's, else the first of --on, else correctness, else "
    "the first score. Results never choose it.",
    "gate": "A check that must pass first; also the command that checks requirements in continuous integration.",
    "needed": "How many questions would settle the claim for the named difference, in 8 of 10 cases.",
    "floor": "A rough figure from theory: what this many answers cannot resolve. Verdicts never use it.",
    "exploratory": "Nothing was fixed before the data were seen, so the claim may be chosen by its result.",
    "pre-registered": "Claims, margins and levels were fixed in a locked plan before the data were seen.",
    "confirmatory": "What was to be tested was fixed, and locked, before the data were seen.",
    "plan": "A file that fixes claims, margins and levels before the data are seen.",
    "calibration": "A model is calibrated if it is right in 80% of the cases in which it says that it is 80% sure.",
    "ECE": "Expected calibration error: how far stated confidence and the share of right answers lie apart, on "
    "average. 0 is perfect.",
    "calibration error": "How far stated confidence and the share of right answers lie apart on average, in "
    "points; 0 is perfect. Also called ECE.",
    "Brier score": "The mean squared distance between stated confidence and 1 (right) or 0 (wrong). Lower is better.",
    "AUROC": "How well confidence separates right from wrong answers: 0.5 is no better than chance, 1 is perfect.",
    "AURC": "The error rate, averaged over all thresholds of confidence. Lower is better.",
    "debiased": "Minus the part that chance alone would show.",
    "confidence": "How sure the model says it is of an answer, from 0 to 1.",
    "Sem-ECE": "Calibration read from how often a model gives the same answer when asked many times.",
    "cloze": "A sentence with a gap, for which the model chooses one of several given texts.",
    "refusal": "An answer that declines to answer.",
    "b": "How fast errors become rarer as they become more severe. With b = 1 an error one step more severe is ten "
    "times rarer. A small b means many severe errors.",
    "m_min": "The severity from which on the law behind b is used.",
    "L": "How much the calibration curve may bend: the larger, the more labels it takes to see miscalibration.",
    "discordance": "The share of questions that one model gets right and the other wrong.",
    "canary": "A question of our own among yours that shows that replies reach the right question.",
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
    "tango score": "A test of the difference of two shares on the same questions, with the interval that belongs "
    "to it.",
    "mover": "A way to get the interval of a difference from the intervals of its two parts.",
    "pass@k": "The chance that at least one of k answers is right.",
    "run": "A folder that holds all answers, costs and ratings of one audit.",
    "ledger": "The file in a run that records every call to a model before its answer is used.",
}
ALIASES = {  # other spellings of a term
    "p": "p-value",
    "p value": "p-value",
    "pvalue": "p-value",
    "significant": "significance",
    "statistical significance": "significance",
    "confidence intervals": "confidence interval",
    "statistical power": "power",
    "mde": "detectable difference",
    "minimum detectable difference": "detectable difference",
    "could have shown": "detectable difference",
    "sets": "tier",
    "set": "tier",
    "tiers": "tier",
    "deciding interval": "adjusted",
    "plain interval": "adjusted",
    "unadjusted": "adjusted",
    "epoch": "repeat",
    "canaries": "canary",
    "floors": "floor",
    "percentage points": "points",
    "labels": "human labels",
    "holm correction": "Holm",
    "multiplicity": "multiple comparisons",
    "locked": "pre-registered",
    "equivalence": "equivalent",
    "statistically significant": "significance",
    "cohens kappa": "kappa",
    "cohen's kappa": "kappa",
    "krippendorff's alpha": "alpha",
    "brier": "Brier score",
    "statistically indistinguishable": "tier",
    "indistinguishable": "tier",
    "bonferroni": "multiple comparisons",
    "type i error": "false positive",
    "n": "sample size",
    "confidence level": "level",
    "error bars": "confidence interval",
    "error bar": "confidence interval",
    "cluster": "group",
    "clusters": "group",
    "clustered": "group",
    "clustering": "group",
    "phi": "correlation",
    "variance": "standard deviation",
    "fdr": "false discovery rate",
    "benjamini hochberg": "false discovery rate",
    "mcnemar": "McNemar's test",
    "t test": "t-test",
    "wilson": "Wilson interval",
    "tango": "tango score",
    "discordant": "discordance",
    "hypothesis": "null hypothesis",
    "variant": "condition",
    "model": "condition",
    "prompt": "condition",
    "control": "baseline",
    "icc": "group",
    "statistical test": "significance",
    "type ii error": "power",
    "noninferiority": "non-inferiority",
    "cohen's d": "effect size",
    "se": "standard error",
    "minimum detectable effect": "detectable difference",
}


# what a first screen says of its terms in a few words
SHORT = {
    " fixed, ": "Fixed: wrong before, right now; broken: the reverse",
    " CI ": "{level}% CI: in {level} of 100 such studies this range holds the true value",
    "one-sided": "One-sided 95%: the truth is beyond this limit in at most 5 of 100 cases",
    "80% power": "80% power: 8 of 10 such studies find a true difference of this size",
}


def describe_terms(text: str) -> str:
    """The terms that a screen uses, each in a few words, and the command that explains others; empty without any."""
    level = re.search(r"([\d.]+)% CI ", text)
    terms = [meaning.format(level=level[1] if level else "95") for term, meaning in SHORT.items() if term in text]
    return f"{'. '.join(terms)}. More: richter help TERM" if terms else ""


def explain(word: str) -> str | None:
    """What a word means, however it is written; None for a word that is not in the glossary."""
    wanted = _normalised(word)
    wanted = _normalised(ALIASES.get(wanted, wanted))
    return next((text for term, text in GLOSSARY.items() if _normalised(term) == wanted), None)


def _normalised(word: str) -> str:
    return " ".join(word.lower().replace("_", " ").split())
