"""The one place where sample graphs are made, and where their passes over the matrix are listed.

To add a graph: its name and options in ``sfs_cli/options/graph.py``, and a function here, in
`MAKERS` (its formula in ``others.py``). A graph that takes other memory than the inner products of
the samples says so in `graph_memory`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sfs_cli.compute.context import RunContext
from sfs_cli.compute.matrix import ArrayMatrix, Ids
from sfs_cli.compute.memory import check_memory
from sfs_cli.graph.distances import (
    Samples,
    correlation,
    gram,
    linear,
    profile_distances,
    raw_gram,
    rbf,
)
from sfs_cli.graph.neighbors import (
    GraphMemory,
    find_neighbors,
    knn_lengths,
    knn_similarity,
    search_memory,
)
from sfs_cli.graph.others import (
    diffusion_similarity,
    fewer_neighbors,
    geodesic_similarity,
    label_similarity,
    outcome_bandwidth,
    outcome_distances,
    relieff_similarity,
)
from sfs_cli.graph.pca import over_few, reduced, reduced_memory, reduction_of
from sfs_cli.graph.similarity import (
    DenseSimilarity,
    Similarity,
    SparseSimilarity,
    check_similarity,
    similarity_of,
)
from sfs_cli.options.graph import (
    DEFAULT_BETA,
    DEFAULT_NEIGHBORS,
    LABELS_ALONE,
    NEAREST_PROFILES,
    NEIGHBOR_GRAPHS,
    SIMILARITIES,
    GraphOptions,
)

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass
class Graph:
    """A sample graph and how it was made."""

    similarity: Similarity  # symmetric
    # name, bandwidth, neighbors and the like, for ``run.json``
    facts: dict[str, Any] = field(default_factory=dict)


def sample_graph(
    options: GraphOptions, run: RunContext, *, source: str = "", distances: np.ndarray | None = None
) -> Graph:
    """Make a sample graph by its name; its degrees are not checked.

    Messages name the knowledge `source`, if it is that of one. Squared `distances`, shape (n, n),
    take the place of those of the run's matrix. Raises InputError when it cannot be made from these
    samples, OutOfMemoryError when it does not fit the memory allowed.
    """
    graph = MAKERS[options.name](options, Samples(run, source, distances))
    graph.facts = {"similarity": options.name} | graph.facts
    return graph


def on_coordinates(run: RunContext, coordinates: np.ndarray, where: str) -> RunContext:
    """Return the context in which a graph is made of coordinates of the samples, shape (n, d).

    `where` they come from is for messages. Passes over them take the place of those over the
    matrix, and are shared by shards as those are.
    """
    names = [f"coordinate {i + 1}" for i in range(coordinates.shape[1])]
    source = ArrayMatrix(np.ascontiguousarray(coordinates.T), Ids(names, run.matrix.ids.samples))
    return replace(run, engine=over_few(run.engine, source), where=where)


def given_graph(
    S: np.ndarray | csr_array, name: str, sample_ids: Sequence[str], where: str
) -> Graph:
    """Make the graph of a similarity S that is given, shape (n, n), whose rows are `sample_ids`.

    `name` is for ``run.json``, `where` it comes from for messages. Raises InputError when it is not
    finite, symmetric and square.
    """
    check_similarity(S, where, sample_ids)
    similarity = similarity_of(S)
    facts: dict[str, Any] = {"similarity": name}
    if isinstance(similarity, SparseSimilarity):
        facts["edges"] = similarity.matrix.nnz // 2
    return Graph(similarity, facts)


def _rbf(options: GraphOptions, samples: Samples) -> Graph:
    # the exponent multiplies the rounding of a distance: by half at the median bandwidth, by more
    # the narrower it is
    narrow = options.bandwidth not in (None, "median")
    d2 = samples.squared_distances(float64=narrow)
    bandwidth = samples.bandwidth(options, d2)
    return Graph(DenseSimilarity(rbf(d2, bandwidth)), _bandwidth_facts(options, bandwidth))


def _bandwidth_facts(options: GraphOptions, bandwidth: float | np.ndarray | None) -> dict[str, Any]:
    if bandwidth is None:
        return {"edge_weights": "binary"}
    rule = options.bandwidth or "median"
    return {"bandwidth_rule": rule, "bandwidth": float(np.median(bandwidth))}


def _knn(options: GraphOptions, samples: Samples) -> Graph:
    samples, space = reduced(options, samples)
    found = find_neighbors(options, samples, weighted=options.edge_weights != "binary")
    similarity = knn_similarity(found.indices, found.d2, found.bandwidth)
    facts = space | found.facts | _bandwidth_facts(options, found.bandwidth)
    return Graph(similarity, facts | {"edges": similarity.matrix.nnz // 2})


def _knn_correlation(options: GraphOptions, samples: Samples) -> Graph:
    samples.check_memory()
    if samples.squared is None:
        samples = replace(samples, squared=profile_distances(samples.run.engine))
    count = options.neighbors or min(NEAREST_PROFILES, samples.n - 1)
    return _knn(replace(options, neighbors=count), samples)


def _geodesic(options: GraphOptions, samples: Samples) -> Graph:
    samples, space = reduced(options, samples)
    found = find_neighbors(options, samples, weighted=False)
    lengths = knn_lengths(found.indices, found.d2)
    return Graph(geodesic_similarity(lengths), space | found.facts)


def _diffusion(options: GraphOptions, samples: Samples) -> Graph:
    beta = options.beta if options.beta is not None else DEFAULT_BETA
    knn = _knn(options, samples)
    similarity = diffusion_similarity(cast(SparseSimilarity, knn.similarity), beta)
    return Graph(similarity, knn.facts | {"beta": beta})


def _label(_options: GraphOptions, samples: Samples) -> Graph:
    codes = samples.run.required_labels.codes
    similarity = label_similarity(codes, samples.run.sample_weights)
    return Graph(similarity, {"classes": int(codes.max()) + 1})


def _outcome(options: GraphOptions, samples: Samples) -> Graph:
    memory, n = samples.run.memory, samples.n
    hint = "raise --memory, or use --method f-test, which needs no graph"
    check_memory(f"the differences between {n:,} samples need", 3 * 8 * n * n, memory, hint)
    d2 = outcome_distances(samples.run.required_labels.numbers)
    if options.bandwidth in (None, "median"):
        bandwidth: float | np.ndarray = outcome_bandwidth(d2)
    else:
        bandwidth = samples.bandwidth(options, d2)
    return Graph(DenseSimilarity(rbf(d2, bandwidth)), _bandwidth_facts(options, bandwidth))


def _relieff(options: GraphOptions, samples: Samples) -> Graph:
    labels = samples.run.required_labels
    k = options.neighbors or DEFAULT_NEIGHBORS
    d2 = samples.squared_distances(float64=True)
    similarity = relieff_similarity(d2, labels.codes, k, labels.classes)
    if warning := fewer_neighbors(labels.codes, k, labels.classes):
        samples.run.log.warn(warning)
    return Graph(similarity, {"neighbors": k})


def _linear(_options: GraphOptions, samples: Samples) -> Graph:
    return Graph(DenseSimilarity(linear(gram(samples.run.engine))))


def _correlation(_options: GraphOptions, samples: Samples) -> Graph:
    S = correlation(*raw_gram(samples.run.engine), sample_ids=samples.run.matrix.ids.samples)
    return Graph(DenseSimilarity(S))


MAKERS: dict[str, Callable[[GraphOptions, Samples], Graph]] = {
    "rbf": _rbf,
    "knn": _knn,
    "knn-correlation": _knn_correlation,
    "geodesic": _geodesic,
    "diffusion": _diffusion,
    "label": _label,
    "outcome": _outcome,
    "relieff": _relieff,
    "linear": _linear,
    "correlation": _correlation,
}
"""The makers of the graphs; `sfs_cli.options.graph` lists the options of each."""


def graph_memory(options: GraphOptions, n: int, m: int) -> GraphMemory:
    """Return what `sample_graph` takes in memory, beside the graph, for n samples of m features."""
    name = options.name
    if name not in SIMILARITIES or name in LABELS_ALONE:
        return GraphMemory()
    reduction = reduction_of(options, n, m)
    if reduction is not None:
        return reduced_memory(options, reduction, n)
    return search_memory(options, n, m) if name in NEIGHBOR_GRAPHS else GraphMemory(products=True)
