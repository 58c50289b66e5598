"""The same weight for every source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfs_cli.fusion.base import FusionContext, Weighting


def learn(kernels: Sequence[Any], context: FusionContext) -> Weighting:
    """Return 1/K for each of K kernels."""
    return Weighting(np.full(len(kernels), 1.0 / len(kernels)))
