"""Scores with their significance: what is measured of blocks, and columns of the ranking."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

import numpy as np

from sfs_cli.compute.matrix import Arrays, BlockLike, pieces
from sfs_cli.errors import counted
from sfs_cli.methods.base import Problem, Scorer
from sfs_cli.methods.kernel import centered_copy
from sfs_cli.methods.shared import SIGNIFICANT
from sfs_cli.methods.significance.judge import HOW, Judge
from sfs_cli.methods.significance.ratios import ratio_of
from sfs_cli.ranking.false_discovery import q_values
from sfs_cli.ranking.table import Picked

MOST_PERMUTATIONS = 10_000
"""Permutations of a feature at most, where moments screen."""
LEAST_VALUES = 3
"""Features that fewer samples have another value of than the usual one are warned of."""


class ByOrders(Scorer):
    """A scorer with p-values by orders of the samples, of which a judge of its own has some.

    Parameters
    ----------
    scorer : Scorer
        What it tests.
    null : str
        ``moments`` or ``permutation``.
    permutations : int
        Permutations of each feature at most, with ``permutation``.
    """

    def __init__(self, scorer: Scorer, null: str, permutations: int) -> None:
        super().__init__()
        self.scorer = scorer
        self.dtype, self.larger_is_better = scorer.dtype, scorer.larger_is_better
        self.has_means, self.facts = scorer.has_means, scorer.facts
        self.facts["pvalues"] = null
        if null == "permutation":
            self.facts["permutations"] = permutations

    def told_columns(self, p: np.ndarray, effect: np.ndarray, how: np.ndarray) -> dict[str, Any]:
        """Return the columns of `tested_columns`; warn if no q-value can be small.

        Permutations give no p-value below ``1 / (permutations + 1)``.
        """
        columns, facts = tested_columns(p, effect, how)
        self.facts |= facts
        if (permutations := self.facts.get("permutations")) is not None:
            tested, q = facts["tested_features"], columns["q_value"]
            least = math.ceil(tested / (SIGNIFICANT * (permutations + 1)))
            if least > 1 and np.nanmin(q) > SIGNIFICANT:
                self.warnings.append(
                    f"{permutations:,} permutations give no p-value below 1/{permutations + 1:,}: "
                    f"no feature has a q-value of {SIGNIFICANT} unless {least:,} of the "
                    f"{tested:,} tested ones have that p-value; give more permutations, or "
                    "--pvalues moments (which does not go with --block)"
                )
        return columns


class GraphTest(Scorer):
    """A test of features on sample graphs."""

    @abstractmethod
    def effect_of(self, x: np.ndarray) -> float:
        """Return the effect of one feature around its mean, of unit norm, shape (n,)."""


class TestedScorer(ByOrders, GraphTest):
    """A scorer with more columns: ``p_value``, ``q_value``, ``effect`` and ``p_value_by``.

    The p-value is the probability of a score that is as good, if the values of the feature were
    independent of the graph: of the same values in all orders of the samples
    (`sfs_cli.methods.significance.judge`). The q-value is that of Benjamini and Hochberg over
    the features that have a score. The effect says by how many standard deviations of that
    distribution the score is better than its mean. What is tested is in
    `sfs_cli.methods.significance.ratios`.

    Parameters
    ----------
    scorer : Scorer
        Of a method of `sfs_cli.catalog.WITH_PVALUES`.
    problem : Problem
        What it was made for.
    null : str
        ``moments`` or ``permutation``.
    permutations : int
        Permutations of each feature at most, with ``permutation``.
    least : float
        What no p-value by orders of the samples is below: of a graph of labels alone, 1 over the
        number of different orders of these.

    Raises
    ------
    InputError
        When the graph has too many samples for what is asked for.
    """

    def __init__(
        self,
        scorer: Scorer,
        problem: Problem,
        null: str,
        permutations: int = 0,
        least: float = 0.0,
    ) -> None:
        super().__init__(scorer, null, permutations)
        self.warnings = scorer.warnings
        most, context = permutations or MOST_PERMUTATIONS, problem.context
        self.ratio = ratio_of(scorer, problem)
        self.judge = Judge(self.ratio, null, most, context.seed, context.blocks, least)

    def score_block(self, block: BlockLike) -> Arrays:
        """Return what the scorer finds, the names of `Judged`, and ``unusual``, each (b,)."""
        values = block.values.copy()
        found = self.scorer.score_block(block)
        with np.errstate(all="ignore"):  # NaN where there is no score
            t = self.ratio.statistic(found["score"], *self._share_and_norm(values))
        return found | self.judge.test(values, t)._asdict() | {"unusual": unusual(values)}

    def _share_and_norm(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the part of ``f' D f`` that is not the mean's, and the squares, each (b,).

        They are ones where the statistic does not depend on them.
        """
        share, norm = np.ones(len(values)), np.ones(len(values))
        degrees, volume = self.ratio.degrees, self.ratio.degrees.sum()
        for part in pieces(*values.shape) if self.ratio.over in ("share", "norm") else ():
            centered = centered_copy(values[part])
            if self.ratio.over == "norm":
                norm[part] = centered.spread
                continue
            x = centered.values / np.sqrt(centered.square)[:, None]
            offset = centered.offset / np.sqrt(centered.square)
            mean = x @ degrees / volume
            square = (x * x) @ degrees - volume * mean**2
            share[part] = square / (square + volume * (mean + offset) ** 2)
        return share, norm

    def columns(self, found: Arrays) -> dict[str, Any]:
        """Return the p-values, q-values and effects of all features, each shape (m,)."""
        scored = ~np.isnan(found["score"])
        p, effect = (np.where(scored, found[name], np.nan) for name in ("p", "effect"))
        columns = self.told_columns(p, effect, found["how"])
        self._note_values(found["unusual"][scored])
        return self.scorer.columns(found) | columns

    def effect_of(self, x: np.ndarray) -> float:
        """Return the effect of one feature around its mean, of unit norm, shape (n,)."""
        return float(self.judge.test(x[None]).effect[0])

    def _note_values(self, values: np.ndarray) -> None:
        """Warn of features with too few values for a test.

        `values`, (m,), are how many are not the smallest one, or not the largest, as of `unusual`.
        """
        none = int(np.count_nonzero(values < LEAST_VALUES))
        self.facts["features_of_too_few_values"] = none
        if none:
            self.warnings.append(
                f"{counted(none, 'feature')} with the same value in all but {LEAST_VALUES - 1} or "
                "fewer samples: such p-values say which samples these are, and hardly anything "
                f"about the feature; --min-samples {LEAST_VALUES} leaves out those of which it is 0"
            )


