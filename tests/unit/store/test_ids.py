"""Sample ids must be unique; repeated feature ids are told apart as AnnData does."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from anndata.utils import make_index_unique
from hypothesis import given, settings
from hypothesis import strategies as st

from sfs_cli.errors import InputError
from sfs_cli.store.ids import check_samples, natural_order, unique_features


@pytest.mark.filterwarnings("ignore:Suffix used")
@settings(max_examples=50)
@given(st.lists(st.sampled_from(["a", "b", "a-1", "a-1-1", "b-2", "a-2"]), max_size=12))
def test_the_convention_is_that_of_anndata(ids):
    mine, renamed = unique_features(ids)
    theirs = make_index_unique(pd.Index(ids, dtype=object)).tolist()
    assert mine == theirs
    assert len(set(mine)) == len(ids)
    assert renamed == sum(a != b for a, b in zip(ids, mine))


def test_repeated_sample_ids_are_named():
    with pytest.raises(InputError, match="2 repeated sample ids: s1, s2"):
        check_samples(["s1", "s2", "s1", "s2", "s3"], "x.csv", in_rows=False)


@pytest.mark.parametrize(("ids", "said"), [([], "0 samples"), (["s"], "1 sample;")])
def test_fewer_than_two_samples_are_refused(ids, said):
    with pytest.raises(InputError, match=said):
        check_samples(ids, "x.csv", in_rows=True)


def test_building_renames_features_and_refuses_repeated_samples(built, counts):
    features = ["g"] * 37
    made = built(counts, features=features)
    assert made.renamed == 36
    assert len(set(made.matrix.ids.features)) == 37
    for rows in ("features", "samples"):
        with pytest.raises(InputError, match="1 repeated sample id: s"):
            built(counts, samples=["s"] * 11, rows=rows)


def test_a_matrix_of_one_feature_or_no_row_is_refused(built, counts):
    with pytest.raises(InputError, match="1 feature;"):
        built(counts[:1])
    with pytest.raises(InputError, match="no rows"):
        built(counts[:0])


def test_natural_order() -> None:
    ordered = ["", "1", "01", "2", "10", "a", "a-1", "a1b2", "a1b10", "a2", "a02", "a10", "b"]
    shuffled = [ordered[i] for i in np.random.default_rng(0).permutation(len(ordered))]
    found = [shuffled[i] for i in natural_order(shuffled)]
    for low, high in (("1", "2"), ("2", "10"), ("a1b2", "a1b10"), ("a2", "a10"), ("a1b10", "a2")):
        assert found.index(low) < found.index(high)
    assert found == [ordered[i] for i in natural_order(ordered)]
    assert len(natural_order(["9" * 5000, "1" * 5000])) == 2
