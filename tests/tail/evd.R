# Rscript evd.R: GPD fits by the package evd, on samples that need no random numbers
library(evd)
n <- 250
p <- ((1:n) - 0.5) / n
for (xi in c(-0.3, 0, 0.3, 0.8)) {
  x <- if (xi == 0) -2 * log1p(-p) else 2 * ((1 - p)^(-xi) - 1) / xi
  x <- x * (1 + 0.2 * sin(1:n))  # not a perfect GPD
  fit <- fpot(x, threshold = 0, model = "gpd", std.err = TRUE, control = list(reltol = 1e-14, maxit = 10000))
  ends <- confint(profile(fit, which = "shape", conf = 0.999), level = 0.95)
  cat(sprintf("%.1f %.6f %.6f %.6f %.4f %.4f\n", xi, fit$estimate[["shape"]], fit$estimate[["scale"]],
              -fit$deviance / 2, ends[1], ends[2]))
}
