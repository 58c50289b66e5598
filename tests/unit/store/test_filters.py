"""Features that take no part: which they are, and that the others are as if they were not there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sfs_cli.compute.matrix import LeftOut, Span, cut
from sfs_cli.store.filters import FeatureFilter
from sfs_cli.store.prepared import PreparedMatrix
from tests.making import DOUBLE, fit, read_all

EVERY_FIFTH = np.where(np.arange(37) % 5 == 0, LeftOut.EXCLUDED, 0).astype(np.int8)


def read(source: PreparedMatrix, size: int = 7) -> tuple[np.ndarray, np.ndarray]:
    """Return the values and the reasons of all features."""
    return read_all(fit(source, size=size, threads=2), size)[:2]


def expected_reasons(X: np.ndarray, which: FeatureFilter) -> list[int]:
    """Say feature by feature why it is left out."""
    found = []
    for i, row in enumerate(X):
        why = 0 if which.by_id is None else int(which.by_id[i])
        if np.isnan(row).any():
            why = why or LeftOut.MISSING
        if which.min_samples is not None and sum(v != 0 for v in row) < which.min_samples:
            why = why or LeftOut.FEW_SAMPLES
        found.append(int(why))
    return found


FILTERS = {
    "ids": FeatureFilter(EVERY_FIFTH),
    "samples": FeatureFilter(min_samples=4),
    "both": FeatureFilter(EVERY_FIFTH, 4),
}


SOME = np.array([9, 0, 3, 4, 5, 7])


@pytest.mark.parametrize(
    ("which", "chosen", "steps"),
    [
        ("ids", None, ("deviance",)),
        ("samples", SOME, ()),
        ("samples", None, ("clr",)),
        ("both", SOME, ("cpm", "log1p")),
    ],
)
def test_the_others_are_as_if_they_were_alone(
    matrix: Any, counts: np.ndarray, which: str, chosen: Any, steps: tuple[str, ...]
) -> None:
    features = FILTERS[which]
    counts[4, 3] = np.nan
    counts[0] += 1  # every sample has a count in a feature that stays
    counts[1] += 3
    X = counts if chosen is None else counts[:, chosen]
    common: dict[str, Any] = {"missing": "drop", "samples": chosen, "steps": steps}
    found, why = read(PreparedMatrix(matrix(counts), features=features, **common))
    assert why.tolist() == expected_reasons(X, features)
    assert why.any()
    kept = why == 0
    alone, _ = read(PreparedMatrix(matrix(counts), missing="drop", features=features))
    assert not found[~kept].any()
    assert not alone[~kept].any() or chosen is not None
    values, _ = read(PreparedMatrix(matrix(counts[kept]), **common))
    np.testing.assert_allclose(found[kept], values, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("which", FILTERS.values(), ids=FILTERS)
def test_stored_values_make_the_same_choice(
    built: Any, counts: np.ndarray, which: FeatureFilter
) -> None:
    counts[4, 3] = np.nan
    source = PreparedMatrix(
        built(counts, sparse=True).matrix, missing="drop", features=which, steps=("log1p",)
    )
    _, why = read(source)
    for span in cut(37, 7):
        block = source.read_nonzeros(span, DOUBLE)
        dense = np.zeros((span.size, 11))
        dense[block.rows, block.indices] = block.data
        np.testing.assert_array_equal(dense, source.read(span, DOUBLE).values)
        np.testing.assert_array_equal(block.left_out, why[span.lo : span.hi])
        assert not np.diff(block.indptr)[why[span.lo : span.hi] != 0].any()


@pytest.mark.parametrize("which", FILTERS.values(), ids=FILTERS)
def test_a_view_leaves_out_the_same_features(
    matrix: Any, counts: np.ndarray, which: FeatureFilter
) -> None:
    source = PreparedMatrix(matrix(counts), features=which, steps=("log1p",))
    values, why = read(source)
    chosen = np.array([0, 1, 5, 6, 7, 20, 36])
    found, reasons = read(source.selecting(chosen), size=3)
    np.testing.assert_array_equal(reasons, why[chosen])
    np.testing.assert_array_equal(found, values[chosen])


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
def test_only_measured_values_count(built: Any, counts: np.ndarray, sparse: bool) -> None:
    counts[2:6] = 0
    counts[2, :3] = np.nan, np.nan, 4  # one value and two gaps
    counts[3, :5] = np.nan, 2, 2, 2, np.nan  # three values
    counts[4] = np.nan  # nothing to fill it by
    counts[5, :3] = 1, 2, 3
    matrix = built(counts, sparse=sparse).matrix
    steps = ("log1p",)  # zeros stay zeros, so that stored values alone can be read
    which = FeatureFilter(min_samples=3)
    source = PreparedMatrix(matrix, missing="mean", features=which, steps=steps)
    values, why = read(source)
    assert why[2:6].tolist() == [LeftOut.FEW_SAMPLES, 0, LeftOut.MISSING, 0]
    # those that stay are filled
    np.testing.assert_allclose(values[3, 0], np.log1p(6 / 9), rtol=1e-6)
    if sparse:
        block = source.read_nonzeros(Span(0, 37), DOUBLE)
        np.testing.assert_array_equal(block.left_out, why)


def test_zero_is_nothing_but_a_negative_value_counts(matrix: Any, counts: np.ndarray) -> None:
    counts[2] = 0
    counts[2, :3] = -1
    _, why = read(PreparedMatrix(matrix(counts), features=FeatureFilter(min_samples=3)))
    assert why[2] == 0
