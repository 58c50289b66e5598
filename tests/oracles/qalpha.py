"""Slow, obvious twins of Q-alpha, with G (m x m) formed. X is samples x features.

``start`` is the matrix Q of equal weights for all features. Iterations go on until alpha changes
by less than `TOLERANCE`, or as many as `most`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

TOLERANCE = 1e-13


def rows(X: np.ndarray) -> np.ndarray:
    """M: centred features of unit norm in its rows."""
    M = (X - X.mean(axis=0)).T
    return M / np.linalg.norm(M, axis=1)[:, None]


def affinity(M: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    return M.T @ np.diag(alpha) @ M


def leading(A: np.ndarray, k: int) -> np.ndarray:
    values, vectors = np.linalg.eigh(A)
    return vectors[:, np.argsort(-np.abs(values))[:k]]


def largest(G: np.ndarray) -> np.ndarray:
    alpha = np.linalg.eigh(G)[1][:, -1]
    return alpha * np.sign(alpha.sum())


def matrix_g(M: np.ndarray, Q: np.ndarray) -> np.ndarray:
    return (M @ M.T) * (M @ Q @ Q.T @ M.T)


def start(M: np.ndarray, k: int) -> np.ndarray:
    return leading(affinity(M, np.ones(len(M))), k)


def repeat(
    G_of: Callable[[np.ndarray], np.ndarray],
    Q_of: Callable[[np.ndarray, np.ndarray], np.ndarray],
    Q: np.ndarray,
    most: int = 5000,
) -> np.ndarray:
    alpha = None
    for _ in range(most):
        last, alpha = alpha, largest(G_of(Q))
        Q = Q_of(alpha, Q)
        if last is not None and np.linalg.norm(alpha - last) < TOLERANCE:
            break
    return alpha


def basic(X: np.ndarray, k: int) -> np.ndarray:
    """Def. 1, by turns."""
    M = rows(X)
    return repeat(
        lambda Q: matrix_g(M, Q), lambda alpha, _: leading(affinity(M, alpha), k), start(M, k)
    )


def power(X: np.ndarray, k: int) -> np.ndarray:
    """Def. 2."""
    M = rows(X)
    return repeat(
        lambda Q: matrix_g(M, Q),
        lambda alpha, Q: np.linalg.qr(affinity(M, alpha) @ Q)[0],
        start(M, k),
    )


def ritz(X: np.ndarray, k: int) -> np.ndarray:
    """Def. 4, step 4 with the factor m_i'm_j that it lost in print."""
    M = rows(X)

    def update(alpha: np.ndarray, Q: np.ndarray) -> np.ndarray:
        Q_bar = np.linalg.qr(affinity(M, alpha) @ Q)[0]
        again = largest(matrix_g(M, Q_bar))
        S = Q_bar.T @ affinity(M, again) @ Q_bar
        return Q_bar @ np.linalg.svd(S)[0]

    return repeat(lambda Q: matrix_g(M, Q), update, start(M, k))


def laplacian(X: np.ndarray, k: int) -> np.ndarray:
    """Def. 5 as printed, degrees and the d_i of the first step included."""
    M = rows(X)
    n = M.shape[1]
    degrees = [np.diag(np.outer(f, f) @ np.ones(n)) for f in M]
    state = {"d": [float(np.max(f**2)) for f in M]}

    def parts() -> np.ndarray:
        return np.array(
            [np.outer(f, f) - D + d * np.eye(n) for f, D, d in zip(M, degrees, state["d"])]
        )

    def F(Q: np.ndarray) -> np.ndarray:
        images = (parts() @ Q).reshape(len(M), -1)
        return images @ images.T

    def update(alpha: np.ndarray, Q: np.ndarray) -> np.ndarray:
        d = affinity(M, alpha).diagonal().max() / alpha.sum()
        state["d"] = [d] * len(M)
        return np.linalg.qr(np.tensordot(alpha, parts(), 1) @ Q)[0]

    return repeat(F, update, start(M, k))


def kernel(X: np.ndarray, k: int, degree: int) -> np.ndarray:
    """Def. 14 with E <- D V E R^-1, from the leading kernel principal components."""
    M = rows(X)
    V = (M @ M.T) ** degree
    values, vectors = np.linalg.eigh(V)
    E = vectors[:, -k:] / np.sqrt(values[-k:])

    def update(alpha: np.ndarray, E: np.ndarray) -> np.ndarray:
        new = np.diag(alpha) @ V @ E
        R = np.linalg.cholesky(new.T @ V @ new).T
        return new @ np.linalg.inv(R)

    return repeat(lambda E: V * (V @ E @ E.T @ V), update, E)


