"""Files as libraries and programs write them: each row of the tables of docs/reference/formats.md.

Those in `programs` were written once, by the scripts there; the others are written here, by the
library itself or, where there is none, in the layout of the program that is named.
"""

from __future__ import annotations

import gzip
import io
import re
import warnings
from collections.abc import Callable
from pathlib import Path

import anndata as ad
import mudata
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from scipy.io import mmwrite

from tests.contract.io import format_cases
from tests.contract.io.programs.study import AGE, GENES, SAMPLES, TISSUE, VALUES
from tests.making import series_matrix
from tests.places import ROOT
from tests.running import run_here

PROGRAMS = Path(__file__).parent / "programs"
FRAME = pd.DataFrame(VALUES, GENES, SAMPLES)
TABLE = pd.DataFrame({"tissue": TISSUE, "age": AGE}, SAMPLES)

Case = Callable[[Path], str]
"""Writes a file into a folder, and returns what to give for it."""


def made(name: str, options: str = "") -> Case:
    """Return the case of a file that a program made."""
    return lambda _folder: f"{PROGRAMS / name}{options}"


def written(write: Callable[[Path], object], name: str, options: str = "") -> Case:
    """Return the case of a file that is written here."""

    def case(folder: Path) -> str:
        write(folder / name)
        return f"{folder / name}{options}"

    return case


def annotated(values: object = VALUES.T) -> ad.AnnData:
    return ad.AnnData(values, TABLE, pd.DataFrame(index=GENES))


def layered(path: Path) -> None:
    cells = annotated(np.zeros_like(VALUES.T))
    cells.layers["values"] = sparse.csr_matrix(VALUES.T)
    cells.write_h5ad(path)


def raw(path: Path) -> None:
    whole = annotated()
    cells = whole[:, :2].copy()
    cells.raw = whole
    cells.write_h5ad(path)


def zarr(version: int) -> Case:
    def write(path: Path) -> None:
        with ad.settings.override(zarr_write_format=version), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the next version of Zarr
            annotated(sparse.csr_matrix(VALUES.T)).write_zarr(path)

    return written(write, "m.zarr")


