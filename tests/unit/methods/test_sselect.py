from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sfs_cli.errors import InputError, OutOfMemoryError
from sfs_cli.graph.distances import median_bandwidth, rbf, squared_distances
from sfs_cli.graph.laplacian import NormalizedLaplacian
from sfs_cli.graph.similarity import DenseSimilarity
from sfs_cli.methods import spectral, sselect
from tests.making import make_problem
from tests.oracles import spec as spec_twin
from tests.oracles import sselect as twin
from tests.unit.methods.helpers import score_all

Data = tuple[np.ndarray, np.ndarray, np.ndarray]


def graph(X: np.ndarray) -> np.ndarray:
    Z = X - X.mean(axis=0)
    d2 = squared_distances(Z @ Z.T)
    return rbf(d2, median_bandwidth(d2))


def make_data(classes: int, unlabelled: int = 20, seed: int = 0) -> Data:
    """Samples in clusters, the labels of which are known for some; and their graph."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(18 * classes) % classes)
    X = rng.normal(size=(len(codes), 30))
    X[:, :6] += 2 * codes[:, None]
    known = codes.copy()
    known[rng.choice(len(codes), unlabelled, replace=False)] = -1
    return X + rng.normal(0, 10, 30), graph(X), known


def scores(
    X: np.ndarray, S: np.ndarray, y: np.ndarray, mix: float | None = 0.5, **given: int
) -> np.ndarray:
    variant = "cut-value" if mix is None else "fixed"
    options = {"lambda_": 0.5 if mix is None else mix, "variant": variant, "select": 8}
    context = make_problem(X, S=S, codes=y, **(options | given))
    return score_all(sselect.prepare(context), context)[0]


@pytest.mark.parametrize(("classes", "mix"), [(2, 0.0), (3, 0.3), (5, 1.0)])
def test_it_equals_the_twin(classes: int, mix: float) -> None:
    X, S, y = make_data(classes)
    np.testing.assert_allclose(scores(X, S, y, mix), twin.sselect(X, S, y, mix), rtol=1e-8)


def test_a_mix_of_one_ranks_as_phi2_and_needs_no_more_labels() -> None:
    X, S, y = make_data(2)
    context = make_problem(X, S=S, **sselect.PHI2)
    phi2, _ = score_all(spectral.SpecScorer(context), context)
    np.testing.assert_array_equal(np.argsort(scores(X, S, y, 1.0)), np.argsort(phi2))


def test_labels_of_unlabelled_samples_play_no_part_but_their_values_do() -> None:
    X, S, y = make_data(2)
    rng = np.random.default_rng(3)
    changed = X.copy()
    changed[y < 0] = rng.normal(size=(int((y < 0).sum()), X.shape[1]))
    np.testing.assert_allclose(scores(changed, S, y, 0.0), scores(X, S, y, 0.0), rtol=1e-12)
    assert np.abs(scores(changed, S, y, 0.5) - scores(X, S, y, 0.5)).max() > 1e-3


def test_a_feature_that_is_constant_where_labels_are_known_says_nothing_of_them() -> None:
    X, S, y = make_data(2)
    X[y >= 0, 0] = 4.0
    assert scores(X, S, y, 0.0)[0] == 1


def test_labels_of_two_classes_are_needed() -> None:
    X, S, y = make_data(2)
    with pytest.raises(
        InputError, match=r"16 of 36 samples that have a label are of 1|two classes"
    ):
        scores(X, S, np.where(y < 0, y, 0))
    with pytest.raises(InputError, match="the 0 of 36 samples"):
        scores(X, S, np.full(len(X), -1))


def test_the_mix_is_that_of_the_smallest_cut_value() -> None:
    X, S, y = make_data(2)
    context = make_problem(X, S=S, codes=y, lambda_=0.5, variant="cut-value", select=8)
    scorer = sselect.prepare(context)
    cuts = {}
    for mix in np.arange(11) / 10:
        top = np.argsort(twin.sselect(X, S, y, mix), kind="stable")[:8]
        cuts[mix] = spec_twin.eigenpairs(graph(X[:, top]))[0][1:].min()
    # equal sets give equal cuts but for rounding, and the smallest of equal mixes is taken
    assert scorer.facts["mix"] == min(cuts, key=lambda mix: round(cuts[mix], 12))
    np.testing.assert_allclose(
        list(scorer.facts["cut_values"].values()), list(cuts.values()), rtol=1e-8
    )
    np.testing.assert_array_equal(scores(X, S, y, None), scores(X, S, y, scorer.facts["mix"]))


def test_choosing_the_mix_is_refused_where_it_cannot_be_done() -> None:
    X, S, y = make_data(2)
    with pytest.raises(OutOfMemoryError, match="graphs of all 36 samples") as caught:
        scores(X, S, y, None, memory=1000)
    assert "lambda=" in str(caught.value)
    with pytest.raises(InputError, match="no feature varies"):
        scores(np.zeros_like(X), S, y, None)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("direct", [False, True])
def test_the_range_of_phi2_is_that_of_the_spectrum(
    signed: bool, direct: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    S = graph(np.random.default_rng(0).normal(size=(40, 5)))
    if signed:
        S = S - 0.2 * S.mean()
    if not direct:
        monkeypatch.setattr(sselect, "DIRECT_LIMIT", 10)
    values, _ = spec_twin.eigenpairs(S)
    found = sselect.phi2_range(NormalizedLaplacian(DenseSimilarity(S)))
    np.testing.assert_allclose(found, [values[1:].min(), values[1:].max()], rtol=1e-10)


def test_two_means_is_the_best_cut_and_lloyd_stops_where_it_may() -> None:
    rng = np.random.default_rng(0)
    values = np.vstack([rng.normal(size=(20, 15)), rng.integers(4, size=(20, 15))])
    for f, found in zip(values, sselect.two_means(values)):
        cost = within(f, found, 2)
        cuts = [(f > cut).astype(int) for cut in f]
        assert cost <= min(within(f, cut, 2) for cut in cuts) + 1e-10
    for f, found in zip(values, sselect.quantile_means(values, 4)):
        # the same clusters, whatever the name of one that is empty
        expected = twin.lloyd(f - f.mean(), 4)
        np.testing.assert_array_equal(found[:, None] == found, expected[:, None] == expected)


def within(f: np.ndarray, label: np.ndarray, k: int) -> float:
    groups = [f[label == j] for j in range(k)]
    return sum(((g - g.mean()) ** 2).sum() for g in groups if len(g))


def test_nmi_is_one_for_the_same_partition_and_zero_for_independent_ones() -> None:
    codes = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    clusters = np.array([1 - codes, np.arange(8) % 2, np.zeros(8, int)])
    found = sselect.symmetrical_uncertainty(clusters, codes)
    np.testing.assert_allclose(found, [1, 0, 0], atol=1e-14)


def test_the_cut_value_is_the_second_smallest_eigenvalue() -> None:
    X = np.random.default_rng(5).normal(size=(20, 4))
    Z = X - X.mean(axis=0)
    expected = spec_twin.eigenpairs(graph(X))[0][1:].min()
    assert sselect.cut_value(Z.T) == pytest.approx(expected, rel=1e-10)


def test_the_default_is_the_graph_of_neighbors_and_a_fixed_mix(tmp_path: Path) -> None:
    from tests.contract.numbers.commands import facts, ranking_bytes
    from tests.making import write_labels, write_table

    X, _, y = make_data(2)
    matrix = write_table(tmp_path / "m.csv", X.T)
    known = [i for i in range(len(y)) if y[i] >= 0]
    ids = [f"s{i}" for i in known]
    labels = write_labels(tmp_path / "y.tsv", [f"c{y[i]}" for i in known], ids)
    asked = ("--labels", labels, "--method")
    found = ranking_bytes(tmp_path / "a", matrix, *asked, "sselect")
    made = facts(tmp_path / "a")
    assert made["graph"]["similarity"] == "knn-correlation"
    assert (made["method"]["lambda"], made["method"]["variant"]) == (0.3, "fixed")
    given = ("sselect,lambda=0.3", "--similarity", "knn-correlation")
    assert ranking_bytes(tmp_path / "b", matrix, *asked, *given) == found
    ranking_bytes(tmp_path / "c", matrix, *asked, "sselect,variant=cut-value", "--select", "8")
    chosen = facts(tmp_path / "c")["method"]
    assert chosen["lambda"] == chosen["mix"]
    assert len(chosen["cut_values"]) == 11
