"""Ids of a source among the features, and knowledge carried over to those."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_array

from sfs_cli.errors import InputError
from sfs_cli.knowledge.matching import (
    FeatureIndex,
    carry_similarity,
    carry_terms,
    check_found,
)
from tests.oracles import knowledge

PROBES = ["p1_at", "p2_at", "p3_at", "p4_at", "TP53"]
MAP = [("p1_at", "A"), ("p2_at", "A"), ("p3_at", "B"), ("p4_at", "B"), ("p4_at", "C"), ("x", "D")]


def pairs_of(matched):
    return list(zip(matched.source.tolist(), matched.feature.tolist()))


def counts_of(matched):
    return matched.n_ids, matched.found, matched.exact, matched.mapped


def test_through_a_map_an_id_is_several_features_and_a_feature_several_ids():
    matched = FeatureIndex(PROBES, MAP).find(["C", "B", "TP53", "A", "none", "D"])
    assert pairs_of(matched) == [(3, 0), (3, 1), (1, 2), (0, 3), (1, 3), (2, 4)]
    assert counts_of(matched) == (6, 4, 1, 3)


@pytest.mark.parametrize("pairs", [MAP, [(b, a) for a, b in MAP], MAP + MAP])
def test_the_direction_of_a_map_is_told_by_its_columns(pairs):
    expected = pairs_of(FeatureIndex(PROBES, MAP).find(["A", "B"]))
    assert pairs_of(FeatureIndex(PROBES, pairs).find(["A", "B"])) == expected


def test_a_few_names_in_both_columns_do_not_turn_a_map_round():
    pairs = [("a", "a"), ("b", "X"), ("c", "Y")]
    for given in (pairs, [(y, x) for x, y in pairs]):
        assert pairs_of(FeatureIndex(["a", "b", "c"], given).find(["Y", "X"])) == [(1, 1), (0, 2)]


@pytest.mark.parametrize("pairs", [[("x", "y"), ("z", "w")], []])
def test_a_map_that_names_no_feature_is_refused(pairs):
    with pytest.raises(InputError, match="of the map names a feature of the matrix") as caught:
        FeatureIndex(PROBES, pairs)
    assert "p1_at, p2_at, p3_at and 2 more" in caught.value.what
    assert "--id-map" in caught.value.hint


def test_against_a_loop():
    rng = np.random.default_rng(0)
    features = [f"f{i}" for i in range(60)]
    pairs = [(f"f{a}", f"g{b}") for a, b in zip(rng.integers(0, 70, 90), rng.integers(0, 40, 90))]
    ids = [f"g{i}" for i in range(45)] + ["f3", "f59", "f99"]
    expected = set()
    for k, name in enumerate(ids):
        if name in features:
            expected.add((features.index(name), k))
            continue
        for probe, gene in pairs:
            if gene == name and probe in features:
                expected.add((features.index(probe), k))
    matched = FeatureIndex(features, pairs).find(ids)
    assert list(zip(matched.feature.tolist(), matched.source.tolist())) == sorted(expected)
    assert matched.found == len({k for _, k in expected})


def refused(features, ids, *, pairs=None):
    with pytest.raises(InputError) as caught:
        check_found(FeatureIndex(features, pairs).find(ids), "source go", "go.gmt")
    return caught.value


GENES = [f"GENE{i}" for i in range(40)]


def test_a_part_of_the_features_is_enough_too():
    matched = FeatureIndex(GENES).find([*GENES[:4], *(f"x{i}" for i in range(900))])
    assert check_found(matched, "source go", "f") is None


def test_a_change_that_finds_many_more_is_told():
    ids = [*GENES[:12], *(name.lower() for name in GENES[12:])]
    said = check_found(FeatureIndex(GENES).find(ids), "source go", "f")
    assert said is not None
    assert "12 of 40 ids" in said
    assert "40 would be found if upper and lower case" in said
    few = FeatureIndex(GENES).find([*GENES[:5], "gene6", "gene7", "x1", "x2", "x3"])
    assert check_found(few, "source go", "f") is None


def test_ids_of_a_species_match_with_it_and_without():
    ids, features = ["E1", "E2", "E3"], ["9606.E1", "E2", "10090.E3"]
    assert FeatureIndex(features).find(ids, "9606").feature.tolist() == [0, 1]
    assert FeatureIndex(features).find(ids).feature.tolist() == [1]
    pairs = [("9606.E1", "TP53"), ("E2", "MDM2")]
    found = FeatureIndex(["TP53", "MDM2"], pairs).find(ids, "9606")
    assert (found.feature.tolist(), found.mapped) == ([0, 1], 2)


def test_few_ids_are_told_of_and_none_is_refused_with_examples_of_both_sides():
    strangers = [f"x{i}" for i in range(1, 11)]
    examples = (
        "go.gmt: ids not found are x1, x2, x3 and 7 more; features are GENE0, GENE1, GENE2 and "
        "37 more"
    )
    matched = FeatureIndex(GENES).find(["x1", "GENE1", *strangers[1:]])
    assert check_found(matched, "source go", "go.gmt") == (
        f"source go: 1 of 11 ids found among the features ({examples}): give a table of both ids "
        "with --id-map"
    )
    error = refused(GENES, strangers)
    assert error.what == "source go: none of 10 ids found among the features"
    assert error.where == examples
    assert "--id-map" in error.hint


def test_no_ids_with_a_map():
    error = refused(PROBES, [f"q{i}" for i in range(30)], pairs=MAP)
    assert error.what.endswith(", with the map")
    assert error.hint == "the map must pair these ids with features of the matrix"


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        ([f"GENE{i}.7" for i in range(30)], "30 would be found if version suffixes such as"),
        ([f"gene{i}.7" for i in range(30)], "30 would be found if version suffixes were cut off"),
    ],
)
def test_the_likely_reason_is_said(ids, said):
    error = refused(GENES, ids)
    assert error.hint.startswith(said)
    assert "--id-map" in error.hint
    features = [name.replace("GENE", "ENSG") + ".12" for name in GENES]
    unversioned = [name.split(".")[0] for name in features]
    assert "version suffixes" in refused(features, unversioned).hint


def random_case(seed):
    """Return genes' similarity, pairs of gene and feature, and the number of features."""
    rng = np.random.default_rng(seed)
    genes, m = 12, 15
    S = np.triu(rng.random((genes, genes)) * (rng.random((genes, genes)) < 0.3), 1)
    features = [f"f{i}" for i in range(m)]
    ids = [f"g{i}" for i in range(genes)]
    pairs = [(f"f{a}", f"g{b}") for a, b in zip(rng.integers(0, m, 16), rng.integers(0, genes, 16))]
    return S + S.T, FeatureIndex(features, pairs).find(ids), m


