"""The work of ``--voom``: linear models of log counts with a weight for each count."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sfs_cli.catalog import Method
from sfs_cli.compute.limits import EPS
from sfs_cli.compute.matrix import DOUBLE, Arrays, BlockLike, pieces
from sfs_cli.methods.base import Problem, Scorer, Status
from sfs_cli.methods.classical import FTestScorer, two_classes
from sfs_cli.methods.precision import MeanVarianceTrend, PrecisionWeights, fit_trend
from sfs_cli.report.model import Section
from sfs_cli.run.load import Run
from sfs_cli.run.scoring import RankResult, Scored, score_on

ENOUGH = 1.0
"""Mean log2 counts below this are of features that a filter of counts leaves out."""
TREND = "means and variances of log counts for --voom"


class PrecisionScorer(FTestScorer):
    """The F statistic of classes in a weighted linear model of log2 counts; larger is better.

    Blocks are of raw counts. With ``Q R`` of the rows of the design times the roots of the weights,
    in the order intercept, covariates, classes, the last entries of ``Q' W^1/2 y`` are what the
    classes add to the fit: F is that of nested models with and without them. Class means are those
    of the fit, where covariates have their means over all samples. The score of the t-test is the
    root of F.

    Parameters
    ----------
    problem : Problem
        Its matrix has raw counts, with nothing taken out of them.
    library_sizes : ndarray, shape (n,)
        Total counts, times their normalization factors if there are any.
    of_t : bool
        Whether it is the t-test.

    Raises
    ------
    InputError
        As for the F-test, and for the t-test where there are not two classes.
    """

    def __init__(self, problem: Problem, library_sizes: np.ndarray, *, of_t: bool) -> None:
        if of_t:
            two_classes(problem.codes, each=1)
        super().__init__(problem)
        columns = self.thin.columns
        rows = [np.ones((1, problem.n_samples)), problem.context.basis, columns.T]
        self.of_t, self.dtype = of_t, DOUBLE
        self.design = np.concatenate(rows).T
        self.precision = PrecisionWeights(self.design, library_sizes)
        self.trend: MeanVarianceTrend | None = None
        self.facts["variances"] = "weighted"

    def fit_trend(self, log_count: np.ndarray, root_sd: np.ndarray) -> None:
        """Take the trend of what `measure_counts` gives of all features, each shape (m,)."""
        self.trend = fit_trend(log_count, root_sd)
        used = log_count[~np.isnan(root_sd)]
        low, high = (float(end) for end in (used.min(), used.max())) if len(used) else (0.0, 0.0)
        sd = [1.0, 1.0] if self.trend is None else (self.trend(np.array([low, high])) ** 2).tolist()
        self.facts["precision"] = {
            "features": len(used),
            "log2_counts": [low, high],
            "standard_deviations": sd,
        }

    def measure_counts(self, block: BlockLike) -> Arrays:
        """Return the mean log2 count and the root of the residual deviation of each feature."""
        log_count, root_sd = self.precision.measure(block.values)
        return {"log_count": log_count, "root_sd": root_sd}

    def score_block(self, block: BlockLike) -> Arrays:
        """Return what is found of a block of counts; of classes, the means of the fit.

        ``square`` is the weighted sum of squares beside the covariates, and ``mean`` that of the
        log2 counts per million without weights.
        """
        b, n = block.values.shape
        parts = pieces(b, n * self.design.shape[1])
        fits = [self._fit(block.values[part]) for part in parts]
        between, within, mean, fitted = (np.concatenate(each) for each in zip(*fits))
        square = between + within
        within[within <= (n * EPS) ** 2 * square] = 0  # the rounding of the fit
        status = np.where(block.values.any(axis=1), Status.OK, Status.ALL_ZERO).astype(np.int8)
        if block.left_out is not None:
            np.copyto(status, block.left_out, where=block.left_out != 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            score = self.ratio * between / within
        status[np.isnan(score) & (status == Status.OK)] = Status.CONSTANT
        score[status != Status.OK] = np.nan
        score = np.sqrt(score) if self.of_t else score
        found = {"score": score, "status": status, "square": square, "mean": mean}
        if self.class_means is not None:
            found["class_means"] = self.class_means.measure(fitted)
        return found

    def _fit(self, counts: np.ndarray) -> tuple[np.ndarray, ...]:
        """Return the scatter between and within classes, the mean and the fit of counts (b, n)."""
        y, weights = self.precision.weighted(counts, self.trend)
        root, mean = np.sqrt(weights), y.mean(axis=1)
        z = (y - mean[:, None]) * root
        # one feature after the other, so that none is rounded by where it is in the block
        Q = np.linalg.qr(root[:, :, None] * self.design).Q  # (b, n, p)
        effects = np.matmul(Q.transpose(0, 2, 1), z[:, :, None])
        z -= np.matmul(Q, effects)[:, :, 0]
        of_classes = effects[:, -self.freedom[0] :, 0]  # their columns are the last of the design
        between, within = np.vecdot(of_classes, of_classes), np.vecdot(z, z)
        return between, within, mean, y - z / root


def rank_counts(run: Run) -> Scored:
    """Score the counts themselves, with covariates in the model in place of taken out."""
    matrix, sizes = run.matrix, run.matrix.totals
    assert sizes is not None
    raw = replace(matrix, steps=(), adjustment=None).fitted_as(matrix)

    def prepare(problem: Problem) -> Scorer:
        scorer = PrecisionScorer(problem, sizes, of_t=run.config.scorer == "t-test")
        passes = problem.engine.at(TREND)
        scorer.fit_trend(**passes.columns(scorer.measure_counts, scorer.dtype))
        return scorer

    return score_on(run.with_engine(source=raw), None, prepare)


def tell_trend(run: Run, found: RankResult) -> None:
    """Say what the weights come from."""
    facts = found.facts["method"].pop("precision")
    run.log.note(
        f"--voom: weights from the trend of {facts['features']:,} features, with the library "
        f"sizes of --transform {run.config.transform}"
    )
    if facts["log2_counts"][0] < ENOUGH and run.config.min_count is None:
        run.log.note(
            "features with hardly any counts are tested, too, and take part in the trend: "
            "--min-count 10 leaves them out"
        )
    found.facts["precision"] = facts


def section(facts: dict[str, Any], method: Method) -> Section:
    """Return what the page says of the weights: the ends of the trend."""
    ends = zip(facts["log2_counts"], facts["standard_deviations"])
    trend = " to ".join(f"{sd:.3g} at 2^{count:.1f} counts" for count, sd in ends)
    return Section(
        heading="Precision",
        pairs=[
            ("Weights", f"of each count (voom), by {facts['features']:,} features"),
            ("Standard deviations of log2 counts", trend),
        ],
        how=f"{method.how({})} Each count has the weight of its mean (voom).",
        reference="Law, Chen, Shi and Smyth, Genome Biology 15, 2014",
    )
