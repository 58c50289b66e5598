"""Files that are no matrix, matrices that cannot be ranked, and stores that cannot be read."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.making import annotated
from tests.making_commands import (
    USAGE,
    Bad,
    M,
    N,
    bad,
    built_store,
    cut,
    edited,
    folder_of_things,
    good,
    h5ad,
    option,
    parquet,
    table,
    text,
    values,
)


def refused(
    id: str, make: Callable[[Path], str | Path], name: str, words: str, *options: str
) -> Bad:
    """Return a row for the ranking of a matrix."""
    return bad(id, lambda f: ["rank", str(make(f)), *options], name, words)


def two_tables(folder: Path) -> Path:
    (folder / "both").mkdir()
    good(folder / "both", "a.csv")
    good(folder / "both", "b.csv")
    return folder / "both"


def damaged_parquet_page(folder: Path) -> Path:
    path = Path(parquet(folder, values(), compression="snappy"))
    content = bytearray(path.read_bytes())
    content[4:200] = b"\xff" * 196
    path.write_bytes(content)
    return path


# ---------------------------------------------------------------------------- files


def workbook(folder: Path, name: str) -> Path:
    with zipfile.ZipFile(folder / name, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return folder / name


def tenx_without_barcodes(folder: Path) -> Path:
    (folder / "tenx").mkdir()
    header = "%%MatrixMarket matrix coordinate integer general\n3 2 1\n1 1 5\n"
    text(folder / "tenx", header, "matrix.mtx")
    text(folder / "tenx", "g1\ng2\ng3\n", "features.tsv")
    return folder / "tenx"


def no_zarr(folder: Path) -> Path:
    (folder / "m.zarr").mkdir()
    text(folder / "m.zarr", '{"zarr_format": 2}', ".zgroup")
    return folder / "m.zarr"


FILES = [
    bad(
        "the names of several files of one",
        lambda f: ["rank", h5ad(f), "--batch", "file"],
        "file",
        "no such file; of several files; the name of each",
    ),
    refused("no such file", lambda f: f / "no.csv", "no.csv", "no such file"),
    refused("a folder", folder_of_things, "things", "folder"),
    refused("a folder of files", two_tables, "both", "both/*.csv if each has other samples"),
    refused("a folder beside a column", two_tables, "both", "folder", "--batch", "file"),
    bad(
        "a store beside labels that are no file",
        lambda f: ["rank", str(built_store(f)), "--labels", "status"],
        "status",
        "no such file; obs:status",
    ),
    refused(
        "a damaged page of Parquet", damaged_parquet_page, "m.parquet", "cannot be read as parquet"
    ),
    refused("a damaged workbook", lambda f: workbook(f, "m.xlsx"), "m.xlsx", "workbook; again"),
    refused(
        "gene sets",
        lambda f: text(f, "SET\tx\tgene1\tgene2\n", "s.gmt"),
        "s.gmt",
        "gene sets; genes:s.gmt:SET; --sets",
    ),
    refused(
        "a ranking",
        lambda f: text(
            f, "rank\tfeature\tscore\tstatus\n1\tg\t5\tok\n2\th\t3\tok\n", "ranking.tsv"
        ),
        "ranking.tsv",
        "a ranking made by sfs; --list",
    ),
    refused("10x without barcodes", tenx_without_barcodes, "tenx", "barcodes"),
    refused("Zarr that is no AnnData", no_zarr, "m.zarr", "not AnnData"),
]

# ---------------------------------------------------------------------------- values


def decimal_commas(folder: Path) -> str:
    content = table(np.full_like(values(), 1.234), delimiter="\t").replace(".", ",")
    return text(folder, content, "m.tsv")


def gaps(folder: Path) -> str:
    X = values()
    X[1, 2] = X[1, 4] = X[7, 0] = np.nan
    return parquet(folder, X)


def infinite(folder: Path) -> str:
    X = values()
    X[3, 1] = np.inf
    return parquet(folder, X)


def without_ids(folder: Path) -> str:
    lines = [line.partition(",")[2] for line in table(values()).splitlines()]
    return text(folder, "\n".join(lines) + "\n")


def no_genes(folder: Path) -> Path:
    annotated(np.empty((N, 0), np.float32)).write_h5ad(folder / "m.h5ad")
    return folder / "m.h5ad"


def repeated_samples(folder: Path) -> str:
    return text(folder, table(values(), samples=["s1", "s2", "s1", "s4", "s2", "s6"]))


VALUES = [
    refused("commas of either kind", decimal_commas, "m.tsv", "line 2; --decimal comma"),
    refused(
        "thousands marks",
        lambda f: edited(f, (4, 3), '"1,234.5"'),
        "m.csv",
        "1,234.5; comma; line 4",
    ),
    refused(
        "missing values",
        gaps,
        "m.parquet",
        "3 missing values; 2 of 9; gene2; s3; --missing drop; --missing mean",
    ),
    refused("infinity", infinite, "m.parquet", "infinite; gene4; s2"),
    refused(
        "overflow of float32",
        lambda f: edited(f, (3, 6), "1e300"),
        "m.csv",
        "1e+300|1e300; --dtype float64",
    ),
    refused(
        "one sample",
        lambda f: text(f, table(values(M, 1), samples=["s1"])),
        "m.csv",
        "1 sample; at least 2; --rows",
    ),
    refused(
        "one feature",
        lambda f: text(f, table(values(1))),
        "m.csv",
        "1 feature; at least 2; --rows",
    ),
    refused("no genes", no_genes, "m.h5ad", "0 features; at least 2; a filter"),
    refused("no features", lambda f: parquet(f, np.empty((0, N))), "m.parquet", "no rows"),
    refused(
        "constant features",
        lambda f: text(f, table(np.full((M, N), 3.5))),
        "m.csv",
        "constant; 9",
    ),
    refused("a sample id twice", repeated_samples, "m.csv", "repeated; s1, s2"),
    refused("no ids", without_ids, "m.csv", "first column; ids"),
]

# ---------------------------------------------------------------------------- preparation


def positive(folder: Path, at: int | tuple[int, int], value: float) -> str:
    """Write a matrix without negative values, of which one value or sample is another one."""
    X = np.abs(values())
    X[at if isinstance(at, tuple) else (slice(None), at)] = value
    return text(folder, table(X))


def store_cut_off(folder: Path, name: str) -> Path:
    path = built_store(folder)
    cut(path / name)
    return path


def store_of_later_version(folder: Path) -> Path:
    path = built_store(folder)
    content = json.loads((path / "manifest.json").read_text()) | {"version": 99}
    (path / "manifest.json").write_text(json.dumps(content))
    return path


PREPARED = [
    refused(
        "log2 of zero",
        lambda f: positive(f, (3, 1), 0.0),
        "m.csv",
        "log2; found 0; gene4; s2; log1p",
        *("--transform", "log2"),
    ),
    refused(
        "cpm of an empty sample",
        lambda f: positive(f, 4, 0.0),
        "m.csv",
        "cpm; s5; 0",
        *("--transform", "cpm"),
    ),
    refused(
        "deviance of what are no counts",
        lambda f: positive(f, (3, 1), 2.0),
        "m.csv",
        "deviance; whole numbers; gene1; s1",
        *("--transform", "deviance"),
    ),
    option("a floor without a number", "'floor:low'; floor:1", "--transform", "floor:low"),
    refused(
        "no such layer",
        lambda f: h5ad(f, layers={"counts": values().T}),
        "m.h5ad",
        "'spliced'; counts",
        *("--layer", "spliced"),
    ),
    refused(
        "a store whose manifest is cut off",
        lambda f: store_cut_off(f, "manifest.json"),
        "manifest.json",
        "sfs convert",
    ),
    refused("a store of a later version", store_of_later_version, "manifest.json", "99"),
    refused(
        "a store whose values are cut off",
        lambda f: store_cut_off(f, "values.bin"),
        "m.store",
        "values.bin; damaged",
    ),
    bad(
        "a layer of a store",
        lambda f: ["rank", str(built_store(f)), "--layer", "x"],
        "--layer",
        "sfs convert",
        USAGE,
    ),
]

MATRICES = [*FILES, *VALUES, *PREPARED]
