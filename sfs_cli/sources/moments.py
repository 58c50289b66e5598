"""Mean, variance and smallest value of every feature, by one pass."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np

from sfs_cli.compute.engine import BlockLike, Engine
from sfs_cli.store.nonzeros import NonZeros, NonZeroSource
from sfs_cli.store.prepared import PreparedMatrix


def feature_moments(engine: Engine) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return what is to be known of the features to tell which vary most.

    Parameters
    ----------
    engine : Engine
        Passes over a prepared matrix; of one that is sparse the stored values alone are read.

    Returns
    -------
    mean, variance, lowest : ndarray, shape (m,), float64
        The variance divides by n - 1; it is 0 exactly for constant features, and those that are
        left out for missing values are constant.
    """
    source = cast(PreparedMatrix, engine.source)
    double = np.dtype(np.float64)
    if source.keeps_zeros:
        engine = replace(engine, source=NonZeroSource(source))
        mean, variance, lowest = engine.columns(_of_stored, double)
    else:
        mean, variance, lowest = engine.columns(_of_dense, double)
    return mean, variance, lowest


def _of_dense(block: BlockLike) -> tuple[np.ndarray, ...]:
    values, n = block.values, block.values.shape[1]
    lowest, first = values.min(axis=1), values[:, 0].copy()
    values -= first[:, None]  # no digits are lost to an offset, and a constant becomes 0
    mean = values.mean(axis=1)
    values -= mean[:, None]
    return first + mean, np.einsum("ij,ij->i", values, values) / (n - 1), lowest


def _of_stored(block: NonZeros) -> tuple[np.ndarray, ...]:
    n, counts = block.n_samples, np.diff(block.indptr)
    mean = np.bincount(block.rows, block.data, len(counts)) / n
    lowest = _by_rows(np.minimum, block)
    constant = (counts == n) & (lowest == _by_rows(np.maximum, block))
    away = block.data - np.repeat(mean, counts)
    squares = np.bincount(block.rows, away * away, len(counts)) + (n - counts) * mean * mean
    variance = np.where(constant, 0, squares / (n - 1))
    return mean, variance, np.where(counts < n, np.minimum(lowest, 0), lowest)


def _by_rows(what: Any, block: NonZeros) -> np.ndarray:
    """Return the smallest or largest stored value of each feature, 0 where nothing is stored."""
    found = np.zeros(len(block.indptr) - 1)
    some = np.flatnonzero(np.diff(block.indptr))
    if len(some):
        found[some] = what.reduceat(block.data, block.indptr[some])
    return found
