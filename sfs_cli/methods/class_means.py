"""The mean of every feature in each class: which class it is higher in, and by how much."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sfs_cli.compute.workspace import Workspace
from sfs_cli.methods.base import Problem
from sfs_cli.methods.blocks import pieces

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class ClassMeans:
    """Finds the class means of features in blocks, and keeps what a table of all features shows.

    Attributes
    ----------
    classes : list of str, length c
        Names of the classes, in their order.
    members : ndarray, shape (c, n)
        Weight of each sample in its own class, 0 in the others.
    work : Workspace
        Arrays that are used again.
    """

    classes: list[str]
    members: np.ndarray
    work: Workspace = field(default_factory=Workspace)

    @classmethod
    def of(cls, problem: Problem) -> ClassMeans | None:
        """Return the one for the classes of a problem; None with an outcome, or one class."""
        labels, weights = problem.context.labels, problem.sample_weights
        if labels is None or labels.values is not None:
            return None
        used = np.unique(labels.codes)
        if len(used) < 2 or used[0] < 0:
            return None
        members = (labels.codes == used[:, None]).astype(np.float64)
        if weights is not None:
            members *= weights
        return cls([labels.classes[code] for code in used.tolist()], members)

    def measure(self, values: np.ndarray) -> np.ndarray:
        """Compare the class means of features, shape (b, n), which stay as they are.

        Of two classes, the mean of the first, that of the second and the second minus the first,
        shape (b, 3). Of more, the index of the class with the highest mean, shape (b,), or c where
        several share it. Differences within the rounding of the means are none: the difference is
        0, or several classes share the highest mean.
        """
        c, b = len(self.classes), len(values)
        size = self.members.sum(axis=1)
        found = np.empty((b, 3)) if c == 2 else np.empty(b, np.int32)
        for part in pieces(*values.shape):
            rows = values[part]
            x = self.work.array("moved", len(rows), rows.shape[1], np.dtype(np.float64))
            with np.errstate(all="ignore"):  # features that are left out may hold anything
                first = rows[:, 0].astype(np.float64)
                np.copyto(x, rows)
                x -= first[:, None]  # a large offset would take digits of the differences
                rounding = 8 * _EPS * np.sqrt(np.vecdot(x, x))
                # one class after the other: BLAS would round by where a feature is in the block
                means = np.stack([np.vecdot(x, m) for m in self.members], axis=1) / size
                if c == 2:
                    difference = means[:, 1] - means[:, 0]
                    difference[np.abs(difference) <= rounding] = 0
                    found[part] = np.column_stack([means + first[:, None], difference])
                else:
                    highest = means.argmax(axis=1)
                    second, top = np.partition(means, -2, axis=1)[:, -2:].T
                    found[part] = np.where(top - second <= rounding, c, highest)
        return found
