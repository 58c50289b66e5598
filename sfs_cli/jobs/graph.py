"""Making the sample graph that a configuration asks for."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from sfs_cli.compute import passes
from sfs_cli.config import DEFAULT_BETA, DEFAULT_NEIGHBORS, DENSE_SAMPLES, RankConfig
from sfs_cli.errors import UsageError
from sfs_cli.graph import kernels, neighbors
from sfs_cli.graph.similarity import (
    DenseSimilarity,
    Similarity,
    SparseSimilarity,
    check_degrees,
    check_similarity,
)
from sfs_cli.jobs.neighbours import find_neighbours
from sfs_cli.jobs.request import GraphRequest, bandwidth_of, distances
from sfs_cli.methods.catalog import METHODS


@dataclass
class Graph:
    """A sample graph and how it was made.

    Attributes
    ----------
    similarity : Similarity
        Checked: symmetric, with positive degrees.
    facts : dict
        Name, bandwidth, neighbours and the like.
    """

    similarity: Similarity
    facts: dict[str, Any] = field(default_factory=dict)


def default_graph(config: RankConfig, n: int, graphs: tuple[str, ...]) -> str:
    """Return the similarity to use: the one asked for, or what suits the number of samples."""
    if config.similarity_file is not None:
        return "file"
    if config.similarity is not None:
        return config.similarity
    if config.graph is not None:
        return config.graph
    if n <= DENSE_SAMPLES:
        return "rbf"
    return "obsp:connectivities" if "connectivities" in graphs else "knn"


def make_graph(request: GraphRequest) -> Graph:
    """Make the sample graph of a configuration.

    Raises
    ------
    InputError
        When it does not fit the matrix, or has a sample of zero or negative degree and the
        method takes it for a graph and not for a kernel.
    OutOfMemoryError
        When a dense graph does not fit the memory allowed.
    """
    name = default_graph(request.config, request.n, request.graphs)
    if name == "file" or name.startswith("obsp:"):
        graph = _given(request, name)
    else:
        _check_options(request.config, name)
        graph = _MAKERS[name](request)
    graph.facts = {"similarity": name} | graph.facts
    if not METHODS[request.config.method].kernel:
        check_degrees(graph.similarity, request.source.ids.samples, _origin(request.config, name))
    return graph


def _origin(config: RankConfig, name: str) -> str:
    """Return what a message calls a similarity: its file, or its name."""
    if name == "file":
        return str(config.similarity_file)
    return f"{config.matrix}: {name}" if name.startswith("obsp:") else name


def _check_options(config: RankConfig, name: str) -> None:
    """Check options that were given without a similarity against the default that was chosen."""
    replace(config, similarity=name)


def _given(request: GraphRequest, name: str) -> Graph:
    ids = request.source.ids.samples
    where = _origin(request.config, name)
    if name == "file":
        from sfs_cli.io.sample_matrix import read_similarity

        S = read_similarity(where, ids)
    else:
        from sfs_cli.io.h5ad import read_obsp

        if Path(request.config.matrix).suffix not in (".h5ad", ".zarr"):
            raise UsageError(
                f"--similarity {name} needs an h5ad or AnnData zarr input",
                hint="give --similarity-file, or another --similarity",
            )
        S, samples = read_obsp(Path(request.config.matrix), name.removeprefix("obsp:"))
        S = _aligned(S, list(samples), list(ids))
    check_similarity(S, where, ids)
    facts = {"file": where} if name == "file" else {}
    if isinstance(S, np.ndarray):
        return Graph(DenseSimilarity(S.astype(np.float64, copy=False)), facts)
    return Graph(SparseSimilarity(S.astype(np.float64)), facts | {"edges": S.nnz // 2})


def _aligned(S: Any, have: list[str], want: list[str]) -> Any:
    if have == want:
        return S
    place = {sample: i for i, sample in enumerate(have)}
    rows = np.array([place[sample] for sample in want])
    return S[rows][:, rows]


def _rbf(request: GraphRequest) -> Graph:
    # the exponent of a weight multiplies the rounding of its distance: by half at the median, by
    # any number where the bandwidth is narrow
    d2 = distances(request, exact=request.config.bandwidth not in (None, "median"))
    delta = bandwidth_of(request, d2)
    return Graph(DenseSimilarity(kernels.rbf(d2, delta)), _bandwidth_facts(request, delta))


def _bandwidth_facts(request: GraphRequest, delta: float | np.ndarray | None) -> dict[str, Any]:
    if delta is None:
        return {"edge_weights": "binary"}
    rule = request.config.bandwidth or "median"
    if isinstance(delta, np.ndarray):
        return {"bandwidth_rule": rule, "bandwidth": float(np.median(delta))}
    return {"bandwidth_rule": rule, "bandwidth": float(delta)}


def _knn(request: GraphRequest) -> Graph:
    weight = request.config.edge_weights or "rbf"
    found = find_neighbours(request, weighted=weight == "rbf")
    similarity = neighbors.knn_similarity(
        found.indices, found.d2, found.bandwidth, cast(Any, weight)
    )
    facts = found.facts | _bandwidth_facts(request, found.bandwidth)
    return Graph(similarity, facts | {"edges": similarity.matrix.nnz // 2})


def _geodesic(request: GraphRequest) -> Graph:
    from sfs_cli.graph.geodesic import geodesic_similarity

    found = find_neighbours(request, weighted=False)
    return Graph(geodesic_similarity(neighbors.knn_lengths(found.indices, found.d2)), found.facts)


def _diffusion(request: GraphRequest) -> Graph:
    from sfs_cli.graph.diffusion import diffusion_similarity

    beta = request.config.beta if request.config.beta is not None else DEFAULT_BETA
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
    k = request.config.neighbors or DEFAULT_NEIGHBORS
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
