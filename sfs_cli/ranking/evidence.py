"""A ranking as numbers of which more is better, for tools that weigh features by such a number."""

from __future__ import annotations

import numpy as np

from sfs_cli.ranking.table import Ranking


def exponential_scores(ranking: Ranking) -> np.ndarray:
    """Return the expected order statistics of an exponential distribution, shape (n_scored,).

    The feature of rank i among N with a score gets ``sum_(j=i)^N 1/j``, the expected i-th largest
    of N independent exponential variables (I. R. Savage, Annals of Mathematical Statistics 27,
    1956): about ``ln(N / i)``, from ``ln(N) + 0.58`` for the best one to ``1 / N``, 1 on average.
    Neighbors with equal scores share their mean.

    GSEA weighs the genes of a set by ``|metric|^p`` (Subramanian et al., PNAS 102, 2005), and so
    needs numbers that are positive, largest for the best gene and of which the best ones have most.
    The scores of methods are none of that in general: of some less is better, which a change of
    sign would give the least weight, others lie so close to 1 that all genes weigh the same, are
    infinite or negative, or do not follow the ranks of a pruned or selected list. Their ranks
    always do. Under the null hypothesis the negative logarithm of a p-value is exponential, so this
    is what the i-th of N genes is expected to have of it.
    """
    n = ranking.n_scored
    if not n:
        return np.zeros(0)
    evidence = np.cumsum(1 / np.arange(n, 0, -1))[::-1]  # the smallest terms are added first
    scores = ranking.score[:n]
    group = np.cumsum(np.append(False, scores[1:] != scores[:-1]))
    return (np.bincount(group, evidence) / np.bincount(group))[group]
