"""Features of one id made one feature: the probes of a gene, or rows with the same id.

A group of k features becomes one, sample by sample. ``mean`` is what `avereps` of limma computes,
``highest-mean`` the method MaxMean of `collapseRows` (J. A. Miller et al., "Strategies for
aggregating gene expression data", BMC Bioinformatics 12:322, 2011).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli.compute.matrix import Span
from sfs_cli.io.matrix.base import Annotations, MatrixReader, RowBlock
from sfs_cli.store.ids import FeatureIds
from sfs_cli.store.matrix import Matrix


def _highest(values: np.ndarray) -> np.ndarray:
    """Return the feature whose mean is highest, the first of equal ones; (k, n) to (n,)."""
    return values[np.argmax(np.nan_to_num(np.nanmean(values, axis=1), nan=-np.inf))]


def _median(values: np.ndarray) -> Any:
    # the one that minds missing values is many times as slow
    return (np.nanmedian if np.isnan(values).any() else np.median)(values, axis=0)


# missing values do not count, but a sum without a part of it is none
WAYS: dict[str, Callable[[np.ndarray], Any]] = {
    "mean": partial(np.nanmean, axis=0),
    "median": _median,
    "sum": partial(np.sum, axis=0),
    "highest-mean": _highest,
}
"""How the features of a group become one, in each sample."""
Symbols = Callable[[Sequence[str]], Mapping[str, Collection[str]]]
"""Returns the ids that some features have in a map."""


class Collapsed(MatrixReader):
    """A reader of a matrix whose features become one where they have the same id.

    Parameters
    ----------
    matrix : Matrix
        The features as they are.
    given : FeatureIds
        Their ids, which may be repeated.
    how : str
        One of `WAYS`.
    symbols : callable, optional
        The map that gives other ids. Features without an id in it, or with several, are left out.
    path : Path
        The matrix, for messages.

    Attributes
    ----------
    codes : ndarray of int, shape (m,)
        The group of each feature, in the order of their first ones; -1 for none.
    several : int
        Features that are left out because they have several ids.
    """

    format = "collapsed"
    fixed_rows = "features"

    def __init__(
        self, matrix: Matrix, given: FeatureIds, how: str, symbols: Symbols | None, path: Path
    ) -> None:
        import pyarrow as pa

        self.matrix, self.how, self.path = matrix, how, path
        self.sparse, self.column_ids = matrix.sparse, matrix.ids.samples
        self.annotations = Annotations(matrix.ids.obs)
        names, self.several = given.array, 0
        if symbols is not None:
            known = symbols(given)
            own = [known.get(name, ()) for name in given]
            self.several = sum(len(each) > 1 for each in own)
            names = pa.array([next(iter(e)) if len(e) == 1 else None for e in own], pa.string())
        groups = names.dictionary_encode()
        self.codes = groups.indices.fill_null(-1).to_numpy()
        self.ids = FeatureIds(groups.dictionary)

    def first_row_ids(self) -> Sequence[str]:
        """Return the id of the first group."""
        return self.ids[:1]

    def blocks(self) -> Iterator[RowBlock]:
        """Yield the groups in order; each is computed by itself, in float64."""
        from scipy.sparse import csr_array

        order = np.argsort(self.codes, kind="stable")
        bounds = np.searchsorted(self.codes[order], np.arange(len(self.ids)))
        for name, group in zip(self.ids, np.split(order, bounds)[1:]):
            spans = (Span(at, at + 1) for at in group.tolist())
            rows = np.concatenate(list(map(self.matrix.values_of, spans)))
            with warnings.catch_warnings():  # of means of nothing, and of sums beyond float32
                warnings.simplefilter("ignore", RuntimeWarning)
                if len(group) > 1:
                    rows[0] = WAYS[self.how](rows.astype(np.float64))
            yield RowBlock([name], csr_array(rows[:1]) if self.sparse else rows[:1].copy())
