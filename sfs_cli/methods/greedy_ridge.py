"""Greedy ridge: features one by one, each for what a ridge fit on those before it leaves.

With Y Y' the positive part of the sample graph, centered, u_j the centered features of unit norm,
B the features that are picked already and ``A = (I + B B' / c)^-1``, so that ``A Y`` is what a
ridge fit of Y on B with the penalty c leaves:

1. With c = 10, of the 4,000 features with the largest ``|u_j' Y|^2``, pick 200 one by one (of
   few features half of them, but 3 at least), each with the largest ``|u_j' A Y|^2``.
2. Make the graph again, on these features alone: 5 nearest neighbors by the correlation of samples,
   whatever the first graph is. G is its positive part, centered.
3. With ``q_j = u_j' G u_j``, how smooth a feature is over that graph, and c = 30, of the 4,000 with
   the largest q_j select one by one, each with the largest ``q_j u_j' A u_j``; the others follow by
   q_j.

A copy of one picked feature keeps 30/31 of its value, so that a strong module is there more than
once. With c = 10 and the root of q_j lists were as accurate, but had fewer planted features.

After picks ``b_1, b_2, ...`` with ``z_k = A b_k``, A of before, and ``d_k = c + b_k' z_k``, A is
``I - sum_k z_k z_k' / d_k`` (Sherman and Morrison, Ann. Math. Stat. 21, 1950): no (n, n) matrix is
held for it.

Of more than 1,000 samples the positive parts are those of the 100 leading eigenvectors, because all
of them take time that grows with n^3.
"""

from __future__ import annotations

import numpy as np

from sfs_cli.compute.memory import check_memory
from sfs_cli.errors import InputError
from sfs_cli.graph.distances import median_bandwidth, profile_distances_of
from sfs_cli.graph.neighbors import knn_similarity, nearest_in_panel
from sfs_cli.graph.similarity import Similarity
from sfs_cli.graph.spectral import DIRECT_LIMIT
from sfs_cli.methods.base import Problem, Solution
from sfs_cli.methods.centered_matrix import CenteredMatrix, centered_matrix
from sfs_cli.methods.l21.regression import first_these, similarity_response
from sfs_cli.methods.l21.rounds import LEADING, SELECT
from sfs_cli.methods.shared import ROUNDING, first_by_id, require_variation, warn_of_fewer

CANDIDATES = 4_000
"""Features among which some are picked, at most; of more that are selected, these alone."""
LEAST = 3
"""Samples and features, at least: by two features all correlations of samples are 1 or -1."""
AT_FIRST, AT_LAST = 10, 30
"""Penalties of the ridge fits of both selections."""
NEIGHBORS = 5


