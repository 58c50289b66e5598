# Makes the reference values of tests from the R packages of the papers.
#
#   Rscript tests/oracles/r/make.R [topic ...]
#
# Each topic is a file NAME.R of this folder, which writes NAME.json: inputs and outputs together, so
# that tests need no R. Needs jsonlite and the packages that the topics load.

arguments <- commandArgs(FALSE)
folder <- dirname(sub("^--file=", "", grep("^--file=", arguments, value = TRUE)))

suppressPackageStartupMessages(library(jsonlite))

# Writes a list with 13 significant digits; Inf and NaN become the strings "Inf" and "NaN".
write_reference <- function(name, values) {
  text <- toJSON(values, digits = I(13), auto_unbox = TRUE, na = "string", null = "null")
  writeLines(text, file.path(folder, paste0(name, ".json")))
}

# Versions of what made the values.
versions <- function(...) {
  packages <- c(...)
  c(list(R = as.character(getRversion())),
    setNames(lapply(packages, function(p) as.character(packageVersion(p))), packages))
}

topics <- commandArgs(TRUE)
if (!length(topics)) topics <- setdiff(sub("[.]R$", "", list.files(folder, "[.]R$")), "make")
for (topic in topics) {
  set.seed(1, kind = "Mersenne-Twister", normal.kind = "Inversion", sample.kind = "Rejection")
  source(file.path(folder, paste0(topic, ".R")), local = new.env(parent = globalenv()))
}
