"""Sources about the features: some that are named (Eq. 5.5), or what is known of all of them.

Lists, sets, annotations and interactions name features, by which the samples are compared. What
says that features are similar (``feature-similarity``), or share ``terms``, is carried over to the
samples through the Mahalanobis distance (Prop. 4, `sfs_cli.knowledge.mahalanobis`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sfs_cli.compute.engine import Engine
from sfs_cli.errors import InputError, counted, listed, located
from sfs_cli.graph.kinds import Graph
from sfs_cli.io.files.likeness import likely_change
from sfs_cli.io.knowledge.edges import EdgeList, read_edges
from sfs_cli.io.knowledge.gene_sets import (
    read_annotations,
    read_gene_list,
    read_terms,
)
from sfs_cli.io.knowledge.similarity import read_feature_similarity
from sfs_cli.knowledge.base import Source, SourceContext, SourceInputs
from sfs_cli.knowledge.mahalanobis import similarity_distances, term_distances
from sfs_cli.knowledge.matching import carry_similarity, carry_terms, tell_unknown
from sfs_cli.options.source import SourceSpec

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class Genes(Source):
    """``genes`` and ``interactions``: the samples are compared by these features alone."""

    def __init__(
        self,
        spec: SourceSpec,
        genes: list[str],
        facts: dict[str, Any],
        sets: dict[str, list[str]] | None = None,
        edges: EdgeList | None = None,
        seeds: Sequence[str] = (),
    ) -> None:
        super().__init__(spec)
        self.genes = genes
        self.facts = facts
        self.sets = sets or {}
        self.interacting = edges.ids if edges is not None else ()
        self.seeds = seeds  # whose partners are wanted

    def similarity(self, context: SourceContext, samples: Sequence[str]) -> Graph:
        """Return any similarity between the samples, by these features alone."""
        context.check_min_score(self.spec, self.facts)
        what = f"seeds of source {self.spec.name}"
        place = "among the genes that interact"
        tell_unknown(context.run.log, what, "seed", self.seeds, self.interacting, place)
        matched, found = context.find(self.spec, self.genes, self.facts.get("taxon"))
        prepared = context.values(self.spec).selecting(np.unique(matched.feature))
        return context.graph(self.spec, prepared, found | self.facts)


def open_genes(spec: SourceSpec, inputs: SourceInputs) -> Genes:
    """Read the genes of a list, of gene sets or of annotations."""
    genes, facts, sets = read_genes(spec.path, spec, inputs)
    return Genes(spec, genes, facts, sets)


def open_interactions(spec: SourceSpec, inputs: SourceInputs) -> Genes:
    """Read interactions, and the seeds whose partners are wanted.

    Raises
    ------
    InputError
        When a file cannot be read, or no seed interacts.
    """
    edges = read_edges(Path(spec.path), spec.min_score)
    seeds = None if spec.seeds is None else read_genes(spec.seeds, spec, inputs)[0]
    if seeds is not None and "taxon" in edges.facts:
        seeds = [seed.removeprefix(f"{edges.facts['taxon']}.") for seed in seeds]
    genes = interacting(edges, seeds)
    if not genes:
        change = likely_change(seeds or [], edges.ids)
        raise InputError(
            f"none of the {counted(len(seeds or []), 'seed')} interacts",
            where=f"source {spec.name} ({spec.seeds}): {listed(seeds or [], 3)}; genes that "
            f"interact are {listed(list(edges.ids), 3)}",
            hint=(f"{change}; " if change else "")
            + "give seeds by the ids of the interactions, or lower min-score",
        )
    facts = {"interactions": len(edges.a), **edges.facts}
    if seeds is None:
        return Genes(spec, genes, facts)
    facts |= {"seeds": len(seeds), "seeds_found": len(set(seeds).intersection(edges.ids))}
    return Genes(spec, genes, facts, edges=edges, seeds=seeds)


def interacting(edges: EdgeList, seeds: list[str] | None) -> list[str]:
    """Return the genes that interact: all, or the seeds that do and their direct partners.

    Each is there once.
    """
    if seeds is None:
        return list(edges.ids)
    wanted = np.isin(np.array(edges.ids, dtype=object), list(set(seeds)))
    touched = wanted[edges.a] | wanted[edges.b]
    chosen = np.zeros(len(edges.ids), bool)
    chosen[edges.a[touched]] = True
    chosen[edges.b[touched]] = True
    return [edges.ids[i] for i in np.flatnonzero(chosen)]


def read_genes(
    given: str, spec: SourceSpec, inputs: SourceInputs
) -> tuple[list[str], dict[str, Any], dict[str, list[str]]]:
    """Read the genes of a list, of gene sets (GMT or GMX), or of the annotations of a GAF.

    It is given as ``FILE``, ``FILE.gmt:SET1,SET2`` or ``FILE.gaf:TERM1,TERM2``; the source chooses
    evidence codes and ids of a GAF. Genes are there once, in the order of the file, with facts of
    what was read and the sets, where there are some. Raises UsageError when an option of GAF files
    is given for another file.
    """
    found = read_annotations(given, spec.evidence, spec.gene_ids, inputs.study)
    if found is None:
        return read_gene_list(Path(given)), {}, {}
    return found.ids, found.facts | {"sets": len(found.genes)}, found.genes


class FeatureSimilarity(Source):
    """``feature-similarity``: a sparse similarity between features, edges or a matrix."""

    def __init__(self, spec: SourceSpec, _inputs: SourceInputs) -> None:
        super().__init__(spec)
        self.genes, self.matrix, self.facts = read_feature_similarity(
            Path(spec.path), spec.min_score
        )

    def similarity(self, context: SourceContext, samples: Sequence[str]) -> Graph:
        """Return the rbf (or another similarity) of the Mahalanobis distances of the samples."""
        context.check_min_score(self.spec, self.facts)
        matched, found = context.find(self.spec, self.genes, self.facts.get("taxon"))
        carried = carry_similarity(self.matrix, matched, context.matrix.n_features)
        return _graph(context, self.spec, carried, similarity_distances, found | self.facts)


class SharedTerms(Source):
    """``terms``: features that share terms are similar; a matrix, gene sets, or annotations."""

    def __init__(self, spec: SourceSpec, inputs: SourceInputs) -> None:
        super().__init__(spec)
        self.terms = read_terms(spec.path, spec.evidence, spec.gene_ids, inputs.study)
        self.sets = self.terms.genes

    def similarity(self, context: SourceContext, samples: Sequence[str]) -> Graph:
        """Return the rbf (or another similarity) of the Mahalanobis distances of the samples."""
        matched, found = context.find(self.spec, self.terms.ids)
        facts = found | self.terms.facts | {"terms": len(self.sets)}
        carried = carry_terms(self.sets, matched)
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
