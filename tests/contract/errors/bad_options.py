"""Options that are wrong whatever the matrix."""

from __future__ import annotations

from tests.making_commands import BAD, USAGE, bad, good, option, text

CHOICES = [
    option(f"unknown value of {flag}", f"'{wrong}'; did you mean {near}", flag, wrong)
    for flag, wrong, near in (
        ("--method", "fischer", "fisher"),
        ("--method", "Wilcoxon", "rank-test"),
        ("--rows", "sample", "samples"),
        ("--missing", "dropp", "drop"),
        ("--samples", "intersection", "intersect"),
        ("--ranking", "phi22", "phi2"),
        ("--gamma", "pow", "power"),
        ("--edge-weights", "binari", "binary"),
        ("--format", "tvs", "tsv"),
        ("--dtype", "float23", "float32"),
        ("--similarity", "rbff", "rbf"),
        ("--transform", "lg2", "log2"),
        ("--bandwidth", "mediam", "median"),
    )
]

NAMED_FEATURES = [
    option(
        "--exclude without a match", "good.csv; gene1; file; (upper", "--exclude", "^MT-", code=BAD
    ),
    option("--include without a match", "no feature; gene1", "--include", "list.txt", code=BAD),
    option("--exclude of everything", "no feature is left; 9", "--exclude", "gene", code=BAD),
    option(
        "--include and --exclude of the same",
        "no feature is left; --include",
        *("--include", "gene1$", "--exclude", "1$"),
        code=BAD,
    ),
    option("--exclude of no pattern", "'gene('; regular expression", "--exclude", "gene("),
    option("--include of no pattern", "'*'; regular expression", "--include", "*"),
    option("--min-samples 0", "too small; 1 or more", "--min-samples", "0"),
    option("--min-samples of more", "6 samples; 6 or less", "--min-samples", "7", code=BAD),
    option("--min-samples of words", "integer", "--min-samples", "many"),
    option("--min-total inf", "not a finite number", "--min-total", "inf"),
    bad(
        "--exclude of other ids",
        lambda f: ["rank", good(f), "--exclude", text(f, "MT-ND1\nMT-ND2\n", "mito.txt")],
        "mito.txt",
        "none of its ids; gene1; same kind",
    ),
    bad(
        "--exclude of an empty list",
        lambda f: ["rank", good(f), "--exclude", text(f, "\n", "mito.txt")],
        "mito.txt",
        "the file is empty",
    ),
]

