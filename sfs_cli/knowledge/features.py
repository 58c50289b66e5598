"""Sources about the features: which are similar (``feature-similarity``), which share ``terms``.

They are carried over to the samples through the Mahalanobis distance (Prop. 4,
`sfs_cli.knowledge.mahalanobis`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.compute.engine import Engine
from sfs_cli.errors import located
from sfs_cli.graph.build import Graph
from sfs_cli.io.knowledge.gene_sets import read_terms
from sfs_cli.io.knowledge.similarity import read_feature_similarity
from sfs_cli.knowledge.base import SourceContext, SourceInputs
from sfs_cli.knowledge.mahalanobis import similarity_distances, term_distances
from sfs_cli.knowledge.matching import carry_similarity, carry_terms
from sfs_cli.options.source import SourceSpec

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class FeatureSimilarity:
    """``feature-similarity``: a sparse similarity between features, edges or a matrix."""

    samples: Sequence[str] | None = None

    def __init__(self, spec: SourceSpec, _inputs: SourceInputs) -> None:
        self.spec = spec
        self.genes, self.matrix, self.facts = read_feature_similarity(
            Path(spec.path), spec.min_score
        )

    def similarity(self, context: SourceContext, samples: Sequence[str]) -> Graph:
        """Return the rbf (or another similarity) of the Mahalanobis distances of the samples."""
        context.check_min_score(self.spec, self.facts)
        matched, found = context.find(self.spec, self.genes, self.facts.get("taxon"))
        carried = carry_similarity(self.matrix, matched, context.matrix.n_features)
        return _graph(context, self.spec, carried, similarity_distances, found | self.facts)


class SharedTerms:
    """``terms``: features that share terms are similar; a matrix, gene sets, or annotations."""

    samples: Sequence[str] | None = None

    def __init__(self, spec: SourceSpec, _inputs: SourceInputs) -> None:
        self.spec = spec
        self.terms = read_terms(spec.path, spec.evidence, spec.gene_ids)

    def similarity(self, context: SourceContext, samples: Sequence[str]) -> Graph:
        """Return the rbf (or another similarity) of the Mahalanobis distances of the samples."""
        matched, found = context.find(self.spec, self.terms.genes)
        facts = found | self.terms.facts | {"terms": len(self.terms.terms)}
        carried = carry_terms(self.terms.matrix, matched)
        return _graph(context, self.spec, carried, term_distances, facts)


def _graph(
    context: SourceContext,
    spec: SourceSpec,
    carried: tuple[np.ndarray, csr_array],
    distances: Callable[[Engine, csr_array, int], np.ndarray],
    facts: Mapping[str, Any],
) -> Graph:
    """Return the graph of the distances that `carried` (features, what is known of them) makes."""
    features, knowledge = carried
    # all other features play no part in the distance, and are not even read
    prepared = context.values(spec).selecting(features)
    with located(f"source {spec.name} ({spec.path})"):
        d2 = distances(context.engine(spec, prepared), knowledge, context.run.memory)
    return context.graph(spec, prepared, {**facts, "distance": "Mahalanobis"}, d2)
