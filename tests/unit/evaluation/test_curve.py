"""The length of a list by the one-standard-error rule."""

from __future__ import annotations

import numpy as np
import pytest

from sfs_cli.evaluation.curve import curve_of
from tests.oracles import select as oracle


@pytest.mark.parametrize("seed", range(3))
def test_it_is_its_twin(seed):
    rng = np.random.default_rng(seed)
    found = np.clip(rng.normal([0.6, 0.7, 0.8, 0.82, 0.8], 0.1, (3, 5, 5)), 0, 1)
    curve = curve_of(found)
    assert (curve.best, curve.chosen) == oracle.one_standard_error(found)
    assert curve.chosen <= curve.best
    assert curve.mean == pytest.approx(found.reshape(15, 5).mean(axis=0))


def test_more_splits_of_the_same_samples_are_no_more_samples():
    found = np.random.default_rng(0).random((2, 5, 3))
    once, again = curve_of(found), curve_of(np.concatenate([found] * 4))
    assert again.error == pytest.approx(once.error)


def test_the_shortest_of_equally_good_lengths_is_taken():
    curve = curve_of(np.ones((2, 3, 4)))
    assert (curve.best, curve.chosen) == (0, 0)
