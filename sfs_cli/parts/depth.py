"""Whether library size (depth) confounds tests of counts.

A test on a sample graph, or of classes, asks whether a feature follows these by more than chance.
Where the samples differ in depth, the graph (or the classes) may follow their totals, and so may
every feature that the transformation leaves on a scale that depends on the depth, such as
logarithms of few counts per million. Null features then pass the test, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sfs_cli.methods.base import Solution
from sfs_cli.methods.precision import log_cpm
from sfs_cli.methods.significance.tested import GraphTest
from sfs_cli.parts.theory import LOOK, label_columns
from sfs_cli.ranking.prune import standardized
from sfs_cli.run.load import Run
from sfs_cli.run.raw_values import is_counts, logged
from sfs_cli.run.top import from_all_over, stored_of, values_of
from sfs_cli.store.matrix import LOOK_VALUES

TOO_SMALL = "p-values are too small, and q-values do not control the false discovery rate"
FEWEST = 100
"""Totals of fewer features are their values rather than a depth."""
BINS = 4
"""Groups of features of similar mean, which a transformation treats alike."""
EQUAL = 1e-9
"""Totals whose logarithms differ by less are equal."""
MEASURED = ("log_total_deviation", "effect_of_totals", "correlation_of_features")
FOLLOWS = 2.0
SHIFT = {"sample graph": 0.15, "labels": 0.25}
"""Depth confounds a test where the totals of the samples would pass it by `FOLLOWS` standard
deviations, and shift the features by `SHIFT`. Labels that follow the totals do so more clearly than
a sample graph, so that chance correlations matter more.

Of Poisson counts (60 and 100 samples, deviations of log depth 0.3, 0.5 and 0.7, 300 features;
classes that follow the depth, and graphs of ``--split``) 82 data sets were not on one scale, as
after ``cpm,log1p``. Those with a false positive rate above 8 % at 0.05 had
shifts of 0.31 or more on graphs, and 0.68 or more for classes. With shifts from 0.15 to 0.25 the
mean rate was 5 %, as with smaller ones. Residuals, and counts of equal depth, 126 data sets,
negative binomial ones too, had at most 0.014 on graphs and 0.17 for classes.
"""


def depth_of(run: Run, solution: Solution) -> dict[str, Any]:
    """Measure how far the depth of the samples confounds the test of the scored features.

    Nothing where the values are no counts, or logarithms before any step, fewer than `FEWEST`
    features have a score, the totals of all samples are alike, or batches or lists are tested one
    by one. Of the facts, as ``depth``:

    - `log_total_deviation`: the standard deviation of the logarithms u of the totals.
    - `effect_of_totals`: the effect that u would have as a feature, in standard deviations.
    - `correlation_of_features`: with u, its median over the group of features of about one mean in
      which it is largest. Medians are near 0 where few features follow the totals for another
      reason, as markers of a class of large cells do. Values that were divided by the totals count
      with `log_total_deviation` at most: null features, Poisson and negative binomial ones of 40
      samples or more, had correlations of up to 0.8 times that, and where two tissues differ in
      most features these follow the totals, however alike the totals are.
    - `tested`: what the test is about, ``sample graph`` or ``labels``.
    - `shift`: how much better than by chance a feature scores for its depth alone. A share r^2 of
      its variance is that of u, r being the correlation.
    - `leads`: whether the test follows the depth.
    """
    scored = solution.scored
    if solution.scorer is None or len(scored) < FEWEST:
        return {}
    if run.cohort.parts or logged(run) is not None:
        return {}
    wanted = min(LOOK, max(4 * BINS, LOOK_VALUES // run.matrix.n_samples))
    features = from_all_over(scored, wanted)
    counts, totals = stored_of(run, features), run.matrix.totals
    others: np.ndarray | None = None
    if totals is None:
        if not is_counts(counts):
            return {}
        totals = np.maximum(np.nansum(counts, axis=0, dtype=np.float64), 1)
        # a feature that is not divided by the total is a part of it
        others = totals - np.nan_to_num(counts)
    logarithm = np.log(totals)
    deviation = float(logarithm.std())
    if not deviation > EQUAL:
        return {}
    design = run.context.basis
    u = standardized(_left(logarithm[None], design))
    beside = u
    if others is not None:
        beside = standardized(_left(np.log(np.maximum(others, 1)), design))
    if run.config.voom:  # which tests logarithms of its own
        values = _left(log_cpm(counts, totals), design)
        values -= values.mean(axis=1, keepdims=True)
    else:
        values = values_of(run, features)
    r = np.vecdot(standardized(values), beside)
    order = np.argsort(np.nanmean(counts, axis=1), kind="stable")
    correlation = max((float(np.median(r[part])) for part in np.array_split(order, BINS)), key=abs)
    if others is None and not run.config.voom:
        correlation = max(-deviation, min(correlation, deviation))
    if isinstance(solution.scorer, GraphTest):
        effect, tested = solution.scorer.effect_of(u[0]), "sample graph"
    else:
        effect, tested = _effect_on_labels(run, u[0]), "labels"
    shift = correlation**2 * effect
    return {
        "depth": {
            **dict(zip(MEASURED, (deviation, effect, correlation))),
            "tested": tested,
            "shift": shift,
            "leads": effect >= FOLLOWS and shift >= SHIFT[tested],
        }
    }


def confounded_by_depth(found: Mapping[str, Any], transform: Any, *, weighted: bool) -> str:
    """Say what to do about a test that depth confounds, by what `depth_of` has found.

    `weighted` tells of ``--voom``, which takes no other transformation.
    """
    what = "labels follow" if found["tested"] == "labels" else "sample graph follows"
    hint = "compare samples of about the same depth"
    if weighted:
        hint = "give --min-count 10, which leaves out the features of few counts that follow it"
    elif "pearson-residuals" not in str(transform):
        hint = "give --transform pearson-residuals, which takes raw counts and corrects for depth"
    deviation, effect, correlation = (found[name] for name in MEASURED)
    return (
        "library size (depth) confounds the test: its logarithm has a standard deviation of "
        f"{deviation:.2f}, the {what} it ({effect:.1f} standard deviations from chance), and so "
        f"do the features (median correlation {correlation:.2f} among those of similar mean); "
        f"{TOO_SMALL}; {hint}"
    )


def _left(values: np.ndarray, design: np.ndarray) -> np.ndarray:
    """Return what covariates (r, n) leave of values (b, n)."""
    return values - (values @ design.T) @ design


def _effect_on_labels(run: Run, u: np.ndarray) -> float:
    """Return by how many standard deviations the labels explain u (n,), of norm 1, above chance."""
    columns = label_columns(run.context.required_labels, run.context.design)
    n, q = columns.shape
    n -= run.context.covariates
    # the share of the squares of a random u that is in the span has a beta distribution
    deviation = np.sqrt(2 * q * (n - 1 - q) / (n + 1)) / (n - 1)
    share = float(np.square(u @ columns).sum())
    return float((share - q / (n - 1)) / deviation) if deviation else 0.0
