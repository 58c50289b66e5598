"""Ids of features: a sequence like any other, in few bytes."""

from __future__ import annotations

import pickle
from unicodedata import normalize

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sfs_cli.ranking.table import Picked
from sfs_cli.store.ids import CHUNK, FeatureIds

# names are held in the composed form of Unicode
NAMES = st.lists(
    st.text("aeé\u0301Ω 1,", max_size=5).map(lambda text: normalize("NFC", text)), max_size=20
)


@settings(max_examples=40)
@given(NAMES, st.integers(-25, 25), st.integers(-25, 25), st.sampled_from([1, 2, -1]))
def test_it_is_the_list_it_was_made_of(names, lo, hi, step):
    ids = FeatureIds.of(names)
    assert list(ids) == names
    assert len(ids) == len(names)
    assert ids == names
    assert names == ids
    assert [ids[i] for i in range(-len(names), len(names))] == names + names
    assert ids[lo:hi:step] == names[lo:hi:step]


@settings(max_examples=40)
@given(NAMES, st.data())
def test_places_are_taken_in_any_order_and_again(names, data):
    at = data.draw(st.lists(st.integers(0, len(names) - 1), max_size=30)) if names else []
    places = np.array(at, np.int64)
    expected = [names[i] for i in at]
    assert FeatureIds.of(names).take(places) == expected
    assert Picked(FeatureIds.of(names), places) == expected
    assert Picked(names, places) == expected


def test_pieces_are_joined_across_chunks():
    names = [f"gene {i} é" if i % 1000 == 0 else f"g{i}" for i in range(CHUNK + 10)]
    ids = FeatureIds.joined(names[lo : lo + 777] for lo in range(0, len(names), 777))
    assert ids == names
    assert pickle.loads(pickle.dumps(ids)) == names
    assert ids.take(np.arange(len(names))[::-1]) == names[::-1]
