"""sSelect: consistency with the graph of all samples and with the labels of some.

Z. Zhao and H. Liu, "Semi-supervised feature selection via spectral analysis", SDM 2007; Eq. 2.16
of the dissertation. Its normalized mutual information is that of L. Yu and H. Liu, "Efficient
feature selection via analysis of relevance and redundancy", JMLR 5, 2004: the symmetrical
uncertainty ``2 I(F, y) / (H(F) + H(y))``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sfs_cli.errors import InputError, UsageError
from sfs_cli.methods.attainable import attainable_interval
from sfs_cli.methods.base import BlockLike, Context, Scorer, Status
from sfs_cli.methods.information import quantile_means, symmetrical_uncertainty, two_means
from sfs_cli.methods.spec import SpecScorer
from sfs_cli.methods.sselect_mix import Terms, choose_mix

PHI2 = {"ranking": "phi2", "gamma": "power", "gamma_power": 1, "clusters": None}


class SSelectScorer:
    """``mix phi + (1 - mix) (1 - NMI)`` of every feature; smaller is better.

    phi is SPEC's phi2 on all samples. It lies between the second smallest and the largest
    eigenvalue of the normalized Laplacian, and is rescaled from there to [0, 1]. NMI is taken on
    the labelled samples alone, with the feature cut into as many clusters of values as there are
    classes.
    """

    larger_is_better = False

    def __init__(self, context: Context, mix: float) -> None:
        self.mix = mix
        self.labelled, self.codes = _labelled(context)
        self.spec = SpecScorer(replace(context, options=PHI2))
        self.low, high = attainable_interval(self.spec.laplacian)
        self.width = high - self.low
        self.dtype = self.spec.dtype
        self.facts: dict[str, Any] = {
            "labelled": len(self.labelled),
            "phi_range": [self.low, high],
        }
        self.warnings: list[str] = []

    def score_block(self, block: BlockLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores and statuses of a block; may overwrite it."""
        phi, disagreement, status = self.terms(block)
        return self.mix * phi + (1 - self.mix) * disagreement, status

    def terms(self, block: BlockLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the rescaled phi, ``1 - NMI``, and the statuses of a block."""
        known = block.values[:, self.labelled].astype(np.float64)
        c = int(self.codes.max()) + 1
        clusters = two_means(known) if c == 2 else quantile_means(known, c)
        disagreement = 1 - symmetrical_uncertainty(clusters, self.codes)
        phi, status = self.spec.score_block(block)
        phi -= self.low
        if self.width > 0:
            phi /= self.width
        np.clip(phi, 0, 1, out=phi)  # rounding
        disagreement[status != Status.OK] = np.nan
        return phi, disagreement, status


def _labelled(context: Context) -> tuple[np.ndarray, np.ndarray]:
    """Return which samples have a label, and their classes from 0 without gaps."""
    assert context.codes is not None
    labelled = np.flatnonzero(context.codes >= 0)
    classes, codes = np.unique(context.codes[labelled], return_inverse=True)
    if len(classes) < 2:
        raise InputError(
            f"sSelect needs labelled samples of at least two classes, and the {len(labelled):,} "
            f"of {len(context.codes):,} samples that have a label are of {len(classes)}",
            hint="label some samples of another class, or take spec, which needs no labels",
        )
    return labelled, codes


def prepare(context: Context) -> Scorer:
    """Return the scorer of sSelect.

    Without the option ``mix`` it is chosen first, which takes a pass over the matrix and a few
    hundred features more.

    Parameters
    ----------
    context : Context
        With the similarity, the labels (-1 where there is none), and the options ``mix`` and
        ``select``; with the engine where ``mix`` is None.

    Raises
    ------
    InputError
        When the labelled samples are not of two classes or more.
    UsageError
        When ``lambda`` is not from 0 to 1.
    """
    mix = context.options["lambda_"]
    if mix is not None and not 0 <= mix <= 1:
        raise UsageError(
            f"--lambda {mix:g} is not a number from 0 to 1", hint="give one, such as 0.5"
        )
    scorer = SSelectScorer(context, mix if mix is not None else 0.5)
    if mix is None:
        found = choose_mix(_all_terms(scorer, context), context)
        scorer.mix = found.mix
        scorer.facts["cut_values"] = found.cuts
    scorer.facts["mix"] = scorer.mix
    return scorer


def _all_terms(scorer: SSelectScorer, context: Context) -> Terms:
    assert context.engine is not None
    parts = [part for _, part in context.engine.run(scorer.terms, scorer.dtype)]
    phi, disagreement, status = (np.concatenate(column) for column in zip(*parts))
    return Terms(phi, disagreement, status == Status.OK)
