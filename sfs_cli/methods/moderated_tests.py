"""The F-test and the t-test with moderated variances."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfs_cli.compute.matrix import Arrays, BlockLike
from sfs_cli.methods.base import Problem, Scorer
from sfs_cli.methods.classical import FTestScorer, PooledTTestScorer, TTestScorer
from sfs_cli.methods.moderated import Prior, moderate
from sfs_cli.methods.shared import f_tests, warn_of_infinite


class ModeratedScorer(Scorer):
    """The F statistic, or absolute t statistic, over moderated variances; larger is better.

    The variance of each feature is the posterior one of `sfs_cli.methods.moderated`. Its degrees of
    freedom are those of the residuals and of the prior. Further columns are the p-value and the
    q-value (Benjamini and Hochberg, over the features that have a score).

    Parameters
    ----------
    scorer : FTestScorer
        What it moderates.
    trend : bool
        Whether the prior variance follows the mean of a feature.
    """

    def __init__(self, scorer: FTestScorer, *, trend: bool) -> None:
        super().__init__()
        self.scorer, self.freedom = scorer, scorer.freedom
        self.trend = trend
        self.dtype, self.facts, self.warnings = scorer.dtype, scorer.facts, scorer.warnings
        self.has_means = scorer.has_means

    def score_block(self, block: BlockLike) -> Arrays:
        """Return what the scorer finds."""
        return self.scorer.score_block(block)

    def columns(self, found: Arrays) -> dict[str, Any]:
        """Return the moderated statistics, their p-values and q-values, each shape (m,)."""
        score, square = found["score"], found["square"]
        if np.isnan(score).all():  # which is refused as without moderation
            return {}
        between, within = self.freedom
        F = score**2 if self.scorer.of_t else score
        with np.errstate(all="ignore"):  # NaN where there is no score, infinite without noise
            s2 = square / (within + between * F)
            added = np.where(np.isinf(F), square / between, F * s2)
            s2 = np.where(np.isnan(score), np.nan, s2)
            posterior = moderate(s2, within, trend=found["mean"] if self.trend else None)
            F = added / posterior.variance
            score = np.sqrt(F) if self.scorer.of_t else F
        prior = posterior.prior
        self.facts["moderated"] = {
            "prior_degrees_of_freedom": prior.df if np.isfinite(prior.df) else None,
            "prior_variance": float(np.nanmedian(prior.variance)),
        }
        freedom = np.nan_to_num(posterior.df, nan=1.0)
        threads, least = self.scorer.threads, self.scorer.least
        self.warnings += [*warn_of_infinite(score, least), *_warn_of_still(prior, F)]
        return {"score": score} | f_tests(F, between, freedom, threads, least=least)


def moderated(problem: Problem, scorer: Scorer, *, trend: bool) -> Scorer:
    """Return the scorer with moderated variances; those of a t-test are pooled first."""
    if isinstance(scorer, TTestScorer):
        scorer = PooledTTestScorer(problem)
    assert isinstance(scorer, FTestScorer)
    return ModeratedScorer(scorer, trend=trend)


def _warn_of_still(prior: Prior, statistic: np.ndarray) -> list[str]:
    """Return the warning, if any, that the prior is that of features which vary by labels alone.

    Their variances of 0 are raised to a constant, so that p-values depend on the unit of the values
    where half of them are such; `statistic` (m,) is NaN for features without a variance.
    """
    scored = int(np.count_nonzero(~np.isnan(statistic)))
    if 2 * prior.raised < scored or not prior.raised:
        return []
    return [
        f"{prior.raised:,} of {scored:,} features vary by the labels alone, so that moderated "
        "variances, and their p-values, depend on the unit of the values (are the values rounded, "
        "or the samples few?); give --moderate no"
    ]
