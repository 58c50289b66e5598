"""Sources about the samples: profiles, the matrix itself, labels, a hierarchy, a similarity."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, cast

import numpy as np

from sfs_cli.errors import InputError, listed
from sfs_cli.graph.kinds import Graph, given_graph, label_similarity
from sfs_cli.graph.similarity import (
    ASYMMETRY_LIMIT,
    DenseSimilarity,
    look_like_distances,
)
from sfs_cli.io.knowledge.hierarchy import read_hierarchy
from sfs_cli.io.knowledge.sample_columns import (
    CLASSES,
    Column,
    is_inside,
    read_column,
    refuse_headless,
)
from sfs_cli.io.knowledge.similarity import SimilarityFile, open_similarity
from sfs_cli.knowledge.base import Source, SourceContext, SourceInputs
from sfs_cli.logs import Messages
from sfs_cli.options.source import SourceSpec
from sfs_cli.store.prepared import MissingPolicy, PreparedMatrix
from sfs_cli.store.transforms import parse as parse_transform


class Profile(Source):
    """``profile``: another measurement of the same samples, such as miRNAs or proteins."""

    def __init__(self, spec: SourceSpec, inputs: SourceInputs) -> None:
        super().__init__(spec)
        self.matrix = inputs.load_profile(spec)
        self.samples = self.matrix.ids.samples  # in an order of their own

    def similarity(self, context: SourceContext, samples: Sequence[str]) -> Graph:
        """Return any similarity between the samples, by these measurements."""
        make = self.prepared(self.places(samples))
        # --transform is not passed on: miRNA counts or beta values rarely need the same steps
        if context.matrix.steps and not self.spec.transform:
            context.run.log.note(
                f"source {self.spec.name} is not transformed: --transform applies to the matrix; "
                "add ,transform=STEPS to the source if it should be"
            )
        return context.graph(self.spec, context.fitted(self.spec, make))

    def places(self, samples: Sequence[str]) -> np.ndarray:
        """Return the place of each sample in this matrix, -1 for one that it lacks."""
        row = {sample: i for i, sample in enumerate(self.matrix.ids.samples)}
        return np.array([row.get(sample, -1) for sample in samples])

    def prepared(self, rows: np.ndarray | None = None) -> Callable[..., PreparedMatrix]:
        """Return what prepares the values of some samples, given `where` they are for messages."""
        steps = parse_transform(self.spec.transform)
        missing = cast(MissingPolicy, self.spec.missing or "error")
        return partial(PreparedMatrix, self.matrix, samples=rows, steps=steps, missing=missing)


class TargetMatrix(Source):
    """``target``: the matrix that is ranked, as a source of its own."""

    def similarity(self, context: SourceContext, samples: Sequence[str]) -> Graph:
        """Return any similarity between the samples, by the matrix itself."""
        return context.graph(self.spec, context.values(self.spec))


class Classes(Source):
    """``labels``: samples of one class are similar.

    The labels are a table, an annotation of the matrix, or those of ``--labels``.
    """

    def __init__(self, spec: SourceSpec, inputs: SourceInputs) -> None:
        super().__init__(spec)
        self.labels: Mapping[str, str]
        if not spec.path:
            assert inputs.labels is not None, "checked with the options"
            self.labels = inputs.labels
        else:
            self.labels = labels = read_column(spec.path, CLASSES, inputs.matrix, inputs.ids)
            if not is_inside(spec.path):
                labels.settle(inputs.ids.samples)
                if not set(inputs.ids.samples) <= set(labels):
                    refuse_headless(labels, inputs.ids.samples)
        self.samples = list(self.labels)

    def similarity(self, context: SourceContext, samples: Sequence[str]) -> Graph:
        """Return 1/n_l within a class of n_l samples, 0 between classes (Eq. 3.13)."""
        names, codes = np.unique([self.labels[s] for s in samples], return_inverse=True)
        facts = {"similarity": "label", "classes": len(names)} | _taken(self.labels)
        return Graph(label_similarity(codes), facts)


def _taken(values: Mapping[str, object]) -> dict[str, str]:
    """Return the column that was taken by its name, of several, as facts; empty where none was."""
    return {"column": values.name} if isinstance(values, Column) and values.others else {}


class Tree(Source):
    """``hierarchy``: samples are similar when their lowest common ancestor is deep."""

    def __init__(self, spec: SourceSpec, inputs: SourceInputs) -> None:
        super().__init__(spec)
        self.hierarchy = read_hierarchy(spec.path)
        if isinstance(self.hierarchy.paths, Column):
            self.hierarchy.paths.settle(inputs.ids.samples)
        self.samples = list(self.hierarchy.paths)

    def similarity(self, context: SourceContext, samples: Sequence[str]) -> Graph:
        """Return the depth of the lowest common ancestor over the depth of the tree."""
        depth = self.hierarchy.depth
        if mark := self.hierarchy.undivided:
            context.run.log.warn(
                f"the paths of source {self.spec.name} have no slash, but each has {mark!r}: every "
                f"path is taken as one class; divide its classes by / in place of {mark}"
            )
        S = hierarchy_similarity([self.hierarchy.paths[sample] for sample in samples], depth)
        facts = {"similarity": "lowest common ancestor", "depth": depth}
        return Graph(DenseSimilarity(S), facts | _taken(self.hierarchy.paths))


def hierarchy_similarity(paths: Sequence[tuple[str, ...]], depth: int) -> np.ndarray:
    """Depth of the lowest common ancestor over the depth of the tree.

    Parameters
    ----------
    paths : sequence of tuple of str, length n
        The nodes from below the root down to each sample.
    depth : int
        Depth of the tree; no path is longer.

    Returns
    -------
    ndarray, shape (n, n)
        The number of leading nodes that two paths share, over `depth`: symmetric to the last bit,
        in [0, 1], and 1 on the diagonal where a path is as long as the tree is deep.
    """
    S = np.diag(np.array([len(path) for path in paths], float))
    # in sorted order, two paths share what all neighbors from the one to the other share
    order = np.array(sorted(range(len(paths)), key=paths.__getitem__), int)
    ways = [paths[i] for i in order]
    shared = np.array([_n_shared(a, b) for a, b in pairwise(ways)])
    for at, i in enumerate(order[:-1]):
        others = order[at + 1 :]
        S[i, others] = S[others, i] = np.minimum.accumulate(shared[at:])
    S /= max(depth, 1)
    return S


def _n_shared(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    return next((k for k, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


class GivenSimilarity(Source):
    """``similarity``: an n x n matrix, as it is, from a file or from ``obsp`` of the input."""

    def __init__(self, spec: SourceSpec, inputs: SourceInputs) -> None:
        super().__init__(spec)
        self.file = file = open_similarity(spec.path, inputs.matrix)
        self.samples = file.samples
        self.in_file = inputs.ids.samples
        if file.samples == []:
            raise InputError(
                "rows and columns have no id in common: this is no similarity between samples",
                where=f"{spec.path}: rows are {listed(list(file.rows or ()), 3)}; columns are "
                f"{listed(list(file.columns or ()), 3)}",
                hint="give a table with the sample ids in its first line and column, .npz or .npy",
            )

    def similarity(self, context: SourceContext, samples: Sequence[str]) -> Graph:
        """Return the similarity between the samples, after checking that it is one."""
        where = f"source {self.spec.name} ({self.spec.path})"
        return graph_as_given(self.file, "as given", samples, where, context.run.log, self.in_file)


def graph_as_given(
    file: SimilarityFile,
    name: str,
    samples: Sequence[str],
    where: str,
    log: Messages,
    in_file: Sequence[str],
) -> Graph:
    """Return the graph of a similarity that is given, as `given_graph` does.

    Without ids it has those of the matrix, `in_file`, in their order there. A note says so, and a
    warning that it looks like distances.
    """
    S = file.aligned(samples, in_file)
    if file.inside:  # squidpy writes the graph of the k nearest neighbors as it is, directed
        given: Any = S.astype(np.float64)
        S = (given + given.T) / 2
        if abs(given - S).max() > ASYMMETRY_LIMIT * abs(given).max():
            log.warn(
                f"{where} is a directed graph (not symmetric), as squidpy.gr.spatial_neighbors "
                "writes it: the mean of it and its transpose is used"
            )
    graph = given_graph(S, name, samples, where)
    if file.rows is None:
        log.note(
            f"{where} has no ids: its rows are taken in the order of the samples of the matrix"
        )
    if look_like_distances(S):
        log.warn(
            f"{where} looks like distances (the diagonal is 0, and all other entries are above 0): "
            "samples that are far from each other would count as similar; give a similarity, such "
            "as exp(-d) of distances d (if it is a similarity, write its diagonal too)"
        )
    return graph
