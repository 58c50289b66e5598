"""How much of the variance of the best features covariates, or batches, explain."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from sfs_cli.ranking.table import Ranking
from sfs_cli.report.model import Pairs
from sfs_cli.run.load import Run
from sfs_cli.run.top import TOP, values_of
from sfs_cli.store.adjust import r_squared
from sfs_cli.store.prepared import PreparedMatrix


@dataclass(frozen=True)
class Explained:
    """Mean part of the variance of the best features that is explained.

    It is that before it is taken out of the features and after, where it is; `by_chance` is what as
    many columns of random numbers explain.
    """

    features: int
    before: float
    by_chance: float
    after: float | None = None

    @property
    def words(self) -> str:
        """How much it is of which features."""
        return f"{self.before:.1%} of the variance of the first {self.features} features"

    def to_json(self) -> dict[str, Any]:
        """Return the facts of ``run.json``."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def pairs(self) -> Pairs:
        """Return the section of the page."""
        pairs = [("Explain", self.words)]
        if self.after is not None:
            pairs.append(("After adjusting", f"{self.after:.1%}"))
        return [*pairs, ("By chance", f"{self.by_chance:.1%}")]


def explained_by(
    basis: np.ndarray,
    run: Run,
    ranking: Ranking,
    before: PreparedMatrix,
    after: PreparedMatrix | None = None,
) -> Explained:
    """Return how much of the best features a basis (r, n) explains.

    `before` and `after` are the matrix without and with what is taken out of it; None where
    nothing is.
    """
    best = ranking.order[: min(TOP, ranking.n_scored)]

    def mean_of(matrix: PreparedMatrix) -> float:
        engine = replace(run.context.engine, source=matrix)
        parts = r_squared(values_of(run.on(engine), best), basis)
        return float(parts[~np.isnan(parts)].mean()) if not np.isnan(parts).all() else 0.0

    by_chance = len(basis) / (before.n_samples - 1)
    return Explained(
        len(best), mean_of(before), by_chance, None if after is None else mean_of(after)
    )
