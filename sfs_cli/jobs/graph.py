"""Making the sample graph that a configuration asks for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sfs_cli.config import RankConfig
from sfs_cli.graph.options import DENSE_SAMPLES, GraphOptions
from sfs_cli.graph.similarity import (
    DenseSimilarity,
    SparseSimilarity,
    check_degrees,
    check_similarity,
)
from sfs_cli.sources.given import open_given
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
    if n <= DENSE_SAMPLES:
        return "rbf"
    return "obsp:connectivities" if "connectivities" in graphs else "knn"


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
    if name == "file" or name.startswith("obsp:"):
        graph = given_graph(config, name, ids)
    else:
        # options that were given without a similarity are checked against the default
        options = graph_options(replace(config, similarity=name))
        graph = sample_graph(replace(request, options=options))
    if not kernel:
        check_degrees(graph.similarity, ids, _origin(config, name))
    return graph


def graph_options(config: RankConfig) -> GraphOptions:
    """Return how the graph of a configuration is made."""
    return GraphOptions(
        config.similarity or "",
        config.bandwidth,
        config.neighbors,
        config.edge_weights,
        config.beta,
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
