"""Scores with their significance: what is measured of blocks, and columns of the ranking."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfs_cli.compute.engine import ThreadExecutor
from sfs_cli.compute.matrix import Block, BlockLike, Span, cut
from sfs_cli.compute.workspace import Workspace, row_by_row
from sfs_cli.errors import counted
from sfs_cli.methods.base import Problem, Scorer
from sfs_cli.methods.blocks import center, pieces
from sfs_cli.methods.shared import TOGETHER, q_values
from sfs_cli.methods.significance.gaussian import RatioDistribution
from sfs_cli.methods.significance.moments import Powers, RatioMoments
from sfs_cli.methods.significance.permutation import TAILED, Permutations, unusual
from sfs_cli.methods.significance.ratios import Ratio, ratio_of
from sfs_cli.methods.sparse import NonZeroScorer

FIRST_PERMUTATIONS = 100
"""Permutations at least of a feature, with ``permutation``."""
FEW_PERMUTATIONS = 16_000, 250
"""Permutations at most, and at least, of a feature of few values, with ``moments``."""
FEW_VALUES = 16
"""Features of which so few samples have another value than all others are permuted: no smooth
distribution is near enough to that of their scores."""
FEW_MATTER, MOST_VALUES = 6, 32
"""So are those of up to `MOST_VALUES` such samples where so few matter: 1 over sum x^4."""
FEW_DECIDE = 4
"""Those of more values that so few samples decide are permuted near the end of the distribution."""
FEW_SHARE, HELD_BY_GRAPH = 24, 250_000
"""Those that so few samples share are permuted where scores are skewed to the worse ones and theirs
is far out, which four moments do not tell; on graphs of up to so many numbers, which are fast."""
LEAST_VALUES = 3
"""Features of fewer such samples are warned of."""
MEASURES = 8
"""Numbers that `columns` needs of each feature beside the score."""
ROUNDING = 1e-4
"""Of a sum of powers in float32, with some to spare."""
STATISTICS, FEWEST = 200_000, 20_000
"""Permuted ratios from which the rates of small p-values of normal noise are taken, and how few."""
SURE = 2.5
"""Standard errors of these rates that are taken for chance."""
LOOKING, SHUFFLED = 4e9, 20
"""Multiplications at most, and how many of them the shuffling of a value is worth."""
HELD = 1_000_000
"""Numbers of one array at a time."""
NOISE, OF_ORDERS = 100, 1000
"""Where moments are used: normal features that others are compared with, and permutations of those
of few values."""
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
        ``gaussian``, ``moments`` or ``permutation``.
    permutations : int
        Permutations of each feature at most, with ``permutation``.
    least : float
        What no p-value by orders of the samples is below: of a graph of labels alone, 1 over the
        number of different orders of these.

    Raises
    ------
    InputError
        When the graph has too many samples for what is asked for.
    """

    def __init__(
        self,
        scorer: Scorer,
        problem: Problem,
        null: str,
        permutations: int = 0,
        least: float = 0.0,
    ) -> None:
        super().__init__()
        self.scorer = scorer
        self.least = 0.0 if null == "gaussian" else least
        self.dtype, self.larger_is_better = scorer.dtype, scorer.larger_is_better
        self.facts, self.warnings, self.extra = scorer.facts, scorer.warnings, scorer.extra
        self.class_means = scorer.class_means
        self.null = null
        self.arithmetic, self.work = problem.dtype, Workspace()
        self.threads = problem.engine.executor.nearby
        self.ratio = ratio_of(scorer, problem)
        self.distribution: RatioDistribution | None = None
        self.moments: RatioMoments | None = None
        self.permutations: Permutations | None = None
        self.share = FEW_DECIDE
        self.facts["pvalues"] = self.null
        if self.null == "gaussian":
            self.distribution = RatioDistribution(self.ratio, problem.memory)
            if self.distribution.slow is not None:
                problem.context.log.note(self.distribution.slow)
            return
        seed = problem.context.seed
        if self.null == "moments":
            self.moments = RatioMoments.of(self.ratio)
            self.permutations = Permutations(self.ratio, *FEW_PERMUTATIONS, seed)
            fast = self.ratio.numerator.entries_held <= HELD_BY_GRAPH
            self.share = FEW_SHARE if fast else FEW_DECIDE
        else:
            self.facts["permutations"] = permutations
            self.permutations = Permutations(self.ratio, permutations, FIRST_PERMUTATIONS, seed)

    def __getstate__(self) -> dict[str, Any]:
        # workers measure blocks: the distributions stay with the process that makes the columns
        return self.__dict__ | {"distribution": None, "threads": ThreadExecutor()}

    def on_nonzeros(self) -> NonZeroScorer | None:
        """Return the scorer of stored values alone, where nothing else is measured."""
        return None if self._measures else self.scorer.on_nonzeros()

    @property
    def _measures(self) -> bool:
        return self.null != "gaussian" or self.ratio.over in ("share", "norm")

    def score_block(self, block: BlockLike) -> tuple[np.ndarray, ...]:
        """Return scores, statuses, and what `columns` needs besides; may overwrite the block."""
        # before the scores, which may overwrite the block
        measured = self._measure(block.values) if self._measures else ()
        score, status, *found = self.scorer.score_block(block)
        return score, status, *measured, *found

    def _measure(self, values: np.ndarray) -> tuple[np.ndarray, ...]:
        """Measure features (b, n): part of the mean, squares (b,), and powers or p-values (b, 8).

        The last are the five of `Powers`, the number of values that are not the usual one, and the
        p-value and effect by permutations, which are NaN where the moments are to give them.
        """
        b, n = values.shape
        share, norm, found = np.ones(b), np.ones(b), np.full((b, MEASURES), np.nan)
        with np.errstate(all="ignore"):  # features that do not vary have no score
            if self.ratio.over in ("share", "norm"):
                for part in pieces(b, n):
                    share[part], norm[part] = self._share_and_norm(values[part])
            if self.moments is not None:
                found[:, :5] = self._powers(values)
            if self.permutations is not None:
                self._without_formula(values, found)
        return share, norm, found

    def _share_and_norm(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the part of ``f' D f`` that is not the mean's, and the squares, each (b,)."""
        degrees, volume = self.ratio.degrees, self.ratio.degrees.sum()
        centered = center(Block(values.astype(np.float64)))
        x, norm = centered.values, centered.square * centered.scale**2
        if self.ratio.over == "norm":
            return np.ones(len(x)), norm
        x /= np.sqrt(centered.square)[:, None]
        offset = centered.offset / np.sqrt(centered.square)
        mean = x @ degrees / volume
        square = (x * x) @ degrees - volume * mean**2
        return square / (square + volume * (mean + offset) ** 2), norm

    def _powers(self, values: np.ndarray) -> np.ndarray:
        """Return the `Powers` of features (b, n), shape (b, 5).

        The sums are taken in the arithmetic of the run. In float32 their rounding is about 1e-6 of
        them: that of the values as they are stored, or of a score. Features whose eighth powers
        would over- or underflow are brought to unit norm first.
        """
        b, n = values.shape
        square, sums, shares = np.empty(b), np.empty((5, b)), np.full(n, 1 / n, self.arithmetic)
        for part in pieces(b, n):
            rows = values[part]
            x = self.work.array("powers", len(rows), n, self.arithmetic)
            with row_by_row():
                # of float64 values the difference is rounded: a large offset costs no digits
                np.subtract(rows, rows[:, :1], out=x, casting="same_kind")
                x -= np.vecdot(x, shares)[:, None]
            square[part], sums[:, part] = np.vecdot(x, x), Powers.of(x)
        root = np.sqrt(square)
        for power, total in zip((3, 4, 5, 6, 8), sums):
            total /= root**power
        bounds = np.finfo(self.arithmetic)
        low, high = float(bounds.tiny) ** 0.25 * 2048, float(bounds.max) ** 0.25 / 4
        rows = np.flatnonzero(~((square > low * n) & (square < high)))
        if len(rows):
            sums[:, rows] = Powers.of(_unit(values[rows]))
        return sums.T

    def _without_formula(self, values: np.ndarray, found: np.ndarray) -> None:
        """Count the values of features (b, n), and permute those that no formula is for.

        With moments these have few values, or are decided or shared by so few samples that the best
        orders are beyond what four moments tell.
        """
        assert self.permutations is not None
        n = values.shape[1]
        found[:, 5] = n
        # a feature of few values has a large fourth power: others need not be counted
        few = np.arange(len(values))
        if self.moments is not None:
            few = np.flatnonzero(found[:, 1] >= min(_least_fourth(n), (1 - ROUNDING) / self.share))
        for part in pieces(len(few), n) if len(few) else ():
            rows, chosen = few[part], values[few[part]]
            found[rows, 5] = counts = unusual(chosen)
            x = _unit(chosen)
            if self.moments is not None:
                powers = Powers(*found[rows, :5].T)
                permuted = _few_valued(counts, powers)
                decided = np.flatnonzero(~permuted & (powers.fourth > 1 / self.share))
                if len(decided):
                    t = self.permutations.ratios(x[decided])
                    of_decided = Powers(*(power[decided] for power in powers))
                    near_end, against = self.moments.beyond(t, of_decided)
                    near_end &= of_decided.fourth > 1 / FEW_DECIDE
                    permuted[decided] = near_end | (against & (self.share == FEW_SHARE))
                rows, x = rows[permuted], x[permuted]
            varies = np.isfinite(x).all(axis=1)
            if varies.any():
                found[rows[varies], 6:] = self.permutations.test(x[varies])

    def columns(self, score: np.ndarray, *measured: np.ndarray) -> dict[str, np.ndarray]:
        """Return the p-values, q-values and effects of all features, each shape (m,)."""
        share, norm, found = measured or (np.ones(1), np.ones(1), np.full((1, MEASURES), np.nan))
        p, effect = found[:, 6], found[:, 7]
        if self.null != "permutation":
            with np.errstate(all="ignore"):  # NaN where there is no score
                t = self.ratio.statistic(score, share, norm)
            same = effect == 0  # in all orders, but for rounding
            of_formula, effect = self._tested(t, found)
            p, effect = np.where(np.isnan(p), of_formula, p), np.where(same, 0.0, effect)
        p = np.maximum(p, self.least)
        p, effect = (np.where(np.isnan(score), np.nan, each) for each in (p, effect))
        drawn = self.facts.get("permutations")
        columns = told_columns(self, p, effect, drawn)
        if self.permutations is not None:
            self._note_values(found[~np.isnan(score), 5])
        return self.scorer.columns(score) | columns

    def effect_of(self, x: np.ndarray) -> float:
        """Return the effect of one feature around its mean, of unit norm, shape (n,)."""
        row = x[None]
        if self.null == "permutation":
            assert self.permutations is not None
            return float(self.permutations.test(row)[0, 1])
        t = self.ratio.numerator.form(row) / self.ratio.denominator.form(row)
        if self.moments is not None:
            return float(self.moments.tested(t, Powers.of(row))[1][0])
        assert self.distribution is not None
        return float(self.distribution.effects(t)[0])

    def _note_values(self, values: np.ndarray) -> None:
        """Warn of features with too few values for a test.

        `values`, (m,), are how many are not the smallest one, or not the largest, as of `unusual`.
        """
        none = int(np.count_nonzero(values < LEAST_VALUES))
        self.facts["features_of_too_few_values"] = none
        if none:
            self.warnings.append(
                f"{counted(none, 'feature')} with the same value in all but {LEAST_VALUES - 1} or "
                "fewer samples: such p-values say which samples these are, and hardly anything "
                f"about the feature; --min-samples {LEAST_VALUES} leaves out those of which it is 0"
            )

    def _tested(self, t: np.ndarray, found: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the p-values and effects of ratios, each shape (m,)."""
        if self.moments is None:
            assert self.distribution is not None
            p = self.distribution.interpolated(t, self.threads)
            return p, self.distribution.effects(t)
        p, effect, moments = np.empty(len(t)), np.empty(len(t)), self.moments

        def test(span: Span) -> None:
            part = slice(span.lo, span.hi)
            powers = Powers(*np.ascontiguousarray(found[part, :5].T))
            with np.errstate(all="ignore"):  # NaN where there is no score
                p[part], effect[part] = moments.tested(t[part], powers)

        for _ in self.threads.map(test, cut(len(t), TOGETHER)):
            pass
        return p, effect


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


def told_columns(
    scorer: Scorer, p: np.ndarray, effect: np.ndarray, permutations: int | None
) -> dict[str, np.ndarray]:
    """Return the columns; give the scorer the facts, and a warning if no q-value can be small.

    That is so of few permutations, without a tail, which give no p-value below
    ``1 / (permutations + 1)``.
    """
    columns, facts = tested_columns(p, effect)
    scorer.facts |= facts
    if permutations is not None and permutations < TAILED:
        tested, q = facts["tested_features"], columns["q_value"]
        least = math.ceil(tested / (SIGNIFICANT * (permutations + 1)))
        if least > 1 and np.nanmin(q) > SIGNIFICANT:
            scorer.warnings.append(
                f"{permutations:,} permutations give no p-value below 1/{permutations + 1:,}: no "
                f"feature has a q-value of {SIGNIFICANT} unless {least:,} of the {tested:,} tested "
                f"ones have that p-value; give --pvalues permutation:{TAILED} or more"
            )
    return columns


def _few_valued(values: np.ndarray, powers: Powers) -> np.ndarray:
    """Tell which features are to be permuted where moments are asked for, shape (m,).

    `values` are the numbers of samples that have another value than the usual one.
    """
    return ((values <= FEW_VALUES) | (powers.fourth > 1 / FEW_MATTER)) & (values <= MOST_VALUES)


def _least_fourth(n: int) -> float:
    """Return what ``sum x^4`` is at least in features that `_few_valued` may hold for.

    Of k values beside the usual one, which is that of n - k samples, it is least where these k are
    equal: ``((1 - q)^3 + q^3) / (n q (1 - q))`` with q = k / n, which falls up to q = 1/2.
    """
    q = min(FEW_VALUES / n, 0.5)
    least = ((1 - q) ** 3 + q**3) / (n * q * (1 - q))
    return (1 - ROUNDING) * min(least, 1 / FEW_MATTER)


def _unit(values: np.ndarray) -> np.ndarray:
    """Return features (b, n) around their means, of unit norm, in float64."""
    centered = center(Block(values.astype(np.float64)))
    return centered.values / np.sqrt(centered.square)[:, None]


def more_often(
    distribution: RatioDistribution, ratio: Ratio, values: np.ndarray, levels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return how many times as often features get small p-values as normal noise would.

    The samples of each feature are permuted: the p-values that normal noise gives to these are
    counted. Of large dense graphs so many ratios take too long: there the probability in all orders
    is that of the moments, beside which of normal noise is 1 whatever the graph is; only features
    of few values are permuted.

    Parameters
    ----------
    distribution : RatioDistribution
        Of normal noise on the graph.
    ratio : Ratio
        What is tested.
    values : ndarray, shape (b, n)
        Centered features. Those that do not vary are left out.
    levels : ndarray, shape (k,)
        The p-values up to which they are called small.

    Returns
    -------
    times : ndarray, shape (k,)
        The mean over the features of the probability, in all orders of their samples, of a ratio
        that normal noise has with the probability of a level; over that.
    chance : ndarray, shape (k,)
        What of this may be chance: `SURE` standard errors for the orders that were drawn, and one
        for the features. These are most of those that are tested, if not all.
    """
    sizes = np.linalg.norm(values, axis=1)
    x = values[sizes > 0] / sizes[sizes > 0, None]
    if not len(x):
        return np.ones(len(levels)), np.zeros(len(levels))
    cost = len(x) * (ratio.numerator.entries_held + SHUFFLED * ratio.n)
    orders = int(min(-(-STATISTICS // len(x)), LOOKING // cost))
    if orders * len(x) >= FEWEST:
        p = _by_permuting(distribution, ratio, x, levels, orders)
    else:
        p = _by_moments(distribution, ratio, x, levels)
        orders = OF_ORDERS
    chance = SURE * np.sqrt(levels / (orders * len(x))) + p.std(axis=0) / np.sqrt(len(x))
    return p.mean(axis=0) / levels, chance / levels


def _by_permuting(
    distribution: RatioDistribution, ratio: Ratio, x: np.ndarray, levels: np.ndarray, orders: int
) -> np.ndarray:
    """Return how often the permuted features (b, n) have p-values up to levels (k,), (b, k)."""
    rng, permutations = np.random.default_rng(0), Permutations(ratio, orders, orders, 0)
    t, rows = np.empty((len(x), orders)), max(1, HELD // ratio.n)
    for f, found in zip(x, t):
        for low in range(0, orders, rows):
            part = found[low : low + rows]
            part[:] = permutations.ratios(rng.permuted(np.tile(f, (len(part), 1)), axis=1))
    p = distribution.interpolated(t.ravel()).reshape(t.shape)
    return np.array([(p <= level).mean(axis=1) for level in levels]).T


def _by_moments(
    distribution: RatioDistribution, ratio: Ratio, x: np.ndarray, levels: np.ndarray
) -> np.ndarray:
    """Return the probabilities of the same by moments over all orders, shape (b, k)."""
    moments = RatioMoments.of(ratio)
    noise = np.random.default_rng(0).normal(size=(NOISE, ratio.n))
    noise -= noise.mean(axis=1, keepdims=True)
    of_noise = Powers.of(noise / np.linalg.norm(noise, axis=1, keepdims=True))
    low, high = (np.full(len(levels), end) for end in distribution.ends)
    for _ in range(60):
        middle = (low + high) / 2
        small = distribution.interpolated(middle) <= levels
        low, high = np.where(small, middle, low), np.where(small, high, middle)
    powers = Powers.of(x)
    few = _few_valued(unusual(x), powers)
    permutations = Permutations(ratio, OF_ORDERS, OF_ORDERS, 0)
    p = np.empty((len(x), len(levels)))
    for k, t in enumerate(low.tolist()):
        usual = moments.tested(np.full(NOISE, t), of_noise)[0].mean()
        p[:, k] = moments.tested(np.full(len(x), t), powers)[0] * levels[k] / usual
        if few.any():
            p[few, k] = permutations.below(x[few], t)
    return p
