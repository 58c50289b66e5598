"""Scoring matrices, through a whole run and through a scorer alone, with scores in input order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sfs_cli.config import RankConfig
from sfs_cli.graph.similarity import Similarity
from sfs_cli.jobs.rank import RankResult, rank
from sfs_cli.methods.base import Context, Scorer, Status
from sfs_cli.methods.catalog import METHODS

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


@dataclass
class Block:
    """A block as a matrix hands it to a scorer."""

    values: np.ndarray
    missing: np.ndarray | None = None
    zero: np.ndarray | None = None


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
    context = Context(
        n_samples=n,
        dtype=np.dtype(dtype),
        similarity=S,
        codes=codes,
        options=dict(listed.options) | options,
    )
    prepare = listed.load("prepare")
    assert prepare is not None
    return prepare(context)


def score(method: str, X: np.ndarray, S: Similarity | None = None, **options: Any) -> np.ndarray:
    """Scores of the columns of X by a scorer alone; NaN exactly where the status is not ok."""
    scorer = make_scorer(method, len(X), S, **options)
    scores, status = scorer.score_block(Block(np.array(X.T, scorer.dtype, order="C")))
    np.testing.assert_array_equal(np.isnan(scores), status != Status.OK)
    return scores


def write_matrix(path: Path, X: np.ndarray) -> str:
    """Write samples x features as Parquet with genes in rows; s0, s1, ... and g0, g1, ..."""
    columns = {f"s{i}": row for i, row in enumerate(X)}
    genes = [f"g{i}" for i in range(X.shape[1])]
    pq.write_table(pa.table({"feature_id": genes} | columns), path)
    return str(path)


def write_labels(path: Path, codes: np.ndarray) -> str:
    """Write classes c0, c1, ... of the samples s0, s1, ..."""
    rows = [f"s{i}\tc{c}\n" for i, c in enumerate(codes)]
    path.write_text("sample\tlabel\n" + "".join(rows))
    return str(path)


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
