"""Commands, options, methods and configurations that are wrong whatever the matrix."""

from __future__ import annotations

from pathlib import Path

from tests.making_commands import (
    BAD,
    FEATURES,
    USAGE,
    Bad,
    Make,
    bad,
    good,
    labels,
    option,
    text,
)

COMMANDS = [
    bad("unknown command", lambda f: ["rnak", good(f)], "rnak", "did you mean rank", USAGE),
    bad(
        "unknown option",
        lambda f: ["rank", good(f), "--transfrom", "log2"],
        "--transfrom",
        "did you mean --transform",
        USAGE,
    ),
    bad("another name", lambda f: ["rank", good(f), "--pairs", "x"], "--pairs", "--block?", USAGE),
    bad(
        "another name of an option of another command",
        lambda f: ["inspect", good(f), "--pairs", "x"],
        "--pairs",
        "--block is an option of; sfs rank",
        USAGE,
    ),
    bad("no matrix", lambda f: ["rank"], "MATRIX", "missing argument", USAGE),
    bad("an empty value", lambda f: ["rank", good(f), "--out", ""], "--out", "empty; shell", USAGE),
    bad(
        "the results as a second argument",
        lambda f: ["rank", good(f), str(f / "out")],
        "out",
        "no such file; --out DIR; --source",
    ),
]

CHOICES = []

NUMBERS = [
    option("--memory 12Q", "12Q; 512M", "--memory", "12Q"),
    option("--memory 1M", "1M; 16M", "--memory", "1M"),
    option(
        "clusters= above the samples",
        "clusters=; 7; 6 samples; from 2 to 6",
        *("--method", "spec,ranking=phi3,clusters=7"),
        name="good.csv",
        code=BAD,
    ),
    option(
        "components= above the samples",
        "components=; 6; 6 samples; at most 5",
        *("--similarity", "knn,neighbors=2,components=6"),
        name="good.csv",
        code=BAD,
    ),
    option(
        "neighbors= above the samples",
        "neighbors=; 6; 6 samples; at most 5",
        *("--similarity", "knn,neighbors=6"),
        code=BAD,
    ),
]

FEATURES_NAMED = [
    option("--exclude of everything", "no feature is left; 9", "--exclude", "gene", code=BAD),
    option("--exclude of no pattern", "'gene('; regular expression", "--exclude", "gene("),
    bad(
        "--exclude of other ids",
        lambda f: ["rank", good(f), "--exclude", text(f, "MT-ND1\nMT-ND2\n", "mito.txt")],
        "mito.txt",
        "none of 2 ids; gene1",
    ),
    option("--min-samples of more", "6 samples; 6 or less", "--min-samples", "7", code=BAD),
]

WITHOUT_EFFECT = [
    option("a method without its labels", "needs --labels", "--method", "fisher"),
    option(
        "two sets of coordinates",
        "two sample graphs; --similarity",
        *("--similarity", "obsm:X_pca", "--coordinates", "z.csv"),
    ),
    option(
        "two graphs",
        "given twice; 'rbf'; 'file:S.csv'",
        *("--similarity", "rbf", "--similarity", "file:S.csv"),
    ),
    option("a layer of a CSV", "AnnData", "--layer", "counts"),
    option(
        "obsm of a CSV",
        "h5ad; --coordinates",
        *("--similarity", "obsm:X_pca"),
        name="obsm:X_pca",
    ),
    option("--write-h5ad of a CSV", "h5ad; --out", "--write-h5ad", "copy.h5ad"),
]

# ---------------------------------------------------------------------------- methods


def classified(*options: str) -> Make:
    """Return what ranks with a class of four samples and one of two."""
    return lambda f: ["rank", good(f), "--labels", labels(f, [*"aaaabb"]), *options]


def given(*names: str) -> Make:
    """Return what ranks beside given features."""

    def make(folder: Path) -> list[str]:
        path = text(folder, "".join(f"{name}\n" for name in names), "panel.txt")
        return ["rank", good(folder), "--method", "spca", "--given", path]

    return make


METHODS = [
    bad(
        "stability of halves with one sample of a class",
        classified("--method", "mutual-info", "--stability", "2"),
        "--stability",
        "at least 2 samples; smallest has 1",
    ),
    option(
        "stability of a longer list than is selected",
        "top=; 6; selects 5; --select",
        *("--method", "mrsf", "--select", "5", "--stability", "half,subsets=4,top=6"),
    ),
    option("l21 without a penalty or budget", "lambda=; budget=", "--method", "l21"),
    bad("given features that are unknown", given("gene1", "x1", "x2"), "--given", "2 of 3; x1"),
    bad("given features that are all", given(*FEATURES), "--given", "all 9"),
    option("kogs of nothing", "either sources or members", "--method", "kogs"),
    option(
        "kogs of one member",
        "only one ranking",
        *("--method", "kogs,members=spec"),
        name="ranking",
    ),
]

# ---------------------------------------------------------------------------- configurations


def config(
    id: str, content: str, words: str, *more: str, code: int = BAD, end: str = "yaml"
) -> Bad:
    """Return a row for the ranking of a good matrix by a file of this content."""
    name = f"run.{end}"
    return bad(
        f"config: {id}",
        lambda f: ["rank", good(f), "--config", text(f, content, name), *more],
        name,
        words,
        code,
    )


CONFIGS = [
    config(
        "unknown key", "seed: 3\ntransfrom: log2\n", "transfrom; line 2; did you mean transform"
    ),
    config("text for a number", "seed: three\n", "seed; 'three'; whole number; line 1"),
    config("a source without quotes", "source:\n  - m=target:\n", "in quotes; line 2"),
    config("a tag", "seed: 3\nmethod: !!str spec\n", "tags; leave it out; line 2, column 9"),
    config("unknown method", "method: fischer\n", "fisher; line 1", code=USAGE),
]

OPTIONS = [
    *COMMANDS,
    *CHOICES,
    *NUMBERS,
    *FEATURES_NAMED,
    *WITHOUT_EFFECT,
    *METHODS,
    *CONFIGS,
]
