"""The charts of a report: the score curve, the spectrum and the distribution of scores.

Each is one inline SVG element. Colours, fonts and line widths come from the style of the page, by
class; nothing in a chart depends on colour alone.
"""

from __future__ import annotations

import math

import numpy as np

from sfs_cli.report.axes import Axis, all_equal, fitted_axis, linear_axis, rank_axis
from sfs_cli.report.canvas import (
    TOP,
    WIDTH,
    Frame,
    dot,
    line,
    polyline,
    rectangle,
    svg,
    text,
)
from sfs_cli.report.formatting import counted, significant
from sfs_cli.report.sampling import downsample

# Beyond this the range of the scores overflows; infinite scores are left out by the same rule.
LARGEST = 1e300
# Up to this many scores each one gets its dot.
DOTS = 60
# This many eigenvalues are shown, or a few more than there are clusters.
STEMS = 40


def drawable(scores: np.ndarray) -> np.ndarray:
    """Leave out scores that no axis can hold (NaN, infinite, beyond 1e300)."""
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
        Named beside the score axis.
    elbow : int, optional
        Number of features before the elbow, 1 to m - 1.

    Returns
    -------
    str
        An SVG element of at most about 600 points, whatever m.
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
        parts.insert(0, _before(frame, elbow))
        parts.append(_elbow_mark(frame, elbow, falling=bool(scores[0] > scores[-1])))
        described += f" The curve bends after {counted(elbow, 'feature')}."
    return svg("score-curve", "Score against rank", described, *parts)


def spectrum(eigenvalues: np.ndarray, *, clusters: int | None = None) -> str:
    """Draw the leading eigenvalues as stems, with the gap after the clusters marked.

    Parameters
    ----------
    eigenvalues : ndarray, shape (k,), k >= 1
        Eigenvalues of the normalized Laplacian, ascending.
    clusters : int, optional
        Number of clusters used.

    Returns
    -------
    str
        An SVG element.
    """
    values = np.maximum(eigenvalues[: max(STEMS, (clusters or 0) + 10)], 0.0)
    count = len(values)
    headroom = 1.2  # the mark's label stands above the stems
    frame = Frame(_stem_axis(count), linear_axis("eigenvalue λ", 0.0, headroom * values.max()))
    x, y = frame.x(np.arange(1.0, count + 1)), frame.y(values)
    parts = [frame.draw()]
    described = f"The {counted(count, 'smallest eigenvalue')}."
    if clusters and clusters < count:
        parts.append(_gap_mark(frame, values, clusters))
        described += f" {_gap_words(clusters)} is {significant(np.diff(values)[clusters - 1])}."
    for j, (a, b, value) in enumerate(zip(x, y, values), start=1):
        role = "below" if clusters and j <= clusters else "above"
        parts.append(line(a, frame.bottom, a, b, f"stem {role}"))
        parts.append(dot(a, b, f"dot {role}", f"λ{j} = {significant(value)}"))
    return svg("spectrum", "Spectrum of the sample graph", described, *parts)


def distribution(scores: np.ndarray) -> str:
    """Draw a histogram of the scores.

    Parameters
    ----------
    scores : ndarray, shape (m,), m >= 1
        Finite scores in any order.

    Returns
    -------
    str
        An SVG element.
    """
    low, high = float(scores.min()), float(scores.max())
    axis = fitted_axis("score", low, high, WIDTH - 100)
    counts, edges = _histogram(scores, axis)
    most, tallest = int(counts.max()), int(np.argmax(counts))
    frame = Frame(axis, linear_axis("number of features", 0.0, most, count=min(5, most)))
    x = frame.x(edges)
    base = frame.bottom - 0.5
    y = np.minimum(frame.y(counts), base - 1.5)  # a single feature is seen too
    hints = [_bar_hint(edges, i, count) for i, count in enumerate(counts)]
    bars = [
        rectangle(x[i] + 0.5, y[i], x[i + 1] - 0.5, base, "bar", hint)
        for i, hint in enumerate(hints)
        if counts[i]
    ]
    described = f"The tallest of {counted(len(counts), 'bar')} is {hints[tallest]}."
    return svg("distribution", "Distribution of the scores", described, frame.draw(), *bars)


def _histogram(scores: np.ndarray, axis: Axis) -> tuple[np.ndarray, np.ndarray]:
    """Count scores in at most 40 bins; equal ones (up to rounding) in a single thin bin."""
    low, high = float(scores.min()), float(scores.max())
    if all_equal(low, high):
        thin = (axis.high - axis.low) / 80
        return np.histogram(scores, 1, range=(low - thin, high + thin))
    bins = min(40, max(5, math.ceil(math.sqrt(len(scores)))))
    return np.histogram(scores, bins, range=(low, high))


def _before(frame: Frame, elbow: int) -> str:
    return rectangle(frame.left, TOP, float(frame.x(elbow + 0.5)), frame.bottom, "before")


def _elbow_mark(frame: Frame, elbow: int, *, falling: bool) -> str:
    """Mark the elbow; its label stands where the curve does not go, right of the bend."""
    x = float(frame.x(elbow + 0.5))
    left = x > (frame.left + frame.right) / 2
    y = TOP + 14 if falling != left else frame.bottom - 10
    words = f"elbow: {counted(elbow, 'feature')}"
    anchor = "end" if left else "start"
    label = text(words, x - 6 if left else x + 6, y, class_=f"mark-label {anchor}")
    return line(x, TOP, x, frame.bottom, "mark") + label


def _gap_mark(frame: Frame, values: np.ndarray, clusters: int) -> str:
    """Shade the band between two eigenvalues, and name it on the side that has room."""
    low, high = frame.y(values[clusters - 1 : clusters + 1])
    x = float(frame.x(clusters + 0.5))
    band = rectangle(frame.left, low, frame.right, high, "band")
    left = x > (frame.left + frame.right) / 2
    anchor = "end" if left else "start"
    words = text(
        f"gap after eigenvalue {clusters}",
        x - 6 if left else x + 6,
        TOP + 14,
        class_=f"mark-label {anchor}",
    )
    return band + line(x, TOP, x, frame.bottom, "mark") + words


def _gap_words(clusters: int) -> str:
    return f"The gap after the {counted(clusters, 'eigenvalue')} of the clusters"


def _stem_axis(count: int) -> Axis:
    ranks = rank_axis(count)
    return Axis("index of the eigenvalue", ranks.low, ranks.high, ranks.ticks, ranks.labels)


def _bar_hint(edges: np.ndarray, i: int, count: int) -> str:
    """Say what a bar counts."""
    ends = f"{significant(edges[i], 4)} to {significant(edges[i + 1], 4)}"
    return f"{ends}: {counted(count, 'feature')}"
