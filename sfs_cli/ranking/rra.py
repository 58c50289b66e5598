"""Robust rank aggregation (Kolde, Laur, Adler and Vilo 2012, Bioinformatics 28, 573-580)."""

from __future__ import annotations

import numpy as np


def robust_rank_aggregation(ranks: np.ndarray, total: int) -> dict[str, np.ndarray]:
    """Test for each feature whether the lists rank it better than random lists would.

    Normalised ranks r = rank / N, sorted, are compared with the order statistics of L independent
    uniform numbers: beta_k is the probability that the k-th smallest is at most r_(k), a beta
    distribution with parameters k and L - k + 1, and rho = min_k beta_k. The p-value is the
    paper's bound min(1, L rho), which corrects for the L looks; it is never too small, but for
    rounding. A feature that a list leaves out has r = 1 there.

    Parameters
    ----------
    ranks : ndarray, shape (m, L)
        1 is best, NaN where a list does not rank the feature.
    total : int
        N, the number of features the lists were drawn from, at least m.

    Returns
    -------
    dict of ndarray, shape (m,)
        ``score`` (rho), ``p_value`` and ``q_value`` (Benjamini and Hochberg, over all N features:
        those that no list ranks have p = 1).
    """
    from scipy.special import betainc
    from scipy.stats import false_discovery_control

    n_lists = ranks.shape[1]
    r = np.sort(np.where(np.isnan(ranks), 1.0, ranks / total), axis=1)
    k = np.arange(1, n_lists + 1)
    rho = betainc(k, n_lists - k + 1, r).min(axis=1)
    p_value = np.minimum(1.0, n_lists * rho)
    everyone = np.concatenate([p_value, np.ones(total - len(ranks))])
    q_value = false_discovery_control(everyone)[: len(ranks)]
    return {"score": rho, "p_value": p_value, "q_value": q_value}
