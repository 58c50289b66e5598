"""Harrell's concordance index: how well a number orders samples by the time of their event.

F. E. Harrell, R. M. Califf, D. B. Pryor, K. L. Lee and R. A. Rosati, "Evaluating the yield of
medical tests", J. Am. Med. Assoc. 247, 1982.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort

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
    groups = np.zeros(len(time), np.int64) if strata is None else np.asarray(strata)
    agree, pairs = 0.0, 0
    for stratum in np.unique(groups):
        inside = np.flatnonzero(groups == stratum)
        # from the latest; where times are equal, censored samples are later than events
        order = inside[np.lexsort((happened[inside], -time[inside]))]
        later: list[float] = []  # risks, ascending
        waiting: list[float] = []  # of events at the current time, which are not compared
        now = np.nan
        rows = zip(time[order].tolist(), happened[order].tolist(), risk[order].tolist())
        for t, seen, value in rows:
            if t != now:
                for each in waiting:
                    insort(later, each)
                waiting, now = [], t
            if not seen:
                insort(later, value)
                continue
            below, up_to = bisect_left(later, value), bisect_right(later, value)
            agree += (below + up_to) / 2
            pairs += len(later)
            waiting.append(value)
    return agree / pairs if pairs else float("nan")
