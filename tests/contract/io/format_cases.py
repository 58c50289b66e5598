"""How the reader tests write one small matrix in each format.

Each writer takes a folder, the matrix (features in rows), the feature ids and the sample ids, and
returns the path to open.
"""

from __future__ import annotations

import csv
import gzip
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import anndata as ad
import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather
from scipy import sparse

from tests.making import annotated, series_matrix

Writer = Callable[[Path, np.ndarray, Sequence[str], Sequence[str]], Path]


def frame(matrix: np.ndarray, features: Sequence[str], samples: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame(np.array(matrix, float), list(features), list(samples))


def write_csv(folder: Path, *known: Any) -> Path:
    frame(*known).to_csv(folder / "matrix.csv", index_label="id")
    return folder / "matrix.csv"


def write_tsv_gz(folder: Path, *known: Any) -> Path:
    frame(*known).to_csv(folder / "matrix.tsv.gz", sep="\t", index_label="id")
    return folder / "matrix.tsv.gz"


def write_txt_zst(folder: Path, *known: Any) -> Path:
    path = folder / "matrix.txt.zst"
    text = frame(*known).to_csv(sep=";", index_label="id").encode()
    path.write_bytes(pa.compress(text, "zstd", asbytes=True))
    return path


def write_r_table(folder: Path, *known: Any) -> Path:
    """As `write.table`: quoted names, and none above those of the rows."""
    made = frame(*known)
    rows = made.to_csv(sep=" ", header=False, na_rep="NA", quoting=csv.QUOTE_NONNUMERIC)
    names = " ".join(f'"{name}"' for name in made)
    (folder / "from_r.txt").write_text(f"{names}\n{rows}")
    return folder / "from_r.txt"


def write_gct(folder: Path, matrix, features, samples) -> Path:
    path = folder / "matrix.gct.gz"
    made = frame(matrix, features, samples)
    made.insert(0, "what", "a gene")
    made.insert(0, "chromosome", "chr1")
    head = [
        "#1.3",
        f"{len(features)}\t{len(samples)}\t2\t1",
        "\t".join(["id", *made]),
        "\t".join(["batch", "na", "na", *(f"b{i % 2}" for i in range(len(samples)))]),
    ]
    text = "\n".join(head) + "\n" + made.to_csv(sep="\t", header=False)
    path.write_bytes(gzip.compress(text.encode()))
    return path


def table(matrix: np.ndarray, features: Sequence[str], samples: Sequence[str]) -> pa.Table:
    columns = [pa.array(list(features)), *(pa.array(column) for column in matrix.T)]
    return pa.Table.from_arrays(columns, names=["feature_id", *samples])


def write_parquet(folder: Path, matrix, features, samples) -> Path:
    path = folder / "matrix.parquet"
    pq.write_table(table(matrix, features, samples), path, row_group_size=9)
    return path


def write_feather(folder: Path, matrix, features, samples) -> Path:
    path = folder / "matrix.feather"
    feather.write_feather(table(matrix, features, samples), path, compression="lz4", chunksize=9)
    return path


def write_h5ad(folder: Path, matrix, features, samples) -> Path:
    path = folder / "dense.h5ad"
    annotated(matrix.T.copy(), features, samples).write_h5ad(path)
    return path


def write_h5ad_csr(folder: Path, matrix, features, samples) -> Path:
    path = folder / "csr.h5ad"
    annotated(sparse.csr_matrix(matrix.T), features, samples).write_h5ad(path)
    return path


def write_h5ad_csc(folder: Path, matrix, features, samples) -> Path:
    path = folder / "csc.h5ad"
    annotated(sparse.csc_matrix(matrix.T), features, samples).write_h5ad(path, compression="gzip")
    return path


def write_zarr_as(folder: Path, stored, features, samples, zarr_format: int) -> Path:
    path = folder / "matrix.zarr"
    with ad.settings.override(zarr_write_format=zarr_format), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on the defaults of its next version
        annotated(stored, features, samples).write_zarr(path)
    return path


def write_zarr2(folder: Path, matrix, features, samples) -> Path:
    return write_zarr_as(folder, matrix.T.copy(), features, samples, 2)


def write_zarr3(folder: Path, matrix, features, samples) -> Path:
    return write_zarr_as(folder, sparse.csr_matrix(matrix.T), features, samples, 3)


def coordinates(matrix: np.ndarray) -> str:
    by_cell = sparse.csr_matrix(matrix.T).tocoo()
    head = ["%%MatrixMarket matrix coordinate real general", "%"]
    sizes = f"{matrix.shape[0]} {matrix.shape[1]} {by_cell.nnz}"
    entries = zip(by_cell.col, by_cell.row, by_cell.data.tolist())
    return "\n".join([*head, sizes, *(f"{i + 1} {j + 1} {v!r}" for i, j, v in entries)]) + "\n"


def write_tenx_folder(folder: Path, matrix, features, samples) -> Path:
    genes = "".join(f"ID{i}\t{name}\tGene Expression\n" for i, name in enumerate(features))
    members = {"features": genes, "barcodes": "".join(f"{name}\n" for name in samples)}
    for name, text in members.items():
        (folder / f"{name}.tsv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    (folder / "matrix.mtx.gz").write_bytes(gzip.compress(coordinates(matrix).encode()))
    return folder


def write_tenx_h5(folder: Path, matrix, features, samples) -> Path:
    path = folder / "matrix.h5"
    stored = sparse.csr_matrix(matrix.T)
    with h5py.File(path, "w") as file:
        group = file.create_group("matrix")
        for name in ("data", "indices", "indptr"):
            group[name] = getattr(stored, name)
        group["shape"] = matrix.shape
        group["barcodes"] = np.array(samples, "S")
        group["features/id"] = np.array([f"ID{i}" for i in range(len(features))], "S")
        group["features/name"] = np.array(features, "S")
        group["features/feature_type"] = np.array(["Gene Expression"] * len(features), "S")
    return path


def write_series(folder: Path, matrix, features, samples) -> Path:
    path = folder / "GSE9_series_matrix.txt.gz"
    text = series_matrix(matrix, features, samples, end="\r\n")
    path.write_bytes(gzip.compress(text.encode()))
    return path


def write_xlsx(folder: Path, matrix, features, samples) -> Path:
    import xlsxwriter

    path = folder / "matrix.xlsx"
    with xlsxwriter.Workbook(path) as book:
        sheet = book.add_worksheet("values")
        sheet.write_row(0, 0, ["id", *samples])
        for i, (name, row) in enumerate(zip(features, matrix, strict=True), 1):
            sheet.write_string(i, 0, name)
            for j, value in enumerate(row, 1):
                if float(f"{value:.16G}") == value:
                    sheet.write_number(i, j, value)
                elif not np.isnan(value):  # XlsxWriter writes 16 digits of a number
                    sheet.write_string(i, j, repr(float(value)))
    return path


def write_rds(folder: Path, matrix, features, samples) -> Path:
    import rdata

    path = folder / "matrix.rds"
    # rdata does not know the strings of pandas 3
    rows, columns = (pd.Index(list(ids), dtype=object) for ids in (features, samples))
    rdata.write_rds(path, pd.DataFrame(np.array(matrix, float), rows, columns))
    return path


CASES: dict[str, Writer] = {
    "csv": write_csv,
    "tsv.gz": write_tsv_gz,
    "txt.zst": write_txt_zst,
    "table from R": write_r_table,
    "gct": write_gct,
    "parquet": write_parquet,
    "feather": write_feather,
    "h5ad dense": write_h5ad,
    "h5ad csr": write_h5ad_csr,
    "h5ad csc": write_h5ad_csc,
    "zarr 2 dense": write_zarr2,
    "zarr 3 csr": write_zarr3,
    "10x folder": write_tenx_folder,
    "10x h5": write_tenx_h5,
    "series matrix": write_series,
    "xlsx": write_xlsx,
    "rds": write_rds,
}
