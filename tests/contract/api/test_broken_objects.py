"""Objects that are no matrix, or a broken one: an error that says what is taken, never a crash."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

import sfs_cli as sfs
from sfs_cli.errors import InputError

N, M = 60, 40
X = np.random.default_rng(0).random((N, M))
X *= np.random.default_rng(1).random((N, M)) < 0.4
S = X @ X.T
LABELS = np.repeat(["a", "b"], N // 2)


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [("indptr", -1, 10**9), ("indices", 7, -(10**9))],
)
def test_a_broken_sparse_matrix_is_refused(name: str, place: int, value: int) -> None:
    """SciPy would follow its pointers out of its memory."""
    for call, values in (
        (lambda matrix: sfs.rank(matrix, method="variance"), X),
        (lambda matrix: sfs.rank(X, similarity=matrix), S),
        (lambda matrix: sfs.rank(X, source={"p": matrix}, method="msfs"), X),
    ):
        matrix = sp.csr_matrix(values)
        array = getattr(matrix, name).copy()
        array[place] = value
        setattr(matrix, name, array)
        with pytest.raises(InputError, match="cannot be read as a sparse matrix"):
            call(matrix)


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
        np.testing.assert_array_equal(given.indices, before[0])
        np.testing.assert_array_equal(given.data, before[1])


NO_MATRIX: dict[str, Any] = {
    "Series": pd.Series([1.0, 2, 3]),
    "list": [[1, 2, 3], [1, 2]],
    "int": 5,
    "ndarray": np.zeros((2, 3, 4)),
    "NoneType": None,
    "dict": {"a": [1, 2, 3], "b": [4, 5, 6]},
    "generator": (row for row in X),
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
        calls.append(lambda: sfs.rank(X, coordinates=value))
    if value is not None and kind != "dict":  # a name and its parameters
        calls.append(lambda: sfs.rank(X, similarity=value))
    if kind != "dict":  # gene sets
        calls.append(lambda: sfs.fuse(X, {"a": value}))
    for call in calls:
        with pytest.raises(InputError, match=r"type|axes") as told:
            call()
        assert "give" in str(told.value)
        assert kind in str(told.value) or "axes" in str(told.value)


def test_arrays_of_objects_and_lists_of_rows_are_taken() -> None:
    expected = sfs.rank(X, method="variance").table
    for value in (X.astype(object), np.matrix(X), X.tolist(), tuple(map(tuple, X.tolist()))):
        pd.testing.assert_frame_equal(sfs.rank(value, method="variance").table, expected)
    mixed = X.astype(object)
    mixed[3, 4] = "high"
    with pytest.raises(InputError, match="column 4"):
        sfs.rank(mixed, method="variance")
    with pytest.raises(InputError, match="1 axes"):
        sfs.rank(pa.array([1.0, 2.0]))


@pytest.mark.parametrize("make", [np.asarray, np.ma.masked_array, sp.csr_matrix])
def test_complex_numbers_are_refused_wherever_they_come_from(make: Any) -> None:
    for call in (
        lambda: sfs.rank(make(X + 1j), method="variance"),
        lambda: sfs.rank(X, similarity=make(S + 1j)),
        lambda: sfs.rank(X, similarity="knn", coordinates=make(X + 1j)),
    ):
        with pytest.raises(InputError, match=r"complex|not a table"):
            call()


OTHERS: dict[str, Callable[[], Any]] = {
    "ragged labels": lambda: sfs.rank(X, labels=[[1], [2, 3]], method="fisher"),
    "labels of a generator": lambda: sfs.rank(X, labels=(x for x in LABELS), method="fisher"),
    "sources that are matrices": lambda: sfs.rank(X, source=[X]),
    "a set that is a word": lambda: sfs.rank(X, source={"a": {"s": "TP53"}}, method="msfs"),
    "rankings of arrays": lambda: sfs.aggregate([X, X]),
    "a ranking that is a matrix": lambda: sfs.select(X, top=1),
    "methods": lambda: sfs.compare(X, 5, labels=LABELS),  # type: ignore[arg-type]
    "lists": lambda: sfs.compare(X, lists=["x1"], labels=LABELS),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("case", OTHERS)
def test_other_arguments_of_a_wrong_type_are_named(case: str) -> None:
    with pytest.raises(InputError, match="of type") as told:
        OTHERS[case]()
    assert "give" in str(told.value)
