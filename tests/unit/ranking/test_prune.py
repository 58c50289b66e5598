"""Pruning by correlation: the greedy twin, features of extreme scale, and the table."""

from __future__ import annotations

import numpy as np
import pytest

from sfs_cli.compute.engine import ThreadExecutor
from sfs_cli.ranking import prune as module
from sfs_cli.ranking.prune import Pruned, prune, pruned_ranking, standardized
from sfs_cli.ranking.table import Ranking, rank_features
from tests.oracles import prune as oracle

N, M = 12, 90


@pytest.fixture
def X() -> np.ndarray:
    """Features of a few modules, some of them copies, negatives and constants."""
    rng = np.random.default_rng(3)
    factors = rng.normal(size=(N, 6))
    X = factors[:, rng.integers(0, 6, M)] + rng.normal(size=(N, M)) * rng.uniform(0.1, 2, M)
    X[:, 7], X[:, 50], X[:, 8] = 3 * X[:, 5] + 1, -X[:, 5], 4.0
    return X


def pruned(
    X: np.ndarray, order: np.ndarray, most: float, keep: int, *, batch: int = 16, threads: int = 1
) -> Pruned:
    def take(lo: int, hi: int) -> np.ndarray:
        return standardized(np.ascontiguousarray(X[:, order[lo:hi]].T))

    room = np.empty((keep, N))
    return prune(take, len(order), most, room, batch, ThreadExecutor(threads).map)


def table(order: np.ndarray) -> Ranking:
    score = np.empty(M)
    score[order] = np.arange(M, 0, -1)
    return rank_features(
        [f"g{i}" for i in range(M)],
        score,
        np.zeros(M, int),
        ["ok"],
        larger_is_better=True,
        extra={"place": np.arange(M)},
    )


@pytest.mark.parametrize("most", [0.05, 0.7])
@pytest.mark.parametrize("keep", [1, 40, 500])
def test_it_is_the_greedy_filter(X, most, keep, monkeypatch):
    monkeypatch.setattr(module, "KEPT_AT_ONCE", 4)
    order = np.random.default_rng(1).permutation(M)
    made = pruned(X, order, most, keep)
    kept, moved, rest = oracle.prune(X, order.tolist(), most, keep)
    assert order[made.kept].tolist() == kept
    assert order[made.moved].tolist() == [i for i, _ in moved]
    assert order[made.kept[made.representative]].tolist() == [k for _, k in moved]
    assert order[made.examined :].tolist() == rest

    after = pruned_ranking(table(order), made)
    assert after.order.tolist() == [*kept, *(i for i, _ in moved), *rest]
    assert list(after.feature) == [f"g{i}" for i in after.order]
    assert after.score.tolist() == table(order).score[np.argsort(order)][after.order].tolist()
    named = [*[""] * len(kept), *(f"g{k}" for _, k in moved), *[""] * len(rest)]
    assert list(after.columns()["representative"]) == named
    assert after.columns()["place"].tolist() == after.order.tolist()
    assert len(after.curve) == after.n_kept == len(kept)


@pytest.mark.parametrize("batch", [1, 90])
def test_the_size_of_a_batch_changes_nothing(X, batch):
    order = np.arange(M)
    made, expected = (pruned(X, order, 0.5, 20, batch=size, threads=3) for size in (batch, 16))
    for name in ("kept", "moved", "representative"):
        assert getattr(made, name).tolist() == getattr(expected, name).tolist()


def test_correlations_hold_at_any_scale():
    f = np.array([1.0, 2.0, 4.0, 3.0])
    rows = standardized(np.array([f, f * 1e-200, f * -1e200, f * 1e-9 + 1, f * 0 + 7, f * 0]))
    np.testing.assert_allclose(rows[:3] @ rows[0], [1, 1, -1], rtol=1e-14)
    np.testing.assert_allclose(rows[3] @ rows[0], 1, rtol=1e-6)  # as far as the values have digits
    assert not rows[4:].any()
