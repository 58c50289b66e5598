"""Scoring matrices, through a whole run and through a scorer alone, with scores in input order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from sfs_cli.catalog import METHODS
from sfs_cli.compute.matrix import Block
from sfs_cli.graph.similarity import Similarity
from sfs_cli.methods.base import Problem, Scorer, Solution, Status
from sfs_cli.options import RankConfig
from sfs_cli.workflow.rank import RankResult, rank
from tests.making import make_engine, problem_of

GAMMAS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "1": lambda v: v,
    "2": lambda v: v**2,
    "3": lambda v: v**3,
    "4": lambda v: v**4,
    "5": lambda v: v**5,
    "exp": np.exp,
}
"""Spectral functions by name."""


def gamma_options(name: str) -> dict[str, Any]:
    """The options of SPEC that ask for one of `GAMMAS`."""
    return {"gamma": "exp"} if name == "exp" else {"gamma_power": int(name)}


def make_scorer(
    method: str,
    n: int,
    S: Similarity | None = None,
    *,
    codes: np.ndarray | None = None,
    dtype: str = "float64",
    **options: Any,
) -> Scorer:
    listed = METHODS[method]
    engine = replace(make_engine(np.zeros((n, n if n < 1000 else 1))), dtype=np.dtype(dtype))
    problem = problem_of(engine, S, codes=codes, options=dict(listed.options) | options)
    prepare = listed.load("prepare")
    assert prepare is not None
    return prepare(problem)


def pair(found: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Scores and statuses of what a scorer has found."""
    return found["score"], found["status"]


def score(method: str, X: np.ndarray, S: Similarity | None = None, **options: Any) -> np.ndarray:
    """Scores of the columns of X by a scorer alone; NaN exactly where the status is not ok."""
    scorer = make_scorer(method, len(X), S, **options)
    scores, status = pair(scorer.score_block(Block(np.array(X.T, scorer.dtype, order="C"))))
    np.testing.assert_array_equal(np.isnan(scores), status != Status.OK)
    return scores


def score_all(scorer: Scorer, problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Scores and statuses of all features by a scorer, block by block."""
    score, status = pair(problem.engine.columns(scorer.score_block, scorer.dtype))
    np.testing.assert_array_equal(np.isnan(score), status != Status.OK)
    return score, status


def check_solution(solution: Solution) -> None:
    """What holds of every solution: NaN exactly where the status is not ok, no feature twice."""
    np.testing.assert_array_equal(np.isnan(solution.score), solution.status != Status.OK)
    if solution.order is not None:
        assert len(np.unique(solution.order)) == len(solution.order)


def run(matrix: str, **options: Any) -> RankResult:
    """A whole run, by default with float64 storage."""
    given: dict[str, Any] = {"dtype": "float64", "threads": 2} | options
    return rank(RankConfig(matrix=matrix, **given))


def in_input_order(result: RankResult) -> np.ndarray:
    scores = np.empty(len(result.ranking))
    scores[result.ranking.order] = result.ranking.score
    return scores


def run_scores(matrix: str, **options: Any) -> np.ndarray:
    return in_input_order(run(matrix, **options))
