# TMM factors and filterByExpr of edgeR, size factors of DESeq2.

suppressPackageStartupMessages({
  library(edgeR)
  library(DESeq2)
})

m <- 60
n <- 7
drawn <- function(m, n, size = 3, low = 0, high = 9) {
  mu <- 2^runif(m, low, high) %o% runif(n, 0.4, 2.5)
  matrix(rnbinom(m * n, mu = mu, size = size), m)
}
plain <- drawn(m, n)
composed <- plain
composed[1:6, 4:7] <- composed[1:6, 4:7] * 40 # a few features take much of four libraries
sparse <- drawn(m, n, low = -5, high = 1.2)
tied <- drawn(m, n, low = 0, high = 2)
equal <- drawn(m, 1)[, rep(1, 3)] %*% diag(c(1, 2, 5))
matrices <- list(
  plain = plain, composed = composed, sparse = sparse, tied = tied, equal = equal,
  two = plain[, 1:2], one = plain[, 1, drop = FALSE], few = plain[1:4, ],
  apart = rbind(c(5, 0, 3), c(0, 7, 0), c(2, 0, 9)) # samples 1 and 2 share no feature
)
sizes <- round(colSums(plain) * seq(0.7, 1.4, length.out = n))

tmm <- lapply(matrices, function(x) suppressWarnings(calcNormFactors(x)))
ratios <- lapply(matrices[c("plain", "composed", "equal", "two", "few")], function(x) {
  estimateSizeFactorsForMatrix(x)
})

groups <- c(1, 1, 1, 2, 2, 2, 2)
batch <- c(0, 1, 0, 1, 0, 1, 1)
wide <- drawn(m, 30, low = -2, high = 4)
many <- rep(1:2, c(13, 17))
same <- drawn(m, 6, low = 0, high = 5) # with one library size, so that 10 counts are the cutoff
kept <- list(
  groups = filterByExpr(composed, group = groups),
  design = filterByExpr(composed, design = cbind(1, groups, batch)),
  neither = suppressMessages(filterByExpr(composed)),
  sizes = filterByExpr(composed, group = groups, lib.size = sizes),
  many = filterByExpr(wide, group = many),
  options = filterByExpr(wide, group = many, min.count = 3, min.total.count = 60, large.n = 5, min.prop = 0.5),
  cutoff = filterByExpr(same, group = rep(1:2, 3), lib.size = rep(1234567, 6))
)

# log2 counts per million, of every tenth feature
ratio <- estimateSizeFactorsForMatrix(composed) / colSums(composed)
factors <- list(
  none = rep(1, n), tmm = calcNormFactors(composed), ratios = ratio / exp(mean(log(ratio)))
)
log_cpm <- lapply(factors, function(f) {
  y <- DGEList(composed, norm.factors = f)
  unname(cpm(y, log = TRUE, prior.count = 2))[seq(1, m, 10), ]
})

write_reference("size_factors", list(
  versions = versions("edgeR", "DESeq2"),
  matrices = c(matrices, list(wide = wide, same = same)),
  sizes = sizes, groups = groups, batch = batch, many = many,
  tmm = tmm, log_cpm = log_cpm,
  pairs = lapply(1:n, function(j) edgeR:::.calcFactorTMM(composed[, j], composed[, 3], Acutoff = -8)),
  ratios = ratios, kept = lapply(kept, as.integer)
))
