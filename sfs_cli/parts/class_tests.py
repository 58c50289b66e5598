"""Whether tests of class means hold for the values and the classes of a run.

Where they do not, another test may: which one is found on the same values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfs_cli.catalog import METHODS
from sfs_cli.compute.context import Labels
from sfs_cli.methods.base import Solution
from sfs_cli.methods.classical import class_columns
from sfs_cli.methods.rank_tests import rank_rows, smallest_p_value
from sfs_cli.methods.shared import least_p_value, unit_outcome
from sfs_cli.methods.significance import class_tests
from sfs_cli.run.guards import tell
from sfs_cli.run.load import Run
from sfs_cli.run.needs import graph_asked
from sfs_cli.run.top import from_all_over, values_of
from sfs_cli.store.matrix import LOOK_VALUES

LOOK = 256
"""Features on which tests are checked."""
SMALL_P = 0.001
"""The nominal false positive rate at which tests of class means are checked."""
TOO_OFTEN = 3
"""They do not hold where the false positive rate at `SMALL_P` is so many times the nominal rate:
with 6 samples of normal values in a class of 36 Welch's test comes near it."""


def label_columns(labels: Labels, design: np.ndarray | None) -> np.ndarray:
    """Return orthonormal columns, shape (n, q), each with the sum 0.

    Their span has the class means of centered features, or the line of an outcome, beside the
    `design` of covariates (r, n).
    """
    if labels.values is not None:
        return unit_outcome(labels.values, "the F-test")[:, None]
    return class_columns(np.unique(labels.codes, return_inverse=True)[1], design)


@dataclass(frozen=True)
class Inflation:
    """The false positive rates of tests of classes at `SMALL_P`, over the nominal rate.

    Attributes
    ----------
    shape : float
        The F-test, by the shape of the values.
    variances : float
        The F-test, and permutation tests, by variances that differ between classes.
    welch : float
        Welch's test, by the shape of the values and the number of samples; infinite where there are
        no classes that it can compare.
    ranks : float
        Tests of ranks, by variances of the ranks that differ between classes; the
        shape of the values does not matter to them. Infinite beside covariates, which they do not
        take, and where none of their p-values is below `SMALL_P`.
    classes : int
        Number of classes; 0 of an outcome.
    least : float
        The smallest two-sided p-value by the orders of the samples.
    """

    shape: float
    variances: float
    welch: float
    ranks: float
    classes: int
    least: float

    @classmethod
    def of(
        cls,
        values: np.ndarray,
        labels: Labels,
        design: np.ndarray | None,
        *,
        moderate: str = "no",
    ) -> Inflation:
        """Measure them on features (b, n) around their means, beside covariates (r, n).

        `moderate` says how the variances of the F-test are moderated. Where that takes more than
        one prior for all features, the shape of the values is not judged.
        """
        n, variances, welch, ranks = values.shape[1], 1.0, math.inf, 1.0
        covariates = 0 if design is None else len(design)
        codes = np.unique(labels.codes, return_inverse=True)[1]  # without empty classes
        classes = int(codes.max()) + 1
        columns = label_columns(labels, design)
        within = n - 1 - columns.shape[1] - covariates
        outcome, shape, moderated = labels.values is not None, 1.0, moderate == "yes"
        if moderated or moderate == "no":
            shape = class_tests.too_often(values, columns, within, SMALL_P, moderated=moderated)
        if 1 < classes < n:  # an outcome that is measured has no classes
            variances = class_tests.too_often_by_variances(values, codes, SMALL_P)
            ranked = rank_rows(values).doubled - (n + 1.0)
            ranks = class_tests.too_often_by_variances(ranked, codes, SMALL_P)
        if classes > 1 and not covariates and not outcome and np.bincount(codes).min() > 1:
            welch = class_tests.too_often_by_welch(values, codes, SMALL_P)
        least = 2 * least_p_value(labels.target)
        if covariates or (least if outcome else smallest_p_value(codes)) >= SMALL_P:
            ranks = math.inf
        return cls(shape, variances, welch, ranks, 0 if outcome else classes, least)

    @property
    def instead_of_welch(self) -> str:
        """What to do where Welch's test does not hold."""
        if max(self.shape, self.variances) < TOO_OFTEN:
            return "give --method f-test, which assumes equal variances: they are equal enough here"
        return self._by_orders

    @property
    def instead_of_f(self) -> str:
        """What to do where the F-test does not hold."""
        if self.welch < TOO_OFTEN:
            return (
                "give --method welch, which estimates a variance for each class and has the "
                "lowest rate here"
            )
        return self._by_orders

    @property
    def _by_orders(self) -> str:
        if self.least >= SMALL_P:
            return "no test can be certain with so few samples: use the order of the features"
        if self.ranks < TOO_OFTEN:
            name = "rank-test" if self.classes else "spearman"
            return f"give --method {name}, which compares ranks and holds for these values"
        if self.variances < TOO_OFTEN:
            return "give --method hsic --pvalues moments, whose permutation null keeps the values"
        return (
            "no other test has a lower rate, because the variances of the classes differ, too: use "
            "the order of the features and not their p-values, or add samples to the small class"
        )


