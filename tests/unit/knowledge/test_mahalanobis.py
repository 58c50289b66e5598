"""Mahalanobis distances against the pseudo-inverse of the covariance they stand for."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from scipy.sparse import csr_array

from sfs_cli.errors import InputError
from sfs_cli.knowledge.mahalanobis import (
    similarity_distances,
    term_distances,
)
from tests.making import PLENTY, array_engine
from tests.oracles import knowledge

N, COUNT = 23, 30
engine = partial(array_engine, dtype="float32")


def by_similarity(X, S, memory=PLENTY, **how):
    return similarity_distances(engine(X, **how), csr_array(S), memory)


def by_terms(X, T, memory=PLENTY, **how):
    return term_distances(engine(X, **how), csr_array(T), memory)


def samples(seed=0):
    return np.random.default_rng(seed).standard_normal((N, COUNT))


def similarity(seed=0, parts=1, share=0.2):
    """Return a random graph of features: connected parts without an edge between them."""
    rng = np.random.default_rng(seed)
    S = np.triu(rng.random((COUNT, COUNT)) * (rng.random((COUNT, COUNT)) < share), 1)
    part = np.arange(COUNT) % parts
    for i in range(parts, COUNT):
        S[i - parts, i] = 0.5
    S[part[:, None] != part] = 0
    return S + S.T


def terms(seed=0, count=12):
    rng = np.random.default_rng(seed)
    T = (rng.random((COUNT, count)) < 0.15).astype(float)
    T[:3] = 0
    T[4, :] = 0
    T = np.hstack([T, np.zeros((COUNT, 2))])
    T[5, -1] = 1  # a term of one feature
    return T


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_similarity_against_the_pseudo_inverse(parts):
    X, S = samples(), similarity(parts=parts)
    found = by_similarity(X, S)
    np.testing.assert_allclose(found, knowledge.mahalanobis(X, S), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found[:6, :6], knowledge.over_edges(X[:6], S), rtol=1e-12)
    np.testing.assert_array_equal(found, found.T)
    assert not found.diagonal().any()


@pytest.mark.parametrize("seed", range(1))
def test_terms_against_the_pseudo_inverse(seed):
    X, T = samples(seed), terms(seed)
    found = by_terms(X, T)
    np.testing.assert_allclose(found, knowledge.mahalanobis(X, T @ T.T), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found[:6, :6], knowledge.over_edges(X[:6], T @ T.T), rtol=1e-12)


def test_the_diagonal_plays_no_part():
    X, S = samples(), similarity()
    expected = by_similarity(X, S)
    np.testing.assert_array_equal(by_similarity(X, S + np.diag(np.arange(COUNT) * 1e8)), expected)


@pytest.mark.parametrize("form", ["similarity", "terms"])
class TestBothForms:
    @pytest.fixture
    def distances(self, form):
        return by_similarity if form == "similarity" else by_terms

    @pytest.fixture
    def known(self, form):
        return similarity(parts=2) if form == "similarity" else terms()

    def test_a_million_fold_offset(self, distances, known):
        X = samples() + 1e6 * np.random.default_rng(5).uniform(1, 2, COUNT)
        X = X.astype(np.float32)  # values that have few digits left
        near = X - X[0]  # exact, and without the offset
        np.testing.assert_allclose(distances(X, known), distances(near, known), rtol=1e-12)

    def test_identical_samples_are_at_distance_0_and_alike_to_all_others(self, distances, known):
        X = samples() * 1e3 + 1e5 * np.random.default_rng(1).random(COUNT)
        X[7] = X[3]
        d2 = distances(X, known)
        assert d2[3, 7] == 0
        np.testing.assert_array_equal(d2[3], d2[7])
        assert (d2 == 0).sum() == N + 2

    def test_samples_that_differ_by_a_constant_of_each_part_are_at_distance_0(
        self, distances, form
    ):
        # in digits that are lost to D - S: the difference is 1e4 times what L makes of the others
        X = 1e-2 * samples()
        gap = np.zeros(COUNT)
        known = similarity(parts=2)
        gap[0::2], gap[1::2] = 321.7, -123.4
        if form == "terms":
            known = np.zeros((COUNT, 2))
            known[0::2, 0] = known[1::2, 1] = 1
        X[9] = X[2] + gap
        d2 = distances(X, known)
        assert d2[2, 9] == 0
        np.testing.assert_array_equal(d2[2], d2[9])
        assert (d2 == 0).sum() == N + 2

    def test_what_features_without_knowledge_hold_does_not_matter(self, distances, known, form):
        alone = [3] if form == "similarity" else [0, 1, 2, 4]
        if form == "similarity":
            known[alone] = known[:, alone] = 0
        X, Y = samples(), samples()
        Y[:, alone] = 1e9
        np.testing.assert_array_equal(distances(Y, known), distances(X, known))

    def test_features_left_out_take_their_edges_with_them(self, distances, known, form):
        X, gone = samples(), [5, 6, 20]
        rest = np.delete(np.arange(COUNT), gone)
        fewer = known[np.ix_(rest, rest)] if form == "similarity" else known[rest]
        found = distances(X, known, left_out=gone)
        np.testing.assert_allclose(found, distances(X[:, rest], fewer), rtol=1e-12)

    def test_no_knowledge_is_refused(self, distances, form):
        shape = (COUNT, COUNT) if form == "similarity" else (COUNT, 3)
        empty = np.zeros(shape)
        empty[0, 0] = 1  # alike to itself; a term of its own
        with pytest.raises(InputError, match="no two features of the matrix") as caught:
            distances(samples(), empty)
        assert "--id-map" in caught.value.hint

    def test_distances_that_are_all_0_are_refused(self, distances, form):
        known = np.zeros((COUNT, COUNT))
        known[1, 2] = known[2, 1] = 0.3
        if form == "terms":
            known = np.zeros((COUNT, 1))
            known[[1, 2]] = 1
        X = samples()
        X[:, 2] = X[:, 1]
        with pytest.raises(InputError, match="all samples are at distance 0") as caught:
            distances(X, known)
        assert caught.value.hint
