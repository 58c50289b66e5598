"""The sample graph that a configuration asks for: which one, and from where."""

from __future__ import annotations

from dataclasses import replace

from sfs_cli.compute.context import RunContext
from sfs_cli.compute.limits import LIMITS, Limits
from sfs_cli.graph.build import Graph, given_graph, sample_graph
from sfs_cli.graph.pca import Reduction, reduction_of
from sfs_cli.graph.similarity import check_degrees
from sfs_cli.options import RankConfig
from sfs_cli.options.graph import SIMILARITIES, GraphOptions, default_similarity


def default_graph(config: RankConfig, n: int, graphs: tuple[str, ...]) -> str:
    """Return the sample graph to use: as given, or what suits the number of samples.

    `graphs` are the graphs that the input holds. The name is one of `SIMILARITIES`, ``obsp:KEY``,
    ``file`` or ``sources``.
    """
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
    config: RankConfig, run: RunContext, graphs: tuple[str, ...], *, kernel: bool
) -> Graph:
    """Make or read the sample graph of a configuration.

    Parameters
    ----------
    config : RankConfig
        Names the graph and its options.
    run : RunContext
        The matrix and the labels.
    graphs : tuple of str
        Names of the graphs that the input file holds.
    kernel : bool
        Whether the method uses it as a kernel, so that degrees may be zero or negative.

    Raises
    ------
    InputError
        When it does not fit the matrix, or a sample has a zero or negative degree.
    OutOfMemoryError
        When a dense graph does not fit the memory allowed.
    """
    name, where = default_graph(config, run.n, graphs), ""
    if name == "file" or name.startswith("obsp:"):
        from sfs_cli.knowledge.samples import open_given

        of_file, ids = name == "file", run.matrix.ids.samples
        where = str(config.similarity_file) if of_file else f"{config.matrix}: {name}"
        given = open_given(where if of_file else name, config.matrix)
        graph = given_graph(given.aligned(ids), name, ids, where)
        if of_file:
            graph.facts["file"] = where
    else:
        replace(config, similarity=name)  # checks options that were given without a similarity
        graph = sample_graph(config.graph_options(name), run)
    if not kernel:
        # the ids of a store are read during the pass above
        check_degrees(graph.similarity, run.matrix.ids.samples, where or name)
    return graph


def reductions(
    config: RankConfig, name: str | None, n: int, m: int, limits: Limits = LIMITS
) -> list[Reduction]:
    """Return the principal components that neighbors are searched among, of every graph.

    Those of sources other than the matrix itself are known only when the source has been read.

    Parameters
    ----------
    config : RankConfig
        The configuration.
    name : str, optional
        The graph, as `default_graph` names it.
    n, m : int
        Samples and features.
    limits : Limits
        Sizes at which the default changes.
    """
    asked: list[GraphOptions] = []
    if name == "sources":
        targets = [source for source in config.source if source.kind == "target"]
        default = default_similarity(n)
        asked = [source.graph_options(source.similarity or default) for source in targets]
    elif name in SIMILARITIES:
        asked = [config.graph_options(name)]
    found = [reduction_of(options, n, m, limits=limits) for options in asked]
    return [reduction for reduction in found if reduction is not None]
