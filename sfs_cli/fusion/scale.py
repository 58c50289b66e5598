"""Bringing similarities to one scale."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.errors import InputError
from sfs_cli.graph.similarity import check_similarity

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_EMPTY_HINT = "leave this source out, or give another similarity for it"


def one_scale(
    S: np.ndarray | csr_array, frobenius: bool = False, name: str = ""
) -> tuple[Any, float]:
    """Divide a similarity by its mean diagonal, so that similarities can be added.

    A graph without loops (such as ``knn``) has a diagonal of zeros: it does not say how similar a
    sample is to itself. The largest similarity there is takes its place, so that the most similar
    pair counts as much as a sample and itself do in a kernel.

    Parameters
    ----------
    S : ndarray or csr_array, shape (n, n)
        The similarity of one source.
    frobenius : bool
        Whether to divide by the Frobenius norm afterwards.
    name : str
        The source, for messages.

    Returns
    -------
    scaled : ndarray or csr_array, shape (n, n)
        A new matrix, ``S / factor``.
    factor : float
        What it was divided by, positive.

    Raises
    ------
    InputError
        When S is not square, finite and symmetric, or has no positive scale.
    """
    where = f"source {name}" if name else "a source"
    check_similarity(S, where)
    factor = _scale(S, where)
    if frobenius:
        values = S if isinstance(S, np.ndarray) else S.data
        # first by the factor: the squares of large numbers overflow
        factor *= float(np.linalg.norm(values / factor))
    return S / factor, factor


def _scale(S: np.ndarray | csr_array, where: str) -> float:
    diagonal = S.diagonal()
    largest = float(S.max())
    if diagonal.any():
        mean = float(diagonal.mean())
        if mean > 0.0:
            return mean
        raise InputError(
            f"the mean similarity of a sample to itself is {mean:.3g}: it must be positive",
            where=where,
            hint="give a similarity, which is larger the more alike samples are, not a distance",
        )
    if largest > 0.0:
        return largest
    empty = not (S if isinstance(S, np.ndarray) else S.data).any()
    raise InputError(
        "all similarities are 0" if empty else "no similarity is positive",
        where=where,
        hint=_EMPTY_HINT if empty else "give a similarity, not a distance",
    )
