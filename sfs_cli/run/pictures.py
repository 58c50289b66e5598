"""The pictures of the page: the best features, and the samples in their order.

They are made of the values of the best features and of the eigenvectors of the sample graph, where
those are known. What is drawn of ten samples and of a million is small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sfs_cli.errors import counted
from sfs_cli.graph.groups import Groups, groups_apart
from sfs_cli.graph.spectral import Spectrum, fix_signs
from sfs_cli.ranking.prune import standardized
from sfs_cli.ranking.table import Ranking
from sfs_cli.report.model import Part, significant
from sfs_cli.run.load import Run

ROWS, STRIPS = 40, 12
"""Features of the heatmap, and features whose values are drawn one by one."""
COLUMNS = 240
"""Columns of the heatmap: more samples are joined to bins."""
NAMED, POINTS = 400, 4000
"""Samples up to which the plane names each, and the most that it draws."""
DRAWN, DRAWN_PAIRS = 60, 200
"""Values of a class that a strip draws, of more, so many quantiles; and pairs with an outcome."""
MOST_CLASSES, MOST_GROUPS = 30, 10
"""Classes that are told apart, the smallest of more are one; and classes of a strip, of more those
with the highest medians."""
DISTINCT = 0.5
"""Part of the samples that has to have places of its own in a plane."""
LEVELS, COLORS = 7, 8
"""Colors of an outcome, and of classes."""
ROUNDING = 1e-9


class Pictures(NamedTuple):
    """The pictures of a ranking, and what is said of them."""

    best: list[Part]  # the heatmap and the single features
    plane: Part | None
    # sizes of the groups that are apart in it; None if the graph shows some, or no graph is known
    apart: list[int] | None
    sentences: list[str]


@dataclass(frozen=True)
class Samples:
    """What labels say of the n samples: a class of each, an outcome, or nothing."""

    n: int
    used: bool = False  # whether the ranking was made with them
    classes: Sequence[str] = ()
    codes: np.ndarray | None = None  # (n,), indices of classes or levels of the outcome; -1: none
    outcome: np.ndarray | None = None  # (n,), NaN where there is none

    def looks(self, codes: np.ndarray | None) -> dict[str, Any]:
        """Return how things of some classes or levels look, as figures have it."""
        sizes = ends = None
        if self.classes and self.codes is not None:
            sizes = np.roll(np.bincount(self.codes + 1, minlength=len(self.classes) + 1), -1)
        if self.outcome is not None:
            ends = ends_of(self.outcome)
        return {"classes": self.classes, "sizes": sizes, "codes": codes, "outcome": ends}


def ends_of(outcome: np.ndarray) -> tuple[float, float]:
    """Return the smallest and the largest of numbers that are known; these differ."""
    low, high = float(np.nanmin(outcome)), float(np.nanmax(outcome))
    return low, high if high > low else low + 1


def levels_of(outcome: np.ndarray) -> np.ndarray:
    """Return one of equal levels of each number (n,), -1 where it is NaN."""
    low, high = ends_of(outcome)
    levels = np.minimum((outcome - low) / (high - low) * LEVELS, LEVELS - 1)
    return np.nan_to_num(levels, nan=-1).astype(int)


def pictures_of(
    run: Run,
    ranking: Ranking,
    top: np.ndarray,
    spectrum: Spectrum | None,
    groups: Groups | None,
) -> Pictures:
    """Return the pictures of a ranking.

    `top` are the values of the best features (b, n), `spectrum` is that of the sample graph and
    `groups` what it shows; None where it is not known.
    """
    names, unit, samples = ranking.feature[: len(top)], standardized(top), samples_of(run)
    components, vectors = principal_components(unit), eigenvectors(spectrum)
    along = sample_order(components, vectors, groups)
    best, sentences = [], list[str]()
    if len(top):
        drawn, sentences = heatmap(run, unit[:ROWS], names, samples, *along)
        several = samples.n > 1 and len(top) > 1
        best = [*([drawn] if several else []), strips(top[:STRIPS], names, samples)]
    return Pictures(best, *plane(run, samples, components, vectors, groups, len(top)), sentences)


def samples_of(run: Run) -> Samples:
    """Return what the labels say of the samples in use, whether the method needs them or not."""
    n = run.matrix.n_samples
    if run.labels is None:
        return Samples(n)
    labels, used = run.labels.take(run.matrix.samples), run.labels_used
    if run.config.label_type == "continuous" and labels.values is not None:
        return Samples(n, used, codes=levels_of(labels.values), outcome=labels.values)
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
    return Samples(n, used, classes, place[labels.codes])


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


# ---- heatmap -------------------------------------------------------------------------------------


def heatmap(
    run: Run,
    unit: np.ndarray,
    names: Sequence[str],
    samples: Samples,
    along: np.ndarray,
    ordered: str,
) -> tuple[Part, list[str]]:
    """Arrange features (b, n) and samples, and join neighboring samples where they are many.

    It comes with sentences about classes that took no part.
    """
    n, classes = samples.n, samples.codes if samples.used and samples.classes else None
    keys: list[np.ndarray] = [np.arange(n), along]
    if classes is not None:
        keys.append(np.where(classes < 0, len(samples.classes), classes))
        ordered = f"by class, and within a class {ordered}"
    elif samples.used and samples.outcome is not None:
        keys.append(samples.outcome)
        ordered = "by the outcome"
    order, half = np.lexsort(keys), n // 2
    first = unit[0][order]
    # the best feature is to rise along it
    if classes is None and half and first[:half].mean() > first[n - half :].mean():
        order = order[::-1]
    edges = column_edges(n, None if classes is None else classes[order])
    sizes, starts = np.diff(edges), edges[:-1]
    means = np.stack([np.add.reduceat(values[order], starts) for values in unit]) / sizes
    cells = standardized(means) * np.sqrt(len(sizes))
    rows, ids = rows_alike(cells).tolist(), run.matrix.ids.samples
    columns = [f"samples {a + 1:,} to {b:,} in this order" for a, b in pairwise(edges.tolist())]
    what = f"columns of {counted(n, 'sample')}"
    if len(sizes) == n:
        columns, what = [ids[i] for i in order.tolist()], "samples"
    codes = None
    if samples.codes is not None:
        pieces = np.split(samples.codes[order] + 1, edges[1:-1])  # from 0, without one
        codes = np.array([np.bincount(piece).argmax() - 1 for piece in pieces])  # most common
    if codes is not None and samples.classes:
        most = ["" if size == 1 else "most of them " for size in sizes]
        named = [*samples.classes, "no label"]
        columns = [f"{c}: {part}{named[k]}" for c, part, k in zip(columns, most, codes)]
    words = (
        f"The best {counted(len(rows), 'feature')} with their ranks; correlated features are "
        f"neighbors. Samples are ordered {ordered}. Each row is scaled to mean 0 and standard "
        "deviation 1."
    )
    if len(sizes) < n:
        words += (
            f" Each of the {len(sizes):,} columns is the mean of up to {sizes.max():,} neighboring "
            f"samples, of {n:,} in all."
        )
    if len(samples.classes) > COLORS:
        words += f" Of {len(samples.classes)} classes, those {COLORS} apart have the same color."
    if codes is not None and not samples.used:
        words += " The labels were not used in the ranking; they are drawn for comparison."
    count = counted(len(rows), "feature")
    facts = {
        "features": [names[i] for i in rows],
        "ranks": [i + 1 for i in rows],
        "cells": np.round(cells[rows], 6),
        "columns": columns,
        **samples.looks(codes),
        "by_class": classes is not None,
        "described": f"Heatmap of {count} in {len(sizes):,} {what}, ordered {ordered}.",
    }
    heading = f"The best {count} in the samples"
    part = Part(heading=heading, text=words, figure="heatmap", facts=facts, shape="wide")
    if codes is None or not samples.classes or samples.used:
        return part, []
    return part, classes_together(codes)


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


def classes_together(codes: np.ndarray) -> list[str]:
    """Say how far classes that took no part, of columns in order (c,), lie together.

    By chance, over all orders, two of n neighbors are of one class of s samples with the
    probability ``s (s - 1) / (n (n - 1))``.
    """
    codes = codes[codes >= 0]
    n, sizes = len(codes), np.bincount(codes)
    if np.count_nonzero(sizes) < 2 or sizes.max() < 2:
        return []
    by_chance = (sizes * (sizes - 1)).sum() / (n * (n - 1))
    return [
        f"In the heatmap {np.mean(codes[1:] == codes[:-1]):.0%} of neighboring columns are of one "
        f"class, {by_chance:.0%} by chance."
    ]


# ---- samples in a plane, and single features -----------------------------------------------------


def plane(
    run: Run,
    samples: Samples,
    components: np.ndarray,
    vectors: np.ndarray | None,
    groups: Groups | None,
    best: int,
) -> tuple[Part | None, list[int] | None]:
    """Return the samples in a plane, evenly spaced ones of more than `POINTS`, and groups there.

    It is that of the coordinates of the graph, of its eigenvectors, or of the `best` features. The
    groups of the graph take the place of missing labels; where it shows none, those that are apart
    in the plane.
    """
    points, where = components, f"the first two principal components of the best {best} features"
    where, titles = f"the plane of {where}", ("principal component 1", "principal component 2")
    coordinates = run.coordinates
    if coordinates is not None and coordinates.shape[1] > 1:
        name = str(run.config.coordinates_from)
        where = f"the first two coordinates of {name}, from which the sample graph was built"
        points, titles = coordinates[:, :2], (f"{name}, 1", f"{name}, 2")
    elif vectors is not None and vectors.shape[1] == 2:
        distinct = np.unique(np.round(vectors, 3), axis=0)
        if len(distinct) >= DISTINCT * len(vectors):
            where = "the plane of the two leading eigenvectors of the sample graph (after the "
            where += "constant one)"
            points, titles = vectors, ("eigenvector 2", "eigenvector 3")
    if points.shape[1] < 2:
        return None, None
    n, ids, kept = samples.n, run.matrix.ids.samples, spaced(samples.n, POINTS)
    apart, codes = None, None if groups is None else groups.codes
    if groups is not None and codes is None and coordinates is None:
        codes = groups_apart(points)
        apart = [] if codes is None else np.bincount(codes).tolist()
    words = f"The samples in {where}. Near points are similar samples."
    if points is components and samples.used:
        does = "separate the classes" if samples.outcome is None else "follow the outcome"
        words += (
            f" The features were selected with the labels, so they {does} better here than in "
            "held-out samples."
        )
    if codes is not None and samples.codes is None:
        samples = Samples(
            n, classes=[f"group {i + 1}" for i in range(codes.max() + 1)], codes=codes
        )
        words += " Colors are the groups of samples."
    if len(kept) < n:
        words += f" {len(kept):,} of the {counted(n, 'sample')} are drawn."
    own = None if samples.codes is None else samples.codes[kept]
    hints = [ids[i] for i in kept.tolist()] if n <= NAMED else []
    if samples.outcome is not None:
        known = (significant(value, 4) for value in samples.outcome.tolist())
        hints = [f"{hint}: {value}" for hint, value in zip(hints, known)]
    elif own is not None:
        hints = [f"{hint}: {[*samples.classes, 'no label'][k]}" for hint, k in zip(hints, own)]
    facts = {"points": brief(points[kept]), "titles": titles, "hints": hints}
    facts |= samples.looks(own)
    facts["described"] = f"{counted(len(kept), 'sample')} in {where}."
    return Part(heading="The samples", text=words, figure="plane", facts=facts), apart


def strips(top: np.ndarray, names: Sequence[str], samples: Samples) -> Part:
    """Return the values of features (s, n): by class, against the outcome, or sorted."""
    found, classes, xlabel = [], samples.classes, ""
    codes, outcome = samples.codes, samples.outcome
    for rank, (name, values) in enumerate(zip(names, top), 1):
        strip: dict[str, Any] = {"feature": name, "rank": rank, "groups": [], "points": []}
        if outcome is not None:
            known = np.flatnonzero(np.isfinite(outcome))
            kept, xlabel = known[spaced(len(known), DRAWN_PAIRS)], "outcome"
            strip["points"] = brief(np.column_stack([outcome[kept], values[kept]]))
            strip["described"] = "Values against the outcome."
        elif codes is not None:
            parts = [np.sort(values[codes == k]) for k in range(len(classes))]
            medians = np.array([np.median(part) for part in parts])
            most = np.arange(len(parts))
            if len(parts) > MOST_GROUPS:
                most = np.argsort(-medians, kind="stable")[:MOST_GROUPS]
            drawn = [parts[k][spaced(len(parts[k]), DRAWN)] for k in most]
            strip["groups"] = [*zip(most.tolist(), map(brief, drawn), brief(medians[most]))]
        else:
            drawn, xlabel = (
                np.sort(values)[spaced(len(values), DRAWN)],
                "samples in ascending order, %",
            )
            share = np.linspace(0, 100, len(drawn)) if len(drawn) > 1 else np.array([50.0])
            strip["points"] = brief(np.column_stack([share, drawn]))
            median = significant(float(np.median(values)), 4)
            strip["described"] = f"Sorted values, median {median}."
        found.append(strip)
    count = len(found)
    words = "The best feature" if count == 1 else f"The best {count} features"
    words += ", as they were scored"
    if outcome is not None:
        words += ", against the outcome."
    elif codes is not None:
        words += ", in each class; the bar is the median."
        if len(classes) > MOST_GROUPS:
            words += f" Of {len(classes)} classes the {MOST_GROUPS} with the highest medians."
        if np.bincount(codes[codes >= 0]).max() > DRAWN:
            words += " Of large classes evenly spaced quantiles are drawn."
    else:
        words += (
            ": their values in ascending order. A step is a group of samples that differs; a slope "
            "is a gradual change."
        )
    heading = "The best features, one by one" if count > 1 else "The best feature"
    facts = {"strips": found, "classes": classes, "xlabel": xlabel}
    return Part(heading=heading, text=words, figure="features", facts=facts, shape="grid")


def brief(values: np.ndarray) -> np.ndarray:
    """Return numbers with the six significant digits that a figure needs."""
    return np.char.mod("%.6g", values).astype(float)


def spaced(n: int, most: int) -> np.ndarray:
    """Return n positions, or `most` of more, evenly spaced from the first to the last."""
    return np.linspace(0, n - 1, min(n, most)).round().astype(int)
