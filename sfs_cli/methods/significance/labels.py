"""Scores with their significance by permuting the labels, where no graph is tested."""

from __future__ import annotations

from zlib import crc32

import numpy as np

from sfs_cli.compute.matrix import Block, BlockLike
from sfs_cli.methods.base import Problem, Scorer, Status
from sfs_cli.methods.blocks import center
from sfs_cli.methods.mutual_info import MutualInfoScorer
from sfs_cli.methods.shared import least_p_value
from sfs_cli.methods.significance.permutation import TAIL, TAILED, TIE, tail
from sfs_cli.methods.significance.tested import told_columns

HELD = 1_000_000
"""Permuted scores that are held together."""
DRAWN = 32_768
"""Labels that are permuted together, so that what is made of them stays in a cache."""


class LabelPermutations(Scorer):
    """The mutual information with three more columns: ``p_value``, ``q_value`` and ``effect``.

    The p-value is (1 + number of permutations of the labels that are as good) / (B + 1). Where none
    of `TAILED` or more is, it is that of the tail of their scores, if that is less
    (`sfs_cli.methods.significance.permutation.tail`). No p-value is below 1 over the number of
    different orders of the labels. It is that of the estimate before it is cut
    at 0: half of the features that have nothing to do with the labels would have p-values of 1. The
    q-value is that of Benjamini and Hochberg over the features that have a score. The effect says
    by how many standard deviations of the permuted estimates the own one is above their mean. All
    features share the permutations, which depend on the seed alone. Of
    classes, equal values count as such, as in the score. Of an outcome ties are broken by a little
    noise, in the order of the labels as in the others, so that a permutation is fast. It is that
    of each feature, made of its values: with the same noise, features of few values would be good,
    or not, all of them together.

    Parameters
    ----------
    scorer : MutualInfoScorer
        Scores the features.
    problem : Problem
        What it was made for.
    permutations : int
        B.
    """

    def __init__(self, scorer: MutualInfoScorer, problem: Problem, permutations: int) -> None:
        super().__init__()
        self.scorer = scorer
        self.dtype, self.facts, self.warnings = scorer.dtype, scorer.facts, scorer.warnings
        self.count = permutations
        self.n, self.seed = problem.n_samples, problem.context.seed
        labels = problem.codes if problem.outcome is None else problem.outcome
        assert labels is not None
        self.least = least_p_value(labels)
        self.facts |= {"pvalues": "permutation", "permutations": self.count}

    def score_block(self, block: BlockLike) -> tuple[np.ndarray, ...]:
        """Return scores, statuses, and p-values and effects (b, 2); overwrites the block."""
        tested = np.full((len(block.values), 2), np.nan)
        rows = max(1, HELD // self.count)
        for low in range(0, len(tested), rows):
            noise = self._noise(block.values[low : low + rows])
            values = block.values[low : low + rows].astype(np.float64)  # a copy
            with np.errstate(all="ignore"):  # features with missing values have no score
                centered = center(Block(values))
                varies = centered.status(centered.square) == Status.OK
                varies &= np.isfinite(centered.square)
            usable = np.flatnonzero(varies)
            tested[low + usable] = self._test(centered.values[usable], noise[usable])
        return *self.scorer.score_block(block), tested

    def _noise(self, values: np.ndarray) -> np.ndarray:
        """Return noise of features, made of their values and the seed alone, shape (b, n).

        It is 0 of classes, whose estimate takes ties as they are.
        """
        if self.scorer.outcome is None:
            return np.zeros(values.shape)
        seeds = [(self.seed, crc32(row.tobytes())) for row in values]
        return np.array([np.random.default_rng(seed).normal(size=self.n) for seed in seeds])

    def _test(self, values: np.ndarray, noise: np.ndarray) -> np.ndarray:
        """Return the p-values and effects of features around their means, shape (b, 2)."""
        own = np.arange(self.n)[None]
        observed = self.scorer.permuted(values, own, noise)[:, 0]
        permuted = np.empty((len(values), self.count))
        step = max(1, DRAWN // self.n)
        for low in range(0, self.count, step):
            numbers = range(low, min(low + step, self.count))
            # a permutation by its own number: the same for whatever block it is made again
            draws = [np.random.default_rng((self.seed, k)).permutation(self.n) for k in numbers]
            permuted[:, low : numbers.stop] = self.scorer.permuted(values, np.array(draws), noise)
        allowed = TIE * np.maximum(np.abs(permuted).max(axis=1), np.abs(observed))
        better = (permuted >= (observed - allowed)[:, None]).sum(axis=1)
        p = (1 + better) / (self.count + 1)
        few = np.flatnonzero(better == 0)
        if self.count >= TAILED and len(few):
            p[few] = np.minimum(p[few], tail(-permuted[few], -observed[few], TAIL))
        p = np.maximum(p, self.least)
        spread = permuted.std(axis=1)
        varies = spread > allowed  # not so where every order of the labels has one estimate
        effect = np.divide(observed - permuted.mean(axis=1), spread, where=varies, out=0 * spread)
        return np.column_stack([p, effect])

    def columns(self, score: np.ndarray, *measured: np.ndarray) -> dict[str, np.ndarray]:
        """Return the p-values, q-values and effects of all features, each shape (m,)."""
        *of_scorer, tested = measured
        p, effect = np.where(np.isnan(score), np.nan, tested.T)
        columns = told_columns(self, p, effect, self.count)
        return self.scorer.columns(score, *of_scorer) | columns
