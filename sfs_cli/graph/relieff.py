"""The similarity behind ReliefF: near hits attract, near misses repel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sfs_cli.errors import InputError
from sfs_cli.graph.labels import check_labelled
from sfs_cli.graph.neighbors import smallest_in_rows
from sfs_cli.graph.similarity import SparseSimilarity

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def relieff_similarity(
    d2: np.ndarray,
    codes: np.ndarray,
    k: int,
    class_names: Sequence[str] | None = None,
) -> SparseSimilarity:
    """Signed similarity whose phi1 is the ReliefF criterion (Zhao & Liu 2007, Eq. 12).

    Row i of A has 1 at i, +1/k at the k nearest samples of its own class and -1/((c-1)k) at the k
    nearest of each of the c-1 other classes; S = (A + A')/2. Rows of A sum to 1, but degrees of S
    may be negative. The dissertation prints the signs reversed (Eq. 3.17); with phi1 minimised
    they must be these.

    Parameters
    ----------
    d2 : ndarray, shape (n, n)
        Squared distances; equal ones are ordered by the index of the sample.
    codes : ndarray of int, shape (n,)
        Class of each sample.
    k : int
        Number of nearest hits, and of nearest misses per other class.
    class_names : sequence of str, optional
        Name of class 0, 1, ... for messages.

    Returns
    -------
    SparseSimilarity
        S, about n k c entries.

    Raises
    ------
    InputError
        When there are fewer than two classes, a class has at most k samples, or a label is missing.
    """
    codes = np.asarray(codes)
    neighbors = nearest_by_class(d2, codes, k, class_names)
    others = neighbors.shape[1] // k - 1
    weights = np.where(codes[neighbors] == codes[:, None], 1.0 / k, -1.0 / (others * k))
    return SparseSimilarity(_symmetrised(neighbors, weights))


def nearest_by_class(
    distances: np.ndarray, codes: np.ndarray, k: int, class_names: Sequence[str] | None = None
) -> np.ndarray:
    """Find the k nearest samples in every class, themselves left out.

    Parameters
    ----------
    distances : ndarray, shape (n, n)
        Any distances; equal ones are ordered by the index of the sample.
    codes : ndarray of int, shape (n,)
        Class of each sample.
    k : int
        Number of neighbours in each class.
    class_names : sequence of str, optional
        Name of class 0, 1, ... for messages.

    Returns
    -------
    ndarray of int64, shape (n, c k)
        Those of the first class in the first k columns, and so on.

    Raises
    ------
    InputError
        As `class_members`.
    """
    members = class_members(codes, k, class_names)
    neighbors = np.empty((len(codes), k * len(members)), dtype=np.int64)
    for position, inside in enumerate(members.values()):
        among = distances[:, inside]
        among[inside, np.arange(inside.size)] = np.inf
        nearest, _ = smallest_in_rows(among, k)
        neighbors[:, position * k : (position + 1) * k] = inside[nearest]
    return neighbors


def class_members(
    codes: np.ndarray, k: int, class_names: Sequence[str] | None = None
) -> dict[int, np.ndarray]:
    """Return the samples of every class, at least two classes with more than k samples each.

    Raises
    ------
    InputError
        When there are fewer than two classes, a class has at most k samples, or a label is missing.
    """
    check_labelled(codes)
    members = {int(code): np.flatnonzero(codes == code) for code in np.unique(codes)}
    if len(members) < 2:
        raise InputError(
            "ReliefF needs at least two classes",
            hint="check which column holds the labels",
        )
    for code, inside in members.items():
        if inside.size <= k:
            name = repr(class_names[code]) if class_names is not None else str(code)
            raise InputError(
                f"class {name} has {inside.size} samples, too few for {k} nearest hits of each",
                where=f"ReliefF with {k} neighbours",
                hint=f"give at most {inside.size - 1} neighbours (--neighbors), or leave the class "
                "out",
            )
    return members


def _symmetrised(neighbors: np.ndarray, weights: np.ndarray) -> csr_array:
    from scipy.sparse import csr_array, eye_array

    n, per_row = neighbors.shape
    ends = np.arange(n + 1) * per_row
    A = csr_array((weights.ravel(), neighbors.ravel(), ends), shape=(n, n))
    return (0.5 * (A + A.T) + eye_array(n)).tocsr()
