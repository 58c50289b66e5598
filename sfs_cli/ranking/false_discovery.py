"""q-values: p-values adjusted so that a cut controls the false discovery rate.

Y. Benjamini and Y. Hochberg, "Controlling the false discovery rate: a practical and powerful
approach to multiple testing", J. R. Stat. Soc. B 57, 1995.
"""

from __future__ import annotations

import numpy as np


def q_values(p: np.ndarray) -> np.ndarray:
    """Return the q-values of Benjamini and Hochberg for p-values, shape (m,); NaN for NaN.

    ``q_(i) = min_{j >= i} p_(j) m / j``. The false discovery rate is controlled where tests are
    independent, or depend on each other positively.
    """
    # not by scipy.stats, which takes longer to import than a typical matrix to rank
    q = np.full(len(p), np.nan)
    order = np.argsort(p)  # in any order of equal ones, which get one q-value
    order = order[: np.count_nonzero(~np.isnan(p))]  # NaN comes last
    steps = p[order] * len(order) / np.arange(1, len(order) + 1)
    q[order] = np.minimum.accumulate(steps[::-1])[::-1]
    return q
