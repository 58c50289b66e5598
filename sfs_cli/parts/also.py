"""The work of ``--also``: the ranks of the features by other methods."""

from __future__ import annotations

from dataclasses import replace

from sfs_cli.options.parts import others
from sfs_cli.parts.members import solved_by
from sfs_cli.run.fused_rank import ranks_of
from sfs_cli.run.load import Run
from sfs_cli.run.scoring import RankResult, check_solution


def add_ranks(run: Run, found: RankResult) -> None:
    """Add a column for each method, and name the methods.

    Raises InputError where a method can score no feature.
    """
    columns = {}
    unkept = run.with_engine(parts=None)
    for config in others(run.config):
        other, solution, _ = solved_by(config, unkept, config.ranker)
        check_solution(other, solution)
        columns[f"rank_{config.ranker}"] = ranks_of(solution)[found.ranking.order]
    found.ranking = replace(found.ranking, extra=found.ranking.extra | columns)
    found.facts["method"]["also"] = [each.ranker for each in others(run.config)]
