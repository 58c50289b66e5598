"""Samples that hold the same values, found exactly by one pass over the matrix."""

from __future__ import annotations

import numpy as np

from sfs_cli.compute.engine import Engine
from sfs_cli.compute.passes import pair_distances
from sfs_cli.compute.spans import Span

SEED = 0


def first_identical(engine: Engine) -> np.ndarray:
    """Return the first sample that is identical to each, itself where there is none before.

    Samples are told apart by a random combination of their features, made without BLAS: there the
    rounding of a sum depends on where in the matrix a sample stands. Those that agree in it are
    then compared value by value.

    Returns
    -------
    ndarray of int, shape (n,)
    """
    weights = np.random.default_rng(SEED).normal(size=engine.source.n_features)

    def part(span: Span) -> tuple[np.ndarray]:
        values = engine.source.read(span, np.dtype(np.float64)).values
        values *= weights[span.lo : span.hi, None]
        return (values.sum(axis=0),)

    signature = engine.total_over(part)[0]
    _, where, inverse = np.unique(signature, return_index=True, return_inverse=True)
    first = where[inverse]
    copies = np.flatnonzero(first != np.arange(len(first)))
    if len(copies):
        differ = pair_distances(engine, copies, first[copies]) != 0
        first[copies[differ]] = copies[differ]
    return first
