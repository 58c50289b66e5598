"""mRMR: features that tell the classes apart and are not correlated with those chosen before.

C. Ding and H. Peng, "Minimum redundancy feature selection from microarray gene expression data",
Journal of Bioinformatics and Computational Biology 3, 2005: FCD and FCQ, the F statistic as
relevance and the absolute Pearson correlation as redundancy.
"""

from __future__ import annotations

import numpy as np

from sfs_cli.compute.spans import Span
from sfs_cli.methods.base import Context, Solution, Status
from sfs_cli.methods.f_test import FTestScorer
from sfs_cli.methods.features import Features, centred_features
from sfs_cli.methods.precision import Rows


def solve(context: Context) -> Solution:
    """Choose features greedily; each time that of the largest score among the rest.

    The score of a feature is its F statistic minus (``variant="difference"``) or over
    (``"quotient"``) the mean of its absolute correlations with the features chosen before; for the
    first it is the F statistic. Infinite F statistics come first, in the order of the input.

    Parameters
    ----------
    context : Context
        With the engine, labels of all samples, and the options ``select`` and ``variant``.

    Returns
    -------
    Solution
        Scores at the time of choice, NaN for features that were not chosen. ``order`` goes on with
        those, by the score that they would have had next.

    Raises
    ------
    InputError
        When a label is missing, there are fewer than two classes, or no class has two samples.
    """
    assert context.engine is not None
    scorer = FTestScorer(context)
    features = centred_features(context.engine, "unit", context.memory)
    relevance = _relevance(features, scorer)
    wanted = int(context.options["select"])
    able = int(features.usable.sum())
    path = _Path(relevance, context.options["variant"])
    for _ in range(min(wanted, able)):
        chosen = path.choose()
        f = features.take(np.array([chosen]))[0]
        path.correlated(np.abs(features.project(f[:, None])[:, 0]))
    status = features.status.copy()
    status[features.usable & np.isnan(path.score)] = Status.NOT_SELECTED
    return Solution(
        path.score,
        status,
        order=np.concatenate([path.chosen, path.rest()]).astype(np.int64),
        extra={"f_statistic": relevance},
        stop=f"{len(path.chosen)} features were chosen",
        facts={"selected": len(path.chosen), "passes": features.passes},
        warnings=[f"only {able:,} features can be chosen"] if able < wanted else [],
    )


def _relevance(features: Features, scorer: FTestScorer) -> np.ndarray:
    """Return the F statistics, NaN where a feature cannot be scored."""

    def task(block: np.ndarray, _span: Span) -> np.ndarray:
        return scorer.score_block(Rows(block.copy(), None, None))[0]

    relevance = np.concatenate([part for _, part in features.map(task)])
    relevance[~features.usable] = np.nan
    return relevance


class _Path:
    """The features chosen so far, and how redundant the others have become."""

    def __init__(self, relevance: np.ndarray, variant: str) -> None:
        self.relevance = relevance
        self.difference = variant == "difference"
        self.redundancy = np.zeros(len(relevance))
        self.open = ~np.isnan(relevance)
        self.score = np.full(len(relevance), np.nan)
        self.chosen: list[int] = []

    def choose(self) -> int:
        """Choose the next feature."""
        current = self._current()
        best = int(np.argmax(np.where(self.open, current, -np.inf)))
        self.score[best] = current[best]
        self.open[best] = False
        self.chosen.append(best)
        return best

    def correlated(self, correlation: np.ndarray) -> None:
        """Take note of the absolute correlations with the last chosen feature."""
        self.redundancy += correlation

    def rest(self) -> np.ndarray:
        """Return those not chosen, the next one first."""
        left = np.flatnonzero(self.open)
        return left[np.argsort(-self._current()[left], kind="stable")]

    def _current(self) -> np.ndarray:
        if not self.chosen:
            return self.relevance.copy()
        mean = self.redundancy / len(self.chosen)
        if self.difference:
            return self.relevance - mean
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.relevance / mean
        return np.where(self.relevance == 0, 0.0, ratio)
