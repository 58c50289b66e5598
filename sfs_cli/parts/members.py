"""The work of ``members=``: the ranking of each method, and their aggregate."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sfs_cli.methods.base import Solution
from sfs_cli.options import RankConfig
from sfs_cli.options.parts import member_names
from sfs_cli.run.compared import for_cohort
from sfs_cli.run.fused_rank import aggregate_rankings
from sfs_cli.run.load import Run
from sfs_cli.run.scoring import Scored, make_graph, solve


def rank_members(run: Run) -> Scored:
    """Rank by each method, and aggregate the rankings."""
    named = zip(member_names(run.config.members), run.config.each_ranking())
    # as where the member ranks alone
    made = ((name, for_cohort(config, run.cohort)) for name, config in named)
    return aggregate_rankings(
        run, "members", ((name, *solved_by(config, run, name)) for name, config in made)
    )


def solved_by(config: RankConfig, run: Run, name: str) -> tuple[Run, Solution, dict[str, Any]]:
    """Rank by another method; return its run, what it finds, and the facts of its graph."""
    run = replace(run, config=config).of(f" for {name}")  # whose passes they are
    graph = make_graph(run)
    if graph is None:
        return run, solve(run, None), {}
    return run, solve(run, graph.similarity), graph.facts
