"""Weights whose sum of kernels aligns best with the classes (Cortes et al. 2012)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfs_cli.errors import InputError, listed
from sfs_cli.knowledge.weights.base import (
    FusionContext,
    Weighting,
    centered_products,
    certificate,
    informative,
    minimize,
    one_hot,
)

_ROUNDING = 1e-12


def learn_alignf(kernels: Sequence[np.ndarray], context: FusionContext) -> Weighting:
    """Maximize the alignment of the weighted sum with the classes.

    v = argmin_{v >= 0} v'Mv - 2 v'a with M_kl = <Kc_k, Kc_l> and a_k = <Kc_k, YY'>, Kc centered
    kernels and Y the indicators of the classes (Cortes, Mohri and Rostamizadeh 2012, Prop. 9).

    Parameters
    ----------
    kernels : sequence of ndarray, shape (n, n)
        K symmetric matrices.
    context : FusionContext
        With codes; no option.

    Returns
    -------
    Weighting
        v divided by its sum. The objective is the alignment of the weighted sum, the cosine
        between it and YY', both centered; facts are that of each kernel, and v.

    Raises
    ------
    InputError
        When no kernel aligns with the classes: all a_k <= 0, so that v = 0.
    """
    Y = one_hot(context.codes)
    kept = informative(kernels, context)
    products = centered_products([*kept.kernels, Y @ Y.T])
    M, a, size = products[:-1, :-1], products[:-1, -1], np.sqrt(products[-1, -1])
    alone = a / (np.sqrt(M.diagonal()) * size)
    if not (alone > _ROUNDING).any():
        raise InputError(
            "no source aligns with the labels: samples of one class are no more alike than others",
            where=listed(kept.names),
            hint="check that the labels are those of these samples, or give --weights uniform",
        )
    v, violation = minimize(M, a)
    v[v < _ROUNDING * v.max()] = 0  # rounding, which is no reason to count a source in
    fused = float(a @ v / (np.sqrt(v @ M @ v) * size))
    facts = {
        "alignments": kept.widen(alone).tolist(),
        "alignment": fused,
        "unnormalised": kept.widen(v).tolist(),
    }
    return kept.weighting(v / v.sum(), objective=fused, facts=facts, **certificate(violation))
