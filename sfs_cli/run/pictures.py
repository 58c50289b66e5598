"""What the pictures of the report show: the best features, and the samples in their order.

It is made of the few values that `read_top` has read and of the eigenvectors of the sample graph,
where those are known. Everything is small: what is drawn for ten samples and for a million.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sfs_cli.errors import counted
from sfs_cli.graph.groups import Groups, groups_apart
from sfs_cli.graph.spectral import Spectrum, fix_signs
from sfs_cli.ranking.table import Ranking
from sfs_cli.report.model import Heatmap, Pictures, Plane, SampleNotes, Strip
from sfs_cli.run.load import Run
from sfs_cli.run.top import TopFeatures

ROWS, STRIPS = 40, 12
"""Features of the heatmap, and features whose values are drawn one by one."""
COLUMNS = 240
"""Columns of the heatmap: more samples are joined to bins."""
NAMED, POINTS = 400, 4000
"""Samples up to which the plane names each, and the most that it draws."""
DRAWN, DRAWN_PAIRS = 60, 200
"""Values of a class that a strip draws, of more, so many quantiles; and pairs with an outcome."""
MOST_CLASSES = 30
"""Classes that are told apart; the smallest of more are one."""
DISTINCT = 0.5
"""Part of the samples that has to have places of its own in a plane."""
ROUNDING = 1e-9


class Layout(NamedTuple):
    """Where the samples lie: their order, and two coordinates."""

    along: np.ndarray  # (n,): increases along the order
    along_what: str
    points: np.ndarray | None  # (n, 2)
    axes: tuple[str, str]
    where: str  # what the plane is, in a sentence


def pictures_of(
    run: Run,
    ranking: Ranking,
    top: TopFeatures,
    spectrum: Spectrum | None,
    groups: Groups | None,
) -> Pictures:
    """Return what the pictures of a ranking show.

    `spectrum` is that of the sample graph, `groups` what it shows; None where it is not known.
    """
    notes = notes_of(run)
    names = ranking.feature[: len(top.values)]
    norms = np.sqrt(np.vecdot(top.values, top.values))
    unit = top.values / np.where(norms > 0, norms, 1)[:, None]
    layout = layout_of(run, unit, spectrum, groups)
    return Pictures(
        notes=notes,
        heatmap=heatmap(run, unit[:ROWS], names[:ROWS], notes, layout),
        plane=plane(run, notes, layout, groups),
        strips=strips(top, names[:STRIPS], notes),
    )


def notes_of(run: Run) -> SampleNotes:
    """Return what the labels say of the samples in use, whether the method needs them or not."""
    n = run.matrix.n_samples
    if run.labels is None:
        return SampleNotes(n=n)
    labels = run.labels.take(run.matrix.samples)
    used = run.labels_used
    if run.config.label_type == "continuous":
        return SampleNotes(n=n, outcome=labels.values, used=used)
    sizes = np.array([*labels.counts().values()])
    kept = np.flatnonzero(sizes)
    others = 0
    if len(kept) > MOST_CLASSES:
        others = len(kept) - MOST_CLASSES + 1
        kept = np.sort(np.argsort(-sizes, kind="stable")[: MOST_CLASSES - 1])
    place = np.full(len(sizes) + 1, len(kept))
    place[kept] = np.arange(len(kept))
    place[-1] = -1  # of the code -1
    classes = [labels.classes[i] for i in kept.tolist()]
    classes += [f"{others:,} other classes"] if others else []
    return SampleNotes(n=n, classes=classes, codes=place[labels.codes], used=used)


def layout_of(
    run: Run, unit: np.ndarray, spectrum: Spectrum | None, groups: Groups | None
) -> Layout:
    """Arrange the samples: by the sample graph, its coordinates, or the best features.

    `unit` are features (b, n), centered and of unit norm.
    """
    components = principal_components(unit)
    along, along_what = components[:, 0], "along the first principal component of the best features"
    points, axes = components, ("principal component 1", "principal component 2")
    where = f"the plane of the first two principal components of the best {len(unit)} features"
    if spectrum is not None and spectrum.vectors.shape[1] > 1:
        vectors = spectrum.vectors[:, 1:3] / spectrum.vectors[:, :1]
        vectors /= np.abs(vectors).max(axis=0)
        vectors = np.round(vectors, 9)
        # samples of one place, as those of a connected component, follow the features
        keys = [components[:, 0], *vectors.T[::-1]]
        along_what = "along the second eigenvector of the sample graph"
        if groups is not None and groups.codes is not None:
            sizes = np.bincount(groups.codes)
            means = np.bincount(groups.codes, vectors[:, 0]) / np.maximum(sizes, 1)
            keys.append(np.argsort(np.argsort(means, kind="stable"))[groups.codes])
            along_what = f"by group of the graph and {along_what}"
        along = np.argsort(np.lexsort(keys))
        places = np.unique(np.round(vectors, 3), axis=0)
        if vectors.shape[1] == 2 and len(places) >= DISTINCT * len(vectors):
            points, axes = vectors, ("eigenvector 2", "eigenvector 3")
            where = (
                "the plane of the two leading eigenvectors of the sample graph (after the "
                "constant one)"
            )
    coordinates = run.coordinates
    if coordinates is not None and coordinates.shape[1] > 1:
        name = str(run.config.coordinates_from)
        points, axes = coordinates[:, :2], (f"{name}, 1", f"{name}, 2")
        where = f"the first two coordinates of {name}, from which the sample graph was built"
    return Layout(along, along_what, points if points.shape[1] == 2 else None, axes, where)


def principal_components(unit: np.ndarray) -> np.ndarray:
    """Return the first two principal components of the samples, (n, 2) or (n, 1), by b features."""
    values, vectors = np.linalg.eigh(unit @ unit.T)
    found = unit.T @ vectors[:, ::-1][:, : min(2, len(unit))]
    found[:, values[::-1][: found.shape[1]] <= ROUNDING] = 0.0
    return fix_signs(found)


def heatmap(
    run: Run, unit: np.ndarray, names: list[str], notes: SampleNotes, layout: Layout
) -> Heatmap:
    """Arrange features (b, n) and samples, and join neighboring samples where they are many."""
    n, classes = notes.n, notes.codes if notes.used else None
    keys: list[np.ndarray] = [np.arange(n), layout.along]
    ordered = layout.along_what
    if classes is not None:
        keys.append(np.where(classes < 0, len(notes.classes), classes))
        ordered = f"by class, and within a class {ordered}"
    elif notes.used and notes.outcome is not None:
        keys.append(notes.outcome)
        ordered = "by the outcome"
    order, half = np.lexsort(keys), n // 2
    first = unit[0][order]
    # the best feature is to rise along it
    if classes is None and half and first[:half].mean() > first[n - half :].mean():
        order = order[::-1]
    edges = _edges(n, None if classes is None else classes[order])
    sizes = np.diff(edges)
    cells = np.stack([np.add.reduceat(values[order], edges[:-1]) for values in unit]) / sizes
    spread = cells.std(axis=1)
    cells -= cells.mean(axis=1, keepdims=True)
    cells /= np.where(spread > ROUNDING * np.abs(unit).max(axis=1), spread, 1)[:, None]
    rows = angular_order(cells)
    ids = run.matrix.ids.samples
    codes = outcome = None
    if notes.codes is not None:
        pieces = np.split(notes.codes[order] + 1, edges[1:-1])  # from 0, without a class
        codes = np.array([np.bincount(piece).argmax() - 1 for piece in pieces])  # most common
    if notes.outcome is not None:
        outcome = np.add.reduceat(notes.outcome[order], edges[:-1]) / sizes
    return Heatmap(
        features=[names[i] for i in rows.tolist()],
        ranks=(rows + 1).tolist(),
        cells=cells[rows],
        sizes=sizes,
        codes=codes,
        outcome=outcome,
        samples=[ids[i] for i in order.tolist()] if len(sizes) == n else None,
        ordered=ordered,
        by_class=classes is not None,
    )


def _edges(n: int, codes: np.ndarray | None) -> np.ndarray:
    """Return where the columns of n ordered samples begin, and n; no column has two classes."""
    if n <= COLUMNS:
        return np.arange(n + 1)
    starts = np.flatnonzero(np.diff(np.zeros(n) if codes is None else codes)) + 1
    edges = [np.zeros(1)]
    for lo, hi in pairwise([0, *starts.tolist(), n]):
        count = max(1, round(COLUMNS * (hi - lo) / n))
        edges.append(np.linspace(lo, hi, count + 1).round()[1:])
    return np.concatenate(edges).astype(int)


def angular_order(cells: np.ndarray) -> np.ndarray:
    """Order rows (b, c), centered, by the angle of their two leading components, shape (b,).

    Rows that vary alike are neighbors (M. Friendly, "Corrgrams", The American Statistician 56,
    2002). The circle is cut where it is emptiest, and the first row is in the upper half.
    """
    b = len(cells)
    if b < 3:
        return np.arange(b)
    values, vectors = np.linalg.eigh(cells @ cells.T)
    scaled = fix_signs(vectors[:, -2:] * np.sqrt(np.maximum(values[-2:], 0)))
    angle = np.round(np.arctan2(scaled[:, 0], scaled[:, 1]), 9)
    order = np.argsort(angle, kind="stable")
    gaps = np.diff(angle[order], append=angle[order[0]] + 2 * np.pi)
    order = np.roll(order, -int(np.argmax(gaps)) - 1)
    return order[::-1] if int(np.flatnonzero(order == 0)[0]) > (b - 1) / 2 else order


def plane(run: Run, notes: SampleNotes, layout: Layout, groups: Groups | None) -> Plane | None:
    """Return the samples in the plane; evenly spaced ones of more than `POINTS`.

    The groups of the graph take the place of missing labels; where it shows none, those that are
    apart in the plane.
    """
    if layout.points is None:
        return None
    n, ids = notes.n, run.matrix.ids.samples
    kept = _spaced(np.arange(n), POINTS)
    apart: list[int] | None = None
    known, codes = None, None if groups is None else groups.codes
    if groups is not None and codes is None and run.coordinates is None:
        codes = groups_apart(layout.points)
        apart = [] if codes is None else np.bincount(codes).tolist()
    if codes is not None and notes.codes is None and notes.outcome is None:
        names = [f"group {i + 1}" for i in range(codes.max() + 1)]
        notes = known = SampleNotes(n=n, classes=names, codes=codes)
    return Plane(
        points=layout.points[kept],
        codes=None if notes.codes is None else notes.codes[kept],
        outcome=None if notes.outcome is None else notes.outcome[kept],
        samples=[ids[i] for i in kept.tolist()] if len(kept) <= NAMED else None,
        axes=layout.axes,
        where=layout.where,
        drawn="" if len(kept) == n else f"{len(kept):,} of the {counted(n, 'sample')} are drawn.",
        apart=apart,
        notes=known,
    )


def strips(top: TopFeatures, names: list[str], notes: SampleNotes) -> list[Strip]:
    """Return the values of features: by class, against the outcome, or sorted."""
    made = []
    for i, name in enumerate(names):
        values = top.values[i] + top.means[i]
        groups, pairs = [], None
        if notes.outcome is not None and notes.codes is None:
            kept = _spaced(np.flatnonzero(np.isfinite(notes.outcome)), DRAWN_PAIRS)
            pairs = np.column_stack([notes.outcome[kept], values[kept]])
        else:
            codes = np.zeros(len(values), int) if notes.codes is None else notes.codes
            parts = [values[codes == k] for k in range(len(notes.classes) or 1)]
            groups = [(_quantiles(part), float(np.median(part))) for part in parts if len(part)]
        made.append(Strip(feature=name, rank=i + 1, groups=groups, pairs=pairs))
    return made


def _spaced(indices: np.ndarray, most: int) -> np.ndarray:
    """Return indices, of more than `most` so many of them, evenly spaced."""
    if len(indices) <= most:
        return indices
    return indices[np.linspace(0, len(indices) - 1, most).astype(int)]


def _quantiles(values: np.ndarray) -> np.ndarray:
    """Return the sorted values, or `DRAWN` of them, evenly spaced by their ranks."""
    values = np.sort(values)
    if len(values) <= DRAWN:
        return values
    return values[np.linspace(0, len(values) - 1, DRAWN).round().astype(int)]
