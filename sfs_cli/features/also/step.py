"""The work of ``--also``: the ranks of the features by other methods."""

from __future__ import annotations

from dataclasses import replace

from sfs_cli.features.also import others
from sfs_cli.features.members.step import solved_by
from sfs_cli.features.step import Step
from sfs_cli.run.fused_rank import ranks_of
from sfs_cli.run.load import Run
from sfs_cli.run.rank import RankResult
from sfs_cli.run.scoring import check_solution


class AlsoStep(Step):
    """Ranks by other methods, and adds their ranks to the ranking."""

    feature_bytes = 136  # as much as a solver knows of a feature

    def find(self, run: Run, found: RankResult) -> None:
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


STEP = AlsoStep
