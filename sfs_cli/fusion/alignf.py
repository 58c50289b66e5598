"""Weights whose sum of kernels aligns best with the classes (Cortes et al. 2012)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfs_cli.errors import InputError, listed
from sfs_cli.fusion.base import (
    FusionContext,
    Weighting,
    checked,
    normalised,
    one_hot,
    spread,
    telling,
)
from sfs_cli.fusion.centering import centred_products
from sfs_cli.fusion.quadratic import minimise

TOLERANCE = 1e-9
_ROUNDING = 1e-12


def learn(kernels: Sequence[np.ndarray], context: FusionContext) -> Weighting:
    """Maximise the alignment of the weighted sum with the classes.

    v = argmin_{v >= 0} v'Mv - 2 v'a with M_kl = <Kc_k, Kc_l> and a_k = <Kc_k, YY'>, Kc centred
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
        between it and YY', both centred; facts are that of each kernel, and v.

    Raises
    ------
    InputError
        When no kernel aligns with the classes: all a_k <= 0, so that v = 0.
    """
    kernels = checked(kernels)
    Y = one_hot(context.codes)
    kept, warnings = telling(kernels, context)
    target = Y @ Y.T
    products = centred_products([*(kernels[k] for k in kept), target])
    M, a, size = products[:-1, :-1], products[:-1, -1], np.sqrt(products[-1, -1])
    alone = a / (np.sqrt(M.diagonal()) * size)
    if not (alone > _ROUNDING).any():
        raise InputError(
            "no source aligns with the labels: samples of one class are no more alike than others",
            where=listed([context.name(int(k)) for k in kept]),
            hint="check that the labels are those of these samples, or give --weights uniform",
        )
    v, violation = minimise(M, a, np.zeros(len(kept)))
    v[v < _ROUNDING * v.max()] = 0  # rounding, which is no reason to count a source in
    fused = float(a @ v / (np.sqrt(v @ M @ v) * size))
    count = len(kernels)
    facts = {
        "alignments": spread(alone, kept, count).tolist(),
        "alignment": fused,
        "unnormalised": spread(v, kept, count).tolist(),
    }
    return Weighting(
        spread(normalised(v), kept, count),
        objective=fused,
        facts=facts,
        converged=violation <= TOLERANCE,
        stop=f"optimality conditions hold to {violation:.1e}",
        warnings=warnings,
    )
