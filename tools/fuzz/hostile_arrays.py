"""Hostile arrays: npy and npz, HDF5, Parquet and Feather, stores."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tools.fuzz.cases import Case, write_files
from tools.fuzz.hostile_words import (
    NAMES,
    RANK,
    TOO_MUCH,
    npy_header,
    npy_of,
    write_made,
    zip_of,
)
from tools.fuzz.oracle import REFUSED
from tools.fuzz.seeds import COMPANIONS, Files
from tools.fuzz.study import FEATURES, SAMPLES, M, graph, values


def in_arrays() -> Iterator[Case]:
    spec = "rank clean.csv --method spec --similarity-file {}"
    S = graph()
    plain = {
        "objects": lambda: npy_of(np.array([{"a": 1}] * 3, dtype=object)),
        "a pickle that runs": lambda: npy_header(
            "(1,)", "'|O'", b"cos\nsystem\n(S'touch pwned'\ntR."
        ),
        "complex": lambda: npy_of(S.astype(complex)),
        "text": lambda: npy_of(S.astype("U8")),
        "bool": lambda: npy_of(S > 0.5),
        "int8": lambda: npy_of((S * 100).astype("i1")),
        "float16": lambda: npy_of(S.astype("f2")),
        "big-endian": lambda: npy_of(S.astype(">f8")),
        "Fortran order": lambda: npy_of(np.asfortranarray(S)),
        "records": lambda: npy_of(np.zeros(12, dtype=[("a", "f8"), ("b", "f8")])),
        "times": lambda: npy_of(np.zeros((12, 12), "M8[s]")),
        "a scalar": lambda: npy_of(np.array(3.0)),
        "one axis": lambda: npy_of(S[0]),
        "three axes": lambda: npy_of(S[None]),
        "no rows": lambda: npy_of(np.zeros((0, 12))),
        "11 samples": lambda: npy_of(S[:11, :11]),
        "not square": lambda: npy_of(S[:11]),
        "NaN": lambda: npy_of(_changed(S, np.nan)),
        "inf": lambda: npy_of(_changed(S, np.inf)),
        "1e308": lambda: npy_of(_changed(S, 1e308)),
        "negative": lambda: npy_of(_changed(S, -1.0)),
        "subnormal": lambda: npy_of(S * 1e-315),
        "all 1e308": lambda: npy_of(np.full((12, 12), 1e308)),
        "zeros": lambda: npy_of(np.zeros((12, 12))),
        "identity": lambda: npy_of(np.eye(12)),
        "not symmetric": lambda: npy_of(np.triu(S)),
        "a negative shape": lambda: npy_header("(-12, 12)"),
        "a shape of 2^63": lambda: npy_header("(9223372036854775807, 12)"),
        "a shape that overflows": lambda: npy_header("(4294967296, 4294967296)"),
        "a shape of text": lambda: npy_header("('12', 12)"),
        "a shape of 40 axes": lambda: npy_header("(" + "1, " * 40 + ")"),
        "items of 2 GB": lambda: npy_header("(2,)", "'<U500000000'"),
        "a header of code": lambda: npy_header("__import__('os').system('touch pwned')"),
        "a header without end": lambda: b"\x93NUMPY\x01\x00\xff\xff{'descr': ",
        "version 9": lambda: npy_of(S).replace(b"NUMPY\x01", b"NUMPY\x09"),
    }
    for label, make in plain.items():
        right: dict[str, Any] = {
            "is_right": "similarity",
            "codes": TOO_MUCH if "2 GB" in label else REFUSED,
        }
        yield Case(
            f"npy: {label}",
            "similarity",
            spec.format("S.npy"),
            partial(write_made, {"S.npy": make}),
            **right,
        )
        yield Case(
            f"npz dense: {label}",
            "similarity",
            spec.format("S.npz"),
            partial(write_made, {"S.npz": partial(_npz_of, {"dense": make})}),
            **right,
        )
    for label, changes in {
        "an index of n": {"indices": (3, 12)},
        "an index of -1": {"indices": (3, -1)},
        "an index of 2^31-1": {"indices": (3, 2**31 - 1)},
        "an index of -2^31": {"indices": (0, -(2**31))},
        "a pointer of 10^6": {"indptr": (5, 10**6)},
        "a pointer of -1": {"indptr": (5, -1)},
        "a pointer that falls": {"indptr": (5, 0)},
        "a first pointer of 4": {"indptr": (0, 4)},
        "a last pointer of 10^9": {"indptr": (12, 10**9)},
        "a value of NaN": {"data": (3, np.nan)},
        "a value of 1e308": {"data": (3, 1e308)},
        "an index twice": {"indices": (1, 0)},
        "a shape of 10^9": {"shape": (0, 10**9)},
        "a shape of -12": {"shape": (0, -12)},
        "a shape of 5": {"shape": (1, 5)},
        "an index of 2^40": {"indices": (3, 2**40, "i8")},
        "an index of 2^63": {"indices": (3, 2**63, "u8")},
        "a pointer of 2^40": {"indptr": (5, 2**40, "i8")},
        "a last pointer of 2^63": {"indptr": (12, 2**63, "u8")},
        "indices of fractions": {"indices": (3, 2.5, "f8")},
        "pointers of fractions": {"indptr": (5, 2.5, "f8")},
        "indices of 16 bits": {"indices": (3, -1, "i2")},
        "a shape of 2^63": {"shape": (0, 2**63, "u8")},
        "no indices": {"indices": None},
        "no data": {"data": None},
        "no pointers": {"indptr": None},
        "no format": {"format": None},
    }.items():
        for kind in ("csr", "csc"):
            for command in (
                spec.format("S.npz"),
                "rank clean.csv --method msfs --source x=similarity:S.npz",
                "fuse clean.csv --source x=similarity:S.npz --source y=target: --out o.npz",
            ):
                yield Case(
                    f"{kind} npz: {label}",
                    "similarity",
                    command,
                    partial(write_made, {"S.npz": partial(_sparse, kind, changes)}),
                )


def _changed(S: np.ndarray, value: float) -> np.ndarray:
    S = S.copy()
    S[2, 3] = S[3, 2] = value
    return S


def _npz_of(arrays: Mapping[str, Callable[[], bytes]]) -> bytes:
    return zip_of({f"{name}.npy": make() for name, make in arrays.items()})


def _sparse(kind: str, changes: Mapping[str, Any]) -> bytes:
    from scipy import sparse

    S = sparse.csr_matrix(graph()).asformat(kind)
    arrays = {"indices": S.indices, "indptr": S.indptr, "data": S.data}
    arrays |= {"shape": np.array(S.shape), "format": np.array(kind.encode())}
    for name, change in changes.items():
        if change is None:
            del arrays[name]
        else:
            at, new, *as_type = change
            arrays[name] = arrays[name].astype(*as_type or [arrays[name].dtype])
            arrays[name][at] = new
    return zip_of({f"{name}.npy": npy_of(array) for name, array in arrays.items()})


def in_hdf5(seeds: Mapping[str, Files]) -> Iterator[Case]:
    import h5py

    def text(file: Any, name: str, new: Sequence[str]) -> None:
        old = dict(file[name].attrs)
        del file[name]
        file.create_dataset(name, data=np.array(new, dtype=object), dtype=h5py.string_dtype())
        file[name].attrs.update(old)

    def array(file: Any, name: str, new: Any) -> None:
        old = dict(file[name].attrs)
        del file[name]
        file[name] = new
        file[name].attrs.update(old)

    def huge(file: Any, name: str, shape: tuple[int, ...], kind: str = "f4") -> None:
        old = dict(file[name].attrs)
        del file[name]
        file.create_dataset(name, shape, kind, chunks=tuple(min(s, 1000) for s in shape))
        file[name].attrs.update(old)

    def changed(file: Any, name: str, at: int, new: Any) -> None:
        values = file[name][()]
        values[at] = new
        array(file, name, values)

    def link(file: Any, name: str, target: Any) -> None:
        del file[name]
        file[name] = target

    def stored_outside(file: Any, name: str, path: str) -> None:
        old, shape, kind = dict(file[name].attrs), file[name].shape, file[name].dtype
        del file[name]
        file.create_dataset(name, shape, kind, external=[(path, 0, h5py.h5f.UNLIMITED)])
        file[name].attrs.update(old)

    names = {
        f"name {label}": new
        for label, new in NAMES.items()
        if "\0" not in new and "\udc80" not in new
    }
    names |= {"a line end": "a\nb", "a tab": "a\tb"}
    for label, new in names.items():
        for part, ids in (("var", FEATURES), ("obs", SAMPLES)):
            yield _edited(
                f"h5ad {part}: {label}",
                seeds,
                "h5ad dense",
                "dense.h5ad",
                partial(text, name=f"{part}/_index", new=[ids[0], new, *ids[2:]]),
            )
    index = "obs/_index"
    of_dense: dict[str, Callable[[Any], None]] = {
        "X of 10 TB": partial(huge, name="X", shape=(12, 2**38)),
        "obs of 2^40": partial(huge, name=index, shape=(2**40,), kind="i8"),
        "all of 2^33": lambda f: (huge(f, "X", (12, 2**33)), huge(f, "var/_index", (2**33,), "i8")),
        "X of text": lambda f: array(f, "X", np.full((12, 18), "x", "S1")),
        "X of records": lambda f: array(f, "X", np.zeros((12, 18), [("a", "f8")])),
        "X complex": lambda f: array(f, "X", np.ones((12, 18), complex)),
        "X bool": lambda f: array(f, "X", np.eye(12, 18) > 0),
        "X int64 beyond 2^53": lambda f: array(f, "X", np.arange(216).reshape(12, 18) + 2**60),
        "X uint64": lambda f: array(f, "X", np.full((12, 18), 2**64 - 1, "u8")),
        "X float16": lambda f: array(f, "X", values().T.astype("f2")),
        "X big-endian": lambda f: array(f, "X", values().T.astype(">f4")),
        "X of one axis": lambda f: array(f, "X", np.arange(12.0)),
        "X of three axes": lambda f: array(f, "X", np.ones((12, 18, 1))),
        "X a scalar": lambda f: array(f, "X", 3.0),
        "X empty": lambda f: array(f, "X", h5py.Empty("f4")),
        "X of a transposed shape": lambda f: array(f, "X", values()),
        "X with 1e308": lambda f: changed(f, "X", (2, 3), 1e308),
        "X with inf": lambda f: changed(f, "X", (2, 3), np.inf),
        "X with NaN": lambda f: changed(f, "X", (2, 3), np.nan),
        "X a link to itself": partial(link, name="X", target=h5py.SoftLink("/X")),
        "X a link to the root": partial(link, name="X", target=h5py.SoftLink("/")),
        "X a link to nowhere": partial(link, name="X", target=h5py.SoftLink("/nowhere")),
        "X an external link": partial(link, name="X", target=h5py.ExternalLink("other.h5", "/X")),
        "X an external link to a device": partial(
            link, name="X", target=h5py.ExternalLink("/dev/zero", "/X")
        ),
        "obs a link to the root": partial(link, name="obs", target=h5py.SoftLink("/")),
        "X stored outside": partial(stored_outside, name="X", path="/etc/passwd"),
        "X stored in a device": partial(stored_outside, name="X", path="/dev/zero"),
        "no X": lambda f: f.__delitem__("X"),
        "no obs": lambda f: f.__delitem__("obs"),
        "no var index": lambda f: f.__delitem__("var/_index"),
        "index of another name": lambda f: f["var"].attrs.__setitem__("_index", "nope"),
        "index that is a number": lambda f: f["var"].attrs.__setitem__("_index", 7),
        "index that is an array": lambda f: f["var"].attrs.__setitem__("_index", np.arange(3)),
        "columns that are missing": lambda f: f["obs"].attrs.__setitem__(
            "column-order", np.array(["nope"], dtype=h5py.string_dtype())
        ),
        "columns that are numbers": lambda f: f["obs"].attrs.__setitem__(
            "column-order", np.arange(2)
        ),
        "another encoding": lambda f: f["X"].attrs.__setitem__("encoding-type", "awkward-array"),
        "another version": lambda f: f["X"].attrs.__setitem__("encoding-version", "99.0"),
        "an encoding that is a number": lambda f: f["X"].attrs.__setitem__("encoding-type", 3),
        "obs of an array": lambda f: array(f, "obs", np.arange(12)),
        "ids of numbers": lambda f: array(f, index, np.arange(12)),
        "ids of fractions": lambda f: array(f, index, np.arange(12) + 0.5),
        "ids of bytes that are no text": lambda f: array(
            f, index, np.array([b"\xff%d" % i for i in range(12)])
        ),
        "ids that are repeated": lambda f: text(f, index, ["s1"] * 12),
        "codes out of range": lambda f: changed(f, "obs/tissue/codes", 3, 99),
        "codes of -5": lambda f: changed(f, "obs/tissue/codes", 3, -5),
        "codes of another length": lambda f: array(f, "obs/tissue/codes", np.zeros(5, "i1")),
        "no categories": lambda f: f.__delitem__("obs/tissue/categories"),
        "categories that are repeated": lambda f: text(f, "obs/tissue/categories", ["a", "a", "b"]),
    }
    for label, edit in of_dense.items():
        for command in (
            RANK.format("dense.h5ad"),
            "rank dense.h5ad --method f-test --labels obs:tissue",
        ):
            yield _edited(f"h5ad: {label}", seeds, "h5ad dense", "dense.h5ad", edit, command)
    of_sparse: dict[str, Callable[[Any], None]] = {
        "an index of n": lambda f: changed(f, "X/indices", 3, 18),
        "an index of -1": lambda f: changed(f, "X/indices", 3, -1),
        "an index of 2^31-1": lambda f: changed(f, "X/indices", 3, 2**31 - 1),
        "an index twice": lambda f: changed(f, "X/indices", 1, f["X/indices"][0]),
        "indices out of order": lambda f: array(f, "X/indices", f["X/indices"][()][::-1].copy()),
        "indices of fractions": lambda f: array(f, "X/indices", f["X/indices"][()] + 0.5),
        "indices too short": lambda f: array(f, "X/indices", f["X/indices"][:5]),
        "a pointer of -1": lambda f: changed(f, "X/indptr", 3, -1),
        "a pointer that falls": lambda f: changed(f, "X/indptr", 3, 0),
        "a pointer of 10^12": lambda f: array(
            f, "X/indptr", np.where(np.arange(13) == 12, 10**12, f["X/indptr"][()])
        ),
        "a first pointer of 5": lambda f: changed(f, "X/indptr", 0, 5),
        "pointers too short": lambda f: array(f, "X/indptr", f["X/indptr"][:5]),
        "no pointers": lambda f: array(f, "X/indptr", np.zeros(0, "i4")),
        "a shape of 10^12": lambda f: f["X"].attrs.__setitem__("shape", np.array([12, 10**12])),
        "a shape of -1": lambda f: f["X"].attrs.__setitem__("shape", np.array([12, -1])),
        "a shape of one axis": lambda f: f["X"].attrs.__setitem__("shape", np.array([12])),
        "a shape of text": lambda f: f["X"].attrs.__setitem__("shape", "12"),
        "no shape": lambda f: f["X"].attrs.__delitem__("shape"),
        "no data": lambda f: f.__delitem__("X/data"),
        "data of 10 TB": lambda f: huge(f, "X/data", (2**41,)),
        "data of text": lambda f: array(f, "X/data", np.full(f["X/data"].shape, b"x")),
        "values of NaN": lambda f: changed(f, "X/data", 3, np.nan),
        "values of 1e308": lambda f: changed(f, "X/data", 3, 1e308),
        "stored as csc": lambda f: f["X"].attrs.__setitem__("encoding-type", "csc_matrix"),
    }
    for label, edit in of_sparse.items():
        for command in (
            RANK.format("csr.h5ad"),
            "convert csr.h5ad m.store && rank m.store --method variance",
            "rank csr.h5ad --method spec --similarity knn --neighbors 3",
        ):
            yield _edited(f"h5ad csr: {label}", seeds, "h5ad csr", "csr.h5ad", edit, command)


def _edited(
    name: str,
    seeds: Mapping[str, Files],
    seed: str,
    path: str,
    edit: Callable[[Any], Any],
    command: str = "",
) -> Case:
    is_right = "variance" if "variance" in (command or "variance") else "valid"
    return Case(
        name,
        "h5ad",
        command or RANK.format(path),
        partial(_write_edited, seeds[seed], path, edit),
        is_right,
        "h5ad",
        TOO_MUCH if "TB" in name or "2^" in name else REFUSED,
    )


def _write_edited(files: Files, path: str, edit: Callable[[Any], Any], folder: Path) -> None:
    import h5py

    write_files(files, folder)
    write_files({"other.h5": files[path]}, folder)
    with h5py.File(folder / path, "r+") as file:
        edit(file)


def in_tables() -> Iterator[Case]:
    """Parquet and Feather: metadata of pandas, types and names of columns."""
    metadata = {
        "no JSON": b"{",
        "a list": b"[]",
        "a number": b"7",
        "null": b"null",
        "not UTF-8": b"\xff\xfe",
        "deep": b"[" * 20_000,
        "index of a number": b'{"index_columns": 3}',
        "index null": b'{"index_columns": null}',
        "index unknown": b'{"index_columns": ["nope"]}',
        "index a mapping": b'{"index_columns": [{"kind": "range", "start": 0, "step": 0}]}',
        "index of lists": b'{"index_columns": [[1]]}',
        "columns a mapping": b'{"index_columns": ["id"], "columns": {}}',
        "columns of numbers": b'{"index_columns": ["id"], "columns": [1, 2]}',
        "columns null": b'{"index_columns": ["id"], "columns": [null]}',
        "names that are numbers": b'{"index_columns": ["id"], "columns": [{"name": 1}]}',
        "types that are none": b'{"index_columns": ["id"], "columns": [{"name": "id", "field_name":'
        b' "id", "pandas_type": "x", "numpy_type": "object", "metadata": 3}], "column_indexes": 3}',
        "two indices": b'{"index_columns": ["id", "s1"], "columns": []}',
        "the index twice": b'{"index_columns": ["id", "id"], "columns": []}',
    }
    for suffix in ("parquet", "feather"):
        for label, content in metadata.items():
            yield _table_case(
                f"{suffix}: pandas metadata: {label}", suffix, partial(_with_metadata, content)
            )
        for label in _COLUMNS:
            yield _table_case(f"{suffix}: {label}", suffix, partial(_with_column, label))
        for label, new in NAMES.items():
            if "\udc80" not in new:
                yield _table_case(f"{suffix}: name {label}", suffix, partial(_with_name, new))


def _table_case(name: str, suffix: str, change: Callable[[Any], Any]) -> Case:
    return Case(
        name,
        suffix,
        RANK.format(f"m.{suffix}"),
        partial(_write_table, suffix, change),
        "variance",
        suffix,
    )


def _write_table(suffix: str, change: Callable[[Any], Any], folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow import feather

    table = change(
        pa.table({"id": FEATURES} | dict(zip(SAMPLES, np.ascontiguousarray(values().T))))
    )
    write_files(COMPANIONS, folder)
    (pq.write_table if suffix == "parquet" else feather.write_feather)(
        table, folder / f"m.{suffix}"
    )


def _with_metadata(content: bytes, table: Any) -> Any:
    return table.replace_schema_metadata({b"pandas": content})


def _with_name(new: str, table: Any) -> Any:
    import pyarrow as pa

    return table.set_column(0, "id", pa.array([FEATURES[0], new, *FEATURES[2:]]))


def _columns() -> dict[str, Callable[[Any], Any]]:
    import datetime
    import decimal

    import pyarrow as pa

    x = values()[:, 0].tolist()
    return {
        "a column of lists": lambda: pa.array([[v] for v in x]),
        "a column of structs": lambda: pa.array([{"a": v} for v in x]),
        "a column of text": lambda: pa.array(map(str, x)),
        "a column of decimals": lambda: pa.array([decimal.Decimal(str(v)) for v in x]),
        "a column of huge decimals": lambda: pa.array(
            [decimal.Decimal(10) ** 60] * M, pa.decimal256(70, 0)
        ),
        "a column of dates": lambda: pa.array([datetime.date(2024, 1, 1)] * M),
        "a column of times": lambda: pa.array([datetime.datetime(2024, 1, 1)] * M),
        "a column of bytes": lambda: pa.array([b"1"] * M),
        "a column of nulls": lambda: pa.nulls(M),
        "a column of bool": lambda: pa.array([True, False] * (M // 2)),
        "a column of float16": lambda: pa.array(np.array(x, "f2")),
        "a column of int64": lambda: pa.array([2**60 + i for i in range(M)]),
        "a column of uint64": lambda: pa.array([2**64 - 1 - i for i in range(M)], pa.uint64()),
        "a dictionary of numbers": lambda: pa.array(x).dictionary_encode(),
        "a dictionary of text": lambda: pa.array(map(str, x)).dictionary_encode(),
        "a column with a gap": lambda: pa.array([None, *x[1:]]),
        "a column with NaN": lambda: pa.array([np.nan, *x[1:]]),
        "a column with inf": lambda: pa.array([np.inf, *x[1:]]),
        "a column with 1e308": lambda: pa.array([1e308, *x[1:]]),
    }


_COLUMNS = (
    *("a column of lists", "a column of structs", "a column of text", "a column of decimals"),
    *("a column of huge decimals", "a column of dates", "a column of times", "a column of bytes"),
    *("a column of nulls", "a column of bool", "a column of float16", "a column of int64"),
    *("a column of uint64", "a dictionary of numbers", "a dictionary of text"),
    *("a column with a gap", "a column with NaN", "a column with inf", "a column with 1e308"),
)


def _with_column(label: str, table: Any) -> Any:
    return table.set_column(2, "s2", _columns()[label]())


def in_stores(seeds: Mapping[str, Files]) -> Iterator[Case]:
    """Stores whose parts fit their manifest no longer, or whose manifest lies."""
    variance = RANK.format("m.store")

    def case(
        kind: str, label: str, edit: Callable[[Files], Files], is_right: str = "same"
    ) -> Iterator[Case]:
        files = seeds[f"store {kind}"]
        for command in (variance, "rank m.store --method spec --similarity knn --neighbors 3"):
            yield Case(
                f"store {kind}: {label}",
                "store",
                command,
                partial(_write_store, files, edit),
                is_right,
                undamaged=partial(write_files, files),
                codes=REFUSED,
            )

    for key, odd in {
        "n_features": (0, -1, 17, 19, 2**40, "18", None, 18.5, True, 10**30),
        "n_samples": (0, -1, 11, 13, 2**40, "12", None, 12.5),
        "dtype": ("float16", "int32", "<f4", "object", "", None, 7, "float64"),
        "sparse": (True, False, None, "yes", 1),
        "missing": (
            None,
            [],
            {"values": -1},
            {"values": "x"},
            {"values": 5, "features": 1, "places": 3},
            {"values": 1, "features": 1, "places": [["gene1"]]},
        ),
        "files": (None, [], {}, {"values.bin": {}}, {"values.bin": {"bytes": -1}}),
        "source": (None, [], "x", {"path": 3}),
        "version": (0, 2, "1", None, 10**30),
        "format": ("x", None, ["sfs-store"]),
        "unknown": (1,),
    }.items():
        for value in odd:
            for kind in ("dense", "sparse"):
                yield from list(
                    case(kind, f"{key} = {value!r:.40}", partial(_manifest, key, value))
                )[:1]
    for kind, name, width in (
        ("dense", "values.bin", 4),
        ("sparse", "data.bin", 4),
        ("sparse", "indices.bin", 4),
        ("sparse", "indptr.bin", 8),
    ):
        for label, change in {
            "one bit": lambda b: b[:22] + bytes([b[22] ^ 1]) + b[23:],
            "the sign of a value": lambda b: b[:27] + bytes([b[27] ^ 128]) + b[28:],
            "zeros": lambda b: bytes(len(b)),
            "ones": lambda b: b"\xff" * len(b),
            "two values exchanged": lambda b, w=width: (
                b[:w] + b[2 * w : 3 * w] + b[w : 2 * w] + b[3 * w :]
            ),
            "reversed": lambda b, w=width: b"".join(
                b[i : i + w] for i in range(len(b) - w, -1, -w)
            ),
            "cut": lambda b: b[:-4],
            "longer": lambda b: b + bytes(8),
            "nothing": lambda b: b"",
        }.items():
            yield from case(kind, f"{name}: {label}", partial(_part, name, change))
    for at, new in ((0, -1), (3, 12), (3, 2**31 - 1), (3, -(2**31))):
        yield from case(
            "sparse", f"index {new}", partial(_part, "indices.bin", partial(_word, at, new, 4))
        )
    for at, new in ((0, 3), (3, -1), (3, 2**40), (5, 0), (18, 10**6)):
        yield from case(
            "sparse", f"pointer {new}", partial(_part, "indptr.bin", partial(_word, at, new, 8))
        )
    for part in ("features.parquet", "samples.parquet"):
        for label, change in {
            "cut": lambda b: b[:-20],
            "one bit": lambda b: b[:40] + bytes([b[40] ^ 4]) + b[41:],
            "nothing": lambda b: b"",
            "another table": lambda b: seeds["parquet"]["m.parquet"],
        }.items():
            yield from case("dense", f"{part}: {label}", partial(_part, part, change))
    yield from case("dense", "features and samples exchanged", _exchanged)


def _write_store(files: Files, edit: Callable[[Files], Files], folder: Path) -> None:
    write_files(edit(dict(files)), folder)


def _manifest(key: str, value: Any, files: Files) -> Files:
    name = "m.store/manifest.json"
    return files | {name: json.dumps(json.loads(files[name]) | {key: value}).encode()}


def _part(name: str, change: Callable[[bytes], bytes], files: Files) -> Files:
    path = f"m.store/{name}"
    return files | {path: change(files[path])}


def _word(at: int, new: int, width: int, data: bytes) -> bytes:
    return (
        data[: at * width] + new.to_bytes(width, "little", signed=True) + data[(at + 1) * width :]
    )


def _exchanged(files: Files) -> Files:
    a, b = "m.store/features.parquet", "m.store/samples.parquet"
    return files | {a: files[b], b: files[a]}
