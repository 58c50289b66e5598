"""Weights that are not learned: as given, and equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfs_cli.knowledge.weights.base import FusionContext, Weighting


def given(_kernels: Sequence[Any], context: FusionContext) -> Weighting:
    """Return the weights as given, not normalized: the option ``weights``, shape (K,)."""
    return Weighting(np.array(context.options["weights"], dtype=np.float64))


def uniform(kernels: Sequence[Any], context: FusionContext) -> Weighting:
    """Return 1/K for each of K kernels."""
    return Weighting(np.full(len(kernels), 1.0 / len(kernels)))
