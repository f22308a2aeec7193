"""The verification tax's formulas over scale and rounds, each with constant 1 (theorem 16, appendices J.2 and O)."""

import math
from collections.abc import Sequence
from typing import NamedTuple


class Horizon(NamedTuple):
    """The model size beyond which labels cannot verify a gap as large as the error rate; `active` is not proved."""

    passive: float
    active: float


class Transfer(NamedTuple):
    """Labels for a fine-tuned model whose parent was verified, and from scratch."""

    with_transfer: float
    from_scratch: float


def horizon(labels: float, alpha: float = 0.5) -> Horizon:
    """N* = M^(1 / (2 alpha)) where the error rate is N^-alpha (theorem 16), from the floor (e / M)^(1/3) < e.

    At M = 14,000 this is 1.4e4, as in table 6; the text has 1e7.
    """
    return Horizon(labels ** (1 / (2 * alpha)), labels ** (1 / alpha))


def recalibration_rounds(labels: float, ece: float, error_rate: float, factor: float = 0.5) -> int:
    """Rounds after which a further improvement by `factor` is too small to see (appendix J.2).

    After K rounds the next improves by factor^K ECE_0 (1 - factor), which needs e / improvement^2 labels (theorem 1).
    It shows up to K* = floor(log(M (1 - factor)^2 ECE_0^2 / e) / (2 log(1 / factor))), so that K* + 1 rounds show. The
    paper prints K*, which counts from 0. 0 where not even the first shows.
    """
    exact = math.log(labels * (1 - factor) ** 2 * ece**2 / error_rate) / (2 * math.log(1 / factor))
    return max(0, math.floor(exact) + 1)


def transfer_labels(shift: float, delta: float, error_rate: float) -> Transfer:
    """L_h e / shift^3 labels for the change by fine-tuning, against L e / delta^3 anew (eq. (24)), L = L_h = 1.

    Appendix O sets the accuracy of the change to its own size delta_ft (`shift`), and calls transfer a saving when
    delta_ft < delta. Its own formula says the reverse: a smaller shift is more expensive to resolve (a tenth of delta
    costs 1,000 times more, not less).
    """
    return Transfer(error_rate / shift**3, error_rate / delta**3)


def main(_: Sequence[str] | None = None) -> None:
    """Print each formula at the paper's figures."""
    for labels in (5_000, 14_000, 500_000):
        print(f"horizon of {labels:,} labels: {horizon(labels).passive:.2e}")
    print(f"1,000 labels, ECE 0.1 halved each time: {recalibration_rounds(1000, 0.1, 0.1)} rounds")
    transfer = transfer_labels(0.02, 0.01, 0.1)
    print(f"transfer: {transfer.with_transfer:,.0f} against {transfer.from_scratch:,.0f} labels")


if __name__ == "__main__":
    main()
