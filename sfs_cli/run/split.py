"""Scores and p-values on a graph that was not made of what is tested (``--split``).

A sample graph that is made of a matrix follows the features of that matrix, each by itself a
little, so that scores on it are better than chance even where all is noise. With ``--split
features`` the graph is made of one half of the features and the other half is tested, and the
reverse; with ``--split counts`` every count is divided at random, and the graph is made of one part
and the other is tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sfs_cli.compute.matrix import LeftOut
from sfs_cli.errors import InputError, located
from sfs_cli.methods.base import Solution
from sfs_cli.run.load import Run
from sfs_cli.run.passes import OF_COUNTS, to_test
from sfs_cli.run.scoring import Scored, make_graph, score_on
from sfs_cli.store.copies import digests
from sfs_cli.store.count_thinning import ThinnedMatrix
from sfs_cli.store.ids import CHUNK
from sfs_cli.store.prepared import PreparedMatrix

FEWEST = 4
"""Features that can be divided into halves that compare samples."""


def rank_split(run: Run) -> Scored:
    """Score every feature on a graph that was made without what is scored.

    Raises InputError when there are too few features, or values that are no counts.
    """
    return _by_halves(run) if run.config.split == "features" else _by_counts(run)


def first_half(seed: int, ids: Sequence[str]) -> np.ndarray:
    """Return which of m features are in the first half, of bool, shape (m,).

    It depends on their ids and the seed alone, and not on the order of the file.
    """
    pieces = (ids[lo : lo + CHUNK] for lo in range(0, len(ids), CHUNK))
    drawn = np.concatenate([digests(piece, seed, "split") for piece in pieces])
    first = np.zeros(len(ids), bool)
    first[np.argsort(drawn, kind="stable")[: len(ids) // 2]] = True
    return first


def _by_halves(run: Run) -> Scored:
    matrix = run.matrix
    if matrix.n_features < FEWEST:
        raise InputError(
            f"--split features cannot divide {matrix.n_features} features",
            where=run.config.matrix,
            hint="leave it out",
            option="split",
        )
    first = first_half(run.context.seed, matrix.ids.features)
    found = []
    for name, tested in (("first", first), ("other", ~first)):
        half = run.of(to_test(name))
        with located(f"the {name} half of the features"):
            graph = make_graph(_of(half, _only(matrix, ~tested)))
            found.append(score_on(_of(half, _only(matrix, tested)), graph))
    return _joined(found, first)


def _by_counts(run: Run) -> Scored:
    of_graph, of_scores = part_of_counts(run), part_of_counts(run, second=True)
    scored = score_on(of_scores, make_graph(of_graph))
    scored.solution.facts["split"] = {"how": "counts"}
    return scored


def part_of_counts(run: Run, *, second: bool = False) -> Run:
    """Return a run on one part of the counts: the first makes the graph, the second is tested."""
    thinned = ThinnedMatrix(
        run.matrix.matrix,
        run.context.seed,
        second=second,
        where=run.config.matrix,
        samples=run.matrix.samples,
    )
    part = _of(run.of(OF_COUNTS[second]), replace(run.matrix, matrix=thinned))
    part.fit_matrix()
    return part


def _joined(found: list[Scored], first: np.ndarray) -> Scored:
    """Return the solution of all features, each from the half that it was tested in."""
    from sfs_cli.methods.significance.tested import tested_columns

    one, two = (scored.solution for scored in found)

    def chosen(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.where(first, a, b)

    p, effect = (chosen(one.extra[name], two.extra[name]) for name in ("p_value", "effect"))
    columns, counted = tested_columns(p, effect)
    halves = [
        {"features": int(inside.sum()), "graph": scored.graph}
        for inside, scored in ((first, found[0]), (~first, found[1]))
    ]
    facts: dict[str, Any] = one.facts | counted | {"split": {"how": "features", "halves": halves}}
    depths = [half.facts["depth"] for half in (one, two) if "depth" in half.facts]
    if depths:
        facts["depth"] = max(depths, key=lambda found: (found["leads"], found["shift"]))
    score = chosen(one.score, two.score)
    # scores on two graphs do not compare, but what they are worth does
    order = np.lexsort((-effect, np.where(np.isnan(p), np.inf, p)))
    solution = Solution(
        score,
        chosen(one.status, two.status),
        one.larger_is_better,
        order=order[~np.isnan(score[order])],
        extra=columns,
        facts=facts,
    )
    return Scored(solution, found[0].graph, found[0].eigenvalues)


def _only(matrix: PreparedMatrix, features: np.ndarray) -> PreparedMatrix:
    """Return a view in which only some features take part, of bool, shape (m,)."""
    old = matrix.features
    by_id = np.zeros(matrix.n_features, np.int8) if old.by_id is None else old.by_id.copy()
    by_id[(by_id == 0) & ~features] = LeftOut.EXCLUDED
    return replace(matrix, features=replace(old, by_id=by_id)).fitted_as(matrix)


def _of(run: Run, matrix: PreparedMatrix) -> Run:
    """Return a run on another view of its matrix."""
    return run.on(replace(run.context.engine, source=matrix))
