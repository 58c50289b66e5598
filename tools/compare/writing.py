"""Writing one matrix in every format that is read."""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather
from scipy import sparse


@dataclass(frozen=True)
class Matrix:
    """Values with a row for each feature and a column for each sample."""

    values: np.ndarray
    features: list[str]
    samples: list[str]

    def frame(self, name: str = "id") -> pd.DataFrame:
        """Return a data frame whose index are the features."""
        index = pd.Index(self.features, name=name)
        return pd.DataFrame(self.values, index=index, columns=self.samples)

    def turned(self) -> Matrix:
        """Return the same with samples in rows."""
        return Matrix(self.values.T, self.samples, self.features)

    def of(self, samples: Sequence[str]) -> Matrix:
        """Return the columns of some samples, in their order."""
        places = [self.samples.index(s) for s in samples]
        return Matrix(self.values[:, places], self.features, list(samples))


def text(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path


def rows(path: Path, *lines: Iterable[object], delimiter: str = "\t") -> Path:
    """Write lines of fields."""
    return text(path, "".join(delimiter.join(map(str, line)) + "\n" for line in lines))


def delimited(m: Matrix, delimiter: str = ",", corner: str = "id") -> str:
    lines = [delimiter.join([corner, *m.samples])]
    for name, row in zip(m.features, m.values.tolist()):
        cells = ["" if isinstance(v, float) and np.isnan(v) else str(v) for v in row]
        lines.append(delimiter.join([name, *cells]))
    return "\n".join(lines) + "\n"


def csv(path: Path, m: Matrix) -> Path:
    return text(path, delimited(m))


def zstd(content: str) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as out:
        out.write(content.encode())
    return sink.getvalue().to_pybytes()


def texts(folder: Path, m: Matrix) -> None:
    """Write the delimited forms."""
    csv(folder / "m.csv", m)
    text(folder / "m.tsv", delimited(m, "\t"))
    text(folder / "m.txt", delimited(m, ";"))
    (folder / "m.csv.gz").write_bytes(gzip.compress(delimited(m).encode(), mtime=0))
    (folder / "m.csv.zst").write_bytes(zstd(delimited(m)))
    (folder / "m.tsv.zst").write_bytes(zstd(delimited(m, "\t")))
    quoted = m.frame().to_csv(quoting=2, index_label="", lineterminator="\r\n")
    (folder / "from_r.csv").write_bytes(b"\xef\xbb\xbf" + quoted.encode())
    csv(folder / "turned.csv", m.turned())


def columns(folder: Path, m: Matrix) -> None:
    """Write the forms of Arrow."""
    made = pa.table({"id": m.features} | {s: m.values[:, j] for j, s in enumerate(m.samples)})
    pq.write_table(made, folder / "m.parquet", row_group_size=64)
    m.frame().to_parquet(folder / "from_pandas.parquet")
    feather.write_feather(made, folder / "m.feather", compression="lz4", chunksize=64)
    feather.write_feather(made, folder / "m.arrow", compression="uncompressed")
    turned = m.turned()
    pq.write_table(
        pa.table({"id": turned.features} | dict(zip(turned.samples, turned.values.T))),
        folder / "turned.parquet",
    )


def gct(folder: Path, m: Matrix) -> None:
    """Write GCT 1.2 and 1.3."""
    size = (len(m.features), len(m.samples))
    cells = [[name, "na", *row] for name, row in zip(m.features, m.values.tolist())]
    rows(folder / "m.gct", ["#1.2"], size, ["Name", "Description", *m.samples], *cells)
    batch = ["batch", "na", *("ab"[i % 2] for i in range(size[1]))]
    head = [["#1.3"], [*size, 1, 1], ["id", "what", *m.samples], batch]
    rows(folder / "m13.gct", *head, *cells)
    content = (folder / "m13.gct").read_bytes()
    (folder / "m13.gct.gz").write_bytes(gzip.compress(content, mtime=0))


def annotated(m: Matrix, obs: pd.DataFrame, graph: np.ndarray, form: str = "dense"):
    """Return AnnData with a layer, raw values and a graph in obsp."""
    import anndata as ad

    shape = {"dense": np.array, "csr": sparse.csr_matrix, "csc": sparse.csc_matrix}[form]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = ad.AnnData(
            shape(m.values.T), obs=obs.loc[m.samples], var=pd.DataFrame(index=m.features)
        )
        made.raw = made.copy()
        made.layers["doubled"] = shape(2 * m.values.T + (m.values.T > 2))
        made.obsp["connectivities"] = sparse.csr_matrix(graph)
    return made


def cells(folder: Path, m: Matrix, obs: pd.DataFrame, graph: np.ndarray) -> None:
    """Write the forms of AnnData."""
    import anndata as ad
    import h5py
    from anndata.io import write_elem

    made = {form: annotated(m, obs, graph, form) for form in ("dense", "csr", "csc")}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for form, data in made.items():
            data.write_h5ad(folder / f"{form}.h5ad")
        with h5py.File(folder / "m.h5mu", "w") as file:
            file.attrs["encoding-type"] = "MuData"
            write_elem(file, "obs", obs.loc[m.samples])
            write_elem(file.require_group("mod"), "rna", made["csr"])
            write_elem(file.require_group("mod"), "protein", made["dense"][:, :20].copy())
        for version, form in ((2, "dense"), (3, "csr")):
            with ad.settings.override(zarr_write_format=version):
                made[form].write_zarr(folder / f"{form}{version}.zarr")


def tenx(folder: Path, m: Matrix) -> None:
    """Write a 10x folder, one by feature, and a 10x HDF5 file."""
    import h5py

    stored = sparse.csc_matrix(m.values)
    where = folder / "tenx"
    rows(where / "features.tsv", *(["ID" + f, f, "Gene Expression"] for f in m.features))
    rows(where / "barcodes.tsv", *([s] for s in m.samples))
    head = f"%%MatrixMarket matrix coordinate real general\n%\n{len(m.features)} {len(m.samples)}"
    pairs = stored.tocoo()
    entries = zip((pairs.row + 1).tolist(), (pairs.col + 1).tolist(), pairs.data.tolist())
    body = "".join(f"{i} {j} {v!r}\n" for i, j, v in entries)
    text(where / "matrix.mtx", f"{head} {stored.nnz}\n{body}")
    packed = folder / "tenx_packed"
    packed.mkdir(exist_ok=True)
    for path in where.iterdir():
        (packed / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
    with h5py.File(folder / "tenx.h5", "w") as file:
        group = file.create_group("matrix")
        for name in ("data", "indices", "indptr"):
            group[name] = getattr(stored, name)
        group["shape"] = m.values.shape
        group["barcodes"] = np.array(m.samples, "S")
        group["features/id"] = np.array(["ID" + f for f in m.features], "S")
        group["features/name"] = np.array(m.features, "S")
        group["features/feature_type"] = np.array(["Gene Expression"] * len(m.features), "S")
