"""Scores with their significance: what is measured of blocks, and columns of the ranking."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfs_cli.compute.matrix import Block, BlockLike
from sfs_cli.methods.base import NonZeroScorer, Problem, Scorer
from sfs_cli.methods.blocks import center, pieces
from sfs_cli.methods.shared import q_values
from sfs_cli.methods.significance.gaussian import RatioDistribution
from sfs_cli.methods.significance.moments import Powers, RatioMoments
from sfs_cli.methods.significance.permutation import Permutations
from sfs_cli.methods.significance.ratios import Ratio, ratio_of

DEFAULT_PERMUTATIONS = 1000
FIRST_PERMUTATIONS = 100
"""Permutations at least of a feature, with ``permutation``."""
FEW_PERMUTATIONS = 16_000, 250
"""Permutations at most, and at least, of a feature of few values, with ``moments``."""
FEW_VALUES = 16
"""Features that so few samples have more than the smallest value of are permuted: no smooth
distribution is near enough to that of their scores."""
FEW_MATTER, MOST_VALUES = 6, 32
"""So are those of up to `MOST_VALUES` such samples where so few matter: 1 over sum x^4."""
LEAST_VALUES = 3
"""Features of fewer such samples are warned of."""
MEASURES = 8
"""Numbers that `columns` needs of each feature beside the score."""
NOISE, OF_ORDERS = 100, 4000
"""Normal features that others are compared with, and permutations of those of few values."""
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
        self.ratio = ratio_of(scorer, problem)
        self.distribution: RatioDistribution | None = None
        self.moments: RatioMoments | None = None
        self.permutations: Permutations | None = None
        self.facts["pvalues"] = self.null
        if self.null == "gaussian":
            self.distribution = RatioDistribution(self.ratio, problem.memory)
            return
        seed = problem.context.seed
        if self.null == "moments":
            self.moments = RatioMoments.of(self.ratio)
            self.permutations = Permutations(self.ratio, *FEW_PERMUTATIONS, seed)
        else:
            permutations = int(float(count or DEFAULT_PERMUTATIONS))
            self.facts["permutations"] = permutations
            self.permutations = Permutations(self.ratio, permutations, FIRST_PERMUTATIONS, seed)

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
        """Measure features (b, n): part of the mean, squares (b,), and powers or p-values (b, 8).

        These are the five of `Powers`, the number of values above the smallest one, and the p-value
        and effect by permutations, which are NaN where the moments are to give them.
        """
        b, n = values.shape
        degrees, volume = self.ratio.degrees, self.ratio.degrees.sum()
        share, norm, found = np.ones(b), np.empty(b), np.full((b, MEASURES), np.nan)
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
                if self.permutations is not None:
                    found[part] = self._without_formula(x)
        return share, norm, found

    def _without_formula(self, x: np.ndarray) -> np.ndarray:
        """Return what `_measure` does of features (b, n) around their means, of unit norm."""
        assert self.permutations is not None
        found = np.full((len(x), MEASURES), np.nan)
        found[:, 5] = values = np.count_nonzero(x > x.min(axis=1, keepdims=True), axis=1)
        permuted = np.isfinite(x).all(axis=1)
        if self.moments is not None:
            powers = Powers.of(x)
            found[:, :5] = np.column_stack(powers)
            permuted &= _few_valued(values, powers)
        if permuted.any():
            found[permuted, 6:] = self.permutations.test(x[permuted])
        return found

    def columns(self, score: np.ndarray, *measured: np.ndarray) -> dict[str, np.ndarray]:
        """Return the p-values, q-values and effects of all features, each shape (m,)."""
        share, norm, found = measured or (np.ones(1), np.ones(1), np.full((1, MEASURES), np.nan))
        p, effect = found[:, 6], found[:, 7]
        if self.null != "permutation":
            with np.errstate(all="ignore"):  # NaN where there is no score
                t = self.ratio.statistic(score, share, norm)
                of_formula, effect = self._tested(t, found[:, :5])
                p = np.where(np.isnan(p), of_formula, p)
        p, effect = (np.where(np.isnan(score), np.nan, each) for each in (p, effect))
        columns, facts = tested_columns(p, effect)
        self.facts |= facts
        if self.permutations is not None:
            self._note_values(found[~np.isnan(score), 5])
        return self.scorer.columns(score) | columns

    def _note_values(self, values: np.ndarray) -> None:
        """Warn of features that have too few values (m,) above the smallest one for a test."""
        none = int(np.count_nonzero(values < LEAST_VALUES))
        self.facts["features_of_too_few_values"] = none
        if none:
            self.warnings.append(
                f"{none:,} features differ from their smallest value in fewer than {LEAST_VALUES} "
                "samples: their p-values say where these samples are in the graph, and hardly "
                "anything about the feature; leave them out with --min-samples"
            )

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


def _few_valued(values: np.ndarray, powers: Powers) -> np.ndarray:
    """Tell which features are to be permuted where moments are asked for, shape (m,).

    `values` are the numbers of samples above the smallest value.
    """
    return ((values <= FEW_VALUES) | (powers.fourth > 1 / FEW_MATTER)) & (values <= MOST_VALUES)


def more_often(ratio: Ratio, values: np.ndarray, level: float) -> float:
    """Return how many times as often features get small p-values as normal noise would.

    Parameters
    ----------
    ratio : Ratio
        What is tested.
    values : ndarray, shape (b, n)
        Centered features. Those that do not vary are left out.
    level : float
        The p-value that is called small.

    Returns
    -------
    float
        The mean probability over the features, in all orders of their samples, of a ratio that
        normal noise has with probability `level`; over that.
    """
    sizes = np.linalg.norm(values, axis=1)
    x = values[sizes > 0] / sizes[sizes > 0, None]
    if not len(x):
        return 1.0
    moments = RatioMoments.of(ratio)
    noise = np.random.default_rng(0).normal(size=(NOISE, ratio.n))
    noise -= noise.mean(axis=1, keepdims=True)
    of_noise = Powers.of(noise / np.linalg.norm(noise, axis=1, keepdims=True))
    middle = moments.a / moments.b
    variance = moments.variance(np.full(NOISE, middle), of_noise).mean()
    deviation = float(np.sqrt(variance)) / moments.b

    def probabilities(distance: float, powers: Powers) -> np.ndarray:
        t = np.full(len(powers.third), middle - distance * deviation)
        return moments.tested(t, powers)[0]

    near, far = 0.0, 40.0
    for _ in range(40):
        half = (near + far) / 2
        small = np.nanmean(probabilities(half, of_noise)) <= level
        near, far = (near, half) if small else (half, far)
    powers = Powers.of(x)
    p = probabilities(far, powers)
    few = _few_valued(np.count_nonzero(x > x.min(axis=1, keepdims=True), axis=1), powers)
    if few.any():
        permutations = Permutations(ratio, OF_ORDERS, OF_ORDERS, 0)
        p[few] = permutations.below(x[few], middle - far * deviation)
    return float(np.nanmean(p)) / level
