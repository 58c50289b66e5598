"""Covariates and batches that cannot be used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tests.making_commands import (
    AB,
    SAMPLES,
    USAGE,
    Bad,
    Make,
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

AGE = ["31", "45", "28", "60", "52", "47"]
METHOD = ("--method", "variance")


def covariates(folder: Path, rows: Sequence[Sequence[str]], head: str = "id,batch,age") -> str:
    lines = [head, *(",".join(row) for row in rows)]
    return text(folder, "\n".join(lines) + "\n", "c.csv")


def usual(folder: Path) -> list[list[str]]:
    return [list(row) for row in zip(SAMPLES, AB, AGE)]


def adjust(
    columns: str, change: Callable[[list[list[str]]], object] = lambda rows: None, *more: str
) -> Make:
    """Return what makes a command that adjusts for columns of a table that was changed."""

    def make(folder: Path) -> list[str]:
        rows = usual(folder)
        change(rows)
        path = covariates(folder, rows)
        return ["rank", good(folder), *METHOD, "--adjust", f"{path}:{columns}", *more]

    return make


def put(row: int, column: int, value: str) -> Callable[[list[list[str]]], object]:
    return lambda rows: rows[row].__setitem__(column, value)


def rename(rows: list[list[str]]) -> None:
    for row in rows:
        row[0] = row[0].upper() + "x"


def constant(rows: list[list[str]]) -> None:
    for row in rows:
        row[1], row[2] = "a", "5"


def distinct(rows: list[list[str]]) -> None:
    for row in rows:
        row[1] = row[0]


def blocks(change: Callable[[list[list[str]]], object] = lambda rows: None) -> Make:
    """Return what makes a command with blocks that cannot be compared within."""

    def make(folder: Path) -> list[str]:
        rows = usual(folder)
        change(rows)
        given = ["--method", "f-test", "--labels", labels(folder, AB)]
        return ["rank", good(folder), *given, "--block", f"{covariates(folder, rows)}:batch"]

    return make


def confounded(folder: Path) -> list[str]:
    path = covariates(folder, usual(folder))
    given = ["--method", "fisher", "--labels", labels(folder, AB)]
    return ["rank", good(folder), *given, "--adjust", f"{path}:batch"]


def of_obs(key: str) -> Make:
    return lambda folder: ["rank", h5ad(folder), *METHOD, "--adjust", f"obs:{key}"]


def batches(column: str, *more: str, method: Sequence[str] = METHOD) -> Make:
    def make(folder: Path) -> list[str]:
        path = covariates(folder, usual(folder))
        return ["rank", good(folder), *method, "--batch", f"{path}:{column}", *more]

    return make


def donors(column: str) -> Make:
    def make(folder: Path) -> list[str]:
        path = covariates(folder, usual(folder))
        return ["rank", good(folder), *METHOD, "--stability", "4", "--donors", f"{path}:{column}"]

    return make


def two_batches(folder: Path, size: int = 12) -> list[str]:
    """Return a matrix of two batches, and the option that names them."""
    samples = [f"s{i}" for i in range(2 * size)]
    matrix = text(folder, table(values(9, 2 * size), samples=samples), "two.csv")
    rows = [[s, "ab"[i % 2], "5" if i % 2 else "6"] for i, s in enumerate(samples)]
    return [matrix, "--batch", f"{covariates(folder, rows)}:batch"]


COVARIATES: list[Bad] = [
    bad(
        "--adjust of no file", lambda f: ["rank", good(f), "--adjust", "no.csv:x"], "no.csv", "not"
    ),
    bad(
        "--batch of a misspelled annotation alone",
        lambda f: ["rank", h5ad(f), *METHOD, "--batch", "tisue"],
        "tisue",
        "no such file; did you mean obs:tissue?",
    ),
    bad(
        "--batch of a misspelled annotation",
        lambda f: ["rank", h5ad(f), *METHOD, "--batch", "obs:tisue"],
        "m.h5ad",
        "no annotation 'tisue'; did you mean tissue? give one of tissue",
    ),
    bad(
        "--batch of a misspelled column of the labels' table",
        lambda f: [*fisher(f, f"{covariates(f, usual(f))}:batch"), "--batch", "aeg"],
        "c.csv",
        "no column 'aeg'; did you mean age? give one of batch, age",
    ),
    bad(
        "--adjust for annotations without obs",
        lambda f: ["rank", h5ad(f), *METHOD, "--adjust", "tissue,tissue"],
        "tissue,tissue",
        "did you mean obs:tissue,tissue?",
    ),
    bad(
        "--batch of two annotations without obs",
        lambda f: ["rank", h5ad(f), *METHOD, "--batch", "tissue,tissue"],
        "tissue,tissue",
        "no such file; did you mean obs:tissue? give a file",
    ),
    bad("--adjust without a column", adjust("sex"), "c.csv", "no column 'sex'; batch, age"),
    bad("--adjust as another kind", adjust("age=number"), "c.csv", "no column 'age=number'"),
    bad(
        "--adjust of two columns, none named",
        lambda f: [*("rank", good(f), *METHOD, "--adjust", covariates(f, usual(f)))],
        "c.csv",
        "covariates; batch, age",
    ),
    bad(
        "--adjust twice by one column",
        adjust("age,batch,age"),
        "--adjust",
        "names age twice; once",
        USAGE,
    ),
    bad(
        "--adjust twice by two options",
        lambda f: [*adjust("age")(f), "--adjust", f"{f / 'c.csv'}:age"],
        "c.csv",
        "--adjust names; twice",
        USAGE,
    ),
    bad(
        "a missing value",
        adjust("age", put(3, 2, "NA")),
        "c.csv",
        "1 of 6; no value of age; s4; intersect",
    ),
    bad(
        "a sample that is not there",
        adjust("age,batch", lambda rows: rows.pop(1)),
        "c.csv",
        "1 of 6; s2; no value of age",
    ),
    bad(
        "covariates of other samples", adjust("age", rename), "c.csv", "none of the 6; S1x; s1; ids"
    ),
    bad(
        "a sample with two values",
        adjust("age", lambda rows: rows.append(["s1", "a", "9"])),
        "c.csv",
        "s1; two values; line 8",
    ),
    bad(
        "text that is to be numeric",
        adjust("batch=numeric"),
        "c.csv",
        "'a'; not a finite number; line 2; categorical",
    ),
    bad(
        "an infinite covariate",
        adjust("age", put(2, 2, "inf")),
        "c.csv",
        "'inf'; not a finite number; line 4",
    ),
    bad(
        "constant covariates",
        adjust("batch,age", constant),
        "c.csv",
        "batch, age; same in all 6; leave --adjust out",
    ),
    bad(
        "a level for each sample",
        adjust("batch", distinct),
        "c.csv",
        "rank 6; 6 samples; batch=numeric",
    ),
    bad("too many covariates", adjust("age=categorical,batch"), "c.csv", "rank 6; fewer"),
    bad(
        "covariates that are the classes",
        confounded,
        "c.csv",
        "batch; explain the classes completely; no; method|leave out",
    ),
    bad("one block", blocks(constant), "c.csv", "the block (batch); same; leave --block out"),
    bad("a block for each sample", blocks(distinct), "c.csv", "6 blocks of 6; belong together"),
    bad("blocks that are the classes", blocks(), "c.csv", "block (batch) explains; each block"),
    bad(
        "--adjust of no annotation",
        of_obs("sex"),
        "m.h5ad",
        "no annotation 'sex'; tissue; --adjust",
    ),
    bad(
        "--adjust of annotations of a table",
        lambda f: ["rank", good(f), "--adjust", "obs:x"],
        "good.csv",
        "annotations; --adjust FILE",
    ),
    bad(
        "--adjust with text as numbers of an h5ad",
        of_obs("tissue=numeric"),
        "m.h5ad",
        "tissue; not a finite number",
    ),
    bad(
        "--adjust in a plan",
        lambda f: ["plan", *adjust("sex")(f)[1:]],
        "c.csv",
        "no column 'sex'",
    ),
    bad(
        "--adjust in shards",
        lambda f: [
            "shard",
            "init",
            str(f / "plan"),
            *adjust("age", put(3, 2, ""))(f)[1:],
            "--shards",
            "2",
        ],
        "c.csv",
        "no value of age; s4",
    ),
    bad(
        "--batch of small batches",
        batches("batch"),
        "c.csv",
        "0 of 2 batches; a (3 samples); --min-batch-size; --adjust",
    ),
    bad(
        "--batch of one batch",
        batches("batch", "--min-batch-size", "4"),
        "c.csv",
        "nothing to aggregate",
    ),
    bad("--batch of two columns", batches("batch,age"), "--batch", "2 columns; name one", USAGE),
    bad("--batch as a number", batches("age=numeric"), "--batch", "no number; =numeric", USAGE),
    bad("--batch of no column", batches("sex"), "c.csv", "no column 'sex'"),
    bad(
        "--batch with a source",
        batches("batch", "--source", "t=target:", method=("--method", "spec")),
        "--source",
        "--batch; each batch; --adjust",
        USAGE,
    ),
    bad(
        "--batch with members",
        batches("batch", "--members", "spec,variance", method=("--method", "kogs")),
        "--members",
        "--batch; each batch",
        USAGE,
    ),
    bad(
        "--batch with --weights-out",
        batches(
            "batch",
            "--weights-out",
            "w.parquet",
            method=("--method", "mrsf", "--similarity", "knn"),
        ),
        "--weights-out",
        "--batch; its own",
        USAGE,
    ),
    bad(
        "--batch and covariates that it holds",
        lambda f: ["rank", *two_batches(f), *METHOD, "--adjust", f"{f / 'c.csv'}:age=categorical"],
        "c.csv",
        "same in all; each batch",
    ),
    bad(
        "--batch and --min-samples of more",
        lambda f: ["rank", *two_batches(f), *METHOD, "--min-samples", "13"],
        "--min-samples",
        "12 samples; 12 or less",
    ),
    bad("--donors of no column", donors("sex"), "c.csv", "no column 'sex'"),
    bad("--donors of two columns", donors("batch,age"), "--donors", "2 columns; name one", USAGE),
    bad("--donors as a number", donors("age=numeric"), "--donors", "no number", USAGE),
    bad("--donors that are two", donors("batch"), "c.csv", "--stability; only 2; 4 or more"),
    bad(
        "--donors that samples lack",
        lambda f: [*donors("age")(f)[:-1], f"{covariates(f, usual(f)[:-1])}:age"],
        "c.csv",
        "no value of age; s6",
    ),
    option(
        "--donors alone", "no effect without; --stability; --labels", *METHOD, "--donors", "c.csv:x"
    ),
    option("--min-batch-size alone", "no effect without --batch", "--min-batch-size", "12"),
    option("--min-batch-size 3", "too small; 4 or more", "--min-batch-size", "3"),
    option("--how without --batch", "--how; no effect", *METHOD, "--how", "rra"),
    option("--how of nothing", "'best'; borda", *METHOD, "--how", "best"),
]
