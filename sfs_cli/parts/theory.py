"""Whether tests by theory hold for the values of a run; where they do not, it is permuted.

A test is tried on features of the matrix in random orders of the samples. Where its p-values are
small too often, those of the run are by permutations in place of theory. Permutations assume that
classes differ in their means alone: variances that differ are warned of.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sfs_cli.catalog import METHODS, TESTING
from sfs_cli.compute.context import Labels
from sfs_cli.compute.matrix import Span
from sfs_cli.methods.base import Solution, Status
from sfs_cli.methods.classical import class_columns
from sfs_cli.methods.kernel import center
from sfs_cli.methods.shared import unit_outcome
from sfs_cli.methods.significance.permuted import MOST
from sfs_cli.methods.significance.theory import LEVELS, false_positives, too_often_by_variances
from sfs_cli.methods.welch import WelchScorer
from sfs_cli.run.guards import tell
from sfs_cli.run.load import Run
from sfs_cli.run.needs import graph_asked
from sfs_cli.run.scoring import problem_of, scorer_of
from sfs_cli.run.top import from_all_over, values_of
from sfs_cli.store.matrix import LOOK_VALUES

OF_VALUES = tuple(m for m in TESTING if METHODS[m].compares or "event" in METHODS[m].needs)
"""Tests that are checked; those of ranks hold whatever the values are
(``tools/benchmarks/calibration_tests.py``)."""
LOOK = 256
"""Features on which tests are checked."""
SMALL_P = 0.001
"""The p-value at which differences of variances are judged."""
UNEQUAL = 3
"""Variances are too different where p-values up to `SMALL_P` are so many times too frequent."""
LAST_RESORT = (
    "use the order of the features and not their p-values, or add samples to small classes"
)


def label_columns(labels: Labels, design: np.ndarray | None) -> np.ndarray:
    """Return orthonormal columns, shape (n, q), each with the sum 0.

    Their span has the class means of centered features, or the line of an outcome, beside the
    `design` of covariates (r, n).
    """
    if labels.values is not None:
        return unit_outcome(labels.values, "the F-test")[:, None]
    return class_columns(np.unique(labels.codes, return_inverse=True)[1], design)


def with_null(run: Run) -> tuple[Run, dict[str, Any]]:
    """Return the run with the null distribution of its p-values, and what ``run.json`` says of it.

    That is theory, unless the values are found not to suit it. Nothing is changed where
    ``--pvalues`` is given, where samples or counts are weighted, which no permutation is for, and
    within batches, whose p-values are not written.
    """
    config, labels, context = run.config, run.context.labels, run.context
    weighted = config.voom or context.sample_weights is not None
    decided = config.pvalues is not None or config.batch is not None or weighted
    if config.scorer not in OF_VALUES or decided or labels is None:
        return run, {}
    scorer, values, equal = scorer_of(config, problem_of(run, None)), some_features(run), True
    if METHODS[config.scorer].compares:
        equal = by_variances(labels, values) < UNEQUAL
        columns = label_columns(labels, context.design)
        values -= (values @ columns) @ columns.T  # what is there to find is no noise
    found = false_positives(scorer, values, context.design, context.blocks)
    facts = {"false_positives": {f"{level:g}": times for level, (times, _) in found.items()}}
    above = [level for level, (times, error) in found.items() if times - error > LEVELS[level]]
    if not above or not equal:
        return run, facts
    level = min(above)
    run.log.note(
        f"p-values by permutation: the values are too skewed for those of {config.scorer} by "
        f"theory (false positive rate at {level:g} would be {found[level][0]:.1f} times nominal)"
    )
    null: dict[str, Any] = {"pvalues": "moments"}
    if context.blocks is not None:  # within which there are no moments
        null = {"pvalues": "permutation", "permutation_draws": MOST}
    return replace(run, config=replace(config, **null)), facts


def some_features(run: Run) -> np.ndarray:
    """Read some of the features that take part and vary, as they are scored, shape (b, n)."""
    by_id = run.matrix.features.by_id
    able = np.arange(run.matrix.n_features) if by_id is None else np.flatnonzero(by_id == 0)
    wanted = min(LOOK, max(1, LOOK_VALUES // run.matrix.n_samples))
    chosen, rows = from_all_over(able, wanted), []
    for at in chosen.tolist():
        block = run.matrix.read(Span(at, at + 1), np.dtype(np.float64))
        values = block.values[0].copy()  # with its mean, which a trend depends on
        if center(block).status[0] == Status.OK:
            rows.append(values)
    run.passes.look(len(chosen))
    return np.array(rows).reshape(-1, run.matrix.n_samples)


def by_variances(labels: Labels, values: np.ndarray) -> float:
    """Return how many times too frequent small p-values are by variances of the classes.

    That is of tests that take the variances for equal; 1 of an outcome, and of classes of one
    sample each.
    """
    codes = np.unique(labels.codes, return_inverse=True)[1]  # without empty classes
    if labels.values is not None or not 1 < codes.max() + 1 < len(codes):
        return 1.0
    return too_often_by_variances(values, codes, SMALL_P)


def warn_of_variances(run: Run, tested: dict[str, Any], solution: Solution) -> None:
    """Warn of tests of class means where the classes differ in size and in variance.

    `tested` are the facts of the method.
    """
    config, labels = run.config, run.context.labels
    if config.scorer in TESTING:
        of_classes = METHODS[config.scorer].compares
    else:
        of_classes = graph_asked(config, run.matrix.n_samples).name == "label"
    if labels is None or not of_classes or run.cohort.parts or config.voom:
        return  # weights of single counts are none of the assumptions that are checked here
    wanted = min(LOOK, max(1, LOOK_VALUES // run.matrix.n_samples))
    values = values_of(run, from_all_over(solution.scored, wanted))
    values -= values.mean(axis=1, keepdims=True)
    times = by_variances(labels, values)
    hint = LAST_RESORT
    if times < UNEQUAL:
        return
    if tested.get("variances") == "not pooled":  # which they may be too few, or too skewed, for
        times = tested.get("false_positives", {}).get(f"{SMALL_P:g}", 1.0)
        hint = f"permutations assume equal variances; {LAST_RESORT}"
        if times < LEVELS[SMALL_P]:
            return
    elif not run.context.covariates and np.bincount(labels.codes).min() > 1:
        of_welch = rate_of_welch(run, values)
        hint = "give --method welch, which estimates a variance for each class"
        if of_welch >= LEVELS[SMALL_P]:
            hint = f"that of --method welch is {of_welch:.1f} times, which is less: {LAST_RESORT}"
            if of_welch >= times:
                hint = LAST_RESORT
    tell(
        run,
        "class-tests",
        f"the classes differ in size and in variance: the false positive rate at {SMALL_P:g} is "
        f"{times:.1f} times the nominal rate; {hint}",
    )


def rate_of_welch(run: Run, values: np.ndarray) -> float:
    """Return how many times too frequent small p-values of Welch's test are on features (b, n).

    1 where that cannot be measured.
    """
    columns = class_columns(run.context.required_labels.codes)
    left = values - (values @ columns) @ columns.T
    found = false_positives(WelchScorer(problem_of(run, None)), left, None, run.context.blocks)
    return found[SMALL_P][0] if found else 1.0
