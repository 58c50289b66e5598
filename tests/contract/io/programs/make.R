# Rscript make.R: R 4.2.2, Matrix 1.5
library(Matrix)
counts <- t(matrix(c(0, 3, 1, 0, 7, 12, 0, 5, 9, 1, 0, 0, 2, 0, 4, 31, 8, 15, 1234, 6,
                     2, 2, 0, 1, 3, 101, 88, 97, 110, 95), nrow = 5))
genes <- c("TP53", "MYC", "EGFR", "HLA-A", "MT-CO1", "GAPDH")
samples <- c("S1", "S2", "S3", "S4", "S5")
dimnames(counts) <- list(genes, samples)
values <- counts / 8
table <- data.frame(tissue = c("liver", "lung", "liver", "lung", "liver"),
                    age = c(31, 47, 52, 60, 29), row.names = samples)
write.table(values, "r_write_table.txt")
write.table(values, "r_write_table_tabs.tsv", sep = "\t", quote = FALSE)
write.table(values, "r_col_names_NA.tsv", sep = "\t", quote = FALSE, col.names = NA)
write.csv(values, "r_write_csv.csv")
write.csv2(values, "r_write_csv2.csv")
write.csv(data.frame(gene = genes, unname(values), row.names = NULL) |> setNames(c("gene", samples)), "r_numbered.csv")
write.table(table, "r_samples.txt")
write.csv(table, "r_samples.csv")
invisible(writeMM(as(values, "CsparseMatrix"), "r_matrix.mtx"))
saveRDS(values, "r_matrix.rds")
