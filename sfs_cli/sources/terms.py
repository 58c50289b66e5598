"""``terms``: features that share terms are alike; carried over to the samples (Prop. 4)."""

from __future__ import annotations

from collections.abc import Sequence

from sfs_cli.errors import located
from sfs_cli.io.terms import Terms, read_terms
from sfs_cli.sources.base import Opening, Target, graph_of
from sfs_cli.sources.genes import report_found
from sfs_cli.sources.mahalanobis import term_distances
from sfs_cli.sources.matching import carry_terms
from sfs_cli.sources.sample_graph import Graph
from sfs_cli.sources.spec import SourceSpec


class SharedTerms:
    """Which feature has which terms.

    Parameters
    ----------
    spec : SourceSpec
        What is asked for.
    terms : Terms
        Genes, terms and the 0/1 matrix of both.
    """

    samples: Sequence[str] | None = None

    def __init__(self, spec: SourceSpec, terms: Terms) -> None:
        self.spec = spec
        self.terms = terms

    def similarity(self, target: Target, samples: Sequence[str]) -> Graph:
        """Return the rbf (or another similarity) of the Mahalanobis distances of the samples."""
        matched = target.index(self.spec).find(self.terms.genes)
        found = report_found(self.spec, matched, target)
        features, terms = carry_terms(self.terms.matrix, matched)
        prepared = target.values(self.spec).selecting(features)
        with located(f"source {self.spec.name} ({self.spec.path})"):
            d2 = term_distances(target.engine(prepared), terms, target.memory)
        graph = graph_of(self.spec, prepared, target, known=d2)
        graph.facts |= found | self.terms.facts | {"terms": len(self.terms.terms)}
        graph.facts |= {"distance": "Mahalanobis"}
        graph.facts |= {"features": len(features), "transform": self.spec.transform}
        return graph


def open_source(spec: SourceSpec, opening: Opening) -> SharedTerms:
    """Read the terms: a matrix, gene sets, or annotations."""
    return SharedTerms(spec, read_terms(spec.path, spec.evidence, spec.gene_ids))
