"""``hierarchy``: samples are the more alike the deeper their lowest common ancestor is."""

from __future__ import annotations

from collections.abc import Sequence

from sfs_cli.graph.similarity import DenseSimilarity
from sfs_cli.io.hierarchy import Hierarchy, read_hierarchy
from sfs_cli.sources.base import Opening, Target
from sfs_cli.sources.hierarchy_similarity import hierarchy_similarity
from sfs_cli.sources.sample_graph import Graph
from sfs_cli.sources.spec import SourceSpec


class Tree:
    """A path from the root for each sample.

    Parameters
    ----------
    spec : SourceSpec
        What is asked for.
    hierarchy : Hierarchy
        The paths and the depth of the tree.
    """

    def __init__(self, spec: SourceSpec, hierarchy: Hierarchy) -> None:
        self.spec = spec
        self.hierarchy = hierarchy
        self.samples: Sequence[str] | None = list(hierarchy.paths)

    def similarity(self, target: Target, samples: Sequence[str]) -> Graph:
        """Return the depth of the lowest common ancestor over the depth of the tree."""
        paths = [self.hierarchy.paths[sample] for sample in samples]
        S = hierarchy_similarity(paths, self.hierarchy.depth)
        facts = {"similarity": "lowest common ancestor", "depth": self.hierarchy.depth}
        return Graph(DenseSimilarity(S), facts)


def open_source(spec: SourceSpec, opening: Opening) -> Tree:
    """Read the paths, or the tree."""
    return Tree(spec, read_hierarchy(spec.path))
