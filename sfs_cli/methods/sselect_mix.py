"""Choosing how much sSelect listens to the graph and how much to the labels.

The rule is that of footnote 17 of the dissertation: select features with each of several mixes, and
look at the cut value of the data that only has those features.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfs_cli.compute.engine import Engine
from sfs_cli.compute.spans import Span
from sfs_cli.errors import InputError, OutOfMemoryError
from sfs_cli.graph.kernels import median_bandwidth, rbf, squared_distances
from sfs_cli.graph.laplacian import NormalizedLaplacian
from sfs_cli.graph.similarity import DenseSimilarity
from sfs_cli.graph.spectrum import leading
from sfs_cli.methods.base import Context
from sfs_cli.methods.centering import center

MIXES = tuple(step / 10 for step in range(11))
"""The mixes that are tried."""


@dataclass(frozen=True)
class Terms:
    """The two terms of Eq. 2.16 for all features, shape (m,), and which can be scored."""

    phi: np.ndarray
    disagreement: np.ndarray
    usable: np.ndarray


@dataclass(frozen=True)
class ChosenMix:
    """The mix with the smallest cut value, and the cut value of every mix."""

    mix: float
    cuts: dict[str, float]


def choose_mix(terms: Terms, context: Context) -> ChosenMix:
    """Return the mix whose selected features give the smallest cut value; of equals the smallest.

    Parameters
    ----------
    terms : Terms
        Of all features.
    context : Context
        With the engine and the option ``select``, the number of features to look at.

    Raises
    ------
    InputError
        When no feature can be scored, or over half of the samples are equal in the features.
    OutOfMemoryError
        When a graph of all samples does not fit.
    """
    engine, count = context.engine, int(context.options["select"])
    assert engine is not None
    _check_memory(engine.source.n_samples, context.memory)
    usable = np.flatnonzero(terms.usable)
    if not len(usable):
        raise InputError(
            "no feature can be scored: none of them varies",
            hint="check that values differ between samples (and --rows, --transform, --missing)",
        )
    known: dict[bytes, float] = {}
    cuts = []
    for mix in MIXES:
        score = mix * terms.phi[usable] + (1 - mix) * terms.disagreement[usable]
        chosen = np.sort(usable[np.argsort(score, kind="stable")[:count]])
        key = chosen.tobytes()
        if key not in known:
            known[key] = cut_value(_take(engine, chosen))
        cuts.append(known[key])
    best = MIXES[int(np.argmin(cuts))]
    return ChosenMix(best, {f"{mix:g}": cut for mix, cut in zip(MIXES, cuts)})


def cut_value(features: np.ndarray) -> float:
    """Return the second smallest eigenvalue of the normalized Laplacian of a Gaussian graph.

    Parameters
    ----------
    features : ndarray, shape (s, n)
        The features that samples are compared by, centred; the bandwidth is the median distance.

    Raises
    ------
    InputError
        When over half of the pairs of samples are equal in all these features.
    """
    d2 = squared_distances(features.T @ features)
    S = rbf(d2, median_bandwidth(d2))
    return float(leading(NormalizedLaplacian(DenseSimilarity(S)), 2).values[1])


def _take(engine: Engine, chosen: np.ndarray) -> np.ndarray:
    rows = np.empty((len(chosen), engine.source.n_samples))
    ones = np.ones(engine.source.n_samples)
    for row, i in zip(rows, chosen):
        block = engine.source.read(Span(int(i), int(i) + 1), np.dtype(np.float64))
        row[:] = center(block, ones).values[0]
    return rows


def _check_memory(n: int, memory: int) -> None:
    if 6 * 8 * n * n > memory:
        raise OutOfMemoryError(
            f"choosing the mix takes graphs of all {n:,} samples, too large for the memory allowed",
            hint="give --lambda, or allow more with --memory",
        )
