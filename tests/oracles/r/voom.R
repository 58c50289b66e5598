# Linear models of counts with precision weights: voom, lmFit and eBayes of limma.
#
# F of three classes is that of nested models, of each feature with its own weights. eBayes of limma
# takes the correlation of coefficients without weights there, and gives another F (`limma_F`).

suppressPackageStartupMessages({
  library(limma)
  library(edgeR)
})

m <- 40
n <- 12
sample_class <- rep(c("a", "b"), 6)
pair <- rep(paste0("p", 1:6), each = 2)
dose <- rep(c("high", "low", "none"), 4)
age <- c(31, 45, 52, 28, 60, 39, 47, 55, 36, 41, 58, 33)
mean_count <- 2^seq(1, 12, length.out = m)
more <- matrix(1, m, n)
more[1:8 * 5, sample_class == "b"] <- 3
more[1:6 * 6, dose == "low"] <- 2.5
counts <- matrix(
  rnbinom(m * n, mu = mean_count %o% runif(n, 0.5, 2) * more, size = 6), m
)

fitted_models <- function(counts, factors, full, reduced, trend = FALSE) {
  y <- DGEList(counts, norm.factors = factors)
  v <- voom(y, full)
  fit <- lmFit(v, full)
  scatter <- sapply(seq_len(nrow(counts)), function(i) {
    sapply(list(full, reduced), function(X) {
      sum(v$weights[i, ] * lm.wfit(X, v$E[i, ], v$weights[i, ])$residuals^2)
    })
  })
  d <- n - ncol(full)
  q <- ncol(full) - ncol(reduced)
  s2 <- scatter[1, ] / d
  squeezed <- squeezeVar(s2, d, covariate = if (trend) fit$Amean else NULL)
  posterior <- squeezed$var.post
  total <- pmin(d + squeezed$df.prior, d * nrow(counts))
  between <- (scatter[2, ] - scatter[1, ]) / q
  list(
    F = between / posterior, p = pf(between / posterior, q, total, lower.tail = FALSE),
    plain_F = between / s2, plain_p = pf(between / s2, q, d, lower.tail = FALSE),
    df_prior = squeezed$df.prior
  )
}

factors <- calcNormFactors(counts)
two <- model.matrix(~ factor(pair) + factor(sample_class))
moderated <- eBayes(lmFit(voom(DGEList(counts, norm.factors = factors), two), two))
pairs <- fitted_models(counts, factors, two, two[, 1:6])
trended <- fitted_models(counts, factors, two, two[, 1:6], trend = TRUE)
stopifnot(all.equal(unname(moderated$t[, 7]^2), pairs$F), all.equal(unname(moderated$p.value[, 7]), pairs$p))
means <- model.matrix(~ 0 + factor(sample_class) + factor(pair), contrasts.arg = list(`factor(pair)` = "contr.sum"))
of_classes <- lmFit(voom(DGEList(counts, norm.factors = factors), two), means)$coefficients[, 1:2]

three <- model.matrix(~ age + factor(dose))
doses <- fitted_models(counts, rep(1, n), three, three[, 1:2])
by_limma <- eBayes(lmFit(voom(counts, three), three))

write_reference("voom", list(
  versions = versions("limma", "edgeR"), counts = counts,
  class = sample_class, pair = pair, dose = dose, age = age,
  pairs = c(pairs, list(
    t = unname(moderated$t[, 7]), log2_fold_change = unname(moderated$coefficients[, 7]),
    means = unname(of_classes)
  )),
  trended = trended,
  doses = c(doses, list(limma_F = topTable(by_limma, coef = 3:4, number = Inf, sort.by = "none")$F))
))
