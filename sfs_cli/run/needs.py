"""What a run needs, and which sample graph it makes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sfs_cli.catalog import METHODS
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.graph import (
    DENSE_SAMPLES,
    GRAPH_FIELDS,
    SPARSE_GRAPHS,
    GraphOptions,
)
from sfs_cli.options.parts import others
from sfs_cli.options.source import KINDS
from sfs_cli.options.testing import LINEAR, adjusts
from sfs_cli.store.matrix import Matrix, look

GRAPHS_OF_FILES = ("obsp:connectivities", "obsm:X_pca")
"""What is used of an AnnData file where it is there, the first of them: as scanpy names them."""
MANY, OF_MANY = 20_000, ("1.5", "3", LINEAR)
"""Above so many samples of a slide ``--spatial`` leaves out the widest scale: its time and memory
grow with its square; of 50,000 it takes 9 GB and minutes."""
SLIDES = ("library_id", "slide", "slide_id", "section_id")
"""Columns of the samples that name slides, as scanpy, squidpy and others write them."""
SCORES = "scores"
"""What the pass of the scores is made for, as run.json has it."""


@dataclass(frozen=True)
class Shape:
    """What the memory of a run depends on, beside its configuration."""

    n: int  # samples in use
    m: int  # features
    stored: np.dtype[Any]  # type of the stored values
    memory: int  # bytes that may be used
    # the parts of the samples that are ranked one after the other, and their numbers of samples
    parts: Mapping[str, int] = field(default_factory=dict)
    coordinates: int | None = None  # of a sample, where the graph is made of some
    classes: int = 0  # of the labels


def needed(config: RankConfig, *, beside: bool = True) -> set[str]:
    """Return what a run needs: ``graph``, ``labels``, ``some-labels``.

    With `beside`, what the ranks of other methods beside the ranking need is among it.
    """
    configs = config.each_ranking()
    needs: set[str] = set()
    for asked in configs:
        needs.update(METHODS[asked.scorer].needed(asked.method_options()))
    for asked in others(config) if beside else ():  # they make sample graphs of their own
        needs |= METHODS[asked.scorer].needed(asked.method_options()) - {"graph"}
    if config.markers is not None or any(asked.uses_classes for asked in configs):
        needs.add("labels")
    return needs


def with_defaults(
    config: RankConfig, n: int, classes: int, sparse: bool, graphs: tuple[str, ...]
) -> RankConfig:
    """Return the configuration for n samples: the method filled in, and a graph of the file used.

    `classes` and `sparse` are as in `RankConfig.for_samples`. `graphs` are what the file holds to
    compare samples by. They are used where nothing is said of the graph, and where it would be made
    of the values as they are in the file, all of them.
    """
    made = config.for_samples(n, classes, sparse)
    found = next((name for name in GRAPHS_OF_FILES if name in graphs), None)
    said = config.graph is not None or config.given("split", *GRAPH_FIELDS) or adjusts(made)
    if said or found is None or "graph" not in needed(made):
        return made
    with_graph = replace(made, similarity=found)
    # what has no effect with the method that was chosen by the number of samples
    with_graph.ignored.update(made.ignored)
    return with_graph


def spatial_settled(config: RankConfig, matrix: Matrix) -> RankConfig:
    """Return the configuration with the scales, transformation and slides of ``--spatial``.

    Pearson residuals alone have calibrated p-values where depth follows the tissue, and no other
    transformation has more power where it does not (``tools/benchmarks/spatial.py``).
    """
    changes: dict[str, Any] = {}
    largest, obs = matrix.n_samples, matrix.ids.obs
    columns = {} if obs is None or config.batch else obs.to_pydict()
    for name in SLIDES:
        if len(sizes := Counter(columns.get(name, ()))) > 1:
            changes["batch"], largest = f"obs:{name}", max(sizes.values())
            break
    if not config.scales and largest > MANY:
        changes["scales"] = OF_MANY
    if config.transform is None:
        values = look(matrix)
        if (values % 1 == 0).all() and values.min() >= 0:
            changes["transform"] = "pearson-residuals"
    return replace(config, **changes)


def graph_asked(config: RankConfig, n: int) -> GraphOptions:
    """Return the sample graph to make: as asked for, or what suits the number of samples.

    The name is one of `SIMILARITIES`, ``obsp:KEY``, ``file`` or ``sources``.
    """
    name = config.similarity if config.graph == "obsp" else config.graph
    return config.default_sample_graph(n) if name is None else config.graph_options(name)


def note_default_graph(config: RankConfig, n: int, size: int, of: str, log: Messages) -> None:
    """Say where the default sample graph of `size` of n samples is of another kind."""
    if config.source or "graph" not in needed(config):
        return
    whole, own = graph_asked(config, n), graph_asked(config, size)
    if whole.name != own.name:
        log.note(
            f"the default graph of all {n:,} samples is {whole.name}, that of {of} of {size:,} "
            f"samples {own.name}; a ranking with --similarity NAME has one kind on both"
        )


def is_dense(config: RankConfig, n: int) -> bool:
    """Tell whether the graph of n samples is an n x n array; given ones are taken for sparse."""
    if "graph" not in needed(config):
        return False
    name = graph_asked(config, n).name
    if name == "sources":
        return n <= DENSE_SAMPLES or not all(
            each.kind == "similarity"
            or (KINDS[each.kind].measured and each.similarity in (None, "knn"))
            for each in config.source
        )
    return name not in (*SPARSE_GRAPHS, "file") and not name.startswith("obsp:")
