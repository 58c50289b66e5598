"""One test on several sample graphs: the p-values of a feature are combined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sfs_cli.compute.matrix import Arrays, Block, BlockLike
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

    def score_block(self, block: BlockLike) -> Arrays:
        """Return what is found on each scale, shape (b, k), and ``status`` (b,)."""
        parts = []
        for scorer in self.scorers:
            values = block.values.astype(scorer.dtype)  # a copy: scoring may overwrite it
            parts.append(scorer.score_block(Block(values, block.left_out, block.zero)))
        found = {name: np.stack([part[name] for part in parts], axis=1) for name in parts[0]}
        return found | {"status": parts[0]["status"]}

    def columns(self, found: Arrays) -> dict[str, Any]:
        """Return the scores of all features, (m,), p-values, q-values, effects and best scales."""
        measured = {name: array.T for name, array in found.items() if name != "status"}
        columns = [
            scorer.columns({name: array[k] for name, array in measured.items()})
            for k, scorer in enumerate(self.scorers)
        ]
        p, effects = (np.array([c[name] for c in columns]) for name in ("p_value", "effect"))
        hows = np.array([c["p_value_by"].positions for c in columns])
        combined = cauchy(p)
        score = minus_log10(combined)
        best = np.nan_to_num(p, nan=np.inf).argmin(axis=0)
        effect, how = (each[best, np.arange(len(best))] for each in (effects, hows))
        tested, counted = tested_columns(combined, effect, how)
        self.facts |= counted
        best = np.where(np.isnan(score), len(self.names), best)
        scale = Picked([*self.names, ""], best.astype(np.int32))
        each = {f"p_value_{name}": one for name, one in zip(self.names, p)}
        return {"score": score, **tested, "scale": scale, **each}

    def effect_of(self, x: np.ndarray) -> float:
        """Return the largest effect of one feature around its mean, of unit norm, shape (n,)."""
        return max(scorer.effect_of(x) for scorer in self.scorers)
