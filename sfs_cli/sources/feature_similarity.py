"""``feature-similarity``: which features are alike, carried over to the samples (Prop. 4)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfs_cli.errors import located
from sfs_cli.io.feature_similarity import read_feature_similarity
from sfs_cli.sources.base import Opening, Target, graph_of
from sfs_cli.sources.genes import report_found
from sfs_cli.sources.mahalanobis import similarity_distances
from sfs_cli.sources.matching import carry_similarity
from sfs_cli.sources.sample_graph import Graph
from sfs_cli.sources.spec import SourceSpec

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class AlikeFeatures:
    """A sparse similarity between features.

    Parameters
    ----------
    spec : SourceSpec
        What is asked for.
    genes : list of str, length l
        Ids of its rows.
    similarity : csr_array, shape (l, l)
        Symmetric, not negative.
    facts : dict
        What was read.
    """

    samples: Sequence[str] | None = None

    def __init__(
        self, spec: SourceSpec, genes: list[str], similarity: csr_array, facts: dict[str, Any]
    ) -> None:
        self.spec = spec
        self.genes = genes
        self.features = similarity
        self.facts = facts

    def similarity(self, target: Target, samples: Sequence[str]) -> Graph:
        """Return the rbf (or another similarity) of the Mahalanobis distances of the samples."""
        matched = target.index(self.spec).find(self.genes)
        found = report_found(self.spec, matched, target)
        m = target.prepared.n_features
        features, similarity = carry_similarity(self.features, matched, m)
        prepared = target.values(self.spec).selecting(features)
        with located(f"source {self.spec.name} ({self.spec.path})"):
            d2 = similarity_distances(target.engine(prepared), similarity, target.memory)
        graph = graph_of(self.spec, prepared, target, known=d2)
        graph.facts |= found | self.facts | {"distance": "Mahalanobis"}
        graph.facts |= {"features": len(features), "transform": self.spec.transform}
        return graph


def open_source(spec: SourceSpec, opening: Opening) -> AlikeFeatures:
    """Read the similarity between features: an edge list, or a matrix."""
    return AlikeFeatures(spec, *read_feature_similarity(Path(spec.path), spec.min_score))
