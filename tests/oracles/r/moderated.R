# Moderated variances by squeezeVar and eBayes of limma.

suppressPackageStartupMessages(library(limma))

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
  infinite = list(s2 = rounded(0.3 * qchisq(ppoints(m), 4) / 4), d = 4),
  infinite_trend = list(
    s2 = rounded(0.3 * exp(expression / 4) * seq(0.8, 1.2, length.out = m)), d = 4, trend = expression
  ),
  zeros = list(s2 = replace(plain, c(2, 5, 20), 0), d = 4),
  zeros_trend = list(s2 = replace(plain, c(2, 5, 20), 0), d = 4, trend = expression),
  mostly_zero = list(s2 = replace(plain, 1:15, 0), d = 4),
  tied_trend = list(s2 = plain, d = 4, trend = tied),
  tied_in_the_middle = list(s2 = plain, d = 4, trend = replace(expression, 5:21, 7)),
  constant_trend = list(s2 = plain, d = 4, trend = rep(3, m)),
  one = list(s2 = 0.7, d = 4),
  two = list(s2 = c(0.7, 2), d = 4),
  three_trend = list(s2 = c(0.7, 2, 0.1), d = 4, trend = c(1, 5, 2)),
  twelve_trend = list(s2 = plain[1:12], d = 4, trend = expression[1:12])
)

result <- lapply(cases, function(case) {
  fit <- suppressWarnings(squeezeVar(case$s2, case$d, covariate = case$trend))
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

# lowess.
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
