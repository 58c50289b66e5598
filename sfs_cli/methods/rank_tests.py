"""Tests of ranks: Mann-Whitney, Kruskal-Wallis and Spearman. Only the order of the values matters.

H. B. Mann and D. R. Whitney, "On a test of whether one of two random variables is stochastically
larger than the other", Ann. Math. Stat. 18, 1947; W. H. Kruskal and W. A. Wallis, "Use of ranks in
one-criterion variance analysis", J. Am. Stat. Assoc. 47, 1952; C. Spearman, "The proof and
measurement of association between two things", Am. J. Psychol. 15, 1904.

Equal values have the mean of their ranks. Twice such a rank is an integer, so sums of ranks are
exact, and the number of orders of the labels with some sum can be counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import permutations
from math import comb
from typing import Any, NamedTuple

import numpy as np

from sfs_cli.compute.limits import EPS
from sfs_cli.compute.matrix import Arrays, BlockLike
from sfs_cli.errors import InputError
from sfs_cli.methods.base import Problem, Scorer, Status
from sfs_cli.methods.classical import class_columns
from sfs_cli.methods.kernel import by_pieces, center
from sfs_cli.methods.shared import class_counts, f_tests, least_p_value, unit_outcome
from sfs_cli.methods.significance.moments import Powers, RatioMoments
from sfs_cli.ranking.false_discovery import q_values

SMALL_CLASS = 8
"""Samples of the smaller class up to which p-values of two classes are exact, as in SciPy."""
WORK_WITH_TIES = 50_000
"""Additions up to which the orders of a feature with equal values are counted."""
COMMON = 4
"""Values are taken for few where a ``1 / COMMON``-th of all samples or more have the same one. With
fewer equal values the distribution of a sum of ranks is symmetric enough for the normal one."""
WIDE = 25
"""Standard deviations of the number of the other samples in a class up to which this is done: of
larger ones the normal distribution is near enough."""
LARGE_P = 0.1
"""Of so large p-values by the normal, chi-square or t distribution there is nothing to mend."""
FEW_RANKS = 4
"""Different values beside the most common one whose sums may be multiples of a number."""
TOGETHER = 1_000_000
"""Numbers of one array of these conditional distributions at a time."""
SAMPLES_IN_ANY_ORDER = 9
"""Samples up to which every order of them is tried for Spearman's correlation: 9! = 362,880."""


class Ranks(NamedTuple):
    """Ranks of the values of each feature, doubled so that they are integers.

    Attributes
    ----------
    doubled : ndarray of int64, shape (b, n)
        Twice the rank of each sample, from 2 to 2 n; equal values have their mean rank.
    ordered : ndarray of int64, shape (b, n)
        The same, ascending.
    ties : ndarray of int64, shape (b,)
        ``sum (t^3 - t)`` over the groups of t equal values.
    common : ndarray of int64, shape (b,)
        How many samples have the most common value.
    its_rank : ndarray of int64, shape (b, 2)
        Twice the rank of these; where several values are as common, of the lowest and the highest.
    """

    doubled: np.ndarray
    ordered: np.ndarray
    ties: np.ndarray
    common: np.ndarray
    its_rank: np.ndarray


def rank_rows(values: np.ndarray) -> Ranks:
    """Rank the values of each row of (b, n), which are finite."""
    b, n = values.shape
    order = np.argsort(values, axis=1)
    sorted_values = np.take_along_axis(values, order, axis=1)
    begins = np.ones((b, n + 1), bool)  # of each group of equal values; the last column ends one
    np.not_equal(sorted_values[:, 1:], sorted_values[:, :-1], out=begins[:, 1:n])
    at = np.arange(n)
    first = np.maximum.accumulate(np.where(begins[:, :n], at, 0), axis=1)
    last = np.where(begins[:, 1:], at, n)[:, ::-1]
    last = np.minimum.accumulate(last, axis=1)[:, ::-1]
    size = last - first + 1
    ordered = first + last + 2
    doubled = np.empty_like(ordered)
    np.put_along_axis(doubled, order, ordered, axis=1)
    # each of the t values of a group adds t^2 - 1
    ties = (size * size - 1).sum(axis=1)
    common, its_rank = np.ones(b, np.int64), ordered[:, [0, -1]]
    rows = np.flatnonzero(ties)
    size = size[rows]
    for end, at in enumerate((size.argmax(axis=1), n - 1 - size[:, ::-1].argmax(axis=1))):
        its_rank[rows, end] = ordered[rows, at]
    common[rows] = size.max(axis=1)
    return Ranks(doubled, ordered, ties, common, its_rank)


