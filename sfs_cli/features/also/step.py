"""The work of ``--also``: the ranks of the features by other methods."""

from __future__ import annotations

from dataclasses import replace

from sfs_cli.compute.passes import Pass
from sfs_cli.features.also import others
from sfs_cli.features.members.step import solved_by, whose
from sfs_cli.features.step import Step
from sfs_cli.run.fused_rank import ranks_of
from sfs_cli.run.load import Run
from sfs_cli.run.passes import Shape, passes_of, ranking_passes
from sfs_cli.run.rank import RankResult
from sfs_cli.run.scoring import check_solution


class AlsoStep(Step):
    """Ranks by other methods, and adds their ranks to the ranking."""

    feature_bytes = 136  # as much as a solver knows of a feature

    def passes(self, shape: Shape) -> list[Pass]:
        """Return the passes of the other rankings, which the merge of shards makes."""
        return [
            replace(each, sharing="merge")
            for other in others(self.config)
            for each in passes_of(ranking_passes(other, shape), whose(other))
        ]

    def find(self, run: Run, found: RankResult) -> None:
        """Add a column for each method, and name the methods.

        Raises InputError where a method can score no feature.
        """
        columns = {}
        unkept = run.with_engine(checkpoints=None)
        for config in others(run.config):
            other, solution, _ = solved_by(config, unkept)
            check_solution(other, solution)
            columns[f"rank_{config.ranker}"] = ranks_of(solution)[found.ranking.order]
        found.ranking = replace(found.ranking, extra=found.ranking.extra | columns)
        found.facts["method"]["also"] = [each.ranker for each in others(run.config)]


STEP = AlsoStep
