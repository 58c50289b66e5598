"""Learners of the weights of knowledge sources, from one similarity of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sfs_cli.options.source import WEIGHTINGS

if TYPE_CHECKING:
    from sfs_cli.knowledge.weights.base import FusionContext, Weighting

    Learner = Callable[[Sequence[Any], FusionContext], Weighting]


def learner(name: str) -> Learner:
    """Import the learner of a value of ``--weights``."""
    # late, because each imports other parts of scipy, and a run needs one of them at most
    module, _, function = WEIGHTINGS[name].learner.partition(".")
    return getattr(import_module(f"{__name__}.{module}"), function)
