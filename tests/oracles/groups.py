"""Groups of samples by the eigengap, written from the definitions with dense library routines."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh, polar, qr


def spectrum(S: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the smallest eigenpairs of I - D^-1/2 S D^-1/2."""
    root = np.sqrt(S.sum(axis=1))
    values, vectors = eigh(np.eye(len(S)) - S / np.outer(root, root))
    return values[:count], vectors[:, :count]


def groups(S: np.ndarray, *, wide: float, aligned: float, following: int, count: int) -> list[int]:
    """Return the sizes of the groups, the largest first; nothing where none are seen."""
    values, vectors = spectrum(S, count)
    best, k = -1.0, 0
    for j in range(2, len(values) - following):
        gap = values[j] - values[j - 1]
        if values[j - 1] < 1 and gap > best:
            best, k = gap, j
    if not k or any(best < wide * (values[i + 1] - values[i]) for i in range(k, len(values) - 1)):
        return []
    rows = vectors[:, :k] / np.linalg.norm(vectors[:, :k], axis=1, keepdims=True)
    _, _, pivots = qr(vectors[:, :k].T, pivoting=True)
    axes, _ = polar(rows[pivots[:k]].T)
    cosines = (rows @ axes) ** 2
    if cosines.max(axis=1).mean() < aligned:
        return []
    return sorted(np.bincount(cosines.argmax(axis=1), minlength=k).tolist(), reverse=True)


def simplified_silhouette(points: np.ndarray, codes: np.ndarray) -> float:
    """The mean of 1 - a / b: distances to the own mean and to the nearest other one."""
    means = [points[codes == k].mean(axis=0) for k in range(codes.max() + 1)]
    widths = []
    for point, code in zip(points, codes):
        away = [float(np.linalg.norm(point - mean)) for mean in means]
        own = away.pop(code)
        widths.append((min(away) - own) / max(min(away), own))
    return float(np.mean(widths))
