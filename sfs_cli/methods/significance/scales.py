"""One test on several sample graphs: the p-values of a feature are combined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfs_cli.compute.matrix import Block, BlockLike
from sfs_cli.methods.significance.tested import GraphTest, TestedScorer, tested_columns
from sfs_cli.ranking.combine import cauchy, minus_log10
from sfs_cli.ranking.table import Picked


class ScalesScorer(GraphTest):
    """The smallest combined p-value over several sample graphs; larger scores are better.

    The score is ``-log10`` of the Cauchy combination of the p-values on each graph
    (`sfs_cli.ranking.combine`). Further columns are this p-value, the q-value, the graph of the
    smallest p-value, the effect on it and how that p-value was found, and the p-value on each.

    Parameters
    ----------
    names : sequence of str, length k
        Of the scales.
    scorers : sequence of TestedScorer, length k
    """

    def __init__(self, names: Sequence[str], scorers: Sequence[TestedScorer]) -> None:
        super().__init__()
        self.names, self.scorers = names, scorers
        self.dtype = np.result_type(*(scorer.dtype for scorer in scorers))
        self.facts, self.warnings = scorers[0].facts, scorers[0].warnings

    def score_block(self, block: BlockLike) -> tuple[np.ndarray, ...]:
        """Return the scores on the first scale, statuses, and what all scales measure."""
        found = []
        for scorer in self.scorers:
            values = block.values.astype(scorer.dtype)  # a copy: scoring may overwrite it
            found.append(scorer.score_block(Block(values, block.left_out, block.zero)))
        (score, status, *measured), *others = found
        rest = [array for one, _, *more in others for array in (one, *more)]
        return score, status, *measured, *rest

    def settled(self, score: np.ndarray, *measured: np.ndarray) -> np.ndarray:
        """Return the scores of all features, shape (m,), by their p-values on each scale."""
        width = (len(measured) + 1) // len(self.scorers)
        whole = (score, *measured)
        parts = [whole[at : at + width] for at in range(0, len(whole), width)]
        columns = [scorer.columns(*part) for scorer, part in zip(self.scorers, parts)]
        self.p, self.effect = (
            np.array([c[name] for c in columns]) for name in ("p_value", "effect")
        )
        self.how = np.array([c["p_value_by"].positions for c in columns])
        self.combined = cauchy(self.p)
        return minus_log10(self.combined)

    def columns(self, score: np.ndarray, *_measured: np.ndarray) -> dict[str, Any]:
        """Return the p-values, q-values, effects and best scales of all features, each (m,)."""
        best = np.nan_to_num(self.p, nan=np.inf).argmin(axis=0)
        effect, how = (each[best, np.arange(len(best))] for each in (self.effect, self.how))
        tested, counted = tested_columns(self.combined, effect, how)
        self.facts |= counted
        best = np.where(np.isnan(score), len(self.names), best)
        each = {f"p_value_{name}": p for name, p in zip(self.names, self.p)}
        return {**tested, "scale": Picked([*self.names, ""], best.astype(np.int32)), **each}

    def effect_of(self, x: np.ndarray) -> float:
        """Return the largest effect of one feature around its mean, of unit norm, shape (n,)."""
        return max(scorer.effect_of(x) for scorer in self.scorers)
