"""Features without a score: which they are, what is said of them, and that they come last."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfs_cli.errors import InputError
from sfs_cli.ranking.table import Ranking
from tests.making import write_labels, write_parquet
from tests.unit.methods.helpers import run

N = 30
CODES = np.repeat(np.arange(3), N // 3)
METHODS: dict[str, dict[str, Any]] = {
    "phi1": {"ranking": "phi1"},
    "phi2": {"ranking": "phi2"},
    "phi2 knn": {"ranking": "phi2", "similarity": "knn", "neighbors": 5},
    "phi3": {"ranking": "phi3", "clusters": 3},
    "fisher": {"method": "fisher"},
    "variance": {"method": "variance"},
}


def awkward() -> np.ndarray:
    """Scored features at even places; at odd ones, features that no method can score."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(N, 12)) + CODES[:, None]
    X[:, 1] = 0
    X[:, 3] = 0.1
    X[:, 5] = -1e6
    X[:, 7] = np.where(np.arange(N) % 2, 0.3, 0.1 + 0.2)  # equal but for rounding
    X[:, 9] = 1e6 * (1 + np.finfo(float).eps * rng.integers(-2, 3, size=N))
    X[4, 11] = np.nan
    return X


STATUS = {
    "g1": "all zero",
    "g3": "constant",
    "g5": "constant",
    "g7": "constant",
    "g9": "constant",
    "g11": "missing values",
}


def ranked(folder: Path, X: np.ndarray, **options: Any) -> Ranking:
    matrix = write_parquet(folder / "matrix.parquet", X.T)
    labels = write_labels(folder / "labels.tsv", CODES)
    return run(matrix, labels=labels, missing="drop", **options).ranking


@pytest.mark.parametrize("options", METHODS.values(), ids=METHODS)
def test_what_cannot_be_scored_is_nan_with_its_reason_and_last(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    ranking = ranked(tmp_path, awkward(), **options)
    assert ranking.n_scored == 6
    assert not np.isnan(ranking.score[:6]).any()
    assert np.isnan(ranking.score[6:]).all()
    assert ranking.status[:6] == ["ok"] * 6
    # in input order, since no score tells them apart
    assert dict(zip(ranking.feature[6:], ranking.status[6:])) == STATUS
    assert ranking.feature[6:] == list(STATUS)


@pytest.mark.parametrize("options", METHODS.values(), ids=METHODS)
def test_unscored_features_do_not_touch_the_scores_of_others(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    X = awkward()
    (tmp_path / "alone").mkdir()
    both = ranked(tmp_path, X, **options)
    alone = ranked(tmp_path / "alone", X[:, ::2], **options)
    np.testing.assert_allclose(both.score[:6], alone.score, rtol=1e-9)
    assert [int(f[1:]) for f in both.feature[:6]] == [2 * int(f[1:]) for f in alone.feature]


def test_small_but_real_variation_is_scored(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    noise = rng.normal(size=(N, 3))
    X = np.column_stack([noise[:, 0], 1e6 + 1e-6 * noise[:, 1], 1e-300 * noise[:, 2]])
    assert ranked(tmp_path, X).n_scored == 3


@pytest.mark.parametrize("options", METHODS.values(), ids=METHODS)
def test_equal_features_keep_the_order_of_the_input(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    X = np.random.default_rng(9).normal(size=(N, 4))[:, [2, 0, 2, 1, 0, 2, 2, 0]]
    ranking = ranked(tmp_path, X, **options)
    at = {name: i for i, name in enumerate(ranking.feature)}
    assert at["g0"] + 1 == at["g2"] == at["g5"] - 1 == at["g6"] - 2
    assert at["g1"] + 1 == at["g4"] == at["g7"] - 1


def test_features_constant_within_each_class_have_the_best_fisher_score(tmp_path: Path) -> None:
    X = np.random.default_rng(10).normal(size=(N, 5))
    X[:, 1], X[:, 3], X[:, 4] = 0.1 * CODES + 7, -0.3 * CODES, 0
    ranking = ranked(tmp_path, X, method="fisher")
    assert ranking.feature[:2] == ["g1", "g3"]
    np.testing.assert_array_equal(ranking.score[:2], np.inf)
    assert ranking.feature[-1] == "g4"
    assert ranking.n_scored == 4


def test_a_matrix_without_a_feature_to_score_is_refused(tmp_path: Path) -> None:
    X = np.tile([0.0, 1.0, 2.0], (N, 1))
    with pytest.raises(InputError, match="no feature can be scored: 2 constant, 1 all zero"):
        ranked(tmp_path, X, method="variance")


CLR_METHODS = METHODS | {
    "gdcov": {"method": "gdcov"},
    "hsic": {"method": "hsic"},
    "t-test": {"method": "t-test"},
    "relieff": {"method": "relieff", "relieff_neighbors": 4},
    "mrsf": {"method": "mrsf", "select": 4},
}


@pytest.mark.parametrize("options", CLR_METHODS.values(), ids=CLR_METHODS)
def test_a_gene_without_a_count_is_not_ranked_by_the_means_of_the_samples(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    rng = np.random.default_rng(3)
    codes = CODES % 2 if options.get("method") == "t-test" else CODES
    counts = rng.poisson(5 * (1 + codes)[:, None], size=(N, 14)).astype(float)
    counts[:, [2, 9]] = 0
    counts[3, 5] = np.nan
    labels = write_labels(tmp_path / "labels.tsv", codes)

    def ranking(values: np.ndarray, **more: Any) -> Ranking:
        matrix = write_parquet(tmp_path / "matrix.parquet", values.T)
        return run(matrix, labels=labels, missing="drop", **(options | more)).ranking

    found = ranking(counts, transform="clr")
    status = dict(zip(found.feature, found.status))
    assert (status["g2"], status["g9"], status["g5"]) == (*["all zero"] * 2, "missing values")
    assert np.isnan([s for f, s in zip(found.feature, found.score) if f in ("g2", "g9")]).all()

    # the steps and the graph still know of those genes
    logs = np.log1p(np.delete(counts, 5, axis=1))
    plain = ranking(np.insert(logs - logs.mean(axis=1, keepdims=True), 5, counts[:, 5], axis=1))
    if options.get("method") not in ("mrsf", "relieff"):  # whose scores depend on all genes ranked
        expected = dict(zip(plain.feature, plain.score))
        for feature, score in zip(found.feature, found.score):
            if status[feature] == "ok":
                assert score == pytest.approx(expected[feature], rel=1e-9)
