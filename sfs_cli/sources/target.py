"""``target``: the matrix that is ranked, as a source of its own."""

from __future__ import annotations

from collections.abc import Sequence

from sfs_cli.sources.base import Opening, Target, graph_of
from sfs_cli.sources.sample_graph import Graph
from sfs_cli.sources.spec import SourceSpec


class WholeTarget:
    """All features of the matrix.

    Parameters
    ----------
    spec : SourceSpec
        What is asked for.
    """

    samples: Sequence[str] | None = None

    def __init__(self, spec: SourceSpec) -> None:
        self.spec = spec

    def similarity(self, target: Target, samples: Sequence[str]) -> Graph:
        """Return any similarity between the samples, by the matrix itself."""
        prepared = target.values(self.spec)
        graph = graph_of(self.spec, prepared, target)
        graph.facts |= {"features": prepared.n_features, "transform": self.spec.transform}
        return graph


def open_source(spec: SourceSpec, opening: Opening) -> WholeTarget:
    """Nothing to open: the matrix is."""
    return WholeTarget(spec)
