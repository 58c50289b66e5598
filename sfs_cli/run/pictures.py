"""What the pictures of the report show: the best features, and the samples in their order.

It is made of the values of the best features and of the eigenvectors of the sample graph, where
those are known. What is drawn of ten samples and of a million is small.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from sfs_cli.errors import counted
from sfs_cli.graph.groups import Groups, groups_apart
from sfs_cli.graph.spectral import Spectrum, fix_signs
from sfs_cli.ranking.prune import standardized
from sfs_cli.ranking.table import Ranking
from sfs_cli.report.model import Heatmap, Pictures, Plane, SampleNotes, Strip
from sfs_cli.run.load import Run

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

Places = tuple[np.ndarray | None, tuple[str, str], str]
"""Points (n, 2) where they are known, their axes, and what the plane is."""


def pictures_of(
    run: Run,
    ranking: Ranking,
    top: np.ndarray,
    spectrum: Spectrum | None,
    groups: Groups | None,
) -> Pictures:
    """Return what the pictures of a ranking show.

    `top` are the values of the best features (b, n), `spectrum` is that of the sample graph and
    `groups` what it shows; None where it is not known.
    """
    names, unit, notes = ranking.feature[: len(top)], standardized(top), notes_of(run)
    components, vectors = principal_components(unit), eigenvectors(spectrum)
    along = sample_order(components, vectors, groups)
    places = places_of(run, components, vectors, len(top))
    return Pictures(
        notes=notes,
        heatmap=heatmap(run, unit[:ROWS], names, notes, *along),
        plane=plane(run, notes, groups, *places),
        strips=strips(top[:STRIPS], names, notes),
    )


def notes_of(run: Run) -> SampleNotes:
    """Return what the labels say of the samples in use, whether the method needs them or not."""
    n = run.matrix.n_samples
    if run.labels is None:
        return SampleNotes(n=n)
    labels, used = run.labels.take(run.matrix.samples), run.labels_used
    if run.config.label_type == "continuous":
        return SampleNotes(n=n, outcome=labels.values, used=used)
    sizes = np.array([*labels.counts().values()])
    there = int(np.count_nonzero(sizes))
    largest = np.argsort(-sizes, kind="stable")
    kept = np.sort(largest[: there if there <= MOST_CLASSES else MOST_CLASSES - 1])
    place = np.full(len(sizes) + 1, len(kept))
    place[kept] = np.arange(len(kept))
    place[-1] = -1  # of the code -1
    classes = [labels.classes[i] for i in kept.tolist()]
    if there > len(kept):
        classes.append(f"{there - len(kept):,} other classes")
    return SampleNotes(n=n, classes=classes, codes=place[labels.codes], used=used)


def principal_components(unit: np.ndarray) -> np.ndarray:
    """Return the first two principal components of the samples, (n, 2) or (n, 1), by b features."""
    values, vectors = np.linalg.eigh(unit @ unit.T)
    found = unit.T @ vectors[:, ::-1][:, : min(2, len(unit))]
    found[:, values[::-1][: found.shape[1]] <= ROUNDING] = 0.0
    return fix_signs(found)


def eigenvectors(spectrum: Spectrum | None) -> np.ndarray | None:
    """Return the second and third of a sample graph, (n, 2) or (n, 1), at most 1; None if unknown.

    They are those of the random walk, of which the first is constant.
    """
    if spectrum is None or spectrum.vectors.shape[1] < 2:
        return None
    vectors = spectrum.vectors[:, 1:3] / spectrum.vectors[:, :1]
    return np.round(vectors / np.abs(vectors).max(axis=0), 9)


def sample_order(
    components: np.ndarray, vectors: np.ndarray | None, groups: Groups | None
) -> tuple[np.ndarray, str]:
    """Return numbers that increase along the order of the samples, (n,), and what that follows."""
    if vectors is None:
        return components[:, 0], "along the first principal component of the best features"
    # samples of one place, as those of a connected component, follow the features
    keys = [components[:, 0], *vectors.T[::-1]]
    ordered = "along the second eigenvector of the sample graph"
    if groups is not None and (codes := groups.codes) is not None:
        means = np.bincount(codes, vectors[:, 0]) / np.maximum(np.bincount(codes), 1)
        keys += [codes, means[codes]]
        ordered = f"by group of the graph and {ordered}"
    return np.argsort(np.lexsort(keys)), ordered


def places_of(run: Run, components: np.ndarray, vectors: np.ndarray | None, best: int) -> Places:
    """Return where samples lie: in the coordinates of the graph, by the graph, or by features."""
    coordinates = run.coordinates
    if coordinates is not None and coordinates.shape[1] > 1:
        name = str(run.config.coordinates_from)
        where = f"the first two coordinates of {name}, from which the sample graph was built"
        return coordinates[:, :2], (f"{name}, 1", f"{name}, 2"), where
    if vectors is not None and vectors.shape[1] == 2:
        distinct = np.unique(np.round(vectors, 3), axis=0)
        if len(distinct) >= DISTINCT * len(vectors):
            where = "the plane of the two leading eigenvectors of the sample graph (after the "
            return vectors, ("eigenvector 2", "eigenvector 3"), f"{where}constant one)"
    where = f"the plane of the first two principal components of the best {best} features"
    axes = "principal component 1", "principal component 2"
    return components if components.shape[1] == 2 else None, axes, where


def heatmap(
    run: Run,
    unit: np.ndarray,
    names: list[str],
    notes: SampleNotes,
    along: np.ndarray,
    ordered: str,
) -> Heatmap:
    """Arrange features (b, n) and samples, and join neighboring samples where they are many."""
    n, classes = notes.n, notes.codes if notes.used else None
    keys: list[np.ndarray] = [np.arange(n), along]
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
    edges = column_edges(n, None if classes is None else classes[order])
    sizes = np.diff(edges)
    means = np.stack([np.add.reduceat(values[order], edges[:-1]) for values in unit]) / sizes
    cells = standardized(means) * np.sqrt(len(sizes))
    rows = rows_alike(cells)
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


def column_edges(n: int, codes: np.ndarray | None) -> np.ndarray:
    """Return where the columns of n ordered samples begin, and n; no column has two classes."""
    starts = [] if codes is None else (np.flatnonzero(np.diff(codes)) + 1).tolist()
    edges = [
        np.linspace(lo, hi, max(1, round(min(n, COLUMNS) * (hi - lo) / n)), endpoint=False)
        for lo, hi in pairwise([0, *starts, n])
    ]
    return np.concatenate([*edges, [n]]).round().astype(int)


def rows_alike(cells: np.ndarray) -> np.ndarray:
    """Order rows (b, c), of mean 0 and one norm, so that those that vary alike are neighbors: (b,).

    It is the order of the leaves of average linkage with the shortest way along all (Z. Bar-Joseph,
    D. K. Gifford and T. S. Jaakkola, Bioinformatics 17, 2001). The first row is in the upper half.
    """
    from scipy.cluster.hierarchy import leaves_list, linkage

    if len(cells) < 2:  # of which there is no tree
        return np.arange(len(cells))
    order = leaves_list(linkage(cells, "average", optimal_ordering=True))
    return order[::-1] if 2 * order.tolist().index(0) > len(cells) - 1 else order


def plane(
    run: Run,
    notes: SampleNotes,
    groups: Groups | None,
    points: np.ndarray | None,
    axes: tuple[str, str],
    where: str,
) -> Plane | None:
    """Return the samples in the plane; evenly spaced ones of more than `POINTS`.

    The groups of the graph take the place of missing labels; where it shows none, those that are
    apart in the plane.
    """
    if points is None:
        return None
    n, ids, kept = notes.n, run.matrix.ids.samples, spaced(notes.n, POINTS)
    known, apart, codes = None, None, None if groups is None else groups.codes
    if groups is not None and codes is None and run.coordinates is None:
        codes = groups_apart(points)
        apart = [] if codes is None else np.bincount(codes).tolist()
    if codes is not None and notes.codes is None and notes.outcome is None:
        names = [f"group {i + 1}" for i in range(codes.max() + 1)]
        notes = known = SampleNotes(n=n, classes=names, codes=codes)
    return Plane(
        points=points[kept],
        codes=None if notes.codes is None else notes.codes[kept],
        outcome=None if notes.outcome is None else notes.outcome[kept],
        samples=[ids[i] for i in kept.tolist()] if n <= NAMED else None,
        axes=axes,
        where=where,
        drawn="" if len(kept) == n else f"{len(kept):,} of the {counted(n, 'sample')} are drawn.",
        apart=apart,
        notes=known,
    )


def strips(top: np.ndarray, names: list[str], notes: SampleNotes) -> list[Strip]:
    """Return the values of features (s, n): by class, against the outcome, or sorted."""
    made = []
    for rank, (name, values) in enumerate(zip(names, top), 1):
        groups, pairs = [], None
        if notes.outcome is not None:
            known = np.flatnonzero(np.isfinite(notes.outcome))
            kept = known[spaced(len(known), DRAWN_PAIRS)]
            pairs = np.column_stack([notes.outcome[kept], values[kept]])
        else:
            codes = np.zeros(notes.n, int) if notes.codes is None else notes.codes
            parts = [np.sort(values[codes == k]) for k in range(len(notes.classes) or 1)]
            groups = [(part[spaced(len(part), DRAWN)], float(np.median(part))) for part in parts]
        made.append(Strip(feature=name, rank=rank, groups=groups, pairs=pairs))
    return made


def spaced(n: int, most: int) -> np.ndarray:
    """Return n positions, or `most` of more, evenly spaced from the first to the last."""
    return np.linspace(0, n - 1, min(n, most)).round().astype(int)
