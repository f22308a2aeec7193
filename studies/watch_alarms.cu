// Evidence of a change in many series at once: the sums of floors/_drift.py, one block a series. For watch_alarms.py, which
// gives the sizes ND (shifts), NR (correlations) and FAINT.

extern "C" __global__ void ranks(const double* x, const double* u, double* p, int n) {
  long s = blockIdx.x; x += s * n; u += s * n; p += s * n;
  for (int t = threadIdx.x; t < n; t += blockDim.x) {
    int below = 0, equal = 0;
    for (int j = 0; j <= t; j++) { below += x[j] < x[t]; equal += x[j] == x[t]; }
    double v = (below + u[t] * equal) / (t + 1);
    p[t] = fmin(fmax(v, 1e-12), 1 - 1e-12);
  }
}

__device__ double summed(double v, double* part) {
  for (int o = 16; o; o >>= 1) v += __shfl_down_sync(0xffffffff, v, o);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  v = 0; for (int w = 0; w < blockDim.x / 32; w++) v += part[w];
  __syncthreads();
  return v;
}

extern "C" __global__ void mixture(const double* z, const double* weight, const double* shifts, const double* rho,
                                   const double* believed, double* held, double* out, int n) {
  long s = blockIdx.x; z += s * n; out += s * n; held += s * (long)n * ND * NR;
  __shared__ double part[32];
  double none[NR], half[NR], rest[NR];
  for (int r = 0; r < NR; r++) { none[r] = 0; rest[r] = 1 - rho[r] * rho[r]; half[r] = -0.5 * log(rest[r]); }
  double before = 0, floor_ = -1e300;
  for (int t = 1; t <= n; t++) {
    double now = z[t - 1], last = t > 1 ? z[t - 2] : 0.0, own = 0;
    for (int at = threadIdx.x; at < (t - 1) * ND; at += blockDim.x) {
      int k = at / ND + 1; double shift = shifts[at % ND];
      double* log_ = held + (long)at * NR;
      double a = (double)k / t, al = (double)k / (t - 1);
      double spread = 1 + shift * shift * a * (1 - a), lead = 0, gap0 = 0, there = 0; bool ready = false;
      for (int r = 0; r < NR; r++) {
        double lg = log_[r];
        if (lg < -1e200) continue;
        if (lg <= floor_) { log_[r] = -1e300; continue; }
        if (!ready) {
          lead = 0.5 * log(spread) + 0.5 * now * now; gap0 = now * sqrt(spread) - shift * a;
          there = k < t - 1 ? last * sqrt(1 + shift * shift * al * (1 - al)) - shift * al : last;
          ready = true;
        }
        double gap = gap0 - (r > 0 ? rho[r] * there : 0.0);
        lg += lead + half[r] - 0.5 * gap * gap / rest[r];
        log_[r] = lg;
        double e = weight[k - 1] / ND * exp(fmin(lg, 700.0));
        own += believed[r] * e;
      }
    }
    double total = summed(own, part);
    for (int r = 0; r < NR; r++) {
      if (t > 1) { double g = now - rho[r] * last; none[r] += half[r] - 0.5 * g * g / rest[r] + 0.5 * now * now; }
      total += (1 - before) * believed[r] * exp(fmin(none[r], 700.0));
    }
    floor_ = fmax(log(total), 0.0) - FAINT;
    for (int at = threadIdx.x; at < ND * NR; at += blockDim.x) {
      int r = at % NR;
      held[(long)(t - 1) * ND * NR + at] = none[r] > floor_ ? none[r] : -1e300;
    }
    if (threadIdx.x == 0) out[t - 1] = log(total);
    before += weight[t - 1];
    __syncthreads();
  }
}
