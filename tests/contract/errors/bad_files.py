"""Files that are no matrix."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tests.making_commands import (
    FEATURES,
    M,
    N,
    bad,
    cut,
    folder_of_things,
    good,
    h5ad,
    parquet,
    raw,
    table,
    text,
    values,
)


def truncated_gzip(folder: Path) -> list[str]:
    content = gzip.compress(table(np.random.default_rng(1).normal(size=(2000, N))).encode())
    return ["rank", raw(folder, content[: len(content) // 2], "m.csv.gz")]


def truncated_zst(folder: Path) -> list[str]:
    many = [f"g{i}" for i in range(2000)]
    plain = table(np.random.default_rng(1).normal(size=(2000, N)), many).encode()
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as out:
        out.write(plain)
    content = sink.getvalue().to_pybytes()
    return ["rank", raw(folder, content[: len(content) // 2], "m.tsv.zst")]


def damaged_parquet_page(folder: Path) -> list[str]:
    path = Path(parquet(folder, values(), compression="snappy"))
    content = bytearray(path.read_bytes())
    content[4:200] = b"\xff" * 196
    path.write_bytes(content)
    return ["rank", str(path)]


def other_hdf5(folder: Path) -> list[str]:
    import h5py

    with h5py.File(folder / "m.h5ad", "w") as file:
        file["counts"] = np.eye(3)
    return ["rank", str(folder / "m.h5ad")]


def workbook(folder: Path) -> list[str]:
    with zipfile.ZipFile(folder / "m.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    return ["rank", str(folder / "m.xlsx")]


def workbook_named_csv(folder: Path) -> list[str]:
    path = Path(workbook(folder)[1])
    return ["rank", str(path.rename(folder / "m.csv"))]


def parquet_named_csv(folder: Path) -> list[str]:
    return ["rank", parquet(folder, values(), "m.csv")]


def text_in_parquet(folder: Path) -> list[str]:
    columns = {"id": FEATURES, "note": ["x"] * M, "s1": values()[:, 0], "s2": values()[:, 1]}
    pq.write_table(pa.table(columns), folder / "m.parquet")
    return ["rank", str(folder / "m.parquet")]


def tenx_without_barcodes(folder: Path) -> list[str]:
    (folder / "tenx").mkdir()
    header = "%%MatrixMarket matrix coordinate integer general\n3 2 1\n1 1 5\n"
    text(folder / "tenx", header, "matrix.mtx")
    text(folder / "tenx", "g1\ng2\ng3\n", "features.tsv")
    return ["rank", str(folder / "tenx")]


def gct_of_other_size(folder: Path) -> list[str]:
    body = "".join(f"g{i}\tna\t{i}\t{i * i}\n" for i in range(1, 4))
    return ["rank", text(folder, f"#1.2\n9\t2\nName\tDescription\ts1\ts2\n{body}", "m.gct")]


def no_zarr(folder: Path) -> list[str]:
    (folder / "m.zarr").mkdir()
    text(folder / "m.zarr", '{"zarr_format": 2}', ".zgroup")
    return ["rank", str(folder / "m.zarr")]


FILES = [
    bad("no such file", lambda f: ["rank", str(f / "no.csv")], "no.csv", "no such file"),
    bad(
        "dry run: no such file", lambda f: ["rank", str(f / "no.csv"), "--dry-run"], "no.csv", "no"
    ),
    bad("inspect: no such file", lambda f: ["inspect", str(f / "no.csv")], "no.csv", "no"),
    bad("a folder", lambda f: ["rank", str(folder_of_things(f))], "things", "folder; .csv"),
    bad("empty file", lambda f: ["rank", text(f, "")], "m.csv", "is empty"),
    bad("header only", lambda f: ["rank", text(f, "id,a,b\n")], "m.csv", "no rows"),
    bad(
        "two rows with a carriage return between them",
        lambda f: ["rank", raw(f, b'id,a,b\n"x",1,2\r"y",3,4\nz,5,6\n', "m.csv")],
        "m.csv",
        "5 fields; line 2",
    ),
    bad(
        "names of columns with a carriage return between them",
        lambda f: ["rank", raw(f, b'"id","a"\r"b"\n"x",1,2\ny,3,4\n', "m.csv")],
        "m.csv",
        "carriage return; line 1",
    ),
    bad("truncated gzip", truncated_gzip, "m.csv.gz", "cut off; gzip -t"),
    bad("truncated zst", truncated_zst, "m.tsv.zst", "cut off; zstd -t"),
    bad(
        "truncated Parquet",
        lambda f: ["rank", cut(Path(parquet(f, values())))],
        "m.parquet",
        "cut off; again",
    ),
    bad("damaged Parquet page", damaged_parquet_page, "m.parquet", "damaged"),
    bad("text column in Parquet", text_in_parquet, "m.parquet", "note"),
    bad("HDF5 that is no h5ad", other_hdf5, "m.h5ad", "not AnnData; obs"),
    bad("truncated h5ad", lambda f: ["rank", cut(Path(h5ad(f)))], "m.h5ad", "truncated"),
    bad("CSV that is Parquet", parquet_named_csv, "m.csv", "Parquet; rename"),
    bad("xlsx", workbook, "m.xlsx", "workbook; again"),
    bad("xlsx named csv", workbook_named_csv, "m.csv", "Excel; rename"),
    bad(
        "h5ad that is text",
        lambda f: ["rank", good(f, "m.h5ad")],
        "m.h5ad",
        "delimited text; rename",
    ),
    bad(
        "gene sets",
        lambda f: ["rank", text(f, "SET\tx\tgene1\tgene2\n", "s.gmt")],
        "s.gmt",
        "gene sets; genes:s.gmt:SET; --sets",
    ),
    bad("unknown suffix", lambda f: ["rank", good(f, "m.dat")], "m.dat", "*.csv; rename"),
    bad(
        "binary csv", lambda f: ["rank", raw(f, bytes(range(256)) * 9, "m.csv")], "m.csv", "binary"
    ),
    bad(
        "UTF-16 text without its mark",
        lambda f: ["rank", raw(f, table(values()).encode("utf-16-le"), "m.csv")],
        "m.csv",
        "binary",
    ),
    bad(
        "UTF-16 text that is cut off",
        lambda f: ["rank", raw(f, table(values()).encode("utf-16")[:-3], "m.csv")],
        "m.csv",
        "UTF-16; cut off",
    ),
    bad(
        "Latin-1 ids",
        lambda f: [
            "rank",
            raw(f, table(values()).replace("s1", "p\xe9").encode("latin-1"), "m.csv"),
        ],
        "m.csv",
        "UTF-8; line 1",
    ),
    bad("10x folder without barcodes", tenx_without_barcodes, "tenx", "barcodes"),
    bad("GCT of another size", gct_of_other_size, "m.gct", "9; 3"),
    bad("Zarr that is no AnnData", no_zarr, "m.zarr", "not AnnData"),
]