def muon(path: Path, rna: ad.AnnData | None = None) -> None:
    protein = ad.AnnData(VALUES.T[:, :2], TABLE[[]], pd.DataFrame(index=["CD3", "CD4"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the next version of MuData
        mudata.MuData({"rna": rna or annotated(), "protein": protein}).write(path)


def nullable(name: str, options: str = "") -> Case:
    """Return the case of ids and columns that may be missing, as anndata writes those of pandas 3.

    Ids are nullable-string-array there, not string-array.
    """

    def write(path: Path) -> None:
        cells = annotated(sparse.csr_matrix(VALUES.T))
        cells.obs = TABLE.convert_dtypes().set_index(TABLE.index.astype("string"))
        cells.var.index = cells.var.index.astype("string")
        writers = {".h5ad": cells.write_h5ad, ".zarr": cells.write_zarr}
        with (
            ad.settings.override(allow_write_nullable_strings=True, zarr_write_format=3),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")  # of the next version of Zarr
            writers.get(path.suffix, lambda path: muon(path, cells))(path)

    return written(write, name, options)


def zst(path: Path) -> None:
    path.write_bytes(pa.compress(FRAME.to_csv().encode(), "zstd", asbytes=True))


def tenx(version: int = 3, prefix: str = "", matrix: bytes = b"") -> Case:
    """Return a folder as Cell Ranger writes it, entries by cell; `matrix` replaces its matrix."""
    ending, last = (".gz", "\tGene Expression") if version > 2 else ("", "")
    names = "features" if version > 2 else "genes"
    files = {
        "matrix.mtx": matrix or format_cases.coordinates(VALUES).encode(),
        f"{names}.tsv": "".join(f"ENSG{i}\t{g}{last}\n" for i, g in enumerate(GENES)).encode(),
        "barcodes.tsv": "".join(f"{name}\n" for name in SAMPLES).encode(),
    }

    def case(folder: Path) -> str:
        (folder / "run").mkdir()
        for name, data in files.items():
            path = folder / "run" / f"{prefix}{name}{ending}"
            path.write_bytes(gzip.compress(data) if ending else data)
        return str(folder / "run" / (f"{prefix}matrix.mtx{ending}" if prefix else ""))

    return case


def of_scipy() -> bytes:
    file = io.BytesIO()
    mmwrite(file, sparse.csc_matrix(VALUES))
    return file.getvalue()


def gct(path: Path) -> None:
    described = FRAME.copy()
    described.insert(0, "Description", "na")
    head = f"#1.2\n{len(GENES)}\t{len(SAMPLES)}\n"
    path.write_text(head + described.to_csv(sep="\t", index_label="NAME"))


MATRICES: dict[str, dict[str, Case]] = {
    "CSV, TSV and other text": {
        "pandas": written(FRAME.to_csv, "m.csv"),
        "pandas, numbered": written(FRAME.reset_index(names="gene").to_csv, "m.csv"),
        "pandas, samples in rows": written(FRAME.T.to_csv, "m.csv"),
        "R write.table": made("r_write_table.txt"),
        "R write.table, tabs": made("r_write_table_tabs.tsv"),
        "R write.table, col.names = NA": made("r_col_names_NA.tsv"),
        "R write.csv": made("r_write_csv.csv"),
        "R write.csv2": made("r_write_csv2.csv"),
        "R write.csv, numbered": made("r_numbered.csv"),
        "LibreOffice": made("calc.csv"),
        "LibreOffice, Unicode text": made("calc_unicode.txt"),
        "no suffix": written(FRAME.to_csv, "matrix"),
        "text called .xls": written(lambda path: FRAME.to_csv(path, sep="\t"), "m.xls"),
    },
    "the same in `.gz` or `.zst`": {
        "gz": written(FRAME.to_csv, "m.csv.gz"),
        "zst": written(zst, "m.csv.zst"),
    },
    "workbooks (`.xlsx`, `.xlsm`, `.xlsb`, `.xls`, `.ods`)": {
        "pandas": written(FRAME.to_excel, "m.xlsx"),
        "pandas .xlsm": written(FRAME.to_excel, "m.xlsm"),
        "LibreOffice .ods": made("calc.ods"),
        "LibreOffice .xls": made("calc.xls"),
    },
    "Parquet": {
        "pandas": written(FRAME.to_parquet, "m.parquet"),
        "pandas, samples in rows": written(FRAME.T.to_parquet, "m.pq"),
        "PyArrow": written(
            lambda path: pq.write_table(format_cases.table(VALUES, GENES, SAMPLES), path),
            "m.parquet",
        ),
    },
    "Feather": {"pandas": written(FRAME.reset_index(names="gene").to_feather, "m.feather")},
    "GCT 1.2 and 1.3": {"1.2": written(gct, "m.gct")},
    "h5ad": {
        "dense": written(annotated().write_h5ad, "m.h5ad"),
        "CSR": written(annotated(sparse.csr_matrix(VALUES.T)).write_h5ad, "m.h5ad"),
        "CSC": written(annotated(sparse.csc_matrix(VALUES.T)).write_h5ad, "m.h5"),
        "a layer": written(layered, "m.h5ad", " --layer values"),
        "raw": written(raw, "m.h5ad", " --layer raw.X"),
        "AnnData 0.10": made("anndata_0_10.h5ad"),
        "AnnData with pandas 3": nullable("m.h5ad"),
    },
    "AnnData zarr": {
        "Zarr 2": zarr(2),
        "Zarr 3": zarr(3),
        "Zarr 3 with pandas 3": nullable("m.zarr"),
    },
    "h5mu": {
        "MuData": written(muon, "m.h5mu", ":rna"),
        "MuData 0.3": made("mudata.h5mu", ":rna"),
        "MuData with pandas 3": nullable("m.h5mu", ":rna"),
    },
    "10x folders": {
        "Cell Ranger 3": tenx(),
        "Cell Ranger 2": tenx(2),
        "a prefix, as in GEO": tenx(prefix="GSM1_a_"),
        "Matrix Market of SciPy": tenx(matrix=of_scipy()),
        "Matrix Market of R": tenx(matrix=(PROGRAMS / "r_matrix.mtx").read_bytes()),
    },
    "10x `.h5`": {
        "Cell Ranger 3": lambda folder: str(
            format_cases.write_tenx_h5(folder, VALUES, GENES, SAMPLES)
        )
    },
    "objects of R (`.rds`, `.RData`)": {"saveRDS": made("r_matrix.rds")},
}
MEANS = FRAME.T.groupby(np.array(TISSUE)).mean().T.add_prefix("mean_").sort_index()
"""Of both classes: they need each value, id of a gene and id of a sample in its place."""


def means_of(arguments: str, capfd: pytest.CaptureFixture[str]) -> pd.DataFrame:
    done = run_here(["rank", *arguments.split(" "), "--method", "f-test"], capfd)
    assert done.code == 0, done.err
    found = pd.read_csv(io.StringIO(done.out), sep="\t", index_col="feature")
    return found[list(MEANS)].sort_index()


@pytest.mark.parametrize(
    ("row", "case"), [(row, case) for row, cases in MATRICES.items() for case in cases]
)
def test_matrices(tmp_path, capfd, row, case):
    TABLE.to_csv(tmp_path / "samples.csv")
    matrix = MATRICES[row][case](tmp_path)
    found = means_of(f"{matrix} --labels {tmp_path / 'samples.csv'}:tissue", capfd)
    pd.testing.assert_frame_equal(found, MEANS, check_names=False, rtol=1e-6)


def test_a_series_matrix(tmp_path, capfd):
    """It has samples of its own: the accession numbers."""
    text = series_matrix(
        VALUES, GENES, SAMPLES, [("characteristics_ch1", [f"tissue: {t}" for t in TISSUE])]
    )
    (tmp_path / "GSE1_series_matrix.txt").write_text(text)
    found = means_of(f"{tmp_path}/GSE1_series_matrix.txt --labels obs:tissue", capfd)
    pd.testing.assert_frame_equal(found, MEANS, check_names=False, rtol=1e-6)


def test_scanpy(capfd):
    """A file as a tutorial leaves it: scaled values of some genes, raw ones, neighbors."""
    path = PROGRAMS / "scanpy.h5ad"
    found = means_of(f"{path} --layer values --labels obs:tissue", capfd)
    some = MEANS.loc[sorted(GENES[:4])]
    pd.testing.assert_frame_equal(found, some, check_names=False, rtol=1e-6)
    done = run_here(["rank", str(path), "--layer", "raw.X"], capfd)
    assert "obsp:connectivities" in done.err
    assert len(done.out.splitlines()) == len(GENES) + 1


def qiime(path: Path) -> None:
    TABLE.to_csv(path, sep="\t", index_label="#SampleID")


def phenodata(path: Path) -> None:
    """Write `pData` of GEOquery: rows are numbered, and names have colons."""
    titles = [f"biopsy {i}" for i in range(5)]
    frame = pd.DataFrame({"title": titles, "geo_accession": SAMPLES, "tissue:ch1": TISSUE})
    frame.to_csv(path)


def titled(path: Path) -> None:
    titles = "Supplementary Table 1\nTissues, and all else, of donors, by sample\n\n"
    path.write_text(titles + TABLE.to_csv(index_label="sample"))


def written_by_hand(path: Path) -> None:
    """Write the names without one of the ids, and blanks after their commas."""
    table = TABLE.assign(age=range(30, 30 + len(TABLE)), sex="F")
    path.write_text(f"{', '.join(table)}\n" + table.to_csv(header=False))


SAMPLE_TABLES: dict[str, dict[str, Case]] = {
    "the ids in the first column": {
        "pandas": written(TABLE.to_csv, "s.csv", ":tissue"),
        "R write.table": made("r_samples.txt", ":tissue"),
        "R write.csv": made("r_samples.csv", ":tissue"),
        "a title above": written(titled, "s.csv", ":tissue"),
        "names with blanks, none of the ids": written(written_by_hand, "s.csv", ":tissue"),
        "a workbook": written(TABLE.to_excel, "s.xlsx", ":tissue"),
        "Parquet": written(TABLE.to_parquet, "s.parquet", ":tissue"),
    },
    "`#SampleID` (QIIME)": {"QIIME": written(qiime, "map.txt", ":tissue")},
    "the ids in another column (`pData` of GEOquery)": {
        "GEOquery": written(phenodata, "pdata.csv", ":tissue:ch1")
    },
    "annotations in the matrix (`obs:KEY`)": {
        "AnnData": lambda _folder: "obs:tissue",
    },
}


@pytest.mark.parametrize(
    ("row", "case"), [(row, case) for row, cases in SAMPLE_TABLES.items() for case in cases]
)
def test_tables_of_samples(tmp_path, capfd, row, case):
    annotated().write_h5ad(tmp_path / "m.h5ad")
    found = means_of(f"{tmp_path / 'm.h5ad'} --labels {SAMPLE_TABLES[row][case](tmp_path)}", capfd)
    pd.testing.assert_frame_equal(found, MEANS, check_names=False, rtol=1e-6)


def test_every_row_of_the_page_is_read_here():
    page = (ROOT / "docs" / "reference" / "formats.md").read_text()
    rows = re.findall(r"^\| (.+?) \| .*`contract/io/test_programs\.py`", page, re.MULTILINE)
    assert rows == [*MATRICES, "series matrices of GEO", *SAMPLE_TABLES]
