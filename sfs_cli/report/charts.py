"""The charts of a report: the score curve, the spectrum and the distribution of scores.

Each is one inline SVG element. Colors, fonts and line widths come from the style of the page, by
class; nothing in a chart depends on color alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from sfs_cli.errors import counted
from sfs_cli.report.canvas import (
    TOP,
    WIDTH,
    Axis,
    Frame,
    all_equal,
    dot,
    fitted_axis,
    line,
    linear_axis,
    polyline,
    rank_axis,
    rectangle,
    svg,
    text,
)
from sfs_cli.report.words import significant

LARGEST = 1e300
"""Larger scores, and infinite ones, are not drawn: the range of an axis would overflow."""
DOTS = 60
"""Up to this many scores, each one has a dot."""
STEMS = 40
"""Number of eigenvalues drawn, or ten more than there are clusters."""
POINTS = 600
"""Number of points of a curve; more cannot be distinguished on a screen."""


def drawable(scores: np.ndarray) -> np.ndarray:
    """Return the scores that fit on an axis (not NaN, infinite or beyond 1e300)."""
    scores = np.asarray(scores, dtype=np.float64)
    fits = np.abs(scores) <= LARGEST
    return scores if fits.all() else scores[fits]


def score_curve(scores: np.ndarray, *, larger_is_better: bool, elbow: int | None = None) -> str:
    """Draw score against rank, with the elbow marked.

    Parameters
    ----------
    scores : ndarray, shape (m,), m >= 1
        Finite scores from best to worst.
    larger_is_better : bool
        Direction of the scores, named at their axis.
    elbow : int, optional
        Number of features before the elbow, 1 to m - 1.

    Returns
    -------
    str
        An SVG element with at most about 600 points.
    """
    m = len(scores)
    axis = rank_axis(m)
    kept = downsample(scores, log=axis.log, keep=(elbow - 1, elbow) if elbow else ())
    shown = scores[kept]
    better = "larger" if larger_is_better else "smaller"
    title = f"score ({better} is better)"
    frame = Frame(axis, linear_axis(title, float(shown.min()), float(shown.max())))
    x, y = frame.x(kept + 1.0), frame.y(shown)
    parts = [frame.draw(), polyline(x, y, "curve")]
    if m <= DOTS:
        hints = (f"rank {i + 1}: {significant(s)}" for i, s in zip(kept, shown))
        parts += [dot(a, b, "dot", hint) for a, b, hint in zip(x, y, hints)]
    described = f"{counted(m, 'score')} from {significant(scores[0])} to {significant(scores[-1])}."
    if elbow:
        before = rectangle(frame.left, TOP, float(frame.x(elbow + 0.5)), frame.bottom, "before")
        parts.insert(0, before)
        x_mark = float(frame.x(elbow + 0.5))
        # the label is where the curve is not
        above = bool(scores[0] > scores[-1]) != _is_right(frame, x_mark)
        y_mark = TOP + 14 if above else frame.bottom - 10
        parts.append(_mark(frame, x_mark, y_mark, f"elbow: {counted(elbow, 'feature')}"))
        described += f" The curve bends after {counted(elbow, 'feature')}."
    return svg("score-curve", "Score against rank", described, *parts)


def spectrum(eigenvalues: np.ndarray, *, clusters: int | None = None) -> str:
    """Draw the leading eigenvalues (k,), ascending, with the gap after the clusters marked."""
    values = np.maximum(eigenvalues[: max(STEMS, (clusters or 0) + 10)], 0.0)
    count = len(values)
    headroom = 1.2  # room for the label of the mark above the stems
    index = replace(rank_axis(count), title="index of the eigenvalue", minor=(), log=False)
    frame = Frame(index, linear_axis("eigenvalue λ", 0.0, headroom * values.max()))
    x, y = frame.x(np.arange(1.0, count + 1)), frame.y(values)
    parts = [frame.draw()]
    described = f"The {counted(count, 'smallest eigenvalue')}."
    if clusters and clusters < count:
        low, high = frame.y(values[clusters - 1 : clusters + 1])
        parts.append(rectangle(frame.left, low, frame.right, high, "band"))
        at = float(frame.x(clusters + 0.5))
        parts.append(_mark(frame, at, TOP + 14, f"gap after eigenvalue {clusters}"))
        described += (
            f" The gap after eigenvalue {clusters} is {significant(np.diff(values)[clusters - 1])}."
        )
    for j, (a, b, value) in enumerate(zip(x, y, values), start=1):
        role = "below" if clusters and j <= clusters else "above"
        parts.append(line(a, frame.bottom, a, b, f"stem {role}"))
        parts.append(dot(a, b, f"dot {role}", f"λ{j} = {significant(value)}"))
    return svg("spectrum", "Spectrum of the sample graph", described, *parts)


def distribution(scores: np.ndarray) -> str:
    """Draw a histogram of finite scores, shape (m,), m >= 1, in any order; return SVG."""
    low, high = float(scores.min()), float(scores.max())
    axis = fitted_axis("score", low, high, WIDTH - 100)
    counts, edges = _histogram(scores, axis)
    most, tallest = int(counts.max()), int(np.argmax(counts))
    frame = Frame(axis, linear_axis("number of features", 0.0, most, count=min(5, most)))
    x = frame.x(edges)
    base = frame.bottom - 0.5
    y = np.minimum(frame.y(counts), base - 1.5)  # so that a single feature is visible
    hints = [
        f"{significant(a, 4)} to {significant(b, 4)}: {counted(count, 'feature')}"
        for a, b, count in zip(edges, edges[1:], counts)
    ]
    bars = [
        rectangle(x[i] + 0.5, y[i], x[i + 1] - 0.5, base, "bar", hint)
        for i, hint in enumerate(hints)
        if counts[i]
    ]
    described = f"The tallest of {counted(len(counts), 'bar')} is {hints[tallest]}."
    return svg("distribution", "Distribution of the scores", described, frame.draw(), *bars)


def _histogram(scores: np.ndarray, axis: Axis) -> tuple[np.ndarray, np.ndarray]:
    """Count scores in at most 40 bins; scores that are all equal are one thin bin."""
    low, high = float(scores.min()), float(scores.max())
    if all_equal(low, high):
        thin = (axis.high - axis.low) / 80
        return np.histogram(scores, 1, range=(low - thin, high + thin))
    bins = min(40, max(5, math.ceil(math.sqrt(len(scores)))))
    return np.histogram(scores, bins, range=(low, high))


def _mark(frame: Frame, x: float, y: float, label: str) -> str:
    """Draw a vertical line at x, with a label on the side that has more room."""
    left = _is_right(frame, x)
    class_ = f"mark-label {'end' if left else 'start'}"
    words = text(label, x - 6 if left else x + 6, y, class_=class_)
    return line(x, TOP, x, frame.bottom, "mark") + words


def _is_right(frame: Frame, x: float) -> bool:
    return x > (frame.left + frame.right) / 2


def downsample(
    scores: np.ndarray, *, log: bool = False, keep: Iterable[int] = (), limit: int = POINTS
) -> np.ndarray:
    """Choose the points of a sorted curve that show its shape: a million points become hundreds.

    One half is evenly spaced along the rank axis, the other along the score axis, so that neither
    a long flat part nor a steep step loses its corners.

    Parameters
    ----------
    scores : ndarray, shape (m,)
        Sorted scores, rising or falling.
    log : bool
        Whether ranks are drawn on a logarithmic axis.
    keep : iterable of int
        Positions to choose in any case, besides the first and the last.
    limit : int
        Approximate number of points.

    Returns
    -------
    ndarray of int
        Ascending positions in `scores`; all of them where m is at most `limit`.
    """
    m = len(scores)
    if m <= limit:
        return np.arange(m)
    half = limit // 2
    along = np.geomspace(1, m, half) - 1 if log else np.linspace(0, m - 1, half)
    rising = scores if scores[-1] >= scores[0] else -scores
    levels = np.linspace(rising[0], rising[-1], half // 2)
    corners = np.searchsorted(rising, levels)
    chosen = np.concatenate([along.round(), corners, corners - 1, [0, m - 1], list(keep)])
    return np.unique(np.clip(chosen, 0, m - 1).astype(np.intp))
