# Moderated variances by squeezeVar and eBayes of limma.

suppressPackageStartupMessages(library(limma))

# limma stops the search for a robust d0 within 1e-8 of d0 / (1 + d0), by where the search came from.
# The reference goes on to rounding; below it is compared with limma as it is.
squeezed <- function(case, exact) {
  if (exact) {
    text <- deparse(limma::fitFDistRobustly)
    searched <- sub("tol = 1e-08", "tol = 1e-16", text, fixed = TRUE)
    stopifnot(sum(searched != text) == 1)
    exactly <- eval(parse(text = searched), asNamespace("limma"))
    plain <- limma::fitFDistRobustly
    assignInNamespace("fitFDistRobustly", exactly, "limma")
    on.exit(assignInNamespace("fitFDistRobustly", plain, "limma"))
  }
  suppressWarnings(squeezeVar(
    case$s2, case$d, covariate = case$trend, robust = isTRUE(case$robust)
  ))
}
share <- function(df) ifelse(is.finite(df), df / (1 + df), 1)

drawn <- function(m, d, d0, s0 = 0.3) s0 * rf(m, d, d0)
rounded <- function(x) signif(x, 5) # few digits keep the file small

m <- 24
expression <- rounded(runif(m, 2, 12))
plain <- rounded(drawn(m, 4, 6))
outliers <- plain
outliers[c(3, 17)] <- c(60, 900)
tied <- round(expression)
tied[1:11] <- 2

cases <- list(
  plain = list(s2 = plain, d = 4),
  trend = list(s2 = rounded(plain * exp(-expression / 3)), d = 4, trend = expression),
  robust = list(s2 = outliers, d = 4, robust = TRUE),
  robust_trend = list(
    s2 = rounded(outliers * exp(-expression / 3)), d = 4, trend = expression, robust = TRUE
  ),
  infinite = list(s2 = rounded(0.3 * qchisq(ppoints(m), 4) / 4), d = 4),
  infinite_trend = list(
    s2 = rounded(0.3 * exp(expression / 4) * seq(0.8, 1.2, length.out = m)), d = 4, trend = expression
  ),
  infinite_robust = list(
    s2 = rounded(c(0.3 * seq(0.6, 1.4, length.out = m - 1), 6)), d = 4, robust = TRUE
  ),
  # the robust estimate is infinite, the plain one is not
  infinite_but_outliers = list(
    s2 = rounded(c(0.3 * qchisq(ppoints(m - 2), 8) / 8, 60, 900)), d = 8, robust = TRUE
  ),
  no_outlier = list(s2 = rounded(0.3 * qf(ppoints(m), 4, 6)), d = 4, robust = TRUE),
  large_df = list(s2 = rounded(0.3 * qf(ppoints(m), 4, 200)), d = 4, robust = TRUE),
  far_outlier = list(s2 = rounded(c(0.3 * qf(ppoints(m - 2), 60, 80), 1e9, 1e12)), d = 60, robust = TRUE),
  zeros = list(s2 = replace(plain, c(2, 5, 20), 0), d = 4),
  zeros_trend = list(s2 = replace(plain, c(2, 5, 20), 0), d = 4, trend = expression),
  zeros_robust = list(s2 = replace(plain, c(2, 5, 20), 0), d = 4, robust = TRUE),
  mostly_zero = list(s2 = replace(plain, 1:15, 0), d = 4),
  tied_trend = list(s2 = plain, d = 4, trend = tied),
  tied_robust_trend = list(s2 = outliers, d = 4, trend = tied, robust = TRUE),
  tied_in_the_middle = list(s2 = plain, d = 4, trend = replace(expression, 5:21, 7)),
  constant_trend = list(s2 = plain, d = 4, trend = rep(3, m)),
  infinite_trend_value = list(s2 = plain, d = 4, trend = replace(expression, c(1, 2), c(-Inf, Inf))),
  one = list(s2 = 0.7, d = 4),
  two = list(s2 = c(0.7, 2), d = 4),
  three_trend = list(s2 = c(0.7, 2, 0.1), d = 4, trend = c(1, 5, 2)),
  nine_robust = list(s2 = outliers[10:18], d = 4, robust = TRUE),
  twelve_trend = list(s2 = plain[1:12], d = 4, trend = expression[1:12])
)

result <- lapply(cases, function(case) {
  fit <- squeezed(case, exact = TRUE)
  stopifnot(abs(share(fit$df.prior) - share(squeezed(case, exact = FALSE)$df.prior)) < 2e-8)
  c(case, list(
    prior_df = fit$df.prior, prior_variance = fit$var.prior, variance = fit$var.post
  ))
})

# A whole analysis: eBayes of a matrix, with trend and robust.
groups <- rep(0:1, each = 4)
y <- round(matrix(rnorm(30 * 8), 30) * sqrt(drawn(30, 1e3, 5)) + runif(30, 2, 12), 3)
y[4, ] <- round(y[4, ] + rnorm(8) * 20, 3)
fit <- lmFit(y, cbind(1, groups))
analysis <- lapply(list(plain = c(FALSE, FALSE), robust_trend = c(TRUE, TRUE)), function(how) {
  e <- eBayes(fit, trend = how[1], robust = how[2])
  list(t = unname(e$t[, 2]), p = unname(e$p.value[, 2]), df = e$df.total)
})

# lowess, which robust with a trend takes its level from.
smoothed <- lapply(
  list(
    plain = list(x = expression, y = log(outliers), span = 0.4, steps = 3, delta = 0),
    skips = list(x = expression, y = log(outliers), span = 0.5, steps = 3, delta = 1),
    tied = list(x = tied, y = log(outliers), span = 0.3, steps = 3, delta = 0.5),
    steps = list(x = expression, y = log(plain), span = 2 / 3, steps = 0, delta = 0.1),
    two = list(x = c(1, 2), y = c(3, 4), span = 0.5, steps = 3, delta = 0),
    equal = list(x = c(1, 1, 1), y = c(3, 4, 6), span = 0.5, steps = 3, delta = 0),
    narrow = list(x = tied, y = log(plain), span = 0.01, steps = 2, delta = 0)
  ),
  function(case) {
    smooth <- lowess(case$x, case$y, f = case$span, iter = case$steps, delta = case$delta)
    c(case, list(smooth = smooth$y))
  }
)

write_reference("moderated", list(
  versions = versions("limma", "statmod"), cases = result,
  analysis = c(list(y = y, groups = groups), analysis),
  lowess = smoothed
))
