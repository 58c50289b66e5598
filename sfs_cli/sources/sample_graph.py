"""A similarity between samples from measurements of them, or from their classes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np

from sfs_cli.compute import passes
from sfs_cli.graph import kernels, neighbors
from sfs_cli.graph.options import DEFAULT_BETA, DEFAULT_NEIGHBORS
from sfs_cli.graph.similarity import DenseSimilarity, Similarity, SparseSimilarity
from sfs_cli.sources.neighbours import find_neighbours
from sfs_cli.sources.reduction import reduced
from sfs_cli.sources.request import GraphRequest, bandwidth_of, distances


@dataclass
class Graph:
    """A sample graph and how it was made.

    Attributes
    ----------
    similarity : Similarity
        Symmetric.
    facts : dict
        Name, bandwidth, neighbours and the like.
    """

    similarity: Similarity
    facts: dict[str, Any] = field(default_factory=dict)


def sample_graph(request: GraphRequest) -> Graph:
    """Make a similarity by its name; its degrees are not looked at.

    Raises
    ------
    InputError
        When it cannot be made from these samples.
    OutOfMemoryError
        When it does not fit the memory allowed.
    """
    graph = _MAKERS[request.options.name](request)
    graph.facts = {"similarity": request.options.name} | graph.facts
    return graph


def _rbf(request: GraphRequest) -> Graph:
    # the exponent of a weight multiplies the rounding of its distance: by half at the median, by
    # any number where the bandwidth is narrow
    d2 = distances(request, exact=request.options.bandwidth not in (None, "median"))
    delta = bandwidth_of(request, d2)
    return Graph(DenseSimilarity(kernels.rbf(d2, delta)), _bandwidth_facts(request, delta))


def _bandwidth_facts(request: GraphRequest, delta: float | np.ndarray | None) -> dict[str, Any]:
    if delta is None:
        return {"edge_weights": "binary"}
    rule = request.options.bandwidth or "median"
    if isinstance(delta, np.ndarray):
        return {"bandwidth_rule": rule, "bandwidth": float(np.median(delta))}
    return {"bandwidth_rule": rule, "bandwidth": float(delta)}


def _knn(request: GraphRequest) -> Graph:
    request, space = reduced(request)
    weight = request.options.edge_weights or "rbf"
    found = find_neighbours(request, weighted=weight == "rbf")
    similarity = neighbors.knn_similarity(
        found.indices, found.d2, found.bandwidth, cast(Any, weight)
    )
    facts = found.facts | _bandwidth_facts(request, found.bandwidth)
    return Graph(similarity, space | facts | {"edges": similarity.matrix.nnz // 2})


def _geodesic(request: GraphRequest) -> Graph:
    from sfs_cli.graph.geodesic import geodesic_similarity

    request, space = reduced(request)
    found = find_neighbours(request, weighted=False)
    lengths = neighbors.knn_lengths(found.indices, found.d2)
    return Graph(geodesic_similarity(lengths), space | found.facts)


def _diffusion(request: GraphRequest) -> Graph:
    from sfs_cli.graph.diffusion import diffusion_similarity

    beta = request.options.beta if request.options.beta is not None else DEFAULT_BETA
    knn = _knn(request)
    similarity = diffusion_similarity(cast(SparseSimilarity, knn.similarity), beta)
    return Graph(similarity, knn.facts | {"beta": beta})


def _label(request: GraphRequest) -> Graph:
    from sfs_cli.graph.labels import label_similarity

    assert request.codes is not None
    return Graph(label_similarity(request.codes), {"classes": int(request.codes.max()) + 1})


def _relieff(request: GraphRequest) -> Graph:
    from sfs_cli.graph.relieff import relieff_similarity

    assert request.codes is not None
    k = request.options.neighbors or DEFAULT_NEIGHBORS
    d2 = distances(request, exact=True)
    similarity = relieff_similarity(d2, request.codes, k, request.classes)
    return Graph(similarity, {"neighbors": k})


def _linear(request: GraphRequest) -> Graph:
    return Graph(DenseSimilarity(kernels.linear(passes.gram(request.engine))))


def _correlation(request: GraphRequest) -> Graph:
    parts = passes.raw_gram(request.engine)
    ids = request.source.ids.samples
    return Graph(DenseSimilarity(kernels.correlation(*parts, sample_ids=ids)))


_MAKERS = {
    "rbf": _rbf,
    "knn": _knn,
    "geodesic": _geodesic,
    "diffusion": _diffusion,
    "label": _label,
    "relieff": _relieff,
    "linear": _linear,
    "correlation": _correlation,
}