def solve(problem: Problem) -> Solution:
    """Select features for a first graph, make it again on these, and select for that one.

    Parameters
    ----------
    problem : Problem
        With a sample graph, and the option ``select``; without it as many as the second graph is
        made of. Up to `CANDIDATES`, a longer list begins with the shorter one; of more, the
        candidates are as many as are selected.

    Returns
    -------
    Solution
        The score orders the list: it is q_j as a share of the largest, for a selected feature times
        ``u_j' A u_j``, plus 1.

    Raises
    ------
    InputError
        If no feature varies, or none follows the graph, or a second graph cannot be made: of fewer
        than 3 samples or features, or where samples are identical by the features picked.
    OutOfMemoryError
        If the candidates and the second graph do not fit the memory allowed.
    """
    n, asked = problem.n_samples, problem.options["select"]
    _check_memory(problem, asked or SELECT)
    features = centered_matrix(problem.engine, "unit", problem.memory)
    require_variation(features.status)
    able = int(features.usable.sum())
    if min(n, able) < LEAST:
        raise InputError(
            f"greedy-ridge needs at least {LEAST} samples, and as many features that vary; there "
            f"are {n:,} and {able:,}",
            hint="use --method variance",
        )
    most = min(SELECT, max(-(-able // 2), LEAST))
    count = min(asked or most, able)
    Y, first = follows(features, problem.similarity, problem.memory)
    picked = features.take(Candidates(problem, features, first, most).by_residual(Y))
    _, q = follows(features, graph_of(picked), problem.memory)
    share = q / q.max()
    score = np.where(features.usable, share, np.nan)
    selected = Candidates(problem, features, share, count).by_leverage()
    score[list(selected)] = 1 + np.array([*selected.values()])
    return Solution(
        score,
        features.status,
        order=first_these(list(selected), score),
        stop=f"{count:,} features were selected",
        facts={"selected": count, "passes": features.passes},
        warnings=warn_of_fewer(asked or 0, able),
    )


def _check_memory(problem: Problem, count: int) -> None:
    """Refuse what does not fit the memory: candidates, z of every pick, and the second graph."""
    n, m = problem.n_samples, problem.n_rows
    rows = min(max(CANDIDATES, count), m) + min(count, m)
    check_memory(
        f"candidates and a graph of {n:,} samples need",
        8 * (rows * n + 4 * n * n),
        problem.memory,
        "raise --memory, or use --method spec",
    )


def follows(features: CenteredMatrix, S: Similarity, memory: int) -> tuple[np.ndarray, np.ndarray]:
    """Return Y (n, r), Y Y' the positive part of a similarity, centered, and ``|u_j' Y|^2`` (m,).

    Of more than `DIRECT_LIMIT` samples it is that of the `LEADING` eigenvectors. One pass. Raises
    InputError if no feature has a value but for rounding.
    """
    root = similarity_response(S, LEADING if S.n > DIRECT_LIMIT else None, memory)
    Y = root - root.mean(axis=0)
    value = features.measure(lambda block, _: np.square(block @ Y).sum(axis=1))
    if not value.max() > ROUNDING**2 * np.vdot(root, root):
        raise InputError(
            "no feature follows the sample graph",
            hint="check that the similarity belongs to these samples",
        )
    return Y, value


def graph_of(rows: np.ndarray) -> Similarity:
    """Return the graph of the nearest neighbors by the correlation of samples, of features (p, n).

    It is that of ``--similarity knn-correlation``, on features that are centered and of one norm.
    """
    d2 = profile_distances_of(rows.T @ rows, rows.sum(axis=0), len(rows))
    try:
        bandwidth = median_bandwidth(d2)
    except InputError as error:
        raise InputError(
            f"at least half of the pairs of samples have the same values of the {len(rows):,} "
            "features that greedy-ridge makes its second graph of",
            hint="use --method mrsf-rounds, which makes none",
        ) from error
    indices, near = nearest_in_panel(d2, 0, min(NEIGHBORS, len(d2) - 1))
    return knn_similarity(indices, near, bandwidth)


class Candidates:
    """The best features by a first value (m,), of which `count` are picked one by one."""

    def __init__(
        self, problem: Problem, features: CenteredMatrix, value: np.ndarray, count: int
    ) -> None:
        usable = np.flatnonzero(features.usable)
        order = usable[np.argsort(-value[usable], kind="stable")]
        self.index = np.sort(order[: max(CANDIDATES, count)])  # (p,)
        self.first = value[self.index]
        self.rows = features.take(self.index)  # (p, n)
        self.problem, self.count = problem, count
        self.left = np.ones(len(self.index), bool)  # what is not picked

    def by_residual(self, Y: np.ndarray) -> np.ndarray:
        """Pick features, each with the largest ``|u_j' A Y|^2``; return them in that order."""
        square, R = self.first.copy(), Y.copy()  # R = A Y
        ridge, picked = self._ridge(AT_FIRST), list[int]()
        for _ in range(self.count):
            at = self._pick(square)
            z, d = ridge.add(self.rows[at])
            along = self.rows[at] @ R
            # |r - w a|^2 of r = u' R, w = u' z / d and a = b' R
            w = self.rows @ z / d
            square += w * (w * (along @ along) - 2 * (self.rows @ (R @ along)))
            R -= np.outer(z / d, along)
            picked.append(at)
        return self.index[picked]

    def by_leverage(self) -> dict[int, float]:
        """Pick features by the first value times ``u_j' A u_j``; return these, in that order."""
        own, ridge, found = np.ones(len(self.index)), self._ridge(AT_LAST), dict[int, float]()
        for _ in range(self.count):
            value = self.first * own
            at = self._pick(value)
            z, d = ridge.add(self.rows[at])
            own -= np.square(self.rows @ z) / d
            found[int(self.index[at])] = float(value[at])
        return found

    def _ridge(self, penalty: float) -> Ridge:
        return Ridge(self.rows.shape[1], penalty, self.count)

    def _pick(self, value: np.ndarray) -> int:
        """Take where the largest value (p,) is that is left; of equal ones, by their ids.

        Equal is what differs by the rounding of the first values: a small one is what is left of
        them, and may be below 0.
        """
        left = np.where(self.left, value, -np.inf)
        same = np.flatnonzero(left >= left.max() - ROUNDING * self.first.max())
        at = int(np.searchsorted(self.index, first_by_id(self.problem, self.index[same])))
        self.left[at] = False
        return at


class Ridge:
    """``A = (I + B B' / c)^-1`` of at most k picked features B and a penalty c, one by one."""

    def __init__(self, n: int, penalty: float, k: int) -> None:
        self.penalty, self.Z, self.picked = penalty, np.empty((k, n)), 0  # rows z_k / d_k^1/2

    def add(self, b: np.ndarray) -> tuple[np.ndarray, float]:
        """Add a feature (n,); return z = A b (n,), A as before, and d: A is now A - z z' / d."""
        Z = self.Z[: self.picked]
        z = b - Z.T @ (Z @ b)
        d = float(self.penalty + b @ z)
        self.Z[self.picked] = z / np.sqrt(d)
        self.picked += 1
        return z, d
