"""Objects that are no matrix, or a broken one: an error that says what is taken, never a crash.

SciPy follows the pointers of a sparse matrix out of its memory, so that what is done with broken
ones is done in a process of its own, which prints what came of each.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import anndata as ad
import mudata
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

import sfs_cli as sfs
from sfs_cli.errors import InputError
from sfs_cli.io.matrix.stored import check_sparse
from sfs_cli.sklearn import MultiSourceSelector, SpectralSelector

N, M = 60, 40
RNG = np.random.default_rng(0)
X = (RNG.random((N, M)) < 0.4) * RNG.random((N, M))
S = X @ X.T
LABELS = np.repeat(["a", "b"], N // 2)


def _at(name: str, place: Any, value: int) -> Callable[[Any], None]:
    def change(matrix: Any) -> None:
        array = getattr(matrix, name).copy()
        array[place] = value
        setattr(matrix, name, array)

    return change


def _made(name: str, change: Callable[[Any], Any]) -> Callable[[Any], None]:
    return lambda matrix: setattr(matrix, name, change(getattr(matrix, name)))


BREAKS: dict[str, Callable[[Any], None]] = {
    "a pointer that falls": _at("indptr", 5, 0),
    "pointers beyond the data": _made("indptr", lambda a: a + (np.arange(len(a)) > 3) * 10**8),
    "a pointer below zero": _at("indptr", 3, -(10**8)),
    "a first pointer below zero": _at("indptr", 0, -(10**7)),
    "a last pointer beyond": _at("indptr", -1, 10**9),
    "pointers too short": _made("indptr", lambda a: a[:-9]),
    "pointers too long": _made("indptr", lambda a: np.append(a, a[-1:])),
    "no pointers": _made("indptr", lambda a: a[:0]),
    "an index out of range": _at("indices", 7, 10**9),
    "an index below zero": _at("indices", 7, -(10**9)),
    "indices too short": _made("indices", lambda a: a[:-9]),
    "values too short": _made("data", lambda a: a[:-9]),
    "indices of fractions": _made("indices", lambda a: a.astype(float)),
    "pointers of fractions": _made("indptr", lambda a: a.astype(float)),
    "pointers of objects": _made("indptr", lambda a: a.astype(object)),
    "pointers of uint64": _made("indptr", lambda a: a.astype(np.uint64)),
    "pointers of None": _made("indptr", lambda a: None),
    "indices of two axes": _made("indices", lambda a: a[None]),
    "values of objects": _made("data", lambda a: a.astype(object)),
    "values of text": _made("data", lambda a: a.astype(str)),
    "complex values": _made("data", lambda a: a.astype(complex)),
    "another shape": lambda matrix: setattr(matrix, "_shape", (N * 100, M * 100)),
}


def broken(how: str, kind: str, values: np.ndarray = X) -> Any:
    matrix = getattr(sp, kind)(values)
    BREAKS[how](matrix)
    return matrix


def _adata(**parts: dict[str, Any]) -> ad.AnnData:
    adata = ad.AnnData(X.copy())
    for part, members in parts.items():
        for name, value in members.items():
            getattr(adata, part)._data[name] = value  # anndata itself looks at shapes alone
    return adata


def _with_x(matrix: Any) -> ad.AnnData:
    adata = ad.AnnData(sp.csr_matrix(X))
    if hasattr(adata, "_X"):
        adata._X = matrix
    else:  # since anndata 0.13 X is the layer without a name
        adata.layers._data[None] = matrix
    assert adata.X is matrix
    return adata


PLACES: dict[str, Callable[[str], Any]] = {
    "csr_matrix": lambda how: sfs.rank(broken(how, "csr_matrix"), method="variance"),
    "csc_matrix": lambda how: sfs.rank(broken(how, "csc_matrix"), method="variance"),
    "csr_array": lambda how: sfs.rank(broken(how, "csr_array"), method="variance"),
    "csc_array": lambda how: sfs.rank(broken(how, "csc_array"), method="variance"),
    "features in rows": lambda how: sfs.rank(
        broken(how, "csr_array"), method="variance", rows="features"
    ),
    "X": lambda how: sfs.rank(_with_x(broken(how, "csr_matrix")), method="variance"),
    "X of a view": lambda how: sfs.rank(_with_x(broken(how, "csr_matrix"))[::2], method="variance"),
    "a layer": lambda how: sfs.rank(
        _adata(layers={"l": broken(how, "csc_matrix")}), method="variance", layer="l"
    ),
    "a layer that is not read": lambda how: sfs.rank(
        _adata(layers={"l": broken(how, "csr_matrix")})[::2], method="variance"
    ),
    "obsp": lambda how: sfs.rank(
        _adata(obsp={"g": broken(how, "csr_matrix", S)}), similarity="obsp:g"
    ),
    "obsm": lambda how: sfs.rank(
        _adata(obsm={"g": broken(how, "csr_array")}), similarity="knn", coordinates="obsm:g"
    ),
    "MuData": lambda how: sfs.rank(
        mudata.MuData({"a": _with_x(broken(how, "csr_matrix")), "b": ad.AnnData(X)}),
        modality="b",
        method="variance",
    ),
    "similarity": lambda how: sfs.rank(X, similarity=broken(how, "csr_matrix", S)),
    "coordinates": lambda how: sfs.rank(X, similarity="knn", coordinates=broken(how, "csc_matrix")),
    "a source": lambda how: sfs.rank(X, source={"p": broken(how, "csr_matrix")}, method="msfs"),
    "an AnnData as source": lambda how: sfs.fuse(
        X, source={"p": _with_x(broken(how, "csr_matrix"))}
    ),
    "labels": lambda how: sfs.rank(X, labels=broken(how, "csr_array", X[:, :1]), method="fisher"),
    "evaluate": lambda how: sfs.evaluate(
        broken(how, "csr_matrix"), method="variance", labels=LABELS
    ),
    "compare": lambda how: sfs.compare(broken(how, "csc_matrix"), ["variance"], labels=LABELS),
    "fit": lambda how: SpectralSelector(5).fit(broken(how, "csr_matrix")),
    "transform": lambda how: SpectralSelector(5).fit(X).transform(broken(how, "csr_matrix")),
    "inverse_transform": lambda how: (
        SpectralSelector(M).fit(X).inverse_transform(broken(how, "csr_matrix"))
    ),
    "sources of a selector": lambda how: MultiSourceSelector(5).fit(
        X, sources={"p": broken(how, "csr_matrix")}
    ),
}


def _all(every: int) -> None:
    """Print what came of every k-th case, each before the next is begun."""
    for at, (place, call) in enumerate(PLACES.items()):
        for how in list(BREAKS)[at % min(every, len(BREAKS)) :: every]:
            print(json.dumps([place, how]), flush=True)
            try:
                call(how)
                told = "taken"
            except ValueError as error:
                told = f"{type(error).__name__}: {error}"
            except Exception as error:
                told = f"RAW {type(error).__name__}: {error}"
            print(json.dumps(told), flush=True)


@cache
def _outcomes(every: int) -> dict[str, dict[str, str]]:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-W", "ignore", "-m", "tests.api.test_broken_objects", str(every)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=600)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line[:1] in '["']
    assert done.returncode == 0, f"{done.returncode} at {lines[-1]}: {done.stderr[-2000:]}"
    found: dict[str, dict[str, str]] = {place: {} for place in PLACES}
    for (place, how), told in zip(lines[::2], lines[1::2], strict=True):
        found[place][how] = told
    return found


@pytest.mark.parametrize("every", [32, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("place", PLACES)
def test_a_broken_sparse_matrix_is_refused(place: str, every: int) -> None:
    own = not place.endswith("transform") and place not in ("fit", "sources of a selector")
    outcomes = _outcomes(every)[place]
    assert len(outcomes) >= max(1, len(BREAKS) // every)
    for how, told in outcomes.items():
        start = "WrongInputError: " if own else ("WrongInputError: ", "ValueError: ")
        assert told.startswith(start), f"{how}: {told}"  # type: ignore[arg-type]
        assert any(word in told for word in ("damaged", "of type", "axes", "incorrect shape")), (
            f"{how}: {told}"
        )


@pytest.mark.parametrize("kind", ["coo", "dia", "bsr", "lil", "dok", "csr", "csc"])
@pytest.mark.parametrize("make", ["array", "matrix"])
def test_every_format_is_looked_at(kind: str, make: str) -> None:
    matrix = getattr(sp, f"{kind}_{make}")(X)
    check_sparse(matrix, "x")
    if kind == "coo":
        matrix.row = matrix.row.copy()
        matrix.row[3] = 10**6
    elif kind == "dia":
        matrix.offsets = matrix.offsets[:-3]
    elif kind == "lil":
        matrix.rows[4].append(10**6)
        matrix.data[4].append(1.0)
    elif kind == "dok":
        matrix._dict[(3, 10**6)] = 1.0
    else:
        matrix.indices[3] = 10**6
    with pytest.raises(ValueError, match=r"damaged|outside|exceeds"):
        sfs.rank(matrix, method="variance")
    if kind == "lil":  # more values than places
        matrix = sp.lil_array(X)
        matrix.data[4].extend([1.0] * 10_000)
        with pytest.raises(InputError, match="damaged"):
            check_sparse(matrix, "x")


def test_order_and_repeated_places_are_right_and_stay_as_they_are() -> None:
    rows = sp.csr_matrix(X)
    indices, data, indptr = [], [], [0]
    for i in range(N):  # backwards, and every value in two parts
        start, stop = rows.indptr[i : i + 2]
        indices += 2 * rows.indices[start:stop][::-1].tolist()
        data += 2 * (rows.data[start:stop][::-1] / 2).tolist()
        indptr.append(len(indices))
    expected = sfs.rank(X, method="variance").table
    for make in (sp.csr_matrix, sp.csr_array):
        given = make((np.array(data), np.array(indices), np.array(indptr)), X.shape)
        before = given.indices.copy(), given.data.copy()
        found = sfs.rank(given, method="variance").table
        np.testing.assert_allclose(found.score, expected.score)
        graph = make((given @ given.T).toarray())
        np.testing.assert_allclose(
            sfs.rank(X, similarity=graph).ranking.score, sfs.rank(X, similarity=S).ranking.score
        )
        np.testing.assert_array_equal(given.indices, before[0])
        np.testing.assert_array_equal(given.data, before[1])


NO_MATRIX: dict[str, Any] = {
    "Series": pd.Series([1.0, 2, 3]),
    "list": [[1, 2, 3], [1, 2]],
    "int": 5,
    "float64": np.float64(5),
    "ndarray": np.zeros((2, 3, 4)),
    "NoneType": None,
    "dict": {"a": [1, 2, 3], "b": [4, 5, 6]},
    "generator": (row for row in X),
    "bytes": b"matrix",
    "Index": pd.Index([1, 2]),
    "set": {1, 2},
    "object": object(),
    "type": int,
    "DataFrameGroupBy": pd.DataFrame(X).groupby(0),
}


@pytest.mark.parametrize("kind", NO_MATRIX)
def test_what_is_no_matrix_is_named_with_what_is_taken(kind: str) -> None:
    value = NO_MATRIX[kind]
    calls: list[Callable[[], Any]] = [
        lambda: sfs.rank(value),
        lambda: sfs.evaluate(value, method="variance", labels=LABELS),
    ]
    if value is not None:
        calls.append(lambda: sfs.rank(X, similarity=value))
        calls.append(lambda: sfs.rank(X, coordinates=value))
    if kind != "dict":  # gene sets
        calls.append(lambda: sfs.fuse(X, {"a": value}))
    for call in calls:
        with pytest.raises(InputError, match=r"type|axes") as told:
            call()
        assert "give" in str(told.value)
        assert kind in str(told.value) or "axes" in str(told.value)


def test_arrays_of_objects_and_tables_of_arrow_are_taken() -> None:
    expected = sfs.rank(X, method="variance").table
    for value in (X.astype(object), np.matrix(X), X.tolist(), tuple(map(tuple, X.tolist()))):
        pd.testing.assert_frame_equal(sfs.rank(value, method="variance").table, expected)
    batch = pa.RecordBatch.from_pandas(pd.DataFrame(X).add_prefix("x"))
    np.testing.assert_array_equal(sfs.rank(batch, method="variance").table.score, expected.score)
    mixed = X.astype(object)
    mixed[3, 4] = "high"
    with pytest.raises(InputError, match="column 4"):
        sfs.rank(mixed, method="variance")
    for array in (pa.array([1.0, 2.0]), pa.chunked_array([[1.0, 2.0]])):
        with pytest.raises(InputError, match="1 axes"):
            sfs.rank(array)


@pytest.mark.parametrize("make", [np.asarray, np.ma.masked_array, sp.csr_matrix])
def test_complex_numbers_are_refused_wherever_they_come_from(make: Any) -> None:
    for call in (
        lambda: sfs.rank(make(X + 1j), method="variance"),
        lambda: sfs.rank(X, similarity=make(S + 1j)),
        lambda: sfs.rank(X, similarity="knn", coordinates=make(X + 1j)),
    ):
        with pytest.raises(InputError, match="complex"):
            call()


OTHERS: dict[str, Callable[[], Any]] = {
    "ragged labels": lambda: sfs.rank(X, labels=[[1], [2, 3]], method="fisher"),
    "labels of a generator": lambda: sfs.rank(X, labels=(x for x in LABELS), method="fisher"),
    "a source that is a number": lambda: sfs.rank(X, source=5),
    "sources that are matrices": lambda: sfs.rank(X, source=[X]),
    "a source of None": lambda: sfs.rank(X, source=[None]),
    "a set that is a number": lambda: sfs.rank(X, source={"a": {"s": 5}}, method="msfs"),
    "a set that is a word": lambda: sfs.rank(X, source={"a": {"s": "TP53"}}, method="msfs"),
    "sets that are numbers": lambda: sfs.evaluate(
        X, list=["x1", "x2"], labels=LABELS, sets={"a": 5}
    ),
    "drivers": lambda: sfs.evaluate(X, list=["x1"], labels=LABELS, drivers=5),
    "rankings": lambda: sfs.aggregate(5),
    "no rankings": lambda: sfs.aggregate(None),
    "rankings of numbers": lambda: sfs.aggregate([5, 6]),
    "rankings of arrays": lambda: sfs.aggregate([X, X]),
    "a ranking": lambda: sfs.select(5, top=1),
    "a ranking that is a matrix": lambda: sfs.select(X, top=1),
    "a list": lambda: sfs.evaluate(X, list=5, labels=LABELS),
    "methods": lambda: sfs.compare(X, 5, labels=LABELS),  # type: ignore[arg-type]
    "rankings to compare": lambda: sfs.compare(X, rankings=5, labels=LABELS),  # type: ignore[arg-type]
    "options of a ranking": lambda: sfs.compare(X, rankings={"a": 5}, labels=LABELS),
    "lists": lambda: sfs.compare(X, lists=["x1"], labels=LABELS),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", OTHERS)
def test_other_arguments_of_a_wrong_type_are_named(case: str) -> None:
    with pytest.raises(InputError, match="of type") as told:
        OTHERS[case]()
    assert "give" in str(told.value)


if __name__ == "__main__":
    _all(int(sys.argv[1]))
