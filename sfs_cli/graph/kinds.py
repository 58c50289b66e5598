"""The sample graphs: a function makes each, from the samples and its options.

To add a graph: its name and options in ``sfs_cli/options/graph.py``, and a function here, in
`MAKERS`. A graph that takes other memory than the inner products of the samples says so in
`graph_memory`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import ceil, exp, log2
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from sfs_cli.compute.context import RunContext
from sfs_cli.compute.limits import LIMITS
from sfs_cli.compute.matrix import ArrayMatrix, Ids
from sfs_cli.compute.memory import check_memory
from sfs_cli.errors import InputError, listed
from sfs_cli.graph.distances import (
    SAMPLED_PAIRS,
    Samples,
    correlation,
    gram,
    linear,
    median_bandwidth,
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
    smallest_in_rows,
)
from sfs_cli.graph.pca import over_few, reduced, reduced_memory, reduction_of
from sfs_cli.graph.similarity import (
    THIN,
    DenseSimilarity,
    FactoredSimilarity,
    Similarity,
    SparseSimilarity,
    check_degrees,
    check_similarity,
    similarity_of,
    symmetrized,
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
    return Graph(
        DenseSimilarity(rbf(d2, bandwidth)), _bandwidth_facts(options, bandwidth, samples.n)
    )


def _bandwidth_facts(
    options: GraphOptions, bandwidth: float | np.ndarray | None, n: int
) -> dict[str, Any]:
    if bandwidth is None:
        return {"edge_weights": "binary"}
    rule = options.bandwidth or "median"
    drawn = rule == "median" and n > LIMITS.dense_distances
    pairs = {"bandwidth_from": f"{SAMPLED_PAIRS:,} random pairs"} if drawn else {}
    return {"bandwidth_rule": rule, "bandwidth": float(np.median(bandwidth)), **pairs}


def _knn(options: GraphOptions, samples: Samples) -> Graph:
    samples, space = reduced(options, samples)
    found = find_neighbors(options, samples, weighted=options.edge_weights != "binary")
    similarity = knn_similarity(found.indices, found.d2, found.bandwidth)
    facts = space | found.facts | _bandwidth_facts(options, found.bandwidth, samples.n)
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
    outcome = samples.run.required_labels.numbers
    d2 = np.square(outcome[:, None] - outcome)
    if options.bandwidth in (None, "median"):
        # over pairs that differ: outcomes have ties, ordered classes nothing else
        bandwidth: float | np.ndarray = median_bandwidth(
            np.where(d2 > 0, d2, np.inf), samples.run.seed
        )
    else:
        bandwidth = samples.bandwidth(options, d2)
    return Graph(
        DenseSimilarity(rbf(d2, bandwidth)), _bandwidth_facts(options, bandwidth, samples.n)
    )


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


def label_similarity(codes: np.ndarray, weights: np.ndarray | None = None) -> FactoredSimilarity:
    """Return the similarity 1/n_l within class l, 0 between classes (Eq. 3.13).

    Parameters
    ----------
    codes : ndarray of int, shape (n,)
        Class of each sample.
    weights : ndarray, shape (n,), optional
        How many samples each one counts as in n_l; 1 by default.

    Returns
    -------
    FactoredSimilarity
        Its factor has the shape (n, number of classes), and is sparse where these are many: column
        l is the indicator of class l divided by sqrt(n_l). Every degree is 1 without weights.
    """
    classes, column = np.unique(codes, return_inverse=True)
    sizes, n = np.bincount(column, weights), len(codes)
    values = 1.0 / np.sqrt(sizes[column])
    degrees = np.ones(n) if weights is None else None
    if len(classes) > THIN:
        from scipy.sparse import csr_array

        thin = csr_array((values, column, np.arange(n + 1)), (n, len(classes)))
        return FactoredSimilarity(thin, degrees)
    factor = np.zeros((n, len(classes)))
    factor[np.arange(n), column] = values
    return FactoredSimilarity(factor, degrees)


def geodesic_similarity(lengths: csr_array) -> DenseSimilarity:
    """Return the Gaussian similarity of shortest paths over the neighbor graph (Isomap).

    The papers call it "Dijkstra".

    Parameters
    ----------
    lengths : csr_array, shape (n, n)
        Symmetric edge lengths, as `sfs_cli.graph.neighbors.knn_lengths` gives them.

    Returns
    -------
    DenseSimilarity
        exp(-path^2 / (2 delta^2)), delta the median path over connected pairs i < j; 1 on the
        diagonal, 0 between connected components.

    Raises
    ------
    InputError
        When the median path has length 0.
    """
    from scipy.sparse.csgraph import dijkstra

    paths = dijkstra(lengths)  # infinite between connected components, where S becomes 0
    # the two directions of a path are summed in opposite orders, and their roundings differ
    np.minimum(paths, paths.T, out=paths)
    d2 = np.square(paths, out=paths)
    return DenseSimilarity(rbf(d2, median_bandwidth(d2)))


def diffusion_similarity(knn: SparseSimilarity, beta: float = 1.0) -> DenseSimilarity:
    """Return the diffusion kernel expm(-beta N) of a graph (Kondor & Lafferty 2002).

    With A = D^-1/2 S D^-1/2 it is exp(-beta) expm(beta A). A has no negative entry, so that the
    terms of a series do not cancel, and each costs one sparse product. Above beta = 1 it is that of
    a fraction of beta, squared again and again.

    Parameters
    ----------
    knn : SparseSimilarity
        Neighbor graph with non-negative weights.
    beta : float
        Diffusion time, positive.

    Returns
    -------
    DenseSimilarity
        The kernel, symmetric to the last bit; D^1/2 1 is its eigenvector to the eigenvalue 1.

    Raises
    ------
    InputError
        When a sample has no positive degree.
    """
    from scipy.sparse import diags_array
    from scipy.sparse.linalg import expm_multiply

    check_degrees(knn, None, "knn")
    scale = diags_array(1.0 / np.sqrt(knn.degrees))
    # terms of the series grow before they fall when beta is large: its root is summed and squared
    halvings = max(0, ceil(log2(beta)))
    part = beta / 2.0**halvings
    A = part * (scale @ knn.matrix @ scale).tocsr()
    kernel = symmetrized(expm_multiply(A, exp(-part) * np.eye(knn.n), traceA=A.trace()))
    for _ in range(halvings):
        kernel = symmetrized(kernel @ kernel)
    return DenseSimilarity(kernel)


def relieff_similarity(
    d2: np.ndarray, codes: np.ndarray, k: int, class_names: Sequence[str]
) -> SparseSimilarity:
    """Return the signed similarity whose phi1 is the ReliefF criterion (Zhao & Liu 2007, Eq. 12).

    Row i of A has 1 at i, +1/k at the k nearest samples of its own class and -1/((c-1)k) at the k
    nearest of each of the c-1 other classes; S = (A + A')/2. For a small class, k is one less than
    its size. Rows of A sum to 1, but degrees of S
    may be negative. The dissertation prints the signs reversed (Eq. 3.17); with phi1 minimized
    they must be these.

    Parameters
    ----------
    d2 : ndarray, shape (n, n)
        Squared distances; equal ones are ordered by the index of the sample.
    codes : ndarray of int, shape (n,)
        Class of each sample.
    k : int
        Number of nearest hits, and of nearest misses per other class.
    class_names : sequence of str
        Name of class 0, 1, ... for messages.

    Returns
    -------
    SparseSimilarity
        S, about n k c entries.

    Raises
    ------
    InputError
        When there are fewer than two classes, or a class has one sample.
    """
    from scipy.sparse import csr_array, eye_array

    codes = np.asarray(codes)
    neighbors = nearest_by_class(d2, codes, k, class_names)
    others = len(np.unique(codes)) - 1
    hits = codes[neighbors] == codes[:, None]
    weights = np.where(hits, 1.0, -1.0 / others) / neighbor_counts(codes, k)[codes[neighbors]]
    n, per_row = neighbors.shape
    ends = np.arange(n + 1) * per_row
    A = csr_array((weights.ravel(), neighbors.ravel(), ends), shape=(n, n))
    return SparseSimilarity((symmetrized(A) + eye_array(n)).tocsr())


def nearest_by_class(
    distances: np.ndarray, codes: np.ndarray, k: int, class_names: Sequence[str]
) -> np.ndarray:
    """Return the nearest samples in each class, themselves excluded.

    The shape is (n, sum of `neighbor_counts`): those of the first class are in the first columns,
    and so on. Equal distances, (n, n), are ordered by the index of the sample. Raises the errors of
    `class_members`.
    """
    members, counts = class_members(codes, class_names), neighbor_counts(codes, k)
    found = []
    for code, inside in members.items():
        among = distances[:, inside]  # a copy, because it is indexed by an array
        among[inside, np.arange(inside.size)] = np.inf  # no sample is its own neighbor
        nearest, _ = smallest_in_rows(among, int(counts[code]))
        found.append(inside[nearest])
    return np.hstack(found)


def neighbor_counts(codes: np.ndarray, k: int) -> np.ndarray:
    """Return how many nearest samples are taken of each class 0, 1, ..., shape (c,): at most k.

    Each sample of a class of s samples has s - 1 others; so many are taken of it by all samples.
    """
    return np.minimum(k, np.bincount(codes) - 1)


def fewer_neighbors(codes: np.ndarray, k: int, class_names: Sequence[str]) -> str:
    """Return a warning about classes with too few samples for k neighbors; empty without any."""
    sizes = np.bincount(codes)
    small = np.flatnonzero((sizes > 0) & (sizes <= k))
    if not small.size:
        return ""
    names = [repr(class_names[c]) for c in small.tolist()]
    return (
        f"ReliefF takes fewer than {k} neighbors of small classes ({listed(names)}), one less than "
        f"the size of each; neighbors={int(sizes[small].min()) - 1} takes as many of every class"
    )


def class_members(codes: np.ndarray, class_names: Sequence[str]) -> dict[int, np.ndarray]:
    """Return the samples of every class, at least two classes with two samples each.

    Raises
    ------
    InputError
        When there are fewer than two classes, or a class has one sample.
    """
    members = {int(code): np.flatnonzero(codes == code) for code in np.unique(codes)}
    if len(members) < 2:
        raise InputError(
            "ReliefF needs at least two classes",
            hint="check which column holds the labels",
            option="labels",
        )
    for code, inside in members.items():
        if inside.size < 2:
            raise InputError(
                f"class {class_names[code]!r} has one sample, which has no nearest hit for ReliefF",
                hint="leave the class out, or join it to another one",
                option="labels",
            )
    return members