def spread(features, similarity, m):
    """Return a similarity of some features as one of all."""
    dense = np.zeros((m, m))
    dense[np.ix_(features, features)] = similarity.toarray()
    return dense


@pytest.mark.parametrize("seed", range(3))
def test_edges_and_similarities_are_carried_as_by_a_loop(seed):
    S, matched, m = random_case(seed)
    expected = knowledge.carried(S, pairs_of(matched), m)
    features, found = carry_similarity(csr_array(S + np.eye(len(S))), matched, m)
    np.testing.assert_array_equal(spread(features, found, m), expected)
    np.testing.assert_array_equal(features, np.flatnonzero(expected.any(axis=1)))


def between(n, *edges):
    """Return a similarity of n ids with edges (a, b, score)."""
    S = np.zeros((n, n))
    for a, b, score in edges:
        S[a, b] = S[b, a] = score
    return csr_array(S)


def test_a_similarity_of_an_id_to_itself_is_none():
    matched = FeatureIndex(["a", "b", "c"]).find(["a", "b", "c"])
    features, S = carry_similarity(between(3, (0, 1, 1.0), (2, 2, 1.0)), matched, 3)
    assert features.tolist() == [0, 1]
    np.testing.assert_array_equal(S.toarray(), [[0, 1], [1, 0]])
    features, S = carry_similarity(between(3), matched, 3)
    assert (len(features), S.shape) == (0, (0, 0))


@pytest.mark.parametrize("seed", range(2))
def test_terms_are_carried_as_by_a_loop(seed):
    _, matched, m = random_case(seed)
    T = np.random.default_rng(seed).random((12, 7)) < 0.3
    T[:, 0] |= ~T.any(axis=1)
    expected = np.zeros((m, 7))
    for gene, feature in pairs_of(matched):
        expected[feature] = np.maximum(expected[feature], T[gene])
    terms = {f"t{j}": [f"g{i}" for i in np.flatnonzero(T[:, j])] for j in range(7)}
    features, found = carry_terms(terms, matched)
    np.testing.assert_array_equal(features, np.flatnonzero(expected.any(axis=1)))
    np.testing.assert_array_equal(found.toarray(), expected[features])
    assert found.dtype == np.float64
