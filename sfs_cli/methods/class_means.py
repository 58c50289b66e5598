"""The mean of every feature in each class: which class it is higher in, and by how much."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sfs_cli.compute.limits import EPS
from sfs_cli.compute.matrix import DOUBLE, Workspace, pieces, row_by_row
from sfs_cli.methods.base import Problem
from sfs_cli.methods.kernel import Read


@dataclass(frozen=True)
class ClassMeans:
    """Finds the class means of features in blocks, and keeps what a table of all features shows.

    Attributes
    ----------
    classes : list of str, length c
        Names of the classes, in their order.
    members : ndarray, shape (c, n)
        Weight of each sample in its own class, 0 in the others. With covariates, what the least
        squares fit of classes and covariates makes of a feature: the mean of each class where the
        covariates have their means over all samples (adjusted means).
    work : Workspace
        Arrays that are used again.
    """

    classes: list[str]
    members: np.ndarray
    work: Workspace = field(default_factory=Workspace)

    @classmethod
    def of(cls, problem: Problem) -> ClassMeans | None:
        """Return the one for the classes of a problem; None with an outcome, or one class.

        None, too, where covariates explain a class completely: it has no adjusted mean.
        """
        labels, weights = problem.context.labels, problem.sample_weights
        if labels is None or labels.values is not None:
            return None
        used = np.unique(labels.codes)
        if len(used) < 2 or used[0] < 0:
            return None
        members = (labels.codes == used[:, None]).astype(np.float64)
        if weights is not None:
            members *= weights
        design = problem.context.basis
        if len(design):
            left = members - (members @ design.T) @ design
            gram = left @ members.T
            if np.linalg.matrix_rank(gram, hermitian=True) < len(gram):
                return None
            members = np.linalg.solve(gram, left)
        return cls([labels.classes[code] for code in used.tolist()], members)

    def measure(self, values: np.ndarray) -> np.ndarray:
        """Compare the class means of features, shape (b, n), which stay as they are.

        Of two classes, the mean of the first, that of the second and the second minus the first,
        shape (b, 3). Of more, the index of the class with the highest mean, shape (b,), or c where
        several share it. Differences within the rounding of the means are none: the difference is
        0, or several classes share the highest mean.
        """
        found = np.empty((len(values), 3)) if self.two else np.empty(len(values), np.int32)
        for part in pieces(*values.shape):
            rows = values[part]
            x = self.work.array("moved", len(rows), rows.shape[1], DOUBLE)
            with np.errstate(all="ignore"):  # features that are left out may hold anything
                first = rows[:, 0].astype(np.float64)
                np.copyto(x, rows)
                with row_by_row():
                    x -= first[:, None]  # a large offset would take digits of the differences
                # one class after the other: BLAS would round by where a feature is in the block
                means = np.stack([np.vecdot(x, m) for m in self.members]) / self.size[:, None]
                found[part] = self.compared(means, first, np.vecdot(x, x))
        return found

    @property
    def two(self) -> bool:
        """Whether there are two classes."""
        return len(self.classes) == 2

    @property
    def size(self) -> np.ndarray:
        """Weight of each class, shape (c,)."""
        return self.members.sum(axis=1)

    def compared(self, means: np.ndarray, offset: np.ndarray, square: np.ndarray) -> np.ndarray:
        """Return what `measure` does, from the class means less an offset.

        Parameters
        ----------
        means : ndarray, shape (c, b)
        offset : ndarray, shape (b,)
        square : ndarray, shape (b,)
            Sum of squares of what the means were made of, of which their rounding is a part.
        """
        rounding = 8 * EPS * np.sqrt(square)
        if self.two:
            difference = means[1] - means[0]
            difference[np.abs(difference) <= rounding] = 0
            whole = means + offset
            whole[np.abs(whole) <= rounding + 8 * EPS * np.abs(offset)] = 0  # as of zeros alone
            return np.column_stack([*whole, difference])
        second, top = np.partition(means, -2, axis=0)[-2:]
        return np.where(top - second <= rounding, len(means), means.argmax(axis=0)).astype(np.int32)


class ProjectedMeans:
    """Class means from sums that a score is made of anyway (`sfs_cli.methods.kernel`).

    Parameters
    ----------
    means : ClassMeans
    columns : ndarray, shape (n, k)
        Orthonormal columns of the sums, which span the differences between the classes.
    weights : ndarray, shape (n,)
        Of the samples.
    """

    def __init__(self, means: ClassMeans, columns: np.ndarray, weights: np.ndarray) -> None:
        self.means = means
        self.total = weights.sum()
        # mean_l = 1_l' D f / W_l, the part of it that is not the mean of all
        self.share = (means.members / np.sqrt(weights)) @ columns / means.size[:, None]

    def of_read(self, read: Read) -> np.ndarray:
        """Return what `ClassMeans.measure` does, from the sums of features as they are read."""
        means = np.zeros((len(self.share), len(read.total)))
        for mean, shares in zip(means, self.share.tolist()):
            for share, projection in zip(shares, read.projections):
                mean += share * projection
        return self.means.compared(means, read.along / np.sqrt(self.total), read.total)

    def measure(self, values: np.ndarray) -> np.ndarray:
        """Return the same from the features themselves, shape (b, n)."""
        return self.means.measure(values)
