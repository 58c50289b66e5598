"""What a knowledge source is asked to be, and what goes with what.

No numeric library is loaded here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from sfs_cli.errors import UsageError, nearest
from sfs_cli.graph.options import (
    ALL_GRAPH_OPTIONS,
    GRAPH_OPTIONS,
    LABEL_GRAPHS,
    REDUCING,
    SIMILARITIES,
    GraphOptions,
    check_reduction,
    parse_bandwidth,
)

_GRAPH = ("similarity", *ALL_GRAPH_OPTIONS)
_DISTANCES = tuple(option for option in _GRAPH if option not in REDUCING)
"""Options of graphs that are made of given distances: there are no features to reduce."""
_VALUES = ("transform", "missing")
KINDS: dict[str, tuple[str, ...]] = {
    "profile": (*_VALUES, *_GRAPH, "rows", "layer"),
    "target": (*_VALUES, *_GRAPH),
    "labels": (),
    "hierarchy": (),
    "genes": (*_VALUES, *_GRAPH, "evidence", "ids", "id_map"),
    "interactions": (*_VALUES, *_GRAPH, "min_score", "seeds", "id_map"),
    "feature-similarity": (*_VALUES, *_DISTANCES, "min_score", "id_map"),
    "terms": (*_VALUES, *_DISTANCES, "evidence", "ids", "id_map"),
    "similarity": (),
}
"""The kinds of sources, and the options that each takes."""
WITHOUT_PATH = ("target", "labels")
"""Kinds that need no file: the matrix itself, and the labels of the run."""
FROM_DISTANCES = ("rbf", "knn", "geodesic", "diffusion")
"""Similarities that distances alone tell."""
_MAHALANOBIS = ("feature-similarity", "terms")
_NAME = re.compile(r"[A-Za-z0-9_.+-]+")
FORM = "write NAME=KIND:PATH[@WEIGHT][,OPTION=VALUE...], such as mirna=profile:mirna.csv"
"""What a source looks like on the command line."""


@dataclass(frozen=True)
class SourceSpec:
    """One knowledge source, as it is asked for; None stands for a default.

    Attributes
    ----------
    name : str
        What it is called.
    kind : str
        One of `KINDS`.
    path : str
        Its file, perhaps with the part of it (``FILE:COLUMN``, ``FILE.gmt:SET``), or ``obs:KEY``,
        ``obsp:KEY``; empty for the kinds that need none.
    weight : float, optional
        How much it counts.
    transform, missing : str, optional
        As of the matrix, for this source alone.
    similarity, bandwidth, neighbors, edge_weights, beta, components, variable_genes
        How samples are compared.
    rows, layer : str, optional
        How the profile is read.
    min_score : float, optional
        Edges with a lower score are left out.
    seeds : str, optional
        Genes whose interactions count.
    evidence : str, optional
        Evidence codes of a GAF to keep, or with ``!`` to leave out, separated by commas.
    ids : str, optional
        Which ids of a GAF: ``symbol`` or ``id``.
    id_map : str, optional
        A table of ids of features and of this source.
    """

    name: str
    kind: str
    path: str = ""
    weight: float | None = None
    transform: str | None = None
    missing: str | None = None
    similarity: str | None = None
    bandwidth: str | None = None
    neighbors: int | None = None
    edge_weights: str | None = None
    beta: float | None = None
    components: str | None = None
    variable_genes: str | None = None
    rows: str | None = None
    layer: str | None = None
    min_score: float | None = None
    seeds: str | None = None
    evidence: str | None = None
    ids: str | None = None
    id_map: str | None = None

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise UsageError(
                f"the source name {self.name!r} is not one word",
                hint="use letters, digits and . _ + - alone; " + FORM,
            )
        if self.kind not in KINDS:
            raise self.error(f"kind {self.kind!r} is not known", nearest(self.kind, KINDS))
        if not self.path and self.kind not in WITHOUT_PATH:
            raise self.error("the path is missing", FORM)
        if self.path and self.kind == "target":
            raise self.error(
                "target takes no path: it is the matrix itself",
                f"write {self.name}=target:, or {self.name}=profile:{self.path}",
            )
        self._check_options()
        if self.weight is not None and not 0 <= self.weight < float("inf"):
            raise self.error(
                f"the weight {self.weight:g} is not zero or more", "give a number such as 0.5"
            )

    @property
    def graph(self) -> GraphOptions:
        """How samples are compared, where that is asked for."""
        return GraphOptions(
            self.similarity or "",
            self.bandwidth,
            self.neighbors,
            self.edge_weights,
            self.beta,
            self.components,
            self.variable_genes,
        )

    @property
    def gene_ids(self) -> Literal["symbol", "id"]:
        """Which ids of a GAF are the genes."""
        return "id" if self.ids == "id" else "symbol"

    def error(self, what: str, hint: str) -> UsageError:
        """Return an error that names this source."""
        return UsageError(what, where=f"--source {self.name}", hint=hint)

    def options(self) -> dict[str, Any]:
        """Return the options that are given."""
        given = {f.name: getattr(self, f.name) for f in fields(self)[4:]}
        return {name: value for name, value in given.items() if value is not None}

    def text(self) -> str:
        """Return the source in the form of the command line."""
        weight = "" if self.weight is None else f"@{self.weight!r}"
        options = "".join(f",{k.replace('_', '-')}={v}" for k, v in self.options().items())
        return f"{self.name}={self.kind}:{self.path}{weight}{options}"

    def plain(self) -> dict[str, Any]:
        """Return the source as a configuration file has it under its name."""
        known = {"kind": self.kind, "path": self.path or None, "weight": self.weight}
        known |= {k.replace("_", "-"): v for k, v in self.options().items()}
        return {name: value for name, value in known.items() if value is not None}

    def _check_options(self) -> None:
        for option in self.options():
            if option not in KINDS[self.kind]:
                takers = [kind for kind, takes in KINDS.items() if option in takes]
                raise self.error(
                    f"{option.replace('_', '-')} has no effect on {self.kind}",
                    f"leave it out; it goes with {', '.join(takers)}",
                )
        self._one_of("missing", ("error", "drop", "mean"))
        self._one_of("rows", ("auto", "features", "samples"))
        self._one_of("ids", ("symbol", "id"))
        self._one_of("edge_weights", ("rbf", "binary"))
        known = FROM_DISTANCES if self.kind in _MAHALANOBIS else SIMILARITIES
        self._one_of("similarity", tuple(s for s in known if s != "label"))
        try:
            check_reduction(self.components, self.variable_genes)
            if self.bandwidth is not None:
                parse_bandwidth(self.bandwidth)
        except UsageError as error:
            raise self.error(error.what.replace("--", ""), str(error.hint)) from None
        if self.neighbors is not None and self.neighbors < 1:
            raise self.error(f"neighbors={self.neighbors} is too small", "give 1 or more")
        if self.beta is not None and not 0 < self.beta < float("inf"):
            raise self.error(f"beta={self.beta:g} is not a positive number", "give one, such as 1")
        self._check_graph()

    def _check_graph(self) -> None:
        takes = ("bandwidth",) if self.similarity is None else GRAPH_OPTIONS[self.similarity]
        for option in ALL_GRAPH_OPTIONS:
            if getattr(self, option) is not None and option not in takes:
                kinds = [k for k in SIMILARITIES if option in GRAPH_OPTIONS[k]]
                raise self.error(
                    f"{option.replace('_', '-')} has no effect on similarity="
                    f"{self.similarity or 'rbf'}",
                    f"it goes with similarity={', '.join(kinds)}",
                )
        if self.edge_weights == "binary" and self.bandwidth is not None:
            raise self.error(
                "bandwidth has no effect on edge-weights=binary",
                "leave one of them out: binary edges all weigh 1",
            )

    def _one_of(self, option: str, known: tuple[str, ...]) -> None:
        value = getattr(self, option)
        if value is not None and value not in known:
            raise self.error(
                f"{option.replace('_', '-')}={value!r} is not known", nearest(value, known)
            )


OPTIONS = tuple(f.name for f in fields(SourceSpec)[4:])
"""The options that some kind of source takes."""


def needs_labels(spec: SourceSpec) -> bool:
    """Tell whether a source is made from the labels of the run."""
    return spec.similarity in LABEL_GRAPHS or (spec.kind == "labels" and not spec.path)


def check_names(sources: Sequence[SourceSpec]) -> None:
    """Check that no two sources have one name.

    Raises
    ------
    UsageError
        Naming it.
    """
    names = [source.name for source in sources]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(
                f"two sources are named {name!r}", where="--source", hint="give each its own name"
            )
