"""Appendix E of the tail paper once more, in PyTorch on a GPU and without Richter: an independent check of its rates.

Simulated GPD pairs, 2,000 trials of 1,000 resamples a cell. Newton's method on the derivative of the profile
log-likelihood, for all resamples at once.
"""

import torch

torch.set_default_dtype(torch.float64)
TRIALS, RESAMPLES, DEVICE = 2000, 1000, "cuda"
DELTAS, SIZES = (0.0, 0.05, 0.10, 0.15, 0.20), (200, 500, 1000, 1500, 2000, 3000)


def fit(x: torch.Tensor, tau: torch.Tensor, iterations: int) -> tuple[torch.Tensor, torch.Tensor]:
    """xi and tau = xi / sigma of samples along the last axis, from a start near the maximum."""
    m1, m2, m3 = (x**k for k in (1, 2, 3))
    m1, m2, m3 = m1.mean(-1), m2.mean(-1), m3.mean(-1)
    lowest = -0.999 / x.amax(-1)
    slope0, curve0 = m2 / (2 * m1) - m1, 2 * (m2 / 2 + m2 * m2 / (8 * m1 * m1) - m3 / (3 * m1))
    for _ in range(iterations):
        v = 1 + tau[..., None] * x
        zero = (tau * m1).abs() < 1e-4
        a = v.log().mean(-1)
        first, second = (1 / v).mean(-1), (1 / v**2).mean(-1)
        t, b = torch.where(zero, 1.0, tau), torch.where(zero, 1.0, a)
        a_slope = (1 - first) / t
        h = (1 + a) * first - 1
        h_slope = a_slope * first - (1 + a) * (first - second) / t
        slope = torch.where(zero, slope0 + curve0 * tau, h / (t * b))
        curve = torch.where(zero, curve0, h_slope / (t * b) - h * (b + t * a_slope) / (t * b) ** 2)
        new = tau + torch.where(curve < 0, -slope / curve, 0.05 * slope.sign())
        tau = torch.where(new <= lowest, (tau + lowest) / 2, new)
    xi = torch.log1p(tau[..., None] * x).mean(-1)
    return xi, tau


def intervals(n: int, xi: float) -> tuple[torch.Tensor, torch.Tensor]:
    """Estimates and 95% percentile intervals of TRIALS samples."""
    e = -torch.log1p(-torch.rand(TRIALS, n, device=DEVICE))
    x = torch.expm1(xi * e) / xi if xi else e
    estimate, tau = fit(x, torch.full((TRIALS,), xi, device=DEVICE), 25)
    ends, chunk = [], max(1, int(3e7 / (RESAMPLES * n)))
    for i in range(0, TRIALS, chunk):
        part = x[i : i + chunk]
        index = torch.randint(n, (len(part), RESAMPLES * n), device=DEVICE)
        drawn = part.gather(1, index).view(len(part), RESAMPLES, n)
        start = tau[i : i + chunk, None].expand(len(part), RESAMPLES).contiguous()
        shapes, _ = fit(drawn, start, 7)
        ends.append(torch.quantile(shapes, torch.tensor([0.025, 0.975], device=DEVICE), dim=1))
    return estimate, torch.cat(ends, 1)


def main() -> None:
    torch.manual_seed(1)
    print("n_exc  " + "  ".join(f"d={d:.2f}" for d in DELTAS))
    for n in SIZES:
        light, low_high = intervals(n, 0.0)
        rates = []
        for delta in DELTAS:
            heavy, other = intervals(n, delta)
            apart = (other[0] > low_high[1]) | (low_high[0] > other[1])
            rates.append((apart & ((heavy - light).abs() > 0.1)).double().mean().item())
        print(f"{n:5}  " + "  ".join(f"{rate:6.4f}" for rate in rates), flush=True)


if __name__ == "__main__":
    main()
