"""Labels, numeric outcomes, weights, covariates and batches that do not fit the samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tests.making_commands import (
    AB,
    SAMPLES,
    USAGE,
    Bad,
    Make,
    N,
    bad,
    fisher,
    good,
    h5ad,
    labels,
    option,
    table,
    text,
    values,
)

STRANGERS = [f"p{i}" for i in range(N)]
VARIANCE = ("--method", "variance")
CONTINUOUS = ("--label-type", "continuous")
ORDERED = ("--label-type", "ordered")


def column(given: Sequence[str], head: str = "sample\tage\n") -> str:
    """Return a table of the samples and one value of each."""
    return head + "".join(f"{s}\t{v}\n" for s, v in zip(SAMPLES, given))


# ---------------------------------------------------------------------------- classes


def of_times(folder: Path) -> str:
    """Name the times of a table that has a status, which is that of the tissue, and events."""
    rows = [f"{s}\tnormal\t{11 + i}\t{i % 2}" for i, s in enumerate(SAMPLES)]
    head = "sample\tstatus\tdays\tdied"
    return text(folder, "\n".join([head, *rows, ""]), "labels.tsv") + ":days"


def classes(id: str, spec: Callable[[Path], str], words: str, name: str = "labels.tsv") -> Bad:
    """Return a row for labels of a method that needs classes."""
    return bad(f"labels: {id}", lambda f: fisher(f, spec(f)), name, words)


def of_content(content: str, name: str = "labels.tsv") -> Callable[[Path], str]:
    return lambda f: text(f, content, name)


LABELS = [
    classes(
        "classes of GSEA",
        of_content("6 2 1\n# a b\na a a b b b\n", "y.cls"),
        "no sample ids; two columns",
        "y.cls",
    ),
    bad(
        "labels: an annotation without obs:",
        lambda f: ["rank", h5ad(f), "--method", "fisher", "--labels", "tissue"],
        "tissue",
        "no such file; obs:tissue",
    ),
    classes(
        "of other samples",
        lambda f: labels(f, AB, STRANGERS),
        "none of the 6 samples; p0; s1; --rows",
    ),
    classes(
        "of some samples",
        lambda f: labels(f, AB[:4], SAMPLES[:4]),
        "2 of 6; s5, s6; --samples intersect",
    ),
    classes("the column of the samples", lambda f: labels(f, AB) + ":sample", "the first one"),
    classes("a class of one", lambda f: labels(f, [*"aaabb", "odd"]), "only one sample: odd"),
    classes("times beside events", of_times, "only one sample: 11; give --event died"),
    classes("one class", lambda f: labels(f, ["a"] * N), "one class; 'a'"),
    classes("no header", of_content(column(AB, "")), "line 1; column names; 's1'"),
    classes("annotations of a CSV", lambda f: "obs:tissue", "obs:; h5ad", "good.csv"),
    bad(
        "t-test: three classes",
        lambda f: ["rank", good(f), "--method", "t-test", "--labels", labels(f, [*"aabbcc"])],
        "good.csv",
        "two classes; 3",
    ),
]

# ---------------------------------------------------------------------------- outcomes

AGES = ["31", "45.5", "28", "60", "52", "39"]


def outcome(id: str, given: Sequence[str], words: str, *more: str, name: str = "labels.tsv") -> Bad:
    """Return a row for labels of a method that takes numbers and ordered classes, too."""

    def make(folder: Path) -> list[str]:
        path = text(folder, column(given), "labels.tsv")
        return ["rank", good(folder), "--labels", path, "--method", "f-test", *more]

    return bad(id, make, name, words)


OUTCOMES = [
    outcome("continuous: all the same", ["7"] * N, "same label; 7", *CONTINUOUS),
    option(
        "fisher: a continuous outcome",
        "--label-type continuous; classes; f-test",
        *("--method", "fisher", "--labels", "LABELS", *CONTINUOUS),
        name="fisher",
    ),
    outcome("ordered: text without an order", AB, "'a'; --label-type ordered,order=", *ORDERED),
    outcome(
        "ordered: a class that is not in the order",
        [*AB[:5], "c"],
        "line 7; 'c'; a,b",
        *(*ORDERED[:-1], "ordered,order=a,b"),
    ),
    outcome(
        "ordered: an order with a class that no sample has",
        AB,
        "'c'; labels.tsv",
        *(*ORDERED[:-1], "ordered,order=a,b,c"),
        name="order=a,b,c of --label-type",
    ),
]

# ---------------------------------------------------------------------------- weights


def weights(id: str, given: Sequence[str], words: str, name: str = "w.tsv") -> Bad:
    def make(folder: Path) -> list[str]:
        path = text(folder, column(given), "w.tsv")
        return ["rank", good(folder), *VARIANCE, "--sample-weights", path]

    return bad(f"weights: {id}", make, name, words)


WEIGHTS = [
    weights("negative", [*"11111", "-1"], "line 7; -1; 0 or more"),
    weights("all but one 0", [*"100000"], "1 of the 6; too few; above 0"),
    weights("of too small a sum", ["0.1"] * N, "0.6; above 1", "good.csv"),
]

# ---------------------------------------------------------------------------- covariates

Rows = list[list[str]]


def unchanged(rows: Rows) -> None: ...


def covariates(folder: Path, change: Callable[[Rows], object] = unchanged) -> str:
    """Write two covariates, a batch and an age; the batch is that of the classes `AB`."""
    rows = [list(row) for row in zip(SAMPLES, AB, AGES)]
    change(rows)
    lines = ["id,batch,age", *(",".join(row) for row in rows)]
    return text(folder, "\n".join(lines) + "\n", "c.csv")


def adjusted(
    columns: str,
    change: Callable[[Rows], object] = unchanged,
    *method: str,
    flag: str = "--adjust",
) -> Make:
    """Return what makes a command on columns of a table of covariates that was changed."""

    def make(folder: Path) -> list[str]:
        spec = covariates(folder, change) + columns
        given = [labels(folder, AB) if word == "LABELS" else word for word in method or VARIANCE]
        return ["rank", good(folder), *given, flag, spec]

    return make


def the_same(rows: Rows) -> None:
    for row in rows:
        row[1], row[2] = "a", "5"


def a_level_each(rows: Rows) -> None:
    for row in rows:
        row[1] = row[0]


def two_batches(folder: Path) -> list[str]:
    """Return a command on two batches of 12 samples, with an age that is that of the batch."""
    samples = [f"s{i}" for i in range(24)]
    matrix = text(folder, table(values(9, 24), samples=samples), "two.csv")
    rows = "".join(f"{s},{'ab'[i % 2]},{5 + i % 2}\n" for i, s in enumerate(samples))
    path = text(folder, f"id,batch,age\n{rows}", "c.csv")
    return ["rank", matrix, *VARIANCE, "--batch", f"{path}:batch", "--adjust", f"{path}:age"]


CLASSES = ("--method", "fisher", "--labels", "LABELS")

COVARIATES = [
    bad(
        "covariates: two of a sample",
        adjusted(":age", lambda rows: rows.append(["s1", "a", "9"])),
        "c.csv",
        "s1; two values; line 8",
    ),
    bad("covariates: all the same", adjusted(":batch,age", the_same), "c.csv", "same in all 6"),
    bad(
        "covariates: a level for each sample",
        adjusted(":batch", a_level_each),
        "c.csv",
        "rank 6; 6 samples; batch=numeric",
    ),
    bad(
        "covariates: the classes",
        adjusted(":batch", unchanged, *CLASSES),
        "c.csv",
        "batch; explain the classes completely",
    ),
    bad(
        "blocks: one for each sample",
        adjusted(":batch", a_level_each, "--method", "f-test", *CLASSES[2:], flag="--block"),
        "c.csv",
        "6 blocks of 6",
    ),
    bad(
        "batches: a misspelled annotation",
        lambda f: ["rank", h5ad(f), *VARIANCE, "--batch", "obs:tisue"],
        "m.h5ad",
        "'tisue'; did you mean tissue",
    ),
    bad(
        "batches: few samples in each",
        adjusted(":batch", flag="--batch"),
        "c.csv",
        "0 of 2 batches; a (3 samples); --adjust",
    ),
    bad(
        "batches: two columns",
        adjusted(":batch,age", flag="--batch"),
        "--batch",
        "2 columns; name one",
        USAGE,
    ),
    bad("batches: a covariate that is the same in each", two_batches, "c.csv", "same in all"),
    bad(
        "donors: two of them",
        adjusted(":batch", unchanged, *VARIANCE, "--stability", "4", flag="--donors"),
        "c.csv",
        "--stability; only 2; 4 or more",
    ),
]

SAMPLES_OF_A_MATRIX = [*LABELS, *OUTCOMES, *WEIGHTS, *COVARIATES]
