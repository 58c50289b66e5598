"""Tests of classes, outcomes and times with p-values by the orders of the samples.

The score stays that of the test. What is compared with its values in other orders:

- F, also moderated, of a feature whose total sum of squares no order changes, grows with the part
  of it that is in the span of the classes or the outcome: a ratio of forms with these columns. So
  do, of ranks, the statistics of Kruskal and Wallis, of Mann and Whitney, and Spearman's
  correlation, whatever its sign.
- Cox's ``U`` is the product with the martingale residuals of the model without the feature. Its
  information varies with the order, so that ``U^2`` over the sum of squares is compared. That holds
  where the feature is exchangeable given times and events: censoring must not depend on it.
- Welch's F itself is computed in every order. As it takes the variance of each class, its p-values
  hold for many samples where variances differ, too: A. Janssen, "Studentized permutation tests for
  non-i.i.d. hypotheses and the generalized Behrens-Fisher problem", Stat. Probab. Lett. 36, 1997.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfs_cli.compute.limits import EPS
from sfs_cli.compute.matrix import Arrays, BlockLike
from sfs_cli.methods.base import Problem, Scorer, Status
from sfs_cli.methods.classical import FisherScorer, class_columns
from sfs_cli.methods.cox import CoxScorer
from sfs_cli.methods.moderated_tests import ModeratedScorer
from sfs_cli.methods.rank_tests import RankSumScorer, SpearmanScorer, rank_rows
from sfs_cli.methods.significance.judge import ENOUGH, HOW, PERMUTATION, Judge, Judged, unit
from sfs_cli.methods.significance.permutation import TIE, counted, rounds_up_to
from sfs_cli.methods.significance.ratios import Ratio, ratio_of_columns
from sfs_cli.methods.significance.tested import ByOrders
from sfs_cli.methods.welch import WelchScorer, welch

MOST = 100_000
"""Orders of a feature at most where no number is asked for: of 20,000 features four with the
smallest p-value that so many give have a q-value of .05."""
CONSTANT = 1e-3
"""Of the orders in which a class may have one value alone."""
HELD = 1_000_000
"""Numbers of one array at a time."""


class PermutedTest(ByOrders):
    """A test with p-values, and q-values, by orders of the samples in place of those of theory.

    Parameters
    ----------
    scorer : Scorer
        Of a method of `sfs_cli.catalog.TESTING`, for which all samples count alike.
    problem : Problem
        What it was made for.
    null : str
        ``moments``, by which only features with small p-values are permuted, or ``permutation``.
    draws : int
        Permutations of each feature at most; 0 where no number is asked for.
    least : float
        What no p-value is below: 1 over the number of different orders of the labels.
    """

    def __init__(
        self, scorer: Scorer, problem: Problem, null: str, draws: int, least: float
    ) -> None:
        super().__init__(scorer, null, draws)
        self.warnings += scorer.warnings  # not those that its own p-values may add
        test = scorer.scorer if isinstance(scorer, ModeratedScorer) else scorer
        self.of_ranks = isinstance(test, RankSumScorer | SpearmanScorer)
        most, context = draws or MOST, problem.context
        ratio = ratio_of_test(test, problem)
        judge = Judge(ratio, null, most, context.seed, context.blocks, least)
        self.judge: Judge | WelchJudge = judge
        if isinstance(test, WelchScorer):
            self.judge = WelchJudge(judge, problem.codes, most, context.seed)

    def score_block(self, block: BlockLike) -> Arrays:
        """Return what the test finds, p-values ``p`` by orders, and ``how`` these were found."""
        values = block.values.copy()  # scoring may overwrite the block
        found = self.scorer.score_block(block)
        p, how = np.full(len(values), np.nan), np.full(len(values), len(HOW), np.int8)
        rows = np.flatnonzero(found["status"] == Status.OK)
        x = rank_rows(values[rows]).doubled if self.of_ranks else values[rows]
        p[rows], _, how[rows] = self.judge.test(x)
        return found | {"p": p, "how": how}

    def columns(self, found: Arrays) -> dict[str, Any]:
        """Return the columns of the test, with these p-values."""
        own, p = self.scorer.columns(found), found["p"]
        none = np.full(len(p), np.nan)
        columns = self.told_columns(p, none, found["how"])
        del columns["effect"]
        return own | columns


def ratio_of_test(scorer: Scorer, problem: Problem) -> Ratio:
    """Return the ratio that grows with the statistic of a test, of features or of their ranks."""
    if isinstance(scorer, FisherScorer):
        columns = scorer.thin.columns
    elif isinstance(scorer, RankSumScorer | WelchScorer):
        columns = class_columns(problem.codes)
    else:
        assert isinstance(scorer, CoxScorer | SpearmanScorer)
        line = scorer.model.residuals if isinstance(scorer, CoxScorer) else scorer.outcome
        columns = line[:, None] / np.linalg.norm(line)
    return ratio_of_columns(columns, problem.context.basis.T)


class WelchJudge:
    """p-values of Welch's F by its values in random orders of the samples, sequentially.

    Orders and rounds are as in `sfs_cli.methods.significance.permutation`. A class in which all
    values are equal has no variance. Where so many are that this happens to the smallest class in
    more than `CONSTANT` of the orders, no other value of F is rare, and variances are pooled.

    Parameters
    ----------
    pooled : Judge
        Of the F-test of the classes.
    codes : ndarray of int, shape (n,)
        Class of each sample, 0..c-1.
    draws : int
        Orders of a feature at most.
    seed : int
        Random seed.
    """

    def __init__(self, pooled: Judge, codes: np.ndarray, draws: int, seed: int) -> None:
        self.pooled, self.codes, self.counts, self.seed = pooled, codes, np.bincount(codes), seed
        self.rounds = rounds_up_to(draws)
        self.marks = np.random.default_rng(0).integers(1 << 40, size=len(codes))

    def test(self, values: np.ndarray) -> Judged:
        """Test features, shape (b, n), in any units."""
        common, n, least = rank_rows(values).common, len(self.codes), self.counts.min()
        drawn = np.arange(least)
        chance = np.prod(np.maximum(common[:, None] - drawn, 0) / (n - drawn), axis=1)
        p, how = np.empty(len(values)), np.full(len(values), PERMUTATION, np.int8)
        tied = np.flatnonzero(chance > CONSTANT)
        if len(tied):
            p[tied], _, how[tied] = self.pooled.test(values[tied])
        rows = np.flatnonzero(chance <= CONSTANT)
        together = max(1, HELD // (self.rounds[0] * len(self.counts)))
        for low in range(0, len(rows), together):
            part = rows[low : low + together]
            p[part] = np.maximum(self._permuted(unit(values[part])), self.pooled.least)
        return Judged(p, np.full(len(p), np.nan), how)

    def _permuted(self, x: np.ndarray) -> np.ndarray:
        """Return the p-values (b,) of features (b, n) around their means, of unit norm."""
        observed = self._shares(x, self.codes[None])[:, 0]
        shuffled, better, p = np.empty_like(x), np.zeros(len(x), int), np.ones(len(x))
        for row, f in enumerate(x):
            rng = np.random.default_rng((self.seed, int(self.marks[f > 0].sum())))
            shuffled[row] = f[rng.permutation(len(f))]
        rows, begun = np.arange(len(x)), 0
        for end in self.rounds:
            rng = np.random.default_rng((self.seed, end))
            while begun < end and len(rows):
                at_once = HELD // (max(len(rows), len(self.codes)) * len(self.counts))
                at_once = max(self.rounds[0], at_once)  # the first round as a whole
                orders = np.tile(self.codes, (min(at_once, end - begun), 1))
                found = self._shares(shuffled[rows], rng.permuted(orders, axis=1))
                good = found >= observed[rows, None] - TIE
                enough = np.full(len(rows), ENOUGH)
                p[rows], better[rows] = counted(good, better[rows], begun, enough)
                rows, begun = rows[better[rows] < ENOUGH], begun + len(orders)
        return p

    def _shares(self, x: np.ndarray, orders: np.ndarray) -> np.ndarray:
        """Return ``F / (1 + F)`` of features (b, n) with the classes in some orders (r, n): (b, r).

        It is 1 where F is infinite.
        """
        n, squares, sums, within = orders.shape[1], x * x, [], []
        for code, count in enumerate(self.counts.tolist()):
            inside = np.equal(orders.T, code).astype(np.float64)
            sums.append(x @ inside / count)
            within.append(np.maximum(squares @ inside - count * sums[-1] ** 2, 0))
        means, spread = (np.stack(s, axis=-1).reshape(-1, len(s)) for s in (sums, within))
        F = welch(means, spread, self.counts, np.full(len(means), n * EPS)).statistic
        return (1 - 1 / (1 + F)).reshape(len(x), len(orders))
