"""Scores with their significance: what is measured of blocks, and columns of the ranking."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sfs_cli.compute.matrix import Block, BlockLike
from sfs_cli.methods.base import NonZeroScorer, Problem, Scorer
from sfs_cli.methods.blocks import center, pieces
from sfs_cli.methods.shared import q_values
from sfs_cli.methods.significance.gaussian import RatioDistribution
from sfs_cli.methods.significance.moments import Powers, RatioMoments
from sfs_cli.methods.significance.permutation import DENSE, permuted
from sfs_cli.methods.significance.ratios import Form, ratio_of

DEFAULT_PERMUTATIONS = 1000
SIGNIFICANT = 0.05
"""Features with a q-value of at most this are counted."""


class TestedScorer(Scorer):
    """A scorer with three more columns: ``p_value``, ``q_value`` and ``effect``.

    The p-value is the probability of a score that is as good, if the values of the feature were
    independent of the graph: of normal noise (``gaussian``), or of the same values in all orders of
    the samples (``moments``, ``permutation``). The q-value is that of Benjamini and Hochberg over
    the features that have a score. The effect says by how many standard deviations of that
    distribution the score is better than its mean. What is tested is in
    `sfs_cli.methods.significance.ratios`.

    Parameters
    ----------
    scorer : Scorer
        Of a method of `sfs_cli.catalog.WITH_PVALUES`.
    problem : Problem
        What it was made for.
    null : str
        ``gaussian``, ``moments``, ``permutation`` or ``permutation:B``.

    Raises
    ------
    InputError
        When the graph has too many samples for what is asked for.
    """

    def __init__(self, scorer: Scorer, problem: Problem, null: str) -> None:
        super().__init__()
        self.scorer = scorer
        self.dtype, self.larger_is_better = scorer.dtype, scorer.larger_is_better
        self.facts, self.warnings, self.extra = scorer.facts, scorer.warnings, scorer.extra
        self.class_means = scorer.class_means
        self.null, _, count = null.partition(":")
        self.count = int(float(count or DEFAULT_PERMUTATIONS))
        self.seed = problem.context.seed
        self.ratio = ratio_of(scorer, problem)
        self.distribution: RatioDistribution | None = None
        self.moments: RatioMoments | None = None
        self.facts["pvalues"] = self.null
        if self.null == "gaussian":
            self.distribution = RatioDistribution(self.ratio, problem.memory)
        elif self.null == "moments":
            self.moments = RatioMoments.of(self.ratio)
        else:
            self.facts["permutations"] = self.count
            if self.ratio.n <= DENSE:
                numerator = Form.of(self.ratio.numerator.dense())
                self.ratio = replace(self.ratio, numerator=numerator)

    def __getstate__(self) -> dict[str, Any]:
        # workers measure blocks: the distributions stay with the process that makes the columns
        return self.__dict__ | {"distribution": None}

    def on_nonzeros(self) -> NonZeroScorer | None:
        """Return the scorer of stored values alone, where nothing else is measured."""
        return None if self._measures else self.scorer.on_nonzeros()

    @property
    def _measures(self) -> bool:
        return self.null != "gaussian" or self.ratio.of_share or self.ratio.of_norm

    def score_block(self, block: BlockLike) -> tuple[np.ndarray, ...]:
        """Return scores, statuses, and what `columns` needs besides; may overwrite the block."""
        # before the scores, which may overwrite the block
        measured = self._measure(block.values) if self._measures else ()
        score, status, *found = self.scorer.score_block(block)
        return score, status, *measured, *found

    def _measure(self, values: np.ndarray) -> tuple[np.ndarray, ...]:
        """Measure features (b, n): part of the mean, squares, and powers or p-values; (b,) each."""
        b, n = values.shape
        degrees, volume = self.ratio.degrees, self.ratio.degrees.sum()
        share, norm, powers = np.ones(b), np.empty(b), np.zeros((b, 5))
        for part in pieces(b, n):
            with np.errstate(all="ignore"):  # features that do not vary have no score
                centered = center(Block(values[part].astype(np.float64)))
                x, norm[part] = centered.values, centered.square * centered.scale**2
                x /= np.sqrt(centered.square)[:, None]
                if self.ratio.of_share:
                    offset = centered.offset / np.sqrt(centered.square)
                    mean = x @ degrees / volume
                    square = (x * x) @ degrees - volume * mean**2
                    share[part] = square / (square + volume * (mean + offset) ** 2)
                if self.null == "moments":
                    powers[part] = np.column_stack(Powers.of(x))
                elif self.null == "permutation":
                    varies = np.isfinite(x).all(axis=1)
                    found = np.full((len(x), 2), np.nan)
                    found[varies] = permuted(x[varies], self.ratio, self.count, self.seed)
                    powers[part, :2] = found
        return share, norm, powers

    def columns(self, score: np.ndarray, *measured: np.ndarray) -> dict[str, np.ndarray]:
        """Return the p-values, q-values and effects of all features, each shape (m,)."""
        share, norm, powers = measured or (np.ones(1), np.ones(1), np.empty((1, 5)))
        with np.errstate(all="ignore"):  # NaN where there is no score
            if self.null == "permutation":
                p, effect = powers[:, 0], powers[:, 1]
            else:
                p, effect = self._tested(self.ratio.statistic(score, share, norm), powers)
        p, effect = (np.where(np.isnan(score), np.nan, each) for each in (p, effect))
        columns, facts = tested_columns(p, effect)
        self.facts |= facts
        return self.scorer.columns(score) | columns

    def _tested(self, t: np.ndarray, powers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the p-values and effects of ratios, each shape (m,)."""
        if self.moments is not None:
            return self.moments.tested(t, Powers(*powers.T))
        assert self.distribution is not None
        return np.exp(self.distribution.interpolated(t)), self.distribution.effects(t)


def tested_columns(
    p: np.ndarray, effect: np.ndarray
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return the columns of p-values and effects, shape (m,), and what ``run.json`` says of them.

    The q-value is that of Benjamini and Hochberg over all p-values that are not NaN.
    """
    q = q_values(p)
    facts = {
        "tested_features": int(np.count_nonzero(~np.isnan(p))),
        f"q_value_at_most_{SIGNIFICANT}": int(np.count_nonzero(q <= SIGNIFICANT)),
    }
    return {"p_value": p, "q_value": q, "effect": effect}, facts
