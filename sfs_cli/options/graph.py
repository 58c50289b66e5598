"""Sample graphs: the similarities between samples, and the options that each takes.

Adding a graph takes its entry here and its code in ``sfs_cli.graph``; a new option of graphs is one
more field of `GraphFields`, which rankings and knowledge sources share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any, NamedTuple

from sfs_cli.options.fields import Config, Option, option, option_fields, options_of

DEFAULT_NEIGHBORS = 10
MOST_PROFILES = 300
"""Up to this many samples the default graph is `knn-correlation`, above it is `knn` among principal
components: with more samples than components the noise of single genes is what these leave out."""
NEAREST_PROFILES = 5
"""Neighbors of the correlation graph by default: 5 gave better lists than 10, on most data sets."""
DEFAULT_GRAPHS = ("knn-correlation", "knn")
"""The default up to `MOST_PROFILES` samples, and that above."""
DEFAULT_BETA = 1.0
LONGEST_DIFFUSION = 1e9
"""Long before, all samples of a connected component are equally similar; beyond, rounding grows."""
DEFAULT_COMPONENTS = 50
DEFAULT_VARIABLE_GENES = 2000
DENSE_SAMPLES = 2000
"""Up to this many samples the default graph is `rbf`; above, it is sparse."""
BANDWIDTHS = ("median", "self-tuning", "NUMBER")
EDGE_WEIGHTS = ("rbf", "binary")

# options of the space where neighbors are searched
_SPACE = dict.fromkeys(("components", "variable_genes"))
_NEIGHBORS, _WIDTH = {"neighbors": DEFAULT_NEIGHBORS}, {"bandwidth": "median"}
_WEIGHTED = _WIDTH | {"edge_weights": "rbf"}


class GraphKind(NamedTuple):
    """A similarity between samples."""

    meaning: str
    # its options with their defaults; None where these depend on the data
    takes: Mapping[str, Any] = {}
    from_labels: bool = False  # whether it is made from the labels of the samples
    labels_alone: bool = False  # of those: whether the matrix has no part in it
    numeric: bool = False  # of those: whether labels are to be numbers
    from_distances: bool = False  # whether distances between the samples are all it needs
    sparse: bool = False  # whether it is held without its zeros


GRAPHS = {
    "rbf": GraphKind("Gaussian kernel of the Euclidean distances", _WIDTH, from_distances=True),
    "knn": GraphKind(
        "graph of the nearest neighbors",
        _NEIGHBORS | _WEIGHTED | _SPACE,
        from_distances=True,
        sparse=True,
    ),
    "knn-correlation": GraphKind(
        "graph of the nearest neighbors by the Pearson correlation of the samples, of features "
        "less their means",
        {"neighbors": NEAREST_PROFILES} | _WEIGHTED,
        sparse=True,
    ),
    "geodesic": GraphKind(
        "shortest paths along the nearest neighbors", _NEIGHBORS | _SPACE, from_distances=True
    ),
    "diffusion": GraphKind(
        "diffusion along the graph of the nearest neighbors",
        _NEIGHBORS | _WEIGHTED | {"beta": DEFAULT_BETA} | _SPACE,
        from_distances=True,
    ),
    "label": GraphKind(
        "samples of one class are similar", from_labels=True, labels_alone=True, sparse=True
    ),
    "outcome": GraphKind(
        "Gaussian kernel of the differences of numeric labels, or of the places of ordered classes",
        _WIDTH,
        from_labels=True,
        labels_alone=True,
        numeric=True,
    ),
    "relieff": GraphKind(
        "near samples of one class are similar, near samples of other classes dissimilar",
        _NEIGHBORS,
        from_labels=True,
        sparse=True,
    ),
    "linear": GraphKind("inner products"),
    "correlation": GraphKind("(1 + r) / 2 of the Pearson correlation r"),
}
"""The similarities that are made from a matrix or from labels, by the name of ``--similarity``."""

SIMILARITIES = tuple(GRAPHS)
LABEL_GRAPHS = tuple(name for name, graph in GRAPHS.items() if graph.from_labels)
LABELS_ALONE = tuple(name for name, graph in GRAPHS.items() if graph.labels_alone)
"""Those that are made from the labels without the matrix."""
NEIGHBOR_GRAPHS = tuple(name for name, graph in GRAPHS.items() if "components" in graph.takes)
FROM_DISTANCES = tuple(name for name, graph in GRAPHS.items() if graph.from_distances)
SPARSE_GRAPHS = tuple(name for name, graph in GRAPHS.items() if graph.sparse)


def taking(name: str) -> list[str]:
    """Return the similarities that take an option."""
    return [graph for graph, kind in GRAPHS.items() if name in kind.takes]


def default_similarity(n: int) -> str:
    """Return the default similarity of a source for so many samples."""
    return "rbf" if n <= DENSE_SAMPLES else "knn"


_SOURCES = {"source": "give it to a source: NAME=KIND:PATH,OPTION=VALUE"}
_FOR_PCA = {"coordinates": "neighbors are searched among the coordinates as they are"} | _SOURCES
_graph = partial(
    option,
    section="Sample graph",
    verbs=("rank", "shard init", "evaluate"),
    takers=taking,
    taken_by="similarity",
    of="similarity",
    excludes=_SOURCES,
)


@option_fields
class GraphFields(Config):
    """The options of sample graphs; None stands for the default."""

    neighbors: int | None = _graph(
        "Number of nearest neighbors.",
        metavar="K",
        least=1,
        default_text=f"{DEFAULT_NEIGHBORS}; {NEAREST_PROFILES} for knn-correlation",
    )
    bandwidth: str | None = _graph(
        "Width of the Gaussian kernel, from the median distance, from the neighbors of each sample "
        "(self-tuning), or as a number.",
        metavar="median, self-tuning or NUMBER",
        words=BANDWIDTHS,
        default_text="median",
        excludes={"edge_weights=binary": "all binary edges have weight 1"} | _SOURCES,
    )
    edge_weights: str | None = _graph(
        "Use the Gaussian kernel as edge weights (rbf), or 1 (binary).",
        words=EDGE_WEIGHTS,
        default_text="rbf",
    )
    beta: float | None = _graph(
        "Diffusion time.",
        metavar="B",
        above=0,
        most=LONGEST_DIFFUSION,
        default_text=f"{DEFAULT_BETA:g}",
    )
    components: str | int | None = _graph(
        "Search neighbors in the first K principal components, or in all features (none).",
        metavar="K or none",
        words=("none", "COUNT"),
        default_text=f"none; {DEFAULT_COMPONENTS} above 50,000 samples, and in the default graph "
        f"above {MOST_PROFILES}",
        excludes=_FOR_PCA,
    )
    variable_genes: str | int | None = _graph(
        "Number of highly variable genes used for the PCA, or all.",
        metavar="G or all",
        words=("all", "COUNT"),
        default_text=f"{DEFAULT_VARIABLE_GENES}; all in the default graph up to 50,000 samples, if "
        "components= is not given",
        excludes={"components=none": "only principal components are made of variable genes"}
        | _FOR_PCA,
    )

    def graph_options(self, name: str) -> GraphOptions:
        """Return how a similarity of this name is made with these options."""
        return GraphOptions(name, **{option: getattr(self, option) for option in GRAPH_FIELDS})

    def default_sample_graph(self, n: int) -> GraphOptions:
        """Return the default sample graph of a ranking for n samples, with these options."""
        if n <= MOST_PROFILES and not self.given(*_SPACE):
            return self.graph_options("knn-correlation")
        return replace(self.graph_options("knn"), reduced_above=MOST_PROFILES)


GRAPH_FIELDS = tuple(f.name for f in fields(GraphFields))
"""The options of sample graphs."""


def parameters_of(name: str) -> dict[str, Option]:
    """Return the parameters of a similarity by their names, with its own defaults."""
    known = {o.name: o for o in options_of(GraphFields)}
    return {each: known[each].with_default(own) for each, own in GRAPHS[name].takes.items()}


@dataclass(frozen=True, eq=False, repr=False)
class GraphOptions(GraphFields):
    """A similarity by its name, and how it is made.

    Above `reduced_above` samples neighbors are searched among the principal components of all
    features, if nothing else is asked for; None: above the limit of an exact search, among those of
    the variable genes.
    """

    name: str
    reduced_above: int | None = None


def parse_bandwidth(text: str) -> str | float:
    """Return ``median``, ``self-tuning`` or a number."""
    return text if text in BANDWIDTHS else float(text)


def parse_count(text: str | int) -> int | None:
    """Return a number of principal components or features; None for ``none`` and ``all``."""
    return None if text in ("none", "all") else int(float(text))  # 2e3 and 50.0 are numbers too
