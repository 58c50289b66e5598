"""Harrell's concordance index: how well a number orders samples by the time of their event.

F. E. Harrell, R. M. Califf, D. B. Pryor, K. L. Lee and R. A. Rosati, "Evaluating the yield of
medical tests", J. Am. Med. Assoc. 247, 1982.
"""

from __future__ import annotations

import numpy as np


def concordance_index(
    time: np.ndarray,
    event: np.ndarray,
    risk: np.ndarray,
    strata: np.ndarray | None = None,
) -> float:
    """Return the share of comparable pairs in which the earlier event is that of the larger risk.

    A pair is comparable where one sample has an event, and the other, of the same stratum, is known
    to have had none until then: its time is later, or it was censored at that time. Equal risks
    count as one half. 1 is a perfect order, 0.5 none, 0 the opposite one.

    Parameters
    ----------
    time : ndarray, shape (n,)
        Time of the event, or until which none was seen.
    event : ndarray, shape (n,)
        1 or True for an event, 0 or False for a sample that was censored.
    risk : ndarray, shape (n,)
        Larger where an early event is expected.
    strata : ndarray, shape (n,), optional
        Only samples of the same stratum are compared.

    Returns
    -------
    float
        NaN where no pair is comparable.
    """
    happened = np.asarray(event).astype(bool)
    groups = np.zeros(len(time)) if strata is None else np.asarray(strata)
    agree, pairs = 0.0, 0
    for i in np.flatnonzero(happened):
        later = (time > time[i]) | ((time == time[i]) & ~happened)
        risks = risk[later & (groups == groups[i])]
        agree += (risks < risk[i]).sum() + (risks == risk[i]).sum() / 2
        pairs += len(risks)
    return float(agree / pairs) if pairs else float("nan")
