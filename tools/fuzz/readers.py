"""What independent programs read in a matrix file: pandas, anndata, scipy, pyarrow, plain Python.

A reader returns one or several readings of a file, because text does not say what its delimiter is;
`sfs` is right when it agrees with one of them. A file that cannot be read is any exception.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

MISSING = {
    "",
    "NA",
    "NaN",
    "nan",
    "N/A",
    "n/a",
    "null",
    "NULL",
    "#N/A",
    "None",
    "<NA>",
    "-nan",
    "NAN",
}
csv.field_size_limit(1 << 30)
BLANKS = " \t\r\n\f\v"
"""What is no part of a name at its ends; a non-breaking space is."""
LARGEST = 1 << 26
"""More values than these are not compared."""


@dataclass(frozen=True)
class Reading:
    """Features, and their values by sample, shape (m, n)."""

    features: list[str]
    values: np.ndarray

    def variances(self, dtype: str) -> np.ndarray:
        """Return the unbiased variances of the values as they are stored, shape (m,)."""
        with np.errstate(all="ignore"):
            X = self.values.astype(dtype).astype(float)
            return X.var(axis=1, ddof=1)


def _decompressed(path: Path) -> bytes:
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        return gzip.decompress(data)
    if data[:4] == b"\x28\xb5\x2f\xfd":
        import pyarrow as pa

        return pa.CompressedInputStream(pa.BufferReader(data), "zstd").read()
    return data


def _number(text: str) -> float:
    text = text.strip()
    return np.nan if text in MISSING else float(text)


def _split(text: str, delimiter: str) -> list[list[str]]:
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
    while rows and not any(rows[-1]):
        rows.pop()
    return rows


def _of_rows(head: list[str], rows: list[list[str]], lead: int) -> Reading:
    n = len(rows[0]) - lead
    if len(head) not in (n, n + lead) or n < 1:
        raise ValueError("header and rows do not fit")
    if any(len(row) != n + lead for row in rows):
        raise ValueError("rows of several lengths")
    values = [[v.strip() for v in column] for column in zip(*(row[lead:] for row in rows))]
    values = [column for column in values if not _is_text(column)]
    if not values:
        raise ValueError("no numbers")
    X = np.array([[_number(v) for v in column] for column in values]).T
    return Reading([row[0].strip(BLANKS) for row in rows], X)


def _is_text(column: list[str]) -> bool:
    """Tell a column beside the numbers: two values or more, all of which have letters."""
    known = [value for value in column if value not in MISSING]
    return len(column) > 1 and bool(known) and all(map(_has_letters, known))


def _has_letters(value: str) -> bool:
    with suppress(ValueError):
        float(value)
        return False
    return any(map(str.isalpha, value))


def text(path: Path) -> Iterator[Reading]:
    content = _decoded(_decompressed(path))
    if "\0" in content:
        raise ValueError("NUL")
    while content.startswith("#"):  # comments may stand above the header
        content = content.partition("\n")[2]
    lines = content.split("\n")
    for delimiter in ",\t; ":
        # titles may stand above the names, and a line of units below them
        for above, below in ((0, 0), (1, 0), (2, 0), (0, 1), (1, 1)):
            try:
                kept = [lines[above], *lines[above + 1 + below :]]
                skipped = [*lines[:above], *lines[above + 1 : above + 1 + below]]
                if any(map(_has_number, skipped)):
                    continue
                head, *rows = _split("\n".join(kept), delimiter)
                if delimiter != ",":
                    rows = [[_DECIMAL.sub(r"\1.\2", value) for value in row] for row in rows]
                yield _of_rows(head, rows, 1)
            except (ValueError, csv.Error, IndexError):
                continue


_DECIMAL = re.compile(r"^([+-]?\d+),(\d+)$")


def _has_number(line: str) -> bool:
    fields = re.split(r"[,;\t ]", line)
    return any(field.strip() not in MISSING and not _has_letters(field) for field in fields)


def _decoded(data: bytes) -> str:
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    content = data.decode(encoding)
    return content if "\n" in content else content.replace("\r", "\n")


def gct(path: Path) -> Iterator[Reading]:
    lines = _decoded(_decompressed(path)).splitlines()
    rows = [line.split("\t") for line in lines if line]
    _, _, *more = (int(v) for v in rows[1] if v.strip())
    if rows[0][0].startswith("#1.2"):
        yield _of_rows(rows[2], rows[3:], 2)
    else:
        yield _of_rows(rows[2], rows[3 + more[1] :], 1 + more[0])


def series(path: Path) -> Iterator[Reading]:
    content = _decompressed(path).decode("latin-1")
    table = content.partition("!series_matrix_table_begin")[2].partition("\n!series_matrix_table_e")
    head, *rows = _split(table[0].lstrip("\r\n"), "\t")
    yield _of_rows(head, rows, 1)


def _frame(table: Any) -> Iterator[Reading]:
    data = table.replace_schema_metadata(None).to_pandas()
    known = table.schema.metadata or {}
    names: list[str] = []
    if b"pandas" in known:
        import json

        # Parquet has it twice, and one of both may be damaged
        with suppress(ValueError):
            columns = json.loads(known[b"pandas"]).get("index_columns") or []
            names = [c for c in columns if isinstance(c, str) and c in data.columns]
    texts = [f.name for f in table.schema if str(f.type) in ("string", "large_string")]
    for name in dict.fromkeys([*names[:1], *texts[:1], data.columns[0]]):
        # no level of the index is a sample, and no other column of text
        values = data.drop(
            columns=list({name, *names, *(f.name for f in table.schema if "string" in str(f.type))})
        )
        yield Reading([str(v) for v in data[name]], values.to_numpy(float))


def parquet(path: Path) -> Iterator[Reading]:
    import pyarrow.parquet as pq

    yield from _frame(pq.ParquetFile(path).read())


def feather(path: Path) -> Iterator[Reading]:
    from pyarrow import feather as arrow

    yield from _frame(arrow.read_table(path))


def xlsx(path: Path) -> Iterator[Reading]:
    from python_calamine import CalamineWorkbook

    head, *rows = CalamineWorkbook.from_path(path).get_sheet_by_index(0).to_python()
    texts = [[v if isinstance(v, str) else repr(v) for v in row] for row in rows]
    yield _of_rows([str(name) for name in head], texts, 1)


def rds(path: Path) -> Iterator[Reading]:
    import rdata

    frame = rdata.read_rds(path)
    yield Reading([str(name) for name in frame.index], frame.to_numpy(float))


def _annotated(data: Any) -> Iterator[Reading]:
    if data.shape[0] * data.shape[1] > LARGEST:
        raise ValueError("too large to compare")
    X = data.X.toarray() if hasattr(data.X, "toarray") else np.asarray(data.X)
    yield Reading([str(v) for v in data.var_names], np.asarray(X, float).T)


def h5ad(path: Path) -> Iterator[Reading]:
    import h5py
    from anndata.io import read_elem, read_h5ad

    try:
        yield from _annotated(read_h5ad(path))
    except Exception:  # parts that a ranking does not need may be damaged
        with h5py.File(path) as file:
            yield from _parts(read_elem(file["X"]), read_elem(file["obs"]), read_elem(file["var"]))


def _parts(X: Any, obs: Any, var: Any) -> Iterator[Reading]:
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, float)
    if X.shape != (len(obs), len(var)):
        raise ValueError("shape")
    yield Reading([str(v) for v in var.index], X.T)


def h5mu(path: Path) -> Iterator[Reading]:
    import h5py
    from anndata.io import read_elem

    with h5py.File(path) as file:
        group = file["mod/rna"]
        yield from _parts(read_elem(group["X"]), read_elem(group["obs"]), read_elem(group["var"]))


def elements(table: str, path: Path, *keys: str) -> list[Any]:
    """Return parts of AnnData by their keys, such as ``layers/double``."""
    import h5py
    import zarr as z
    from anndata.io import read_elem, read_h5ad, read_zarr

    def of_whole(data: Any, key: str) -> Any:
        room, _, name = key.partition("/")
        if room == "raw":
            return getattr(data.raw, name)
        return getattr(data, room)[name] if name else getattr(data, room)

    try:
        if table == "h5mu":
            raise ValueError("is not read whole")
        data = read_h5ad(path) if table == "h5ad" else read_zarr(path)
        return [of_whole(data, key) for key in keys]
    except Exception:  # other parts may be damaged
        if table == "zarr":
            group = z.open_group(str(path), mode="r")
            return [read_elem(group[key]) for key in keys]
        with h5py.File(path) as file:
            return [read_elem(file["mod/rna" if table == "h5mu" else "/"][key]) for key in keys]


def zarr(path: Path) -> Iterator[Reading]:
    import zarr as z
    from anndata.io import read_elem, read_zarr

    try:
        yield from _annotated(read_zarr(path))
    except Exception:
        group = z.open_group(str(path), mode="r")
        yield from _parts(read_elem(group["X"]), read_elem(group["obs"]), read_elem(group["var"]))


def tenx(path: Path) -> Iterator[Reading]:
    from scipy.io import mmread

    home = path if path.is_dir() else path.parent

    def content(*names: str) -> bytes:
        for name in names:
            if (home / name).exists():
                return _decompressed(home / name)
        raise FileNotFoundError(names)

    X = mmread(io.BytesIO(content("matrix.mtx", "matrix.mtx.gz"))).toarray()
    rows = content("features.tsv", "features.tsv.gz").decode().splitlines()
    names = [row.split("\t") for row in rows]
    yield from _named(names, X.astype(float))


def _named(names: list[list[str]], X: np.ndarray) -> Iterator[Reading]:
    if len(names) != len(X):
        raise ValueError("names")
    for at in range(min(map(len, names))):
        yield Reading([name[at] for name in names], X)


def tenx_h5(path: Path) -> Iterator[Reading]:
    import h5py
    from scipy.sparse import csc_matrix

    with h5py.File(path) as file:
        group = next(file[k] for k in file if "indptr" in file[k])
        shape = tuple(int(v) for v in group["shape"][:])
        parts = tuple(group[k][:] for k in ("data", "indices", "indptr"))
        matrix = csc_matrix(parts, shape=shape)
        matrix.check_format(full_check=True)
        features = group["features"]
        names = [features[k][:].astype(str).tolist() for k in ("id", "name")]
        yield from _named([list(n) for n in zip(*names)], matrix.toarray().astype(float))


READERS: dict[str, Callable[[Path], Iterator[Reading]]] = {
    "text": text,
    "gct": gct,
    "series": series,
    "parquet": parquet,
    "feather": feather,
    "h5ad": h5ad,
    "h5mu": h5mu,
    "zarr": zarr,
    "10x": tenx,
    "10x-h5": tenx_h5,
    "xlsx": xlsx,
    "rds": rds,
}


def readings(table: str, path: Path) -> tuple[list[Reading], str]:
    """Return what a file holds, and why it cannot be read if it holds nothing."""
    found: list[Reading] = []
    try:
        found.extend(READERS[table](path))
    except Exception as error:
        return found, f"{type(error).__name__}: {error}"
    return found, "" if found else "nothing"


# ---- labels, weights, similarities ---------------------------------------------------------------


def column(path: Path, name: str | None) -> dict[str, str]:
    """Return a column of a table by the first one; rows without a value are left out."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        table = pq.ParquetFile(path).read()
        head = table.column_names
        rows = [list(row) for row in zip(*(table.column(i).to_pylist() for i in range(len(head))))]
        rows = [["" if v is None else str(v) for v in row] for row in rows]
    else:
        content = _decoded(_decompressed(path))
        for delimiter in ",\t; ":
            head, *rows = [row for row in _split(content, delimiter) if row]
            if len(head) > 1 and (name is None or name in [h.strip() for h in head]):
                break
        else:
            raise ValueError("no such column")
        head = [h.strip(BLANKS) for h in head]
    at = head.index(name) if name else 1
    found: dict[str, str] = {}
    for row in rows:
        if len(row) != len(head):
            raise ValueError("rows of several lengths")
        if row[at].strip() in MISSING:
            continue
        if found.setdefault(row[0].strip(BLANKS), row[at].strip(BLANKS)) != row[at].strip(BLANKS):
            raise ValueError("two values")
    return found


