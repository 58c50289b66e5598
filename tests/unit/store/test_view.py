"""A view of some features is the rows of the whole, prepared as they are there."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from sfs_cli.compute.matrix import Span
from sfs_cli.store.matrix import FeatureView
from sfs_cli.store.prepared import PreparedMatrix
from tests.making import fit, read_all

CHOSEN = np.array([0, 1, 2, 5, 9, 10, 20, 21, 30, 36])


def fitted(matrix, **more):
    return fit(PreparedMatrix(matrix, **more))


def test_a_view_is_the_rows_of_the_matrix(matrix, counts, whole):
    stored = matrix(counts)
    view = FeatureView(stored, CHOSEN)
    np.testing.assert_array_equal(whole(view, 3), counts[CHOSEN])
    assert (view.n_features, view.n_samples) == (10, 11)
    assert list(view.ids.features) == [f"g{i}" for i in CHOSEN]
    assert view.ids.samples == stored.ids.samples
    assert (view.dtype, view.sparse, view.missing) == (stored.dtype, stored.sparse, stored.missing)


def test_nothing_but_the_chosen_features_is_read(matrix, counts):
    stored = matrix(counts)
    reads, ahead = [], []

    class Watched:
        def __getattr__(self, name):
            return getattr(stored, name)

        def read(self, span, out):
            reads.append(span)
            stored.read(span, out)

        def prefetch(self, span):
            ahead.append(span)

    view = FeatureView(Watched(), CHOSEN)
    view.prefetch(Span(0, 10))
    view.read(Span(0, 10), np.empty((10, 11)))
    assert ahead == reads == [(0, 3), (5, 6), (9, 11), (20, 22), (30, 31), (36, 37)]


def test_a_view_of_a_store_opens_again_elsewhere(matrix, counts, whole):
    view = pickle.loads(pickle.dumps(FeatureView(matrix(counts), CHOSEN)))
    np.testing.assert_array_equal(whole(view), counts[CHOSEN])


def test_missing_values_are_those_of_the_view(matrix, counts):
    counts[9, 3] = counts[9, 7] = counts[12, 0] = counts[36, 10] = np.nan
    missing = FeatureView(matrix(counts), CHOSEN).missing
    assert (missing.values, missing.features) == (3, 2)
    assert missing.places == (("g9", "s3"), ("g9", "s7"), ("g36", "s10"))
    assert FeatureView(matrix(counts), CHOSEN[:4]).missing.values == 0


@pytest.mark.parametrize(
    ("samples", "policy"), [(None, "mean"), (np.array([8, 2, 3, 7, 0]), "drop")]
)
@pytest.mark.parametrize("steps", [(), ("cpm", "log1p", "zscore"), ("log1p", "clr", "center")])
def test_selected_features_are_prepared_as_among_all(matrix, counts, steps, policy, samples):
    counts += 1
    counts[9, 3] = counts[12, 0] = counts[21, 7] = np.nan
    source = fitted(matrix(counts), steps=steps, missing=policy, samples=samples)
    expected = read_all(source)
    view = source.selecting(CHOSEN)
    assert list(view.ids.samples) == list(source.ids.samples)
    for found, full in zip(read_all(view), expected):
        np.testing.assert_array_equal(found, full[CHOSEN])
    fit(view, size=3)  # the numbers of the whole matrix stay
    np.testing.assert_array_equal(read_all(view)[0], expected[0][CHOSEN])


def test_a_refusal_names_the_feature_of_the_matrix(matrix, counts):
    counts += 1
    counts[20, 6] = 0
    view = fitted(matrix(counts), steps=("log2",), where="x.csv").selecting(CHOSEN)
    with pytest.raises(Exception, match="needs positive values") as caught:
        read_all(view)
    assert caught.value.where == "x.csv: feature g20, sample s6"
