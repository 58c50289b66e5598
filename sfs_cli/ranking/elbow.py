"""The elbow of a curve of sorted scores: where it bends, for its picture.

It is no number of features to take: a matrix whose features were permuted has much the same curve.
"""

from __future__ import annotations

import numpy as np

STRAIGHT = 1e-9
"""A curve is straight if its distance to the chord is at most this share of its height."""
CHUNK = 1 << 20


def elbow(scores: np.ndarray) -> int | None:
    """Count the features before the elbow of the score curve.

    Rank and score are both mapped to [0, 1], the best score to 1 and the worst to 0, so the result
    does not depend on units or on whether small or large scores are good. The elbow is the point
    farthest from the chord between the first and the last point (Satopaa et al. 2011, *Finding a
    "Kneedle" in a Haystack*, section III, without smoothing). Below the chord it is the first
    feature of the flat tail and is not counted; above the chord it is the last one before the
    scores fall, and is counted.

    Parameters
    ----------
    scores : ndarray, shape (m,)
        Scores from best to worst, without NaN, rising or falling.

    Returns
    -------
    int or None
        A number from 1 to m - 1; None with fewer than 3 distinct scores, an infinite score, a
        curve that is straight, or scores that are not those of the order.
    """
    scores = np.asarray(scores, dtype=np.float64)
    if (scores[1:] > scores[:-1]).any() and (scores[1:] < scores[:-1]).any():
        return None
    if np.count_nonzero(scores[1:] != scores[:-1]) < 2:
        return None
    if not np.isfinite(scores[[0, -1]]).all() or scores[0] == scores[-1]:
        return None
    largest = max(abs(scores[0]), abs(scores[-1]))  # scale first: a difference may overflow
    first, last = scores[0] / largest, scores[-1] / largest
    corner, height = 0, 0.0  # of the point farthest from the chord, and how far it lies below
    step = -1.0 / (len(scores) - 1)
    for lo in range(0, len(scores), CHUNK):  # ten million scores are not copied at once
        part = scores[lo : lo + CHUNK]
        below = np.arange(lo, lo + len(part)) * step + 1.0
        below -= (part / largest - last) / (first - last)
        at = int(np.argmax(np.abs(below)))
        if abs(below[at]) > abs(height):
            corner, height = lo + at, float(below[at])
    rounding = 8 * np.finfo(np.float64).eps / abs(first - last)
    if abs(height) <= max(STRAIGHT, rounding):
        return None
    return corner if height > 0 else corner + 1
