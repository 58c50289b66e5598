"""Sizes at which the algorithms of a run change, in one place."""

from __future__ import annotations

from dataclasses import dataclass
from sys import float_info

EPS = float_info.epsilon
"""The distance from 1 to the next number of float64, twice the relative rounding."""
TOO_LARGE = 1e100
"""Numbers from here on measure nothing, and their squares may overflow: inputs are refused."""
TOO_SMALL = 1e-100
"""A matrix of which no value is so large has squares that may underflow: it is refused."""


@dataclass(frozen=True)
class Limits:
    """Sizes at which another algorithm, or another default, takes over.

    Attributes
    ----------
    dense_distances : int
        Samples up to which all distances are held at once; above it neighbors are searched in the
        values, and a median distance is that of random pairs.
    approximate_above : int
        Samples above which neighbors are searched approximately, and among principal components by
        default.
    exact_samples, exact_features : int
        Samples or features up to which principal components come from an eigendecomposition of
        their inner products; with more of both from a randomized search.
    """

    dense_distances: int = 4096
    approximate_above: int = 50_000
    exact_samples: int = 2048
    exact_features: int = 2048


LIMITS = Limits()
"""The limits of every run; tests pass smaller ones."""
