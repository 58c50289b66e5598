"""Matrices that cannot be ranked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.making_commands import M, N, bad, edited, good, parquet, table, text, values


def decimal_commas(folder: Path) -> list[str]:
    content = table(np.full_like(values(), 1.234), delimiter="\t").replace(".", ",")
    return ["rank", text(folder, content, "m.tsv")]


def gaps(folder: Path) -> list[str]:
    X = values()
    X[1, 2] = X[1, 4] = X[7, 0] = np.nan
    return ["rank", parquet(folder, X)]


def infinite(folder: Path) -> list[str]:
    X = values()
    X[3, 1] = np.inf
    return ["rank", parquet(folder, X)]


def huge(folder: Path) -> list[str]:
    X = values()
    X[3, 1] = 1e300
    return ["rank", parquet(folder, X)]


def one_sample(folder: Path) -> list[str]:
    return ["rank", text(folder, table(values(M, 1), samples=["s1"]))]


def no_features(folder: Path) -> list[str]:
    return ["rank", parquet(folder, np.empty((0, N)))]


def all_missing(folder: Path) -> list[str]:
    return ["rank", parquet(folder, np.full((M, N), np.nan)), "--missing", "drop"]


def constant(value: float) -> Callable[[Path], list[str]]:
    return lambda f: ["rank", text(f, table(np.full((M, N), value)))]


def without_header(folder: Path) -> list[str]:
    return ["rank", text(folder, table(values()).partition("\n")[2])]


def without_ids(folder: Path) -> list[str]:
    lines = [line.partition(",")[2] for line in table(values()).splitlines()]
    return ["rank", text(folder, "\n".join(lines) + "\n")]


def ragged(folder: Path) -> list[str]:
    return ["rank", edited(folder, 5, "gene4,1.0,2.0,3.0")]


def repeated_samples(folder: Path) -> list[str]:
    return ["rank", text(folder, table(values(), samples=["s1", "s2", "s1", "s4", "s2", "s6"]))]


VALUES = [
    bad(
        "text in a number column",
        lambda f: ["rank", edited(f, (4, 3), "high")],
        "m.csv",
        "'high'; line 4; 's3'; NA",
    ),
    bad(
        "results as a second argument",
        lambda f: ["rank", good(f), str(f / "out")],
        "out",
        "no such file or folder; --out DIR; --source NAME=profile:FILE; other samples",
    ),
    bad(
        "a column of labels without its table",
        lambda f: ["rank", good(f), "--labels", "status"],
        "status",
        "no such file; FILE:COLUMN; obs:NAME",
    ),
    bad(
        "coordinates without their table",
        lambda f: ["rank", good(f), "--coordinates", "spatial"],
        "spatial",
        "no such file; obsm:NAME",
    ),
    bad(
        "a class that differs in upper case",
        lambda f: [
            "rank",
            good(f),
            "--labels",
            text(f, "sample\tc\ns1\tA\ns2\tA\ns3\ta\ns4\tB\ns5\tB\ns6\tB\n", "c.tsv"),
        ],
        "c.tsv",
        "only one sample: a; correct its name; 'A', 'B', 'a'",
    ),
    bad("commas of either kind", decimal_commas, "m.tsv", "thousands; line 2; --decimal comma"),
    bad(
        "thousands marks",
        lambda f: ["rank", edited(f, (4, 3), '"1,234.5"')],
        "m.csv",
        "1,234.5; comma; line 4",
    ),
    bad("ragged row", ragged, "m.csv", "line 5; 4 fields; 7"),
    bad(
        "missing values",
        gaps,
        "m.parquet",
        "3 missing values; 2 of 9; gene2, sample s3; gene8; --missing drop; --missing mean",
    ),
    bad("infinity in Parquet", infinite, "m.parquet", "infinite; gene4; s2"),
    bad(
        "-inf in text",
        lambda f: ["rank", edited(f, (3, 6), "-inf")],
        "m.csv",
        "infinite; gene2; s6",
    ),
    bad(
        "overflow of float32 in text",
        lambda f: ["rank", edited(f, (3, 6), "1e300")],
        "m.csv",
        "1e+300|1e300; --dtype float64",
    ),
    bad("overflow of float32 in Parquet", huge, "m.parquet", "1e+300; s2; --dtype float64"),
    bad("one sample", one_sample, "m.csv", "1 sample; at least 2; --rows"),
    bad(
        "one feature",
        lambda f: ["rank", text(f, table(values(1)))],
        "m.csv",
        "1 feature; at least 2; --rows",
    ),
    bad("no features", no_features, "m.parquet", "no rows"),
    bad("all constant", constant(3.5), "m.csv", "constant; 9; differ"),
    bad("all zero", constant(0.0), "m.csv", "zero; 9; differ"),
    bad("all missing and dropped", all_missing, "m.parquet", "missing; 9"),
    bad("duplicate sample ids", repeated_samples, "m.csv", "repeated; s1, s2"),
    bad("missing header", without_header, "m.csv", "first line; ids"),
    bad("missing id column", without_ids, "m.csv", "first column; ids"),
    bad(
        "only one column", lambda f: ["rank", text(f, "id\na\nb\n")], "m.csv", "one column; line 1"
    ),
    bad(
        "a column without an id",
        lambda f: ["rank", edited(f, (1, 3), "")],
        "m.csv",
        "column 4 has no id",
    ),
]
