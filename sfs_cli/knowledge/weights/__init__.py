"""Learners of the weights of knowledge sources, from one similarity of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sfs_cli.knowledge.weights.base import FusionContext, Weighting

    Learner = Callable[[Sequence[Any], FusionContext], Weighting]

LEARNERS = {
    "given": ("simple", "given"),
    "uniform": ("simple", "uniform"),
    "alignf": ("alignf", "learn_alignf"),
    "rkda": ("discriminant", "learn_rkda"),
    "statis": ("statis", "learn_statis"),
    "sparse-umkl": ("sparse_umkl", "learn_sparse_umkl"),
    "naml": ("discriminant", "learn_naml"),
    "snf": ("snf", "learn_snf"),
}
"""Module and function of each value of ``--weights``."""


def learner(name: str) -> Learner:
    """Import the learner of a value of ``--weights``."""
    # late, because each imports other parts of scipy, and a run needs one of them at most
    module, function = LEARNERS[name]
    return getattr(import_module(f"{__name__}.{module}"), function)
