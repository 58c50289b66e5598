"""The F statistic of the one-way analysis of variance."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfs_cli.errors import InputError
from sfs_cli.methods.base import BlockLike, Context, Scorer
from sfs_cli.methods.classes import class_counts
from sfs_cli.methods.fisher import FisherScorer


class FTestScorer:
    """Mean square between the classes over that within them; larger is better.

    It is the Fisher Score times ``(n - c) / (c - 1)``. A feature that is constant within each class
    but not between them scores infinity.
    """

    larger_is_better = True

    def __init__(self, context: Context) -> None:
        assert context.codes is not None
        n, c = len(context.codes), len(class_counts(context.codes, "the F-test"))
        if n <= c:
            raise InputError(
                f"the F-test of {c} classes needs more than {n} samples",
                hint="check which column holds the labels: is it one that names each sample?",
            )
        self.fisher = FisherScorer(context)
        self.dtype, self.thin = self.fisher.dtype, self.fisher.thin
        self.ratio = (n - c) / (c - 1)
        self.facts: dict[str, Any] = {"degrees_of_freedom": [c - 1, n - c]}
        self.warnings: list[str] = []

    def score_block(self, block: BlockLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores and statuses of a block."""
        score, status = self.fisher.score_block(block)
        score *= self.ratio
        return score, status


def prepare(context: Context) -> Scorer:
    """Return the scorer of the F-test.

    Raises
    ------
    InputError
        When a label is missing, there are fewer than two classes, or no class has two samples.
    """
    return FTestScorer(context)