def tested_columns(
    p: np.ndarray, effect: np.ndarray, how: np.ndarray | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the columns of p-values and effects, shape (m,), and what ``run.json`` says of them.

    The q-value is that of Benjamini and Hochberg over all p-values that are not NaN. `how` (m,)
    tells how each was found, as `Judged.how`, where one judge has found it.
    """
    q, tested = q_values(p), ~np.isnan(p)
    columns: dict[str, Any] = {"p_value": p, "q_value": q, "effect": effect}
    facts: dict[str, Any] = {
        "tested_features": int(np.count_nonzero(tested)),
        f"q_value_at_most_{SIGNIFICANT}": int(np.count_nonzero(q <= SIGNIFICANT)),
    }
    if how is not None:
        by = np.where(tested, how, len(HOW)).astype(np.int32)
        columns["p_value_by"] = Picked([*HOW, ""], by)
        facts["p_values_by"] = dict(zip(HOW, np.bincount(by, minlength=len(HOW)).tolist()))
    return columns, facts


def unusual(x: np.ndarray) -> np.ndarray:
    """Return how many values of features (b, n) are not the smallest one, or not the largest, (b,).

    It is the smaller of both numbers.
    """
    ends = (x.min(axis=1, keepdims=True), x.max(axis=1, keepdims=True))
    return np.minimum(*(np.count_nonzero(x != end, axis=1) for end in ends))
