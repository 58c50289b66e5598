"""Missing values are counted, infinite ones refused, whatever way they come."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from sfs_cli.errors import InputError
from sfs_cli.store.build import ValueCheck

ROWS, COLUMNS = ["r0", "r1", "r2", "r3"], ["c0", "c1", "c2"]


def checked(values, *, features_in_rows=True, sparse=False, step=2, ids=ROWS):
    check = ValueCheck("file.csv", features_in_rows, COLUMNS)
    for lo in range(0, len(values), step):
        block = values[lo : lo + step]
        check.see(ids[lo : lo + step], csr_array(block) if sparse else block)
    return check.missing


@pytest.fixture
def values():
    return np.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("step", [1, 4])
def test_missing_values_are_counted_with_their_places(values, sparse, step):
    values[1, 2] = values[3, 0] = values[3, 2] = np.nan
    found = checked(values, sparse=sparse, step=step)
    assert (found.values, found.features) == (3, 2)
    assert found.places == (("r1", "c2"), ("r3", "c0"), ("r3", "c2"))


@pytest.mark.parametrize("sparse", [False, True])
def test_places_are_feature_and_sample_where_samples_are_rows(values, sparse):
    values[1, 2] = values[3, 0] = values[3, 2] = np.nan
    found = checked(values, features_in_rows=False, sparse=sparse)
    assert (found.values, found.features) == (3, 2)
    assert found.places == (("c2", "r1"), ("c0", "r3"), ("c2", "r3"))


@pytest.mark.parametrize("sparse", [False, True])
def test_features_of_the_same_name_are_counted_apart(values, sparse):
    values[0, 0] = values[1, 1] = np.nan
    assert checked(values, ids=["TP53"] * 4, sparse=sparse).features == 2


def test_only_the_first_places_are_kept(values):
    values[:] = np.nan
    found = checked(values)
    assert (found.values, found.features) == (12, 4)
    assert found.places == (*(("r0", c) for c in COLUMNS), ("r1", "c0"), ("r1", "c1"))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("features_in_rows", "place"),
    [(True, "feature r2, sample c1"), (False, "feature c1, sample r2")],
)
def test_an_infinite_value_is_refused_with_its_place(values, sparse, features_in_rows, place):
    values[2, 1] = -np.inf
    values[2, 0] = np.nan
    with pytest.raises(InputError, match="infinite") as caught:
        checked(values, features_in_rows=features_in_rows, sparse=sparse)
    assert caught.value.where == f"file.csv: {place}"
    assert "-inf" in caught.value.what


@pytest.mark.parametrize("sparse", [False, True])
def test_sums_that_would_overflow_invent_and_hide_nothing(sparse):
    values = np.full((4, 3), np.finfo(np.float32).max, np.float32)
    values[3] *= -1
    assert checked(values, sparse=sparse).values == 0
    values[2, 1] = np.nan
    assert checked(values, sparse=sparse).places == (("r2", "c1"),)


@pytest.mark.parametrize("rows", ["features", "samples"])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("limit", [1, 1 << 30])
def test_a_built_matrix_knows_what_is_missing(built, counts, rows, sparse, limit):
    counts[3, 7] = counts[20, 0] = counts[20, 10] = np.nan
    missing = built(counts, rows=rows, sparse=sparse, limit=limit).matrix.missing
    assert (missing.values, missing.features) == (3, 2)
    assert set(missing.places) == {("g3", "s7"), ("g20", "s0"), ("g20", "s10")}
