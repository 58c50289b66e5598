"""The columns of a ranking that say how a feature differs between the classes."""

from __future__ import annotations

import re
import shlex

import numpy as np

from sfs_cli.methods.base import Solution
from sfs_cli.ranking.table import Picked
from sfs_cli.run.load import Run
from sfs_cli.run.raw_values import doublings_of, to_state
from sfs_cli.run.scoring import RankResult
from sfs_cli.tables import CHANGES

_UNSAFE = re.compile(r"[^\w.+-]+")
"""Characters of column names that other programs cannot read, such as line breaks."""


def tell_difference(run: Run, found: RankResult) -> None:
    """Say which difference the column of changes is."""
    for name in set(CHANGES) & set(found.ranking.extra):  # one at most
        first, second = compared_classes(run)
        found.facts["method"][name] = f"{second} - {first}"
        told = f"differences are those of {second} less {first}"
        if run.config.reference is None:
            told += ", in the order of the names; give --reference "
            told += f"{shlex.quote(second)} for {first} less {second}"
        if unstated := to_state(run):
            told += f"; {unstated}"
        run.log.note(told)


def class_columns(run: Run, solution: Solution) -> dict[str, np.ndarray | Picked]:
    """Return columns about the class means that a solution holds, in the order of the input.

    Of two classes: ``direction``, the class with the higher mean, or with the larger values where
    the method says so (`Method.signed_by`); the mean of each class,
    ``mean_NAME``; and the mean of the second class less that of the first, in the order of their
    names, or of the other class less that of ``--reference``: as ``log2_fold_change`` where
    ``--transform`` or the file says of which base the logarithms are (`doublings_of`), else as
    ``mean_difference``. Of more classes: ``highest_class``. Means and classes are of the values as
    they were scored; a feature without a score, and one whose highest means do not differ, has no
    class.
    """
    found = solution.class_means
    if found is None:
        return {}
    classes = compared_classes(run)
    names, none, unscored = [*classes, ""], len(classes), np.isnan(solution.score)
    if len(classes) > 2:
        return {"highest_class": Picked(names, np.where(unscored, none, found).astype(np.int32))}
    columns = np.where(unscored, np.nan, found.T)
    change = columns[2]
    sign = run.method.sign(solution.extra, change)
    higher = np.select([sign > 0, sign < 0], [1, 0], none).astype(np.int32)
    means = dict(zip(mean_columns(classes), columns[:2]))
    unit = doublings_of(run)
    compared = {"mean_difference": change} if unit is None else {"log2_fold_change": change * unit}
    return {"direction": Picked(names, higher), **means, **compared}


def compared_classes(run: Run) -> list[str]:
    """Return the names of the classes of the samples in use, in their order."""
    labels = run.context.required_labels
    return [labels.classes[code] for code in np.unique(labels.codes).tolist()]


def mean_columns(classes: list[str]) -> list[str]:
    """Name the columns of class means: without blanks and signs, and no two alike."""
    columns: list[str] = []
    for name in classes:
        base = column = f"mean_{_UNSAFE.sub('_', name)}"
        number = 1
        while column in columns:
            number += 1
            column = f"{base}_{number}"
        columns.append(column)
    return columns