def looked_at(run: Run, solution: Solution) -> np.ndarray:
    """Read some of the features with a score, as they were scored, on which tests are checked."""
    wanted = min(LOOK, max(1, LOOK_VALUES // run.matrix.n_samples))
    return values_of(run, from_all_over(solution.scored, wanted))


def guard_class_tests(run: Run, tested: dict[str, Any], solution: Solution) -> None:
    """Warn of tests of class means whose assumptions the values or class sizes violate.

    `tested` are the facts of the method.
    """
    config, labels = run.config, run.context.labels
    design = run.context.design
    by_graph = config.pvalues is not None
    welch = tested.get("variances") == "not pooled"
    if by_graph:
        graph = graph_asked(config, run.matrix.n_samples).name
        tests = config.scorer == "fisher" or graph == "label"
    else:
        tests = METHODS[config.scorer].compares
    if labels is None or not tests or run.cohort.parts or config.voom:
        return  # weights of single counts are none of the assumptions that are checked here
    values = looked_at(run, solution)
    values -= values.mean(axis=1, keepdims=True)
    moderate = "no" if by_graph or config.moderate == "auto" else config.moderate
    held = Inflation.of(values, labels, design, moderate=moderate)
    if welch:
        tell(run, "class-tests", ill_suited_welch_test(config.scorer, labels.counts(), held))
    else:
        tell(run, "class-tests", ill_suited_test(held, by_graph=by_graph))


def ill_suited_test(held: Inflation, *, by_graph: bool) -> str | None:
    """Warn of too high a false positive rate of the F-test, or on the graph of the labels."""
    if held.variances >= TOO_OFTEN:
        what = f"the classes differ in size and in variance: {_often(held.variances)}"
    elif by_graph or held.shape < TOO_OFTEN:
        return None
    else:
        often = _often(held.shape)
        what = f"the values are too skewed for the sizes of the classes: {often}"
    return f"{what}; {held.instead_of_f}"


def ill_suited_welch_test(method: str, counts: dict[str, int], held: Inflation) -> str | None:
    """Warn of too high a false positive rate of a t-test, or Welch's, of classes of these sizes."""
    if held.welch < TOO_OFTEN:
        return None
    size, name = min((count, name) for name, count in counts.items() if count)
    return (
        f"class {name} has {size} samples, too few for these values: {method} estimates a variance "
        f"of the class that is far too small in some features, and {_often(held.welch)}; "
        f"{held.instead_of_welch}"
    )


def _often(times: float) -> str:
    return f"the false positive rate at {SMALL_P:g} is {times:.1f} times the nominal rate"
