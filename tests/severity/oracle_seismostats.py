"""Prints the slopes of SeismoStats 1.0.1 that test_b_value.py holds (`pip install seismostats` first)."""

import numpy as np

COUNTS = np.array([60, 41, 22, 17, 9, 4, 3, 2])  # errors at 0.5, 1.0, .. 4.0


def main() -> None:
    from seismostats.analysis import UtsuBValueEstimator

    magnitudes = np.repeat(np.arange(1, 9) / 2, COUNTS)
    for m_min in (0.5, 1.0, 1.5):
        tail = magnitudes[magnitudes >= m_min]
        aki = UtsuBValueEstimator().calculate(tail, mc=m_min, delta_m=0.5)  # Aki with the half-bin correction
        print(f"({m_min}, {float(aki)!r}),")


if __name__ == "__main__":
    main()
