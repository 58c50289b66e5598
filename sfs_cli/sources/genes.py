"""``genes``: the features that a list, gene sets or annotations name (Eq. 5.5)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfs_cli.sources.base import Opening, Target, graph_of
from sfs_cli.sources.gene_files import read_genes
from sfs_cli.sources.matching import check_found
from sfs_cli.sources.sample_graph import Graph
from sfs_cli.sources.spec import SourceSpec


class Genes:
    """Some genes, whose features of the matrix are kept.

    Parameters
    ----------
    spec : SourceSpec
        What is asked for.
    genes : list of str
        Their ids.
    facts : dict
        What was read.
    """

    samples: Sequence[str] | None = None

    def __init__(
        self, spec: SourceSpec, genes: list[str], facts: dict[str, object] | None = None
    ) -> None:
        self.spec = spec
        self.genes = genes
        self.facts = facts or {}

    def similarity(self, target: Target, samples: Sequence[str]) -> Graph:
        """Return any similarity between the samples, by these features alone."""
        matched = target.index(self.spec).find(self.genes)
        found = report_found(self.spec, matched, target)
        features = np.unique(matched.feature)
        prepared = target.values(self.spec).selecting(features)
        graph = graph_of(self.spec, prepared, target)
        graph.facts |= found | self.facts
        graph.facts |= {"features": len(features), "transform": self.spec.transform}
        return graph


def report_found(spec: SourceSpec, matched: object, target: Target) -> dict[str, object]:
    """Check how many genes of a source were found, say so, and return it as facts."""
    from sfs_cli.sources.matching import Matched

    assert isinstance(matched, Matched)
    warning = check_found(matched, spec.name, spec.path, target.allow_unmatched)
    if warning is not None:
        target.messages.warn(warning)
    facts: dict[str, object] = {"genes": matched.n_ids, "genes_found": matched.found}
    if matched.mapped:
        facts["genes_found_through_map"] = matched.mapped
    return facts


def open_source(spec: SourceSpec, opening: Opening) -> Genes:
    """Read the genes."""
    return Genes(spec, *read_genes(spec.path, spec))
