"""Accuracy on unseen samples: against slow twins and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest

from sfs_cli.evaluation.classify import (
    accuracies,
    folds_of,
    standard_error,
    standardized,
)


def study(seed: int = 0, n: int = 40, m: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """Samples x features of three classes that overlap, and their codes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.normal(5, 1, (n, m)) + 0.7 * np.eye(3, m)[y], y


def test_fewer_training_samples_than_neighbors():
    X, y = study(n=6)
    Z = standardized(X.T, np.arange(3))
    found = accuracies(Z.T, y, np.arange(3), np.arange(3, 6))
    assert ((found >= 0) & (found <= 1)).all()


def test_every_sample_is_tested_once_in_each_repeat():
    _, y = study()
    folds = list(folds_of(y, 4, 3, 0))
    assert [(f.repeat, f.number) for f in folds] == [(r, k) for r in (1, 2, 3) for k in range(1, 5)]
    for repeat in (1, 2, 3):
        tested = np.concatenate([f.test for f in folds if f.repeat == repeat])
        assert sorted(tested.tolist()) == list(range(40))
    assert all(not set(f.train.tolist()) & set(f.test.tolist()) for f in folds)


def test_donors_of_several_classes_are_exchanged_until_folds_have_every_class():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        has = np.zeros((20, 12), int)  # a class has six donors or more, for five folds
        for column in has.T:
            column[rng.choice(20, rng.integers(6, 20), replace=False)] = 1
        donors, y = np.nonzero(has)
        folds = list(folds_of(y, 5, 1, seed, donors))
        assert sum(len(f.test) for f in folds) == len(y)
        for fold in folds:
            assert not set(donors[fold.train]) & set(donors[fold.test])
            assert set(y[fold.test]) == set(y[fold.train]) == set(range(12))


def test_donors_of_different_sizes_are_dealt_to_folds_with_every_class():
    # scikit-learn deals these alike with every seed, and one fold lacks a class
    of_each = [(13, 26), (0, 9), (4, 0), (0, 23), (19, 0), (0, 27)]
    y = np.concatenate([np.repeat([0, 1], sizes) for sizes in of_each])
    donors = np.repeat(np.arange(6), [sum(sizes) for sizes in of_each])
    folds = list(folds_of(y, 3, 5, 0, donors))
    assert all(set(y[fold.test]) == {0, 1} for fold in folds)
    assert sorted(np.concatenate([fold.test for fold in folds[:3]])) == list(range(len(y)))


def test_standard_error_of_one_value_is_not_known():
    assert np.isnan(standard_error(np.array([0.5])))
    assert standard_error(np.array([0.0, 1.0])) == pytest.approx(0.5)
