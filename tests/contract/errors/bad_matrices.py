"""Files that are no matrix, matrices that cannot be ranked, and stores that cannot be read."""

from __future__ import annotations

import gzip
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np

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
    h5ad,
    option,
    parquet,
    raw,
    table,
    text,
    values,
)


def refused(
    id: str, make: Callable[[Path], str | Path], name: str, words: str, *options: str
) -> Bad:
    """Return a row for the ranking of a matrix."""
    return bad(id, lambda f: ["rank", str(make(f)), *options], name, words)


# ---------------------------------------------------------------------------- files


def truncated_gzip(folder: Path) -> str:
    content = gzip.compress(table(np.random.default_rng(1).normal(size=(2000, N))).encode())
    return raw(folder, content[: len(content) // 2], "m.csv.gz")


def damaged_parquet_page(folder: Path) -> Path:
    path = Path(parquet(folder, values(), compression="snappy"))
    content = bytearray(path.read_bytes())
    content[4:200] = b"\xff" * 196
    path.write_bytes(content)
    return path


def other_hdf5(folder: Path) -> Path:
    with h5py.File(folder / "m.h5ad", "w") as file:
        file["counts"] = np.eye(3)
    return folder / "m.h5ad"


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


def gct_of_other_size(folder: Path) -> str:
    body = "".join(f"g{i}\tna\t{i}\t{i * i}\n" for i in range(1, 4))
    return text(folder, f"#1.2\n9\t2\nName\tDescription\ts1\ts2\n{body}", "m.gct")


def no_zarr(folder: Path) -> Path:
    (folder / "m.zarr").mkdir()
    text(folder / "m.zarr", '{"zarr_format": 2}', ".zgroup")
    return folder / "m.zarr"


def latin_1(folder: Path) -> str:
    return raw(folder, table(values()).replace("s1", "p\xe9").encode("latin-1"), "m.csv")


PAGE = "<!DOCTYPE html>\n<html><head><title>Log in</title></head><body>name, word</body></html>\n"

FILES = [
    refused("no such file", lambda f: f / "no.csv", "no.csv", "no such file"),
    refused("a folder", folder_of_things, "things", "folder"),
    refused("an empty file", lambda f: text(f, ""), "m.csv", "empty"),
    refused("a header alone", lambda f: text(f, "id,a,b\n"), "m.csv", "no rows"),
    refused(
        "a line that ends within a header",
        lambda f: raw(f, b'"id","a"\r"b"\n"x",1,2\ny,3,4\n', "m.csv"),
        "m.csv",
        "carriage return; line 1",
    ),
    refused("gzip that is cut off", truncated_gzip, "m.csv.gz", "cut off"),
    refused(
        "Parquet that is cut off",
        lambda f: cut(Path(parquet(f, values()))),
        "m.parquet",
        "magic bytes",
    ),
    refused(
        "a damaged page of Parquet", damaged_parquet_page, "m.parquet", "cannot be read as parquet"
    ),
    refused("HDF5 that is no h5ad", other_hdf5, "m.h5ad", "not AnnData"),
    refused("h5ad that is cut off", lambda f: cut(Path(h5ad(f))), "m.h5ad", "truncated"),
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
    refused("a web page", lambda f: text(f, PAGE), "m.csv", "web page; login; download"),
    refused("binary CSV", lambda f: raw(f, bytes(range(256)) * 9, "m.csv"), "m.csv", "binary"),
    refused("Latin-1 ids", latin_1, "m.csv", "UTF-8; line 1"),
    refused("10x without barcodes", tenx_without_barcodes, "tenx", "barcodes"),
    refused("GCT of another size", gct_of_other_size, "m.gct", "9; 3"),
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


def without_header(folder: Path) -> str:
    return text(folder, table(values()).partition("\n")[2])


def without_ids(folder: Path) -> str:
    lines = [line.partition(",")[2] for line in table(values()).splitlines()]
    return text(folder, "\n".join(lines) + "\n")


def repeated_samples(folder: Path) -> str:
    return text(folder, table(values(), samples=["s1", "s2", "s1", "s4", "s2", "s6"]))


VALUES = [
    refused(
        "text among numbers", lambda f: edited(f, (4, 3), "high"), "m.csv", "'high'; line 4; 's3'"
    ),
    refused("commas of either kind", decimal_commas, "m.tsv", "line 2; --decimal comma"),
    refused(
        "commas that are no decimal ones",
        decimal_commas,
        "m.tsv",
        "1,234; without thousands marks; --decimal comma",
        "--decimal",
        "point",
    ),
    refused(
        "thousands marks",
        lambda f: edited(f, (4, 3), '"1,234.5"'),
        "m.csv",
        "1,234.5; comma; line 4",
    ),
    refused(
        "a ragged row",
        lambda f: edited(f, 5, "gene4,1.0,2.0,3.0"),
        "m.csv",
        "line 5; 4 fields; 7",
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
    refused("no features", lambda f: parquet(f, np.empty((0, N))), "m.parquet", "no rows"),
    refused(
        "constant features",
        lambda f: text(f, table(np.full((M, N), 3.5))),
        "m.csv",
        "constant; 9",
    ),
    refused(
        "missing values alone",
        lambda f: parquet(f, np.full((M, N), np.nan)),
        "m.parquet",
        "missing; 9",
        *("--missing", "drop"),
    ),
    refused("a sample id twice", repeated_samples, "m.csv", "repeated; s1, s2"),
    refused("no header", without_header, "m.csv", "first line; ids"),
    refused("no ids", without_ids, "m.csv", "first column; ids"),
    refused("one column", lambda f: text(f, "id\na\nb\n"), "m.csv", "one column; line 1"),
    refused("a column without an id", lambda f: edited(f, (1, 3), ""), "m.csv", "column 4; no id"),
]

# ---------------------------------------------------------------------------- preparation


def positive(folder: Path, at: int | tuple[int, int], value: float) -> str:
    """Write a matrix without negative values, of which one value or sample is another one."""
    X = np.abs(values())
    X[at if isinstance(at, tuple) else (slice(None), at)] = value
    return text(folder, table(X))


def store_without_values(folder: Path) -> Path:
    path = built_store(folder)
    (path / "values.bin").unlink()
    return path


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
        "cpm of a negative value",
        lambda f: positive(f, (3, 1), -1.0),
        "m.csv",
        "cpm; negative; gene4; s2",
        *("--transform", "cpm,log1p"),
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
    refused("no raw matrix", h5ad, "m.h5ad", "raw", "--layer", "raw.X"),
    refused(
        "a store whose manifest is cut off",
        lambda f: store_cut_off(f, "manifest.json"),
        "manifest.json",
        "sfs convert",
    ),
    refused("a store of a later version", store_of_later_version, "manifest.json", "99"),
    refused("a store without values", store_without_values, "m.store", "values.bin; missing"),
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
