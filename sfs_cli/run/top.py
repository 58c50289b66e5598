"""The values of a few features, which warnings and the pictures of the report are made from."""

from __future__ import annotations

import numpy as np

from sfs_cli.compute.matrix import Span
from sfs_cli.run.load import Run

TOP = 50
"""Best features whose values are read."""


def from_all_over(features: np.ndarray, most: int) -> np.ndarray:
    """Return `most` features or fewer, which are spread over all of them."""
    return features[:: -(-len(features) // most)]


def values_of(run: Run, features: np.ndarray) -> np.ndarray:
    """Read a few features, given by index, as they were scored, shape (b, n)."""
    values = np.empty((len(features), run.matrix.n_samples))
    for row, feature in zip(values, features.tolist()):
        row[:] = run.matrix.read(Span(feature, feature + 1), np.dtype(np.float64)).values[0]
    run.passes.look(len(features))
    return values


def stored_of(run: Run, features: np.ndarray) -> np.ndarray:
    """Read a few features, given by index, as stored, in the samples that are used: (b, n)."""
    stored, samples = run.matrix.matrix, run.matrix.samples
    values = np.empty((len(features), stored.n_samples), stored.dtype)
    for at, feature in enumerate(features.tolist()):
        stored.read(Span(feature, feature + 1), values[at : at + 1])
    run.passes.look(len(features))
    return values if samples is None else values[:, samples]
