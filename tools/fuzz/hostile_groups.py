"""Hostile groups of HDF5 and Zarr: circles of links, ids that are no texts, pointers that lie.

The same attacks for every format that is read from groups, and names of megabytes in each format
that has them as one piece.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tools.fuzz.cases import Case, write_files
from tools.fuzz.hostile_words import MUST_FAIL, RANK, TOO_MUCH, write_made
from tools.fuzz.oracle import REFUSED
from tools.fuzz.seeds import Files

Change = Callable[[Any], Any]
_RNA = "mod/rna"
# seed, file, where its AnnData is, group of the matrix, group for circles, ids and other ids; all
# within that AnnData
_PLACES = (
    ("h5ad csr", "csr.h5ad", "", "X", "obs", "obs/_index", "var/_index"),
    ("h5ad csc", "csc.h5ad", "", "X", "var", "obs/_index", "var/_index"),
    ("h5mu", "m.h5mu", "rna", "X", "obs", "obs/_index", "var/_index"),
    ("zarr 2", "m2.zarr", "", "X", "", "obs/_index", "var/_index"),
    ("zarr 3", "m3.zarr", "", "X", "", "obs/_index", "var/_index"),
    ("10x h5", "m.h5", "", "matrix", "matrix/features", "matrix/barcodes", "matrix/features/name"),
)
_LONG = 20_000_000


def in_groups(seeds: Mapping[str, Files]) -> Iterator[Case]:
    """Attacks on links, ids and sparse matrices."""
    for seed, path, modality, *places in _PLACES:
        matrix = f"{path}:{modality}" if modality else path
        sparse, group, *ids = (f"mod/{modality}/{p}" if modality else p for p in places)
        # groups of Zarr are folders, and its ids texts of one kind: attacks of their own are paths
        changes = {**_circles(group), **_ids(ids)} if group else _texts(ids)
        for label, change in {**changes, **_pointers(sparse)}.items():
            yield _case(seed, path, matrix, f"{seed}: {label}", change, seeds)


def long_names() -> Iterator[Case]:
    """Names of 20 MB in tables of Arrow, which unpack to gigabytes."""
    for suffix in ("parquet", "feather"):
        for one_name in (False, True):
            yield Case(
                f"bomb: {suffix}, {'one name' if one_name else 'names'} of 20 MB",
                "bombs",
                RANK.format(f"m.{suffix}"),
                partial(write_made, {f"m.{suffix}": partial(_long, suffix, one_name)}),
                codes=MUST_FAIL,
                apart=True,
            )


def _case(
    seed: str, path: str, matrix: str, name: str, change: Change, seeds: Mapping[str, Files]
) -> Case:
    prepare = partial(_write, seeds[seed], path, change)
    codes = TOO_MUCH if "2^" in name else REFUSED
    format = "zarr" if path.endswith(".zarr") else "h5ad"
    return Case(name, format, RANK.format(matrix), prepare, "valid", codes=codes)


def _write(files: Files, path: str, change: Change, folder: Path) -> None:
    import h5py

    write_files(files, folder)
    if path.endswith(".zarr"):
        import zarr

        change(zarr.open_group(folder / path, mode="r+", use_consolidated=False))
        for old in ("zarr.json", ".zmetadata"):  # which hold the metadata of all arrays once more
            _forget_consolidated(folder / path / old)
        return
    with h5py.File(folder / path, "r+") as file:
        change(file)


def _forget_consolidated(path: Path) -> None:
    if path.name == ".zmetadata":
        path.unlink(missing_ok=True)
    elif path.exists():
        held = json.loads(path.read_bytes())
        held.pop("consolidated_metadata", None)
        path.write_text(json.dumps(held))


def _circles(group: str) -> dict[str, Change]:
    import h5py

    def put(file: Any, name: str, target: Any) -> None:
        if name in file:
            del file[name]
        file[name] = target

    soft = h5py.SoftLink
    return {
        "a hard circle": lambda f: put(f, f"{group}/circle", f[group]),
        "two hard circles": lambda f: [put(f, f"{group}/{i}", f[group]) for i in range(2)],
        "a soft circle": lambda f: put(f, f"{group}/circle", soft(f"/{group}")),
        "a circle of two links": lambda f: (
            put(f, f"{group}/a", soft(f"/{group}/b")),
            put(f, f"{group}/b", soft(f"/{group}/a")),
        ),
        "a link to the root": lambda f: put(f, f"{group}/root", f["/"]),
        "a group that is the root": lambda f: put(f, group, f["/"]),
        "a group that is itself": lambda f: put(f, group, soft(f"/{group}")),
    }


def _ids(names: list[str]) -> dict[str, Change]:
    import h5py

    def reset(file: Any, name: str, make: Callable[[Any, int], dict[str, Any]]) -> None:
        old, count = dict(file[name].attrs), len(file[name])
        made = make(file, count)
        del file[name]
        file.create_dataset(name, **made)
        file[name].attrs.update(old)

    odd: dict[str, Callable[[Any, int], dict[str, Any]]] = {
        "references": lambda f, n: {"data": [f.ref] * n, "dtype": h5py.ref_dtype},
        "integers": lambda _, n: {"data": np.arange(n)},
        "fractions": lambda _, n: {"data": np.arange(n) / 2},
        "records": lambda _, n: {"data": np.zeros(n, [("a", "i4"), ("b", "f4")])},
        "lists": lambda _, n: {"shape": (n,), "dtype": h5py.vlen_dtype(np.int32)},
        "lists of references": lambda _, n: {
            "shape": (n,),
            "dtype": h5py.vlen_dtype(h5py.ref_dtype),
        },
        "opaque bytes": lambda _, n: {"data": np.zeros(n, "V8")},
        "nothing": lambda _, n: {"data": h5py.Empty("S4")},
        "one text": lambda _, n: {"data": b"g1"},
        "a table of texts": lambda _, n: {"data": np.full((n, 2), b"g")},
        "texts of 20 MB": lambda _, n: {
            "data": ["x" * _LONG + str(i) if i < 4 else str(i) for i in range(n)],
            "dtype": h5py.string_dtype(),
        },
        "texts of 2^31 bytes": lambda _, n: {"shape": (n,), "dtype": f"S{2**31 - 1}"},
    }
    return {
        f"{name} of {label}": partial(reset, name=name, make=make)
        for name in names
        for label, make in odd.items()
    }


def _texts(names: list[str]) -> dict[str, Change]:
    """Return attacks on ids of Zarr: numbers, tables, and texts of megabytes."""

    def reset(file: Any, name: str, make: Callable[[int], np.ndarray]) -> None:
        old, count = dict(file[name].attrs), file[name].shape[0]
        del file[name]
        file[name] = make(count)
        file[name].attrs.update(old)

    odd: dict[str, Callable[[int], np.ndarray]] = {
        "integers": np.arange,
        "fractions": lambda n: np.arange(n) / 2,
        "none": lambda _: np.array([], np.dtypes.StringDType()),
        "a table of texts": lambda n: np.full((n, 2), "g", np.dtypes.StringDType()),
        "texts of 20 MB": lambda n: np.array(
            ["x" * _LONG + str(i) if i < 4 else str(i) for i in range(n)],
            dtype=np.dtypes.StringDType(),
        ),
    }
    return {
        f"{name} of {label}": partial(reset, name=name, make=make)
        for name in names
        for label, make in odd.items()
    }


def _pointers(group: str) -> dict[str, Change]:
    def array(file: Any, name: str, change: Callable[[np.ndarray], np.ndarray]) -> None:
        if hasattr(file[group], "shape"):  # dense
            _make_sparse(file, group)
        old, values = dict(file[name].attrs), file[name][()]
        del file[name]
        file[name] = change(values)
        file[name].attrs.update(old)

    def put(at: int, new: int, kind: str, values: np.ndarray) -> np.ndarray:
        changed = values.astype(kind)
        changed[at] = np.array(new).astype(kind)
        return changed

    found: dict[str, Change] = {}
    for part in ("indptr", "indices"):
        for kind in ("i4", "i8", "u4", "u8"):
            top = np.iinfo(kind).max
            for label, at, new in (
                ("the largest", 3, int(top)),
                ("-1", 3, -1 if kind[0] == "i" else int(top) - 1),
                ("a first of 5", 0, 5),
                ("a last of 10^9", -1, 10**9),
                ("a last of 0", -1, 0),
            ):
                change = partial(put, at, new, kind)
                found[f"{part} ({kind}): {label}"] = partial(
                    array, name=f"{group}/{part}", change=change
                )
        others: dict[str, Callable[[np.ndarray], np.ndarray]] = {
            "fractions": lambda values: values + 0.5,
            "turned round": lambda values: values[::-1].copy(),
            "none": lambda values: values[:0],
            "two axes": lambda values: values[None],
            "bool": lambda values: values > 0,
        }
        for label, other in others.items():
            found[f"{part}: {label}"] = partial(array, name=f"{group}/{part}", change=other)
    return found


def _make_sparse(file: Any, name: str) -> None:
    from anndata.io import write_elem
    from scipy import sparse

    values = sparse.csr_matrix(file[name][()])
    parent, _, key = name.rpartition("/")
    del file[name]
    write_elem(file[parent] if parent else file, key, values)  # AnnData refuses keys with slashes


def _long(suffix: str, one_name: bool) -> bytes:
    import pyarrow as pa
    import pyarrow.ipc
    import pyarrow.parquet as pq

    n = 100 if one_name else 30
    if one_name:
        names = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), ["x" * _LONG])
    else:
        bounds = pa.py_buffer(np.arange(n + 1) * _LONG)
        letters = pa.py_buffer(b"x" * (n * _LONG))
        names = pa.Array.from_buffers(pa.large_string(), n, [None, bounds, letters])
    table = pa.table({"gene": names, "a": np.arange(n, dtype="f4"), "b": np.ones(n, "f4")})
    out = pa.BufferOutputStream()
    if suffix == "parquet":
        pq.write_table(
            table,
            out,
            compression="zstd",
            use_dictionary=["gene"] if one_name else False,
            dictionary_pagesize_limit=1 << 30,
        )
    else:
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.ipc.new_file(out, table.schema, options=options) as writer:
            writer.write_table(table)
    return out.getvalue().to_pybytes()