def patterns_of(ordered: np.ndarray, rows: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield each pattern of equal values, shape (n,), with those of the rows (r,) that have it."""
    patterns, which = np.unique(ordered[rows], axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    ends = np.cumsum(np.bincount(which.ravel(), minlength=len(patterns)))
    yield from zip(patterns, np.split(rows[order], ends[:-1]))


def by_moments(moments: RatioMoments, x: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Return the p-values (b,) of ranks x (b, n) around their means, by all orders of the samples.

    `share` (b,) is the part of their squares along the columns of `RatioMoments.of_columns`.
    """
    x = x / np.sqrt(np.vecdot(x, x))[:, None]
    return moments.tested(-share, Powers.of(x))[0]


class RankSumScorer(Scorer):
    """Mann-Whitney test of two classes, Kruskal-Wallis test of more; larger is better.

    Of two classes with n_1 and n_2 samples, U counts the pairs of samples in which that of the
    second class has the larger value, a tie as one half. The score is the standardized
    ``|U - n_1 n_2 / 2| / s`` with ``s^2 = n_1 n_2 / 12 (n + 1 - sum (t^3 - t) / (n (n - 1)))`` for
    groups of t equal values. Of more classes it is

    ``H = 12 / (n (n + 1)) sum_l n_l (mean rank of l - (n + 1) / 2)^2``,

    divided by ``1 - sum (t^3 - t) / (n^3 - n)``; of two it would be the square of the other one.

    Further columns are the two-sided p-value and the q-value (Benjamini and Hochberg, over the
    features that have a score), and of two classes ``auc``, the common-language effect
    ``U / (n_1 n_2)``: the probability that a sample of the second class has a larger value than one
    of the first, 0.5 where neither is the larger one (K. O. McGraw and S. P. Wong, Psychol. Bull.
    111, 1992).

    The p-value of two classes is

    - exact where one class has at most 8 samples and no values are equal, which is the rule of
      ``scipy.stats.mannwhitneyu``;
    - exact, too, with equal values, where the orders of the labels are counted in few steps: it is
      the share of orders with a score as large. Up to 12 samples that are not zero are such a case,
      whatever the sizes of the classes;
    - where a quarter of the samples or more have the lowest value, such as zero, or the highest,
      and the number of others in a class has a standard deviation of 25 or less, ``sum_j h(j)
      P(j)`` over the numbers j of the other samples that are in one class: h is the hypergeometric
      distribution, and P the chance of a score as large by the normal distribution that the sum of
      ranks has given j. The normal distribution alone takes few expected values for many;
    - that of the normal distribution otherwise, with a correction for continuity of 1/2.

    The p-value of more classes is that of the chi-square distribution with c - 1 degrees of
    freedom. Where a quarter of the samples or more have one value, the normal and the chi-square
    distribution take too few samples for many. The p-value is there the larger one of theirs and
    that of Pearson's distribution with the first four moments of the squared score over all orders
    of the labels (`sfs_cli.methods.significance.moments`). None is smaller than 1 over the number
    of these orders.

    Raises
    ------
    InputError
        When a label is missing, or there are fewer than two classes.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        self.counts = class_counts(problem.codes, "the rank-sum test")
        classes = np.arange(len(self.counts))
        self.members = (problem.codes[:, None] == classes).astype(np.float64)  # (n, c)
        self.two = len(classes) == 2
        self.smaller = int(self.counts.min())
        self.n = len(problem.codes)
        self.least = least_p_value(problem.codes)
        self.dtype = problem.lossless_dtype  # ranks need no more digits than the values have
        self.moments = RatioMoments.of_columns(class_columns(problem.codes))
        self.untied: np.ndarray | None = None
        if self.two and self.smaller <= SMALL_CLASS:
            self.untied = untied_p_values(int(self.counts[0]), int(self.counts[1]))
        self.facts["test"] = "mann-whitney" if self.two else "kruskal-wallis"

    def score_block(self, block: BlockLike) -> Arrays:
        """Return ``score``, ``status`` and ``p_value`` of a block, each (b,); overwrites it.

        Of two classes also ``auc``, and ``exact``: 1 where the p-value is exact, else 0.
        """
        return by_pieces(self._score, block)

    def _score(self, block: BlockLike) -> Arrays:
        from scipy.special import chdtrc, ndtr

        ranks = rank_rows(block.values)
        centered = center(block)
        status = centered.status
        n, usable = self.n, status == Status.OK
        # sums of integers: exact, and so the same whatever rows are beside
        sums = ranks.doubled.astype(np.float64) @ self.members
        away = sums - self.counts * (n + 1)
        with np.errstate(all="ignore"):  # features that do not vary get NaN below
            if self.two:
                pairs = float(np.prod(self.counts))
                spread = np.sqrt(pairs / 12 * (n + 1 - ranks.ties / (n * (n - 1.0))))
                score = np.abs(away[:, 1]) / 2 / spread  # 2 (U - pairs / 2) is what the sum is away
                square, law = score * score, np.minimum(2 * ndtr(0.5 / spread - score), 1)
                p, exact = self._counted(ranks, np.abs(away[:, 1]).astype(np.int64), usable)
                auc = np.where(usable, 0.5 + away[:, 1] / (2 * pairs), np.nan)
                of_two = {"auc": auc, "exact": exact}
            else:
                score = 3 / (n * (n + 1.0)) * (away * away / self.counts).sum(axis=1)
                score /= 1 - ranks.ties / (n**3 - float(n))
                square, law = score, chdtrc(len(self.counts) - 1, score)
                p, of_two = np.full(len(score), np.nan), {}
        sparse = usable & np.isnan(p) & (ranks.common * COMMON >= n)
        rows = np.flatnonzero(sparse & (law < LARGE_P))
        if len(rows):
            x = ranks.doubled[rows] - (n + 1.0)
            law[rows] = np.maximum(law[rows], by_moments(self.moments, x, square[rows] / (n - 1)))
        p = np.where(np.isnan(p), law, p)
        score[~usable] = p[~usable] = np.nan
        return {"score": score, "status": status, "p_value": p, **of_two}

    def _counted(
        self, ranks: Ranks, away: np.ndarray, usable: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the p-values (b,) of sums `away` of their mean that are exact or conditional.

        NaN where they are neither. With them, 1 where they are exact, else 0.
        """
        p, exact = np.full(len(away), np.nan), np.zeros(len(away))
        k = self.smaller
        if self.untied is not None:
            rows = np.flatnonzero(usable & (ranks.ties == 0))
            p[rows] = self.untied[(len(self.untied) - 1) - away[rows] // 2]
            exact[rows] = 1
        others = self.n - ranks.common
        at_most = np.minimum(others, k)
        # sums are short where the most common value, often zero, is the smallest or largest one
        near = (ranks.ordered[:, [0, -1]] == ranks.its_rank).any(axis=1)
        width = np.where(near, others, self.n)
        work = 2.0 * others * at_most * width * at_most
        cheap = usable & (ranks.ties > 0) & (work <= WORK_WITH_TIES)
        rows = np.flatnonzero(cheap)
        if len(rows):  # all but the most common value are at the ends, and tell the pattern
            most = min(int(others[rows].max()) + 1, self.n)
            ends = np.concatenate([ranks.ordered[:, :most], ranks.ordered[:, -most:]], axis=1)
            for _, members in patterns_of(ends, rows):
                p[members] = tied_p_values(ranks.ordered[members[0]], k, away[members])
        exact[rows] = 1
        share = others / self.n  # of which so many are expected in the class, give or take
        deviation = np.sqrt(share * (1 - share) * k * (self.n - k) / (self.n - 1))
        given = near & (ranks.common * COMMON >= self.n) & (deviation <= WIDE)
        rows = np.flatnonzero(usable & ~cheap & np.isnan(p) & given)
        if len(rows):
            of = Ranks(*(part[rows] for part in ranks))
            p[rows] = conditional_p_values(of, k, away[rows])
        return p, exact

    def columns(self, found: Arrays) -> dict[str, Any]:
        """Return the p-values, q-values and, of two classes, effects of all features, each (m,)."""
        p = np.maximum(found["p_value"], self.least)  # NaN stays
        effect = {}
        if self.two:
            effect = {"auc": found["auc"]}
            self.facts["exact_p_values"] = int(np.count_nonzero(found["exact"]))
            self.facts["tested_features"] = int(np.count_nonzero(np.isfinite(found["score"])))
        return {"p_value": p, "q_value": q_values(p), **effect}


def untied_p_values(n_1: int, n_2: int) -> np.ndarray:
    """Return the exact two-sided p-value of each ``u <= n_1 n_2 / 2`` where no values are equal.

    The smaller of U and ``n_1 n_2 - U`` is the index of the array. The number of orders of the
    labels with ``U = u`` is the coefficient of q^u in the Gaussian binomial coefficient
    ``prod_{i=1..k} (1 - q^(l + i)) / (1 - q^i)``, where k is the size of the smaller class and l
    that of the other one (Mann and Whitney 1947).
    """
    k, other = sorted((n_1, n_2))
    ways = np.zeros(n_1 * n_2 // 2 + 1)
    ways[0] = 1
    for i in range(1, k + 1):
        shift = other + i
        if shift < len(ways):
            ways[shift:] -= ways[:-shift].copy()
        for residue in range(i):
            ways[residue::i] = np.cumsum(ways[residue::i])
    return np.minimum(2 * np.cumsum(ways) / comb(n_1 + n_2, k), 1)


def tied_p_values(ordered: np.ndarray, k: int, away: np.ndarray) -> np.ndarray:
    """Return the exact p-values (r,) of rank sums of k samples, for one pattern of equal values.

    It is the share of all choices of k of the n samples whose sum is as far from its mean.

    Parameters
    ----------
    ordered : ndarray of int, shape (n,)
        Twice the ranks, ascending.
    k : int
        Size of one class.
    away : ndarray of int, shape (r,)
        ``|sum of the doubled ranks of the class - k (n + 1)|`` of each feature.
    """
    values, sizes = np.unique(ordered, return_counts=True)
    distance, tail = _tails(tuple(values.tolist()), tuple(sizes.tolist()), k)
    return np.minimum(tail[np.searchsorted(distance, away)], 1)


@lru_cache(maxsize=128)
def _tails(
    values: tuple[int, ...], sizes: tuple[int, ...], k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the distances of the sums from their mean, ascending, and the chance of each or more.

    `values` are the different ranks of `tied_p_values`, and `sizes` how many samples have each.
    Features share patterns: those of different values beside as many zeros have the same.
    """
    n, common = sum(sizes), max(sizes)
    place = sizes.index(common)
    its_rank = values[place]
    others = [v for i, v in enumerate(values) for _ in range(sizes[i]) if i != place]
    # above the smallest of them: sums stay short however many samples have the common value
    base = others[0] if others else 0
    above = [other - base for other in others]
    most = min(k, len(above))
    top = sum(above[len(above) - most :])
    ways = np.zeros((most + 1, top + 1))  # of choosing j samples with a sum
    ways[0, 0] = 1
    for rank in above:
        ways[1:, rank:] += ways[:-1, : top + 1 - rank].copy()
    distances, chances = [], []
    fewest = max(0, k - common)
    # of one choice of j others, C(common, k - j) / C(n, k): by products, as n may be a million
    if fewest:
        chance = 1 / comb(n, k)
    else:
        chance = float(np.prod([(n - k - i) / (n - i) for i in range(n - common)]))
    for j in range(fewest, most + 1):
        sums = np.flatnonzero(ways[j])
        distances.append(np.abs(sums + base * j + (k - j) * its_rank - k * (n + 1)))
        chances.append(ways[j, sums] * chance)
        chance *= (k - j) / (common - k + j + 1)
    distance, shares = np.concatenate(distances), np.concatenate(chances)
    order = np.argsort(distance, kind="stable")
    tail = np.cumsum(shares[order][::-1])[::-1]  # from the far end: small ones keep their digits
    return distance[order], tail


def conditional_p_values(ranks: Ranks, k: int, away: np.ndarray) -> np.ndarray:
    """Return the p-values (r,) of sums of the ranks of k samples, given the most common value.

    Of the n samples, K do not have that value, and j of these are in the class with the chance
    ``C(K, j) C(n - K, k - j) / C(n, k)``. Given j, the doubled rank sum has the mean ``j a + (k -
    j) r``, with the mean rank a of the K samples and the rank r of all others, and the variance of
    j samples drawn from K. Its distribution is taken for the normal one with that, corrected for
    continuity, or is that number where it does not vary.

    Parameters
    ----------
    ranks : Ranks
        Of r features.
    k : int
        Size of one class.
    away : ndarray of int, shape (r,)
        ``|sum of the doubled ranks of the class - k (n + 1)|`` of each feature.
    """
    from scipy.special import gammaln, ndtr

    n, p = ranks.ordered.shape[1], np.zeros(len(away))
    factorial = gammaln(np.arange(1, n + 2))  # its logarithm
    step, most = _steps(ranks), min(k, int((n - ranks.common).max()))
    for part in np.array_split(np.arange(len(p)), -(-len(p) * (most + 1) // TOGETHER)):
        t = ranks.common[part, None]
        K = n - t
        j = np.maximum(0, k - t) + np.arange(most + 1)
        possible = j <= np.minimum(k, K)
        j = np.where(possible, j, np.minimum(k, K))
        total = factorial[K] + factorial[t] + factorial[k] + factorial[n - k] - factorial[n]
        inside = factorial[j] + factorial[k - j]
        chance = np.exp(total - inside - factorial[K - j] - factorial[t - k + j]) * possible
        for end in (0, 1):
            its_rank = ranks.its_rank[part, end, None]
            lower = (its_rank - t - 1) // 2
            # of the ranks without the common value, and with it in between
            square = (K**3 - K - (ranks.ties[part, None] - (t**3 - t))) / 3
            square += 4 * t * (t + K) * (lower * (K - lower) / K)
            rank = its_rank - (n + 1.0)
            mean = -rank * t / K  # of the K, as the sum of all is 0
            spread = np.sqrt(square / np.maximum(K * (K - 1.0), 1) * (j * (K - j)))
            middle = mean * j + rank * (k - j)
            bound = away[part, None] - np.where(spread > 0, step[part, None] / 2, 0.5)
            with np.errstate(divide="ignore"):
                tails = ndtr((middle - bound) / spread) + ndtr((-middle - bound) / spread)
            # of two that are as common, the larger p: the opposite order of the values has the same
            p[part] = np.maximum(p[part], np.vecdot(np.minimum(tails, 1), chance))
            if (ranks.its_rank[part, 0] == ranks.its_rank[part, 1]).all():
                break
    return np.minimum(p, 1)


def _steps(ranks: Ranks) -> np.ndarray:
    """Return what sums of the ranks beside the most common one are multiples of, (r,), 2 or more.

    It is found where they are few: the half is the correction for continuity.
    """
    differs = ranks.ordered[:, 1:] != ranks.ordered[:, :-1]
    step = np.full(len(differs), 2)
    for row in np.flatnonzero(np.count_nonzero(differs, axis=1) <= FEW_RANKS).tolist():
        ordered = ranks.ordered[row]
        values = ordered[np.append(True, differs[row])]
        values = values[values != ranks.its_rank[row, 0]]
        step[row] = max(2, int(np.gcd.reduce(values - values[0])))
    return step


class SpearmanScorer(Scorer):
    """``|rho|`` of Spearman's correlation with an outcome; larger is better.

    rho is the correlation of the ranks, from -1 to 1, with mean ranks for equal values. Further
    columns are the two-sided p-value, the q-value (Benjamini and Hochberg, over the features that
    have a score) and ``rho`` with its sign. Of up to 9 samples the p-value is exact, the share of
    all orders of the samples with a correlation as large. Of more it is that of Student's t
    distribution of ``rho ((n - 2) / (1 - rho^2))^1/2`` with n - 2 degrees of freedom, as of
    ``scipy.stats.spearmanr``, but not below 1 over the number of orders. Where a quarter of the
    samples or more have one value, and so many one outcome, it is not below that of Pearson's
    distribution with the moments of ``rho^2`` over all orders either.

    Raises
    ------
    InputError
        When an outcome is missing, all are the same, or there are fewer than three.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        if problem.outcome is None:
            raise InputError(
                "Spearman's correlation needs labels that are numbers",
                hint="use the rank-sum test for classes",
            )
        unit_outcome(problem.outcome, "Spearman's correlation", 3)  # refuses wrong outcomes
        self.n = len(problem.outcome)
        ranks = rank_rows(np.asarray(problem.outcome, np.float64)[None])
        self.outcome = (ranks.doubled[0] - (self.n + 1)).astype(np.float64)  # with the sum 0
        self.square = float(self.outcome @ self.outcome)
        self.common = int(ranks.common[0])
        self.least = least_p_value(problem.outcome)
        self.threads = problem.engine.executor.nearby.workers
        self.dtype = problem.lossless_dtype
        self.moments = RatioMoments.of_columns(self.outcome[:, None] / np.sqrt(self.square))
        self.in_any_order: np.ndarray | None = None
        if self.n <= SAMPLES_IN_ANY_ORDER:
            self.in_any_order = np.array(list(permutations(self.outcome.tolist())))
        self.facts["p_values"] = "t" if self.in_any_order is None else "exact"

    def score_block(self, block: BlockLike) -> Arrays:
        """Return ``score``, ``status``, ``rho``, ``left`` and ``p_value``, each (b,).

        ``left`` is ``1 - rho^2``. The p-value is exact, or that of the moments, and NaN where these
        are not needed. The block is overwritten.
        """
        return by_pieces(self._score, block)

    def _score(self, block: BlockLike) -> Arrays:
        ranks = rank_rows(block.values)
        centered = center(block)
        status = centered.status
        x = (ranks.doubled - (self.n + 1)).astype(np.float64)
        square, product = np.vecdot(x, x), np.vecdot(x, self.outcome)  # of integers: exact
        x -= (product / self.square)[:, None] * self.outcome
        within = np.vecdot(x, x)  # it has the digits that 1 - rho^2 would lose near 1
        within[within <= (self.n * EPS) ** 2 * square] = 0
        with np.errstate(all="ignore"):  # features that do not vary get NaN below
            rho = np.clip(product / np.sqrt(square * self.square), -1, 1)
            left = within / square
        p = np.full(len(rho), np.nan)
        sparse = np.minimum(ranks.common, self.common) * COMMON >= self.n
        rows = np.flatnonzero(sparse & (status == Status.OK))
        if self.in_any_order is not None:
            for pattern, members in patterns_of(ranks.ordered, np.flatnonzero(status == Status.OK)):
                sums = np.abs(self.in_any_order @ (pattern - (self.n + 1.0)))
                sums.sort()
                as_large = len(sums) - np.searchsorted(sums, np.abs(product[members]))
                p[members] = as_large / len(sums)
        elif len(rows):
            x = ranks.doubled[rows] - (self.n + 1.0)
            p[rows] = by_moments(self.moments, x, rho[rows] ** 2)
        score = np.abs(rho)
        for array in (score, rho, left):
            array[status != Status.OK] = np.nan
        return {"score": score, "status": status, "rho": rho, "left": left, "p_value": p}

    def columns(self, found: Arrays) -> dict[str, Any]:
        """Return the p-values, q-values and signed correlations of all features, each (m,)."""
        rho, p = found["rho"], found["p_value"]
        if self.in_any_order is None:
            freedom = self.n - 2
            with np.errstate(divide="ignore"):
                statistic = rho * rho / found["left"] * freedom
            tests = f_tests(statistic, 1.0, freedom, self.threads, least=self.least)
            p = np.maximum(np.fmax(tests["p_value"], p), self.least)
        return {"p_value": p, "q_value": q_values(p), "rho": rho}
