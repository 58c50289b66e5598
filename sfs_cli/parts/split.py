"""Scores and p-values on a graph built from other data than those tested (``--split``).

A sample graph that is built from a matrix follows each of its features a little, so that scores of
null features are better than chance (double dipping). With ``--split features`` the graph is built
from one half of the features and the other half is tested, and the reverse.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sfs_cli.compute.matrix import LeftOut
from sfs_cli.errors import InputError, located
from sfs_cli.methods.base import Solution
from sfs_cli.methods.significance.tested import tested_columns
from sfs_cli.parts.depth import depth_of
from sfs_cli.run.load import Run
from sfs_cli.run.scoring import Scored, make_graph, score_on
from sfs_cli.store.prepared import PreparedMatrix

FEWEST = 4
"""Least number of features that can be divided into halves."""
HALVES = ", to test the first half of the features", ", to test the other half of the features"


def rank_split(run: Run) -> Scored:
    """Score each half of the features on a graph of the other half.

    Raises InputError when there are too few features.
    """
    matrix = run.matrix
    if matrix.n_features < FEWEST:
        raise InputError(
            f"--split features cannot divide {matrix.n_features} features",
            where=run.config.matrix,
            hint="leave it out",
            option="split",
        )
    first = first_half(run.context.seed, matrix.ids.features)
    found, depths, halves = [], [], []
    for whose, tested in zip(HALVES, (first, ~first)):
        half = run.of(whose)
        with located(whose.removeprefix(", to test ")):
            graph = make_graph(half.with_engine(source=_only(matrix, ~tested)))
            part = half.with_engine(source=_only(matrix, tested))
            found.append(score_on(part, graph))
            depths.append(depth_of(part, found[-1].solution).get("depth"))
        halves.append({"features": int(tested.sum()), "graph": found[-1].graph})
    facts: dict[str, Any] = {"split": {"how": "features", "halves": halves}}
    if depths := [depth for depth in depths if depth is not None]:
        facts["depth"] = max(depths, key=lambda depth: (depth["leads"], depth["shift"]))
    one, two = (scored.solution for scored in found)
    scored = replace(found[0], solution=_joined(one, two, first), spectrum=None)
    scored.facts["significance"] = facts
    return scored


def first_half(seed: int, ids: Sequence[str]) -> np.ndarray:
    """Return which of m features are in the first half, of bool, shape (m,).

    It depends on their ids and the seed alone, and not on the order of the file.
    """
    texts = (f"{seed}\0split\0{name}".encode() for name in ids)
    hashes = (hashlib.blake2b(text, digest_size=8).digest() for text in texts)
    drawn = np.fromiter((int.from_bytes(each, "little") for each in hashes), np.uint64, len(ids))
    first = np.zeros(len(ids), bool)
    first[np.argsort(drawn, kind="stable")[: len(ids) // 2]] = True
    return first


def _joined(one: Solution, two: Solution, first: np.ndarray) -> Solution:
    """Return the solution of all features, each from the half that it was tested in."""

    def chosen(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.where(first, a, b)

    p, effect = (chosen(one.extra[name], two.extra[name]) for name in ("p_value", "effect"))
    by: list[Any] = [each.extra["p_value_by"] for each in (one, two)]
    how = chosen(*(each.positions for each in by))
    columns, counted = tested_columns(p, effect, how)
    score = chosen(one.score, two.score)
    # scores on two graphs do not compare, but what they are worth does
    order = np.lexsort((-effect, np.where(np.isnan(p), np.inf, p)))
    return Solution(
        score,
        chosen(one.status, two.status),
        one.larger_is_better,
        order=order[~np.isnan(score[order])],
        extra=columns,
        facts=one.facts | counted,
    )


def _only(matrix: PreparedMatrix, features: np.ndarray) -> PreparedMatrix:
    """Return a view in which only some features take part, of bool, shape (m,)."""
    old = matrix.features
    by_id = np.zeros(matrix.n_features, np.int8) if old.by_id is None else old.by_id.copy()
    by_id[(by_id == 0) & ~features] = LeftOut.EXCLUDED
    return replace(matrix, features=replace(old, by_id=by_id)).fitted_as(matrix)
