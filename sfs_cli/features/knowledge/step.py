"""Rankings on knowledge sources: on all of them together, or on each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sfs_cli.compute.passes import Pass
from sfs_cli.features.knowledge.page import changes, combination, tables, without_effect
from sfs_cli.features.step import Pairs, Step, as_pairs
from sfs_cli.graph.build import graph_passes
from sfs_cli.knowledge.base import BY_FEATURES, of_source
from sfs_cli.options import RankConfig
from sfs_cli.options.graph import default_similarity
from sfs_cli.options.source import KINDS, SourceSpec
from sfs_cli.provenance import RunFacts
from sfs_cli.report.model import Table
from sfs_cli.run.fused_rank import on_source, rank_on_each_source, rank_on_sources
from sfs_cli.run.load import Run
from sfs_cli.run.passes import WITHOUT_EACH, Shape, fitting, passes_of, passes_of_method
from sfs_cli.run.scoring import Scored
from sfs_cli.store.prepared import fitting_passes
from sfs_cli.store.transforms import parse


class KnowledgeStep(Step):
    """Ranks on the sources together, or on each of them (`kogs`)."""

    heading = "Combination"

    def scoring_passes(self, shape: Shape) -> list[Pass]:
        """Return the passes of the sources, and those of the rankings on them."""
        config = self.config
        passes = fitting(config, shape)
        for spec in config.source:
            passes += passes_of(_source_passes(spec, config, shape), of_source(spec))
        ranking = passes_of_method(config, shape)
        if config.method == "kogs":
            for spec in config.source:
                passes += passes_of(ranking, on_source(spec.name))
            return passes
        passes += ranking
        count = len(config.source)
        if config.leave_one_out and count > 1:
            # not exact: nothing is ranked where the other sources make no graph
            again = [replace(each, times=count * each.times, exact=False) for each in ranking]
            passes += passes_of(again, WITHOUT_EACH)
            alone = [replace(each, exact=False) for each in ranking]
            for spec in config.source if count > 2 else ():  # of two, each is the other left out
                passes += passes_of(alone, on_source(spec.name))
        return passes

    def score(self, run: Run) -> Scored:
        """Return the ranking on the fused sources, or the aggregate of the rankings on each."""
        return rank_on_each_source(run) if run.config.method == "kogs" else rank_on_sources(run)

    @staticmethod
    def section(facts: dict[str, Any]) -> Pairs:
        """Return how the sources, or the rankings, were combined."""
        return as_pairs(combination(facts))

    @staticmethod
    def sentences(facts: RunFacts) -> list[str]:
        """Say how much of the top each source changes, and which add nothing."""
        known = facts["knowledge"]
        return [*filter(None, [changes(known)]), *without_effect(known)]

    @staticmethod
    def tables(facts: dict[str, Any]) -> list[Table]:
        """Return the tables of the sources, or of the members of an aggregate."""
        return tables(facts)


STEP = KnowledgeStep


def _source_passes(spec: SourceSpec, config: RankConfig, shape: Shape) -> list[Pass]:
    """Return the passes over the matrix that one knowledge source takes."""
    n, m = shape.n, shape.m
    if not KINDS[spec.kind].of_matrix:
        return []  # read from its own file, or a matrix of its own
    passes: list[Pass] = []
    if spec.transform is not None or spec.missing is not None:
        transform = config.transform if spec.transform is None else spec.transform
        passes += fitting_passes(parse(transform), n, m, shape.memory)
    if KINDS[spec.kind].by_products:
        return [*passes, BY_FEATURES]
    options = spec.graph_options(spec.similarity or default_similarity(n))
    of_graph = graph_passes(options, n, m, shape.stored)
    if spec.kind == "target":
        return passes + of_graph
    # of some features, which are known when the source is matched
    varying = options.components is not None
    return passes + [
        replace(each, sharing="every", exact=each.exact and not varying) for each in of_graph
    ]