def classes(X: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    """M^l, the columns of M of each class."""
    M = rows(X)
    return [M[:, y == c] for c in np.unique(y)]


def supervised_g(parts: list[np.ndarray], P: dict[tuple[int, int], np.ndarray]) -> np.ndarray:
    """The sum of G^gh for ``Q^gh Q^gh' = P^gh``, less half of those between classes."""
    m = len(parts[0])
    G = np.zeros((m, m))
    for (g, h), inner in P.items():
        own = (parts[g] @ parts[g].T) * (parts[h] @ inner @ parts[h].T)
        G += own if g == h else -0.5 * own
    return G


def projections(
    parts: list[np.ndarray], alpha: np.ndarray, k: int
) -> dict[tuple[int, int], np.ndarray]:
    """``Q^gh Q^gh'`` from the leading right singular vectors, k within a class, one between."""
    P = {}
    for g, left in enumerate(parts):
        for h, right in enumerate(parts):
            Q = np.linalg.svd(left.T @ np.diag(alpha) @ right)[2][: k if g == h else 1].T
            P[g, h] = Q @ Q.T
    return P


def supervised(X: np.ndarray, y: np.ndarray, k: int, most: int) -> list[np.ndarray]:
    """Def. 6 by turns, as in the paper; all alphas on the way, since it need not settle."""
    parts = classes(X, y)
    alphas = [np.ones(X.shape[1]) / np.sqrt(X.shape[1])]
    for _ in range(most):
        G = supervised_g(parts, projections(parts, alphas[-1], k))
        alphas.append(largest(G))
        if np.linalg.norm(alphas[-1] - alphas[-2]) < TOLERANCE:
            break
    return alphas


def saddle(
    X: np.ndarray, y: np.ndarray, alpha: np.ndarray, k: int, tied: int = 2
) -> tuple[float, float, np.ndarray]:
    """What is left of the conditions of a saddle point of Def. 6 between alpha and the P^gh.

    P^gh is looked for among the mixtures of the `tied` leading right singular vectors of A^gh, so
    that alpha is an eigenvector of G as nearly as possible.

    Returns
    -------
    residual : float
        ``|G alpha - value alpha| / value``.
    spread : float
        The largest ``tied``-th singular value below the first, relative, where there is a mixture.
    G : ndarray
        For those P.
    """
    parts = classes(X, y)
    P = projections(parts, alpha, k)
    bases, spread = {}, 0.0
    for g, h in P:
        if g == h:
            continue
        block = parts[g].T @ np.diag(alpha) @ parts[h]
        _, sigma, Vt = np.linalg.svd(block)
        bases[g, h] = Vt[:tied].T
        spread = max(spread, 1 - sigma[tied - 1] / sigma[0])
    fixed = {pair: inner for pair, inner in P.items() if pair[0] == pair[1]}
    target = supervised_g(parts, fixed) @ alpha
    columns, owners = [-alpha], []
    for pair, V in bases.items():
        for i in range(tied):
            for j in range(i, tied):
                mixed = np.outer(V[:, i], V[:, j])
                owners.append((pair, (mixed + mixed.T) / (2 if i == j else 1)))
                columns.append(supervised_g(parts, {pair: owners[-1][1]}) @ alpha)
    trace = np.zeros((len(bases), len(columns)))
    for at, pair in enumerate(bases):
        for column, (owner, mixed) in enumerate(owners, 1):
            trace[at, column] = 1e3 * np.trace(mixed) if owner == pair else 0
    system = np.vstack([np.column_stack(columns), trace])
    right = np.concatenate([-target, np.full(len(bases), 1e3)])
    found = np.linalg.lstsq(system, right)[0]
    mixture = dict(fixed)
    for weight, (pair, mixed) in zip(found[1:], owners):
        mixture[pair] = mixture.get(pair, 0) + weight * mixed
    G = supervised_g(parts, mixture)
    lowest = min(np.linalg.eigvalsh(mixture[pair]).min() for pair in bases)
    assert lowest > -1e-6
    return float(np.linalg.norm(G @ alpha - found[0] * alpha) / found[0]), spread, G