WITHOUT_EFFECT = [
    option("--keep alone", "--keep; no effect without --max-correlation", "--keep", "5"),
    option(
        "--neighbors with rbf",
        "--neighbors; no effect; knn",
        *("--similarity", "rbf", "--neighbors", "3"),
    ),
    option("--beta without a similarity", "no effect; diffusion", "--beta", "3"),
    option("--beta with knn", "diffusion", "--similarity", "knn", "--beta", "2"),
    option(
        "--components with rbf",
        "--components; no effect; knn, geodesic, diffusion",
        *("--similarity", "rbf", "--components", "3"),
    ),
    option(
        "--variable-genes with label",
        "no effect; knn",
        *("--labels", "LABELS", "--similarity", "label", "--variable-genes", "3"),
    ),
    option(
        "--variable-genes without components",
        "no effect without --components; above 50,000 samples",
        *("--similarity", "knn", "--neighbors", "3", "--variable-genes", "4"),
    ),
    option(
        "--variable-genes with --components none",
        "no effect; --components none",
        *("--similarity", "knn", "--components", "none", "--variable-genes", "4"),
        name="--variable-genes",
    ),
    option("--components on sources", "a source", "--source", "x=target:", "--components", "3"),
    option(
        "--coordinates with fisher",
        "no effect; fisher",
        *("--method", "fisher", "--labels", "LABELS", "--coordinates", "z.csv"),
    ),
    option(
        "--coordinates with obsp",
        "no effect; obsp:S",
        *("--similarity", "obsp:S", "--coordinates", "z.csv"),
    ),
    option(
        "--coordinates with label",
        "no effect; label",
        *("--labels", "LABELS", "--similarity", "label", "--coordinates", "z.csv"),
    ),
    option(
        "--coordinates and a file",
        "no effect; --similarity-file",
        *("--similarity-file", "S.csv", "--coordinates", "z.csv"),
    ),
    option(
        "two sets of coordinates",
        "two sets; --similarity",
        *("--similarity", "obsm:X_pca", "--coordinates", "z.csv"),
    ),
    option(
        "--coordinates and sources",
        "two sample graphs; profile:obsm:",
        *("--source", "x=target:", "--coordinates", "z.csv"),
    ),
    option(
        "--components of coordinates",
        "no effect; coordinates",
        *("--similarity", "obsm:X_pca", "--components", "3"),
    ),
    option(
        "--variable-genes of coordinates",
        "no effect; coordinates",
        *("--coordinates", "z.csv", "--similarity", "knn", "--variable-genes", "3"),
    ),
    option(
        "obsm of a CSV",
        "h5ad; --coordinates FILE",
        *("--similarity", "obsm:X_pca"),
        name="obsm:X_pca",
    ),
    option("--rho with knn", "--rho; no effect; car", *("--similarity", "knn", "--rho", "0.5")),
    option(
        "--bandwidth with binary edges",
        "no effect",
        *("--similarity", "knn", "--edge-weights", "binary", "--bandwidth", "2"),
    ),
    option("--clusters with phi2", "phi3", "--ranking", "phi2", "--clusters", "3"),
    option(
        "--similarity with fisher",
        "no effect; fisher",
        *("--method", "fisher", "--labels", "LABELS", "--similarity", "knn"),
        name="--similarity",
    ),
    option("--gamma-power with laplacian", "spec", "--method", "laplacian", "--gamma-power", "2"),
    option("--gamma-power with exp", "no effect; power", "--gamma", "exp", "--gamma-power", "2"),
    option("fisher without labels", "--labels", "--method", "fisher"),
    option("label similarity without labels", "--labels", "--similarity", "label"),
    option(
        "two similarities",
        "--similarity-file; one of",
        *("--similarity", "rbf", "--similarity-file", "S.csv"),
    ),
    option("--layer on a CSV", "AnnData", "--layer", "counts"),
    option("--use-raw on a CSV", "AnnData", "--use-raw"),
    option("obsp of a CSV", "h5ad; --similarity-file", "--similarity", "obsp:connectivities"),
    option("--write-h5ad of a CSV", "h5ad; --out", "--write-h5ad", "copy.h5ad"),
    option("--json with --dry-run", "no effect; --dry-run", "--dry-run", "--json"),
    option("--json without --out", "--out; --format json", "--json"),
]

