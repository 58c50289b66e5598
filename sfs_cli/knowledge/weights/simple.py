"""Weights that are not learned: as given, and equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfs_cli.errors import UsageError
from sfs_cli.knowledge.weights.base import FusionContext, Weighting


def given(kernels: Sequence[Any], context: FusionContext) -> Weighting:
    """Return the weights as given, not normalized.

    Parameters
    ----------
    kernels : sequence
        One for each source; they are not looked at.
    context : FusionContext
        Its option ``weights`` is a sequence of float, shape (K,).

    Raises
    ------
    UsageError
        When they are not K non-negative numbers, or all zero.
    """
    weights = np.array(context.options["weights"], dtype=np.float64)
    if weights.shape != (len(kernels),):
        raise UsageError(
            f"there are {weights.size} weights for {len(kernels)} sources",
            where="--weights",
            hint="give one for each source, in their order",
            option="weights",
        )
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0.0)))
    if bad.size:
        raise UsageError(
            f"the weight {weights[bad[0]]:g} of {context.name(int(bad[0]))} is not zero or more",
            where="--weights",
            hint="give numbers such as 2,1,0.5",
            option="weights",
        )
    if not weights.any():
        raise UsageError(
            "all weights are 0",
            where="--weights",
            hint="give at least one source a weight",
            option="weights",
        )
    return Weighting(weights)


def uniform(kernels: Sequence[Any], context: FusionContext) -> Weighting:
    """Return 1/K for each of K kernels."""
    return Weighting(np.full(len(kernels), 1.0 / len(kernels)))
