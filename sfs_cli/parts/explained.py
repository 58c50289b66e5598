"""How much of the variance of the best features covariates, or batches, explain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sfs_cli.ranking.table import Ranking
from sfs_cli.report.model import Pairs
from sfs_cli.run.load import Run
from sfs_cli.run.top import TOP, values_of
from sfs_cli.store.adjust import r_squared
from sfs_cli.store.prepared import PreparedMatrix


def explained_by(
    basis: np.ndarray,
    run: Run,
    ranking: Ranking,
    before: PreparedMatrix,
    after: PreparedMatrix | None = None,
) -> dict[str, Any]:
    """Return the mean part of the variance of the best features that a basis (r, n) explains.

    It is that `before` something is taken out of the features and `after`, where it is;
    `by_chance` is what as many columns of random numbers explain.
    """
    best = ranking.order[: min(TOP, ranking.n_scored)]

    def mean_of(matrix: PreparedMatrix) -> float:
        engine = replace(run.context.engine, source=matrix)
        parts = r_squared(values_of(run.on(engine), best), basis)
        return float(parts[~np.isnan(parts)].mean()) if not np.isnan(parts).all() else 0.0

    by_chance = len(basis) / (before.n_samples - 1)
    facts = {"features": len(best), "before": mean_of(before), "by_chance": by_chance}
    return facts if after is None else facts | {"after": mean_of(after)}


def words(facts: dict[str, Any]) -> str:
    """Say how much of which features it is."""
    return f"{facts['before']:.1%} of the variance of the first {facts['features']} features"


def pairs(facts: dict[str, Any]) -> Pairs:
    """Return what the page says."""
    found = [("Explain", words(facts))]
    if "after" in facts:
        found.append(("After adjusting", f"{facts['after']:.1%}"))
    return [*found, ("By chance", f"{facts['by_chance']:.1%}")]