NUMBERS = [
    option("--neighbors -3", "-3; 1 or more", "--similarity", "knn", "--neighbors", "-3"),
    option("--gamma-power 0", "0; 1 or more", "--gamma-power", "0"),
    option("--gamma-power 100", "100; 64 or less", "--gamma-power", "100"),
    option("--clusters 1", "1; 2 or more", "--ranking", "phi3", "--clusters", "1"),
    option("--clusters three", "three; integer|whole number", "--clusters", "three"),
    option("--digits 0", "0; 1 or more", "--digits", "0"),
    option("--digits 100", "100; 17", "--digits", "100"),
    option("--block-size -1", "-1; 1 or more", "--block-size", "-1"),
    option("--threads 0", "0; 1 or more", "--threads", "0"),
    option("--seed -1", "-1; 0 or more", "--seed", "-1"),
    option("--beta -1", "-1; positive", "--similarity", "diffusion", "--beta", "-1"),
    option("--rho 1", "1; less than 1", "--similarity", "car", "--rho", "1"),
    option("--rho 0", "0; positive", "--similarity", "car", "--rho", "0"),
    option("--rho nan", "nan", "--similarity", "car", "--rho", "nan"),
    option("--beta nan", "nan", "--similarity", "diffusion", "--beta", "nan"),
    option("--beta inf", "inf", "--similarity", "diffusion", "--beta", "inf"),
    *(
        option(f"{flag} {wrong}", f"'{wrong}'; whole number; {word}", *given, flag, wrong)
        for flag, word, given in (
            ("--components", "none", ("--similarity", "knn")),
            ("--variable-genes", "all", ("--similarity", "knn", "--components", "3")),
        )
        for wrong in ("0", "-2", "2.5", "nan", "many", "1e3")
    ),
    option("--bandwidth 0", "'0'; positive number", "--bandwidth", "0"),
    option("--bandwidth nan", "nan; positive number", "--bandwidth", "nan"),
    option("--memory 12Q", "12Q; 512M", "--memory", "12Q"),
    option("--memory 1M", "1M; 16M", "--memory", "1M"),
    option("--memory -4G", "-4G; 512M", "--memory", "-4G"),
    option(
        "--clusters above the samples",
        "7; 6 samples; from 2 to 6",
        *("--ranking", "phi3", "--clusters", "7"),
        code=BAD,
    ),
    option(
        "--components above the samples",
        "6; 6 samples less one; at most 5, or none",
        *("--similarity", "knn", "--neighbors", "2", "--components", "6"),
        code=BAD,
    ),
    option(
        "--components above the genes",
        "4; 3 features used; at most 3, or none",
        *("--similarity", "knn", "--neighbors", "2", "--components", "4"),
        *("--variable-genes", "3"),
        name="--components",
        code=BAD,
    ),
    option(
        "--variable-genes of genes that vary alike",
        "same variance; --variable-genes all",
        *("--similarity", "knn", "--neighbors", "2", "--components", "2"),
        *("--transform", "zscore", "--variable-genes", "4"),
        code=BAD,
    ),
    option(
        "--neighbors above the samples",
        "6; 6 samples; at most 5",
        *("--similarity", "knn", "--neighbors", "6"),
        code=BAD,
    ),
]

VERBS = [
    bad("unknown verb", lambda f: ["rnak", good(f)], "rnak", "did you mean rank", code=USAGE),
    bad(
        "unknown option",
        lambda f: ["rank", good(f), "--neighbours", "3"],
        "--neighbours",
        "did you mean --neighbors",
        code=USAGE,
    ),
    bad(
        "an option of another command",
        lambda f: ["rank", good(f), "--fdr", "0.05"],
        "--fdr",
        "an option of `sfs select`",
        code=USAGE,
    ),
    bad(
        "an option of a part of a command, and of many others",
        lambda f: ["shard", "run", "--top", "3"],
        "--top",
        "`sfs rank`, `sfs shard init`",
        code=USAGE,
    ),
    bad("no matrix", lambda f: ["rank"], "MATRIX", "missing argument; --help", code=USAGE),
    bad("empty value", lambda f: ["rank", good(f), "--out", ""], "--out", "empty; shell", USAGE),
    bad(
        "empty value after =", lambda f: ["rank", good(f), "--memory="], "--memory", "empty", USAGE
    ),
    bad("empty matrix", lambda f: ["rank", ""], "argument is empty", "after; shell", USAGE),
    bad(
        "one argument too many",
        lambda f: ["rank", good(f), "more"],
        "more",
        "there is no such file; files with other samples; --source",
    ),
    bad(
        "option without its value",
        lambda f: ["rank", good(f), "--method"],
        "--method",
        "requires an argument",
        code=USAGE,
    ),
    bad(
        "unknown method to explain",
        lambda f: ["methods", "fischer"],
        "fischer",
        "did you mean fisher",
        code=USAGE,
    ),
]
