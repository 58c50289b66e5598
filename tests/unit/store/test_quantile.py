"""Quantile normalization: against its definition, and the same bytes in any amount of memory."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sfs_cli.compute.engine import Engine, ThreadExecutor
from sfs_cli.compute.matrix import Span
from sfs_cli.errors import InputError
from sfs_cli.store.disk import Store
from sfs_cli.store.filters import FeatureFilter
from sfs_cli.store.prepared import PreparedMatrix
from sfs_cli.store.quantile import group_size, held, replaced
from tests.making import DOUBLE, fit, make_matrix, read_all
from tests.oracles.preparation import quantile_normalized

N, M = 11, 60


def values(*, ties: bool = False) -> np.ndarray:
    """Return samples x features whose samples differ in scale."""
    rng = np.random.default_rng(2)
    X = rng.gamma(2.0, rng.uniform(1, 9, (N, 1)), (N, M))
    return np.floor(X) if ties else X


def prepared(
    X: np.ndarray,
    *,
    memory: int = 1 << 30,
    folder: Path | None = None,
    threads: int = 1,
    size: int = 7,
    **how: object,
) -> PreparedMatrix:
    source = PreparedMatrix(make_matrix(X), **({"steps": ("quantile",)} | how))  # type: ignore[arg-type]
    engine = Engine(source, ThreadExecutor(threads), DOUBLE, size)
    source.fit(engine, memory, folder)
    return source


def read(source: PreparedMatrix, size: int = 9) -> np.ndarray:
    return read_all(source, size)[0]


@pytest.mark.parametrize("ties", [False, True])
def test_every_sample_has_the_mean_distribution(ties: bool) -> None:
    X = values(ties=ties)
    found = read(prepared(X))
    np.testing.assert_allclose(found, quantile_normalized(X.T), rtol=1e-13)
    # by hand, with NumPy alone
    mean = np.sort(X, axis=1).mean(axis=0)
    np.testing.assert_allclose(found.sum(axis=0), mean.sum(), rtol=1e-12)
    if not ties:
        by_rank = mean[np.argsort(np.argsort(X, axis=1), axis=1)].T
        np.testing.assert_allclose(found, by_rank, rtol=1e-13)
        np.testing.assert_allclose(np.sort(found, axis=0), np.tile(mean, (N, 1)).T, rtol=1e-13)


@pytest.mark.parametrize(("samples", "threads"), [(1, 3), (5, 1)])
def test_memory_and_threads_do_not_change_a_byte(
    samples: int, threads: int, tmp_path: Path
) -> None:
    X = values(ties=True)
    memory = 8 * 8 * M * samples
    assert group_size(N, M, memory) == min(N, samples)
    source = prepared(X, memory=memory, folder=tmp_path, threads=threads, size=7 * threads)
    on_disk = isinstance(source._factors[0], Store)
    assert on_disk == (held(N, M, memory) == 0)
    np.testing.assert_array_equal(read(source, 13), read(prepared(X)))


def test_steps_before_and_behind_it_are_taken_in_order(tmp_path: Path) -> None:
    X = values()
    steps = ("cpm", "quantile", "log1p", "unit-samples", "quantile", "center")
    found = read(prepared(X, steps=steps, memory=8 * 8 * M * 4, folder=tmp_path))
    made = quantile_normalized(X.T / X.sum(axis=1) * 1e6)
    made = np.log1p(made)
    made = quantile_normalized(made / np.linalg.norm(made, axis=0))
    made -= made.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(found, made, rtol=1e-9, atol=1e-14)


def test_features_that_take_no_part_have_no_rank() -> None:
    X = values()
    X[:, 3] = 1e6
    by_id = np.zeros(M, np.int8)
    by_id[[3, 20]] = 5
    source = prepared(X, features=FeatureFilter(by_id))
    kept = np.flatnonzero(by_id == 0)
    found = read(source)
    np.testing.assert_allclose(found[kept], quantile_normalized(X.T[kept]), rtol=1e-13)
    assert not found[[3, 20]].any()


@pytest.mark.parametrize("policy", ["drop", "mean"])
def test_missing_values_are_dealt_with_before(policy: str) -> None:
    X = values()
    X[[2, 5], 7] = np.nan
    X[1, 30] = np.nan
    found = read(prepared(X, missing=policy))
    if policy == "mean":
        filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
        np.testing.assert_allclose(found, quantile_normalized(filled.T), rtol=1e-13)
    else:
        kept = ~np.isnan(X).any(axis=0)
        np.testing.assert_allclose(found[kept], quantile_normalized(X.T[kept]), rtol=1e-13)


def test_only_samples_in_use_count_and_views_stay_as_among_all(tmp_path: Path) -> None:
    X, chosen = values(), np.array([7, 1, 4])
    expected = quantile_normalized(X[chosen].T)
    for memory in (1 << 30, 8 * 8 * M):
        source = prepared(X, samples=chosen, memory=memory, folder=tmp_path)
        np.testing.assert_allclose(read(source), expected, rtol=1e-13)
        features = np.array([2, 3, 9, 40])
        view = source.selecting(features)
        np.testing.assert_array_equal(read(view), read(source)[features])
        assert list(view.ids.features) == [source.ids.features[i] for i in features]


def test_a_sparse_matrix_is_refused() -> None:
    with pytest.raises(InputError, match="dense") as caught:
        fit(PreparedMatrix(make_matrix(values(), sparse=True), steps=("log1p", "quantile")))
    assert "median,log1p" in str(caught.value.hint)
    assert "transform" in caught.value.options


def test_a_feature_that_was_zero_is_known_as_such() -> None:
    X = values()
    X[:, 4] = 0
    zero = prepared(X).read(Span(0, 8), DOUBLE).zero
    assert zero is not None
    assert np.flatnonzero(zero).tolist() == [4]


def test_where_no_feature_takes_part_nothing_is_replaced() -> None:
    assert replaced(np.empty(0), np.empty(0)).size == 0
