"""The similarity that class labels define."""

from __future__ import annotations

import numpy as np

from sfs_cli.errors import InputError
from sfs_cli.graph.panels import name_samples
from sfs_cli.graph.similarity import FactoredSimilarity


def label_similarity(codes: np.ndarray) -> FactoredSimilarity:
    """Similarity 1/n_l within class l and 0 between classes (Eq. 3.13).

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Class of each sample.

    Returns
    -------
    FactoredSimilarity
        Its factor is sparse, shape (n, number of classes): column l is the indicator of class l
        divided by sqrt(n_l). Every degree is 1.

    Raises
    ------
    InputError
        When a code is negative (a sample without a label).
    """
    from scipy.sparse import csr_array

    check_labelled(codes)
    classes, column, sizes = np.unique(codes, return_inverse=True, return_counts=True)
    n = len(codes)
    values = 1.0 / np.sqrt(sizes[column])
    return FactoredSimilarity(csr_array((values, column, np.arange(n + 1)), (n, len(classes))))


def check_labelled(codes: np.ndarray) -> None:
    """Refuse negative class codes, which stand for missing labels, with an InputError."""
    missing = np.flatnonzero(np.asarray(codes) < 0)
    if missing.size:
        raise InputError(
            f"{missing.size:,} of {len(codes):,} samples have no label",
            where=name_samples(missing),
            hint="label these samples, or leave them out",
        )
