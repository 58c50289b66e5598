"""Making the sample graph that a configuration asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sfs_cli.config import RankConfig
from sfs_cli.graph.options import SIMILARITIES, GraphOptions, default_similarity
from sfs_cli.graph.similarity import (
    DenseSimilarity,
    SparseSimilarity,
    check_degrees,
    check_similarity,
)
from sfs_cli.sources.given import open_given
from sfs_cli.sources.reduction import Reduction, reduction_of
from sfs_cli.sources.request import GraphRequest
from sfs_cli.sources.sample_graph import Graph, sample_graph


def default_graph(config: RankConfig, n: int, graphs: tuple[str, ...]) -> str:
    """Return the similarity to use: the one asked for, or what suits the number of samples."""
    if config.source:
        return "sources"
    if config.similarity_file is not None:
        return "file"
    if config.similarity is not None:
        return config.similarity
    if config.graph is not None:
        return config.graph
    default = default_similarity(n)
    return "obsp:connectivities" if default == "knn" and "connectivities" in graphs else default


def make_graph(
    config: RankConfig, request: GraphRequest, graphs: tuple[str, ...], kernel: bool
) -> Graph:
    """Make the sample graph of a configuration.

    Parameters
    ----------
    config : RankConfig
        Names the graph and its options.
    request : GraphRequest
        The matrix and the labels; its own options are those of the configuration in the end.
    graphs : tuple of str
        Names of the graphs that the input file holds.
    kernel : bool
        Whether the method takes it for a kernel, so that degrees may be zero or negative.

    Raises
    ------
    InputError
        When it does not fit the matrix, or has a sample of zero or negative degree.
    OutOfMemoryError
        When a dense graph does not fit the memory allowed.
    """
    name = default_graph(config, request.n, graphs)
    ids = request.source.ids.samples
    # options that were given without a similarity are checked against the default
    asked = config if name == "file" else replace(config, similarity=name)
    if name == "file" or name.startswith("obsp:"):
        graph = given_graph(config, name, ids)
    else:
        graph = sample_graph(replace(request, options=graph_options(asked)))
    if not kernel:
        check_degrees(graph.similarity, ids, _origin(config, name))
    return graph


def reductions(config: RankConfig, name: str | None, n: int, m: int) -> list[tuple[str, Reduction]]:
    """Return the components that neighbours are searched among, where graphs take some.

    Those of a source that is the matrix come with its name, that of the run with none. What other
    sources are made of is known when they are read.

    Parameters
    ----------
    config : RankConfig
        What is asked for.
    name : str, optional
        The graph, as `default_graph` names it.
    n, m : int
        Samples and features.
    """
    asked: list[tuple[str, GraphOptions]] = []
    if name == "sources":
        default = default_similarity(n)
        targets = [source for source in config.source if source.kind == "target"]
        asked = [(s.name, replace(s.graph, name=s.graph.name or default)) for s in targets]
    elif name in SIMILARITIES:
        asked = [("", replace(graph_options(config), name=name))]
    found = [
        (source, reduction_of(options, n, m, f"source {source}: " if source else "--"))
        for source, options in asked
    ]
    return [(source, reduced) for source, reduced in found if reduced is not None]


def graph_options(config: RankConfig) -> GraphOptions:
    """Return how the graph of a configuration is made."""
    return GraphOptions(
        config.similarity or "",
        config.bandwidth,
        config.neighbors,
        config.edge_weights,
        config.beta,
        config.components,
        config.variable_genes,
    )


def given_graph(config: RankConfig, name: str, ids: Sequence[str]) -> Graph:
    """Read a graph that a file, or the input itself, holds (``file`` or ``obsp:KEY``).

    Raises
    ------
    InputError
        When it is no similarity between these samples.
    """
    where = _origin(config, name)
    spec = where if name == "file" else name
    S = open_given(spec, config.matrix).aligned(ids)
    check_similarity(S, where, ids)
    facts: dict[str, Any] = {"similarity": name}
    if name == "file":
        facts["file"] = where
    if isinstance(S, np.ndarray):
        return Graph(DenseSimilarity(S.astype(np.float64, copy=False)), facts)
    return Graph(SparseSimilarity(S.astype(np.float64)), facts | {"edges": S.nnz // 2})


def _origin(config: RankConfig, name: str) -> str:
    """Return what a message calls a similarity: its file, or its name."""
    if name == "file":
        return str(config.similarity_file)
    return f"{config.matrix}: {name}" if name.startswith("obsp:") else name
