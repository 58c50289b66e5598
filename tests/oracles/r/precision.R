# Precision weights by voom of limma.

suppressPackageStartupMessages(library(limma))

m <- 26
n <- 8
groups <- rep(0:1, each = 4)
mean_count <- 2^seq(-2, 11, length.out = m)
counts <- matrix(rnbinom(m * n, mu = mean_count * rep(1 + 2 * groups, each = m), size = 8), m)
counts[1, ] <- 0 # has no part in the trend
age <- c(31, 45, 52, 28, 60, 39, 47, 55)
designs <- list(
  mean = cbind(rep(1, n)),
  groups = cbind(1, groups),
  covariate = cbind(1, groups, age),
  dependent = cbind(1, groups, 1 - groups, age)
)
sizes <- colSums(counts)
factors <- round(seq(0.8, 1.25, length.out = n), 3)

cases <- c(
  lapply(designs, function(design) list(design = design, library_sizes = sizes)),
  list(
    factors = list(design = designs$groups, library_sizes = sizes * factors),
    span = list(design = designs$groups, library_sizes = sizes, span = 0.8),
    saturated = list(design = diag(n), library_sizes = sizes)
  )
)
result <- lapply(cases, function(case) {
  span <- if (is.null(case$span)) 0.5 else case$span
  invisible(capture.output(v <- suppressWarnings(suppressMessages(voom(
    counts, unname(case$design), lib.size = case$library_sizes, span = span, save.plot = TRUE
  )))))
  case$design <- unname(case$design)
  # a row for every fifth feature
  c(case, list(x = v$voom.xy$x, y = v$voom.xy$y, line = v$voom.line$y,
               weights = unname(v$weights)[seq(1, m, 5), ]))
})

write_reference("precision", list(
  versions = versions("limma"), counts = counts,
  log_cpm = unname(voom(counts, designs$groups)$E)[seq(1, m, 5), ], cases = result
))
