"""Can failing paragraphs be told from their vectors? A logistic classifier and its held-out score."""

import dataclasses

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize
from scipy.stats import rankdata

from richter._special import expit
from richter.errors import TooFewErrors
from richter.records import Result

__all__ = ["FailurePrediction", "predict_failures"]

PENALTY = 1.0
SMALLEST = 40  # paragraphs, with at least 5 of each kind on either side of the split


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FailurePrediction(Result):
    """How well failing paragraphs are told from others on paragraphs that the classifier has not seen.

    `accuracy` is to be read against `accuracy_of_the_majority`, what always naming the commoner kind gives; `auc` is
    the chance that a failing paragraph gets a higher score than one that does not fail (0.5: nothing learnt).
    """

    n_train: int
    n_test: int
    accuracy: float
    accuracy_of_the_majority: float
    auc: float


def predict_failures(
    vectors: ArrayLike, fails: ArrayLike, *, held_out: float = 0.2, rng: np.random.Generator
) -> FailurePrediction:
    """Fit a logistic regression (ridge penalty 1) on a random part and score it on the rest.

    The paper trains BERT for this (query 7) and reaches 66 to 68% accuracy without saying what the commoner kind alone
    gives; here the vectors are the base's own. Paragraphs that a search chose are what is split: the score is about
    such paragraphs, not about the whole base.
    """
    x, y = np.asarray(vectors, dtype=np.float64), np.asarray(fails, dtype=bool)
    order = rng.permutation(len(y))
    cut = round(len(y) * (1 - held_out))
    train, test = order[:cut], order[cut:]
    if len(y) < SMALLEST or min(y[train].sum(), (~y[train]).sum(), y[test].sum(), (~y[test]).sum()) < 5:
        raise TooFewErrors(
            f"{len(y)} paragraphs, {int(y.sum())} failing, are too few to learn from and to test on.",
            n=len(y),
            needed=SMALLEST,
            remedy=f"At least {SMALLEST} paragraphs with 5 of each kind in either part are needed.",
        )
    score = _with_ones(x[test]) @ _fit(_with_ones(x[train]), y[train])
    ranks = rankdata(score)
    failing, fine = int(y[test].sum()), int((~y[test]).sum())
    auc = (ranks[y[test]].sum() - failing * (failing + 1) / 2) / (failing * fine)
    return FailurePrediction(
        n_train=len(train),
        n_test=len(test),
        accuracy=float(((score > 0) == y[test]).mean()),
        accuracy_of_the_majority=max(failing, fine) / len(test),
        auc=float(auc),
    )


def _with_ones(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.column_stack([x, np.ones(len(x))])


def _fit(x: NDArray[np.float64], y: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Maximum penalised likelihood; the intercept is not penalised."""
    penalty = np.append(np.full(x.shape[1] - 1, PENALTY), 0.0)
    sign = np.where(y, 1.0, -1.0)

    def loss(w: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        margin = sign * (x @ w)
        value = np.logaddexp(0, -margin).sum() + (penalty * w * w).sum() / 2
        return float(value), penalty * w - x.T @ (sign * expit(-margin))

    return np.asarray(minimize(loss, np.zeros(x.shape[1]), jac=True, method="L-BFGS-B").x)