def similarity(path: Path, samples: list[str]) -> np.ndarray:
    """Return the similarity of some samples."""
    from scipy.sparse import load_npz

    ids: list[str] | None = None
    columns = None
    if path.suffix == ".npy":
        S = np.load(path, allow_pickle=False)
    elif path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as arrays:
            ids = [str(i) for i in arrays["samples"].tolist()] if "samples" in arrays else None
            dense = arrays.get("dense")
        if dense is None:
            stored = load_npz(path)
            if hasattr(stored, "check_format"):
                stored.check_format(full_check=True)
            dense = stored.astype(float).toarray()  # not of every type
        S = dense
    else:
        if path.suffix == ".parquet":
            import pyarrow.parquet as pq

            found = pq.ParquetFile(path).read().to_pandas(ignore_metadata=True)
            ids, columns = [str(v) for v in found.iloc[:, 0]], [str(c) for c in found.columns[1:]]
            S = found.iloc[:, 1:].to_numpy(float)
        else:
            content = _decoded(_decompressed(path))
            for delimiter in ",\t; ":
                head, *rows = _split(content, delimiter)
                if len(head) > 1:
                    break
            ids = [row[0].strip(BLANKS) for row in rows]
            S = np.array([[_number(v) for v in row[1:]] for row in rows])
            columns = [h.strip(BLANKS) for h in head[-S.shape[1] :]]
    S = np.asarray(S, float)
    if ids is None:
        if S.shape != (len(samples),) * 2:
            raise ValueError("shape")
        return S
    for names in (ids, columns or ids):
        if len(set(names)) < len(names):
            raise ValueError("repeated")
    rows_at = [ids.index(s) for s in samples]
    columns_at = [(columns or ids).index(s) for s in samples]
    return S[np.ix_(rows_at, columns_at)]
