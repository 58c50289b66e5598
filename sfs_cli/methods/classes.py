"""What supervised methods ask of the classes."""

from __future__ import annotations

import numpy as np

from sfs_cli.errors import InputError
from sfs_cli.graph.labels import check_labelled


def class_counts(codes: np.ndarray, method: str, each: int = 1) -> np.ndarray:
    """Return the number of samples of every class, after checking that they can be compared.

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Class of each sample, 0..c-1.
    method : str
        What to call the method in a message.
    each : int
        The fewest samples that every class must have.

    Returns
    -------
    ndarray, shape (c,), float64

    Raises
    ------
    InputError
        When a sample has no label, there are fewer than two classes, or one is too small.
    """
    check_labelled(codes)
    counts = np.bincount(codes)
    if np.count_nonzero(counts) < 2:
        raise InputError(
            f"{method} needs at least two classes, and all {len(codes):,} samples are of one",
            hint="check which column holds the labels",
        )
    small = np.flatnonzero(counts < each)
    if small.size:
        raise InputError(
            f"{method} needs at least {each} samples in every class, and {small.size} of "
            f"{len(counts)} have fewer (the smallest {counts.min()})",
            hint="leave the samples of such classes out",
        )
    return counts.astype(np.float64)
