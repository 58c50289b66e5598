"""A reading of the eigenvalues of a sample graph: how many groups of samples it has, if any."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

WIDE_GAP = 4.0
"""A gap stands out if it is so many times wider than every gap after it."""
ON_ITS_AXIS = 0.96
"""Mean squared cosine between the samples and the axes of their groups, from which they are groups.

It is 1 for groups without an edge between them, and at most 0.95 for samples along a line."""
FEWEST = 3
"""Gaps that have to follow, so that there is something to compare with."""
APART = 0.75
"""Mean width of the silhouettes of points in a plane from which they are groups.

Of 360 simulated sets of noise none reached 0.7; groups that the eye keeps apart have 0.76 and more.
"""
BETWEEN = 0.08
"""Largest part of the points that lie between groups, with silhouettes below a half.

Clouds that are apart have fewer, and pieces of a line, or of several that meet, more."""
MOST_GROUPS, SMALLEST_SHARE, SMALLEST = 8, 0.05, 3
"""Groups of points that are looked for, and samples of the smallest one: a share, and a number."""
JOINED = 1000
"""Points, evenly spaced ones of more, that Ward's method joins."""
TINY = 1e-12
PER_GROUP = 10
"""Samples for each group, so that few points are not cut into many."""


@dataclass(frozen=True)
class Groups:
    """What the leading eigenpairs show."""

    count: int  # number of groups: 1 where none are seen
    sizes: tuple[int, ...] = ()  # samples of each, the largest first; empty where none are seen
    codes: np.ndarray | None = None  # (n,): the group of each sample, where some are seen
    gradual: int = 0  # directions that stand out and along which the samples change gradually


def read_groups(values: np.ndarray, vectors: np.ndarray) -> Groups | None:
    """Tell how many groups of samples the leading eigenpairs of a normalized Laplacian show.

    There are k groups if the largest gap between neighboring eigenvalues below 1 is that after the
    k-th, if it is `WIDE_GAP` times wider than every later one that is known, and if the samples lie
    on k orthogonal axes in the space of the k eigenvectors (`ON_ITS_AXIS`). The first two are the
    eigengap of U. von Luxburg, "A tutorial on spectral clustering", Statistics and Computing 17,
    2007, held against the gaps of noise, which shrink slowly. The third tells groups from samples
    along a line or in a cloud, which make a gap, too: rows of the eigenvectors of separate groups
    are orthogonal (A. Y. Ng, M. I. Jordan and Y. Weiss, NIPS 2001). The axes begin at the rows that
    Gram-Schmidt with pivots chooses (A. Damle, V. Minden and L. Ying, Information and Inference 8,
    2019), and are made orthogonal by the polar factor.

    Parameters
    ----------
    values : ndarray, shape (q,)
        The smallest eigenvalues, ascending.
    vectors : ndarray, shape (n, q) or fewer columns
        Their eigenvectors.

    Returns
    -------
    Groups or None
        None where too few eigenvalues are known to tell.
    """
    gaps = np.diff(values)
    most = min(len(gaps) - FEWEST, vectors.shape[1])
    if most < 2:
        return None
    candidates = [k for k in range(2, most + 1) if values[k - 1] < 1]
    if not candidates:
        return Groups(1)
    k = max(candidates, key=lambda k: gaps[k - 1])
    if gaps[k - 1] < WIDE_GAP * gaps[k:].max():
        return Groups(1)
    codes, alignment = _on_axes(vectors[:, :k])
    if alignment < ON_ITS_AXIS:
        return Groups(1, gradual=k - 1)
    sizes = np.bincount(codes, minlength=k)
    return Groups(k, tuple(sorted(sizes.tolist(), reverse=True)), codes)


def _on_axes(vectors: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the axis that each sample is nearest to, (n,), and their mean squared cosine."""
    k = vectors.shape[1]
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = vectors / np.where(norms > 0, norms, 1)
    rest, chosen = vectors.copy(), []
    for _ in range(k):
        chosen.append(int(np.argmax(np.vecdot(rest, rest))))
        axis = rest[chosen[-1]] / (np.linalg.norm(rest[chosen[-1]]) or 1.0)
        rest -= np.outer(rest @ axis, axis)
    u, _, vt = np.linalg.svd(rows[chosen].T)
    squares = (rows @ (u @ vt)) ** 2
    return squares.argmax(axis=1), float(squares.max(axis=1).mean())


def groups_apart(points: np.ndarray) -> np.ndarray | None:
    """Tell which groups of points a plane shows.

    They are those of Ward's method, for the number of groups with the widest silhouettes:
    simplified ones, ``1 - a / b`` of a point at distance a from the nearest mean of a group and b
    from the next one (E. R. Hruschka, L. N. de Castro and R. J. G. B. Campello, ICDM 2004).

    Parameters
    ----------
    points : ndarray, shape (n, 2)

    Returns
    -------
    ndarray of int, shape (n,), or None
        The group of each point, that with the nearest mean; they are numbered by the first
        coordinates of their means. None where the mean width is below `APART`, or more points than
        `BETWEEN` lie between groups.
    """
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import cdist

    n = len(points)
    few = points[np.linspace(0, n - 1, min(n, JOINED)).astype(int)]
    tree = linkage(few, "ward")
    best, found = APART, None
    for k in range(2, min(MOST_GROUPS, max(2, n // PER_GROUP)) + 1):
        codes = fcluster(tree, k, "maxclust")
        if codes.max() < k:
            break  # points of as many places
        means = np.array([few[codes == j].mean(axis=0) for j in range(1, k + 1)])
        away = cdist(points, means[np.lexsort(means.T[::-1])])
        nearest = away.argmin(axis=1)
        away.sort(axis=1)
        widths = 1 - away[:, 0] / np.maximum(away[:, 1], TINY)
        width = float(widths.mean())
        enough = np.bincount(nearest, minlength=k).min() >= max(SMALLEST, SMALLEST_SHARE * n)
        if enough and width >= best and np.mean(widths < 0.5) <= BETWEEN:
            best, found = width, nearest
    return found
