"""Scores with their significance: what is measured of blocks, and columns of the ranking."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, NamedTuple

import numpy as np

from sfs_cli.compute.engine import ThreadExecutor
from sfs_cli.compute.matrix import BlockLike, Span, Workspace, cut, pieces, row_by_row
from sfs_cli.errors import counted
from sfs_cli.methods.base import Problem, Scorer
from sfs_cli.methods.kernel import centered_copy
from sfs_cli.methods.shared import SIGNIFICANT, TOGETHER
from sfs_cli.methods.significance.moments import Powers, RatioMoments
from sfs_cli.methods.significance.permutation import Permutations, unusual
from sfs_cli.methods.significance.ratios import ratio_of
from sfs_cli.ranking.false_discovery import q_values

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
ROUNDING = 1e-4
"""Of a sum of powers in float32, with some to spare."""


class Measured(NamedTuple):
    """What p-values of features need beside their scores; NaN, or 1, where it is not needed.

    Attributes
    ----------
    share : ndarray, shape (m,)
        The part of ``f' D f`` that is not the mean's.
    norm : ndarray, shape (m,)
        Sums of squares around the mean.
    powers : ndarray, shape (m, 5)
        Those of `Powers`.
    values : ndarray, shape (m,)
        Numbers of values that are not the usual one, as of `unusual`.
    permuted : ndarray, shape (m, 2)
        p-values and effects by permutations; NaN where the moments are to give them.
    """

    share: np.ndarray
    norm: np.ndarray
    powers: np.ndarray
    values: np.ndarray
    permuted: np.ndarray

    @classmethod
    def nothing(cls, m: int) -> Measured:
        """Return that nothing was measured of m features."""
        powers, values, permuted = (np.full(shape, np.nan) for shape in ((m, 5), m, (m, 2)))
        return cls(np.ones(m), np.ones(m), powers, values, permuted)


class GraphTest(Scorer):
    """A test of features on sample graphs."""

    @abstractmethod
    def effect_of(self, x: np.ndarray) -> float:
        """Return the effect of one feature around its mean, of unit norm, shape (n,)."""


class TestedScorer(GraphTest):
    """A scorer with three more columns: ``p_value``, ``q_value`` and ``effect``.

    The p-value is the probability of a score that is as good, if the values of the feature were
    independent of the graph: of the same values in all orders of the samples, by the moments of
    these orders or by some of them. The q-value is that of Benjamini and Hochberg over
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
        ``moments`` or ``permutation``.
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
        self.least = least
        self.dtype, self.larger_is_better = scorer.dtype, scorer.larger_is_better
        self.facts, self.warnings, self.extra = scorer.facts, scorer.warnings, scorer.extra
        self.class_means = scorer.class_means
        self.null = null
        self.arithmetic, self.work = problem.dtype, Workspace()
        self.threads = problem.engine.executor.nearby
        self.ratio = ratio_of(scorer, problem)
        self.moments: RatioMoments | None = None
        self.share = FEW_DECIDE
        self.facts["pvalues"] = self.null
        seed = problem.context.seed
        if self.null == "moments":
            self.moments = RatioMoments.of(self.ratio)
            self.permutations = Permutations(self.ratio, *FEW_PERMUTATIONS, seed)
            fast = self.ratio.numerator.entries_held <= HELD_BY_GRAPH
            self.share = FEW_SHARE if fast else FEW_DECIDE
        else:
            self.facts["permutations"] = permutations
            blocks = problem.context.blocks
            self.permutations = Permutations(
                self.ratio, permutations, FIRST_PERMUTATIONS, seed, blocks
            )

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"threads": ThreadExecutor()}

    def score_block(self, block: BlockLike) -> tuple[np.ndarray, ...]:
        """Return scores, statuses, and what `columns` needs besides; may overwrite the block."""
        # before the scores, which may overwrite the block
        measured = self._measure(block.values)
        values = None if self.moments is None else block.values.copy()
        score, status, *found = self.scorer.score_block(block)
        if self.moments is not None and values is not None:
            self._past_the_end(self.moments, score, values, measured)
        return score, status, *measured, *found

    def _past_the_end(
        self, moments: RatioMoments, score: np.ndarray, values: np.ndarray, found: Measured
    ) -> None:
        """Permute the features of a block (b, n) whose scores the fitted distributions rule out.

        Four moments do not tell where a distribution ends: a score past that is not impossible.
        """
        with np.errstate(all="ignore"):  # NaN where there is no score
            t = self.ratio.statistic(score, found.share, found.norm)
            past = moments.past_the_end(t, Powers(*np.ascontiguousarray(found.powers.T)))
        rows = np.flatnonzero(past & np.isnan(found.permuted[:, 0]))
        if len(rows):
            found.permuted[rows] = self.permutations.test(_unit(values[rows]))

    def _measure(self, values: np.ndarray) -> Measured:
        """Measure features (b, n)."""
        found = Measured.nothing(len(values))
        with np.errstate(all="ignore"):  # features that do not vary have no score
            if self.ratio.over in ("share", "norm"):
                for part in pieces(*values.shape):
                    found.share[part], found.norm[part] = self._share_and_norm(values[part])
            if self.moments is not None:
                found.powers[:] = self._powers(values)
            self._without_formula(values, found)
        return found

    def _share_and_norm(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the part of ``f' D f`` that is not the mean's, and the squares, each (b,)."""
        degrees, volume = self.ratio.degrees, self.ratio.degrees.sum()
        centered = centered_copy(values)
        x, norm = centered.values, centered.spread
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

    def _without_formula(self, values: np.ndarray, found: Measured) -> None:
        """Count the values of features (b, n), and permute those that no formula is for.

        With moments these have few values, or are decided or shared by so few samples that the best
        orders are beyond what four moments tell.
        """
        n = values.shape[1]
        found.values[:] = n
        # a feature of few values has a large fourth power: others need not be counted
        few = np.arange(len(values))
        if self.moments is not None:
            least = min(_least_fourth(n), (1 - ROUNDING) / self.share)
            few = np.flatnonzero(Powers(*found.powers.T).fourth >= least)
        for part in pieces(len(few), n) if len(few) else ():
            rows, chosen = few[part], values[few[part]]
            found.values[rows] = counts = unusual(chosen)
            x = _unit(chosen)
            if self.moments is not None:
                powers = Powers(*found.powers[rows].T)
                permuted = few_valued(counts, powers)
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
                found.permuted[rows[varies]] = self.permutations.test(x[varies])

    def columns(self, score: np.ndarray, *measured: np.ndarray) -> dict[str, np.ndarray]:
        """Return the p-values, q-values and effects of all features, each shape (m,)."""
        found = Measured(*measured)
        p, effect = found.permuted.T
        if self.moments is not None:
            with np.errstate(all="ignore"):  # NaN where there is no score
                t = self.ratio.statistic(score, found.share, found.norm)
            same = effect == 0  # in all orders, but for rounding
            of_formula, effect = self._tested(self.moments, t, found.powers)
            p, effect = np.where(np.isnan(p), of_formula, p), np.where(same, 0.0, effect)
        p = np.maximum(p, self.least)
        p, effect = (np.where(np.isnan(score), np.nan, each) for each in (p, effect))
        drawn = self.facts.get("permutations")
        columns = told_columns(self, p, effect, drawn)
        self._note_values(found.values[~np.isnan(score)])
        return self.scorer.columns(score) | columns

    def effect_of(self, x: np.ndarray) -> float:
        """Return the effect of one feature around its mean, of unit norm, shape (n,)."""
        row = x[None]
        if self.moments is None:
            return float(self.permutations.test(row)[0, 1])
        t = self.ratio.numerator.form(row) / self.ratio.denominator.form(row)
        return float(self.moments.tested(t, Powers.of(row))[1][0])

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

    def _tested(
        self, moments: RatioMoments, t: np.ndarray, sums: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the p-values and effects of ratios, each shape (m,), by `Measured.powers`."""
        p, effect = np.empty(len(t)), np.empty(len(t))

        def test(span: Span) -> None:
            part = slice(span.lo, span.hi)
            powers = Powers(*np.ascontiguousarray(sums[part].T))
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

    Permutations give no p-value below ``1 / (permutations + 1)``.
    """
    columns, facts = tested_columns(p, effect)
    scorer.facts |= facts
    if permutations is not None:
        tested, q = facts["tested_features"], columns["q_value"]
        least = math.ceil(tested / (SIGNIFICANT * (permutations + 1)))
        if least > 1 and np.nanmin(q) > SIGNIFICANT:
            scorer.warnings.append(
                f"{permutations:,} permutations give no p-value below 1/{permutations + 1:,}: no "
                f"feature has a q-value of {SIGNIFICANT} unless {least:,} of the {tested:,} tested "
                "ones have that p-value; give more permutations, or (not within --block) --pvalues "
                "moments"
            )
    return columns


def few_valued(values: np.ndarray, powers: Powers) -> np.ndarray:
    """Tell which features are to be permuted where moments are asked for, shape (m,).

    `values` are the numbers of samples that have another value than the usual one.
    """
    return ((values <= FEW_VALUES) | (powers.fourth > 1 / FEW_MATTER)) & (values <= MOST_VALUES)


def _least_fourth(n: int) -> float:
    """Return what ``sum x^4`` is at least in features that `few_valued` may hold for.

    Of k values beside the usual one, which is that of n - k samples, it is least where these k are
    equal: ``((1 - q)^3 + q^3) / (n q (1 - q))`` with q = k / n, which falls up to q = 1/2.
    """
    q = min(FEW_VALUES / n, 0.5)
    least = ((1 - q) ** 3 + q**3) / (n * q * (1 - q))
    return (1 - ROUNDING) * min(least, 1 / FEW_MATTER)


def _unit(values: np.ndarray) -> np.ndarray:
    """Return features (b, n) around their means, of unit norm, in float64."""
    centered = centered_copy(values)
    return centered.values / np.sqrt(centered.square)[:, None]
