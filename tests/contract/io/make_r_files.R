# Writes the objects of r_files.json, which is name -> base64: Rscript make_r_files.R DIR, and then
# python -c "import base64, json, pathlib, sys; print(json.dumps({p.name:
#   base64.b64encode(p.read_bytes()).decode() for p in sorted(pathlib.Path(sys.argv[1]).iterdir())},
#   indent=1))" DIR > r_files.json
suppressMessages({
  library(Matrix)
  library(SummarizedExperiment)
})
setwd(commandArgs(TRUE)[1])
m <- matrix(c(-0.5, 0.25, NA, 1e-300, 2, 1/3), 3, 2, dimnames = list(paste0("g", 1:3), c("s1", "s2")))
whole <- matrix(c(NA, 2:6), 3, 2, dimnames = dimnames(m))
sparse <- sparseMatrix(c(1, 3, 2), c(1, 1, 2), x = c(1, 2, 3), dims = c(3, 2), dimnames = dimnames(m))
frame <- data.frame(
  age = c(31, NA), n = c(1L, NA), score = c(0.5, 1), tissue = factor(c("liver", NA)), note = c("x", NA),
  ok = c(TRUE, NA), row.names = c("s1", "s2")
)
for (how in c("gzip", "bzip2", "xz")) saveRDS(m, paste0("matrix_", how, ".rds"), compress = how)
saveRDS(m, "matrix_plain.rds", compress = FALSE)
saveRDS(whole, "whole.rds")
saveRDS(unname(m), "unnamed.rds")
saveRDS(as(sparse, "CsparseMatrix"), "columns.rds")
saveRDS(Diagonal(2), "diagonal.rds")
saveRDS(frame, "frame.rds")
saveRDS(data.frame(gene = c("g1", "g2"), s1 = c(1, 2), s2 = c(3L, 4L)), "no_row_names.rds")
saveRDS(c("TP53", "MYC"), "words.rds")
saveRDS(function(x) x, "code.rds")
save(m, file = "one.rda")
save(m, frame, file = "two.RData")
samples <- DataFrame(tissue = factor(c("a", "b")), age = c(1, 2), row.names = c("s1", "s2"))
saveRDS(SummarizedExperiment(list(counts = whole, norm = m), colData = samples), "experiment.rds")
ranges <- GRanges("chr1", IRanges(1:3, width = 1))
names(ranges) <- rownames(m)
saveRDS(SummarizedExperiment(list(counts = sparse), colData = samples, rowRanges = ranges),
        "ranged.rds")
experiment <- SummarizedExperiment(list(norm = m), colData = samples)
colnames(experiment) <- c("new1", "new2")  # the assay keeps its own names
saveRDS(experiment, "renamed.rds")
experiment <- SummarizedExperiment(list(norm = unname(m)), colData = samples)
rownames(experiment) <- rownames(m)
saveRDS(experiment, "named_outside.rds")
saveRDS(data.frame(gene = c(7157, 672), s1 = c(0.5, 2), s2 = c(3, 4)), "entrez.rds")
saveRDS(data.frame(s1 = c(0.5, 2), s2 = c(3, 4)), "no_ids.rds")
saveRDS(data.frame(s1 = c(1, 1), s2 = c(3, 4), row.names = c(7157L, 672L)), "whole_row_names.rds")
saveRDS(m + 0i, "complex.rds")
saveRDS(data.frame(id = c("a", "b", "c"), n = bit64::as.integer64(c("5", NA, "9000000000")), w = 1:3), "bit64.rds")
saveRDS(data.frame(id = c("a", "b"), day = as.Date(c("2020-01-02", NA)),
                   time = as.POSIXct(c("2020-01-02 03:04:05", NA), tz = "UTC")), "times.rds")
