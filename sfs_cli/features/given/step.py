"""The work of ``--given`` once the features have scores; methods start from ``context.given``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sfs_cli.features.step import Pairs, Step
from sfs_cli.methods.base import Solution, Status
from sfs_cli.ranking.table import Ranking
from sfs_cli.run.load import Run
from sfs_cli.run.rank import RankResult
from sfs_cli.run.scoring import check_scored


class GivenStep(Step):
    """Takes the scores of the given features away, and puts these features last."""

    def solved(self, run: Run, solution: Solution) -> Solution:
        """Return a solution in which the given features have no score, but a status.

        Of those that take no part the status says why. Raises InputError where no score is left.
        """
        given = np.array(run.context.given, np.int64)
        score, status = solution.score.copy(), solution.status.copy()
        score[given] = np.nan
        chosen = np.isin(status[given], (Status.OK, Status.NOT_SELECTED, Status.GIVEN))
        status[given[chosen]] = Status.GIVEN
        made = replace(solution, score=score, status=status)
        check_scored(run, made)
        if not chosen.all():
            others = [Status(code).text for code in status[given[~chosen]].tolist()]
            counts = ", ".join(f"{others.count(why):,} {why}" for why in dict.fromkeys(others))
            run.log.note(f"given features that take no part: {counts}")
        return made

    def order(self, run: Run, ranking: Ranking) -> tuple[Ranking, dict[str, Any]]:
        """Return a ranking that ends with the given features."""
        given = ranking.status.positions == Status.GIVEN
        return ranking.reordered(np.argsort(given, kind="stable")), {}

    def find(self, run: Run, found: RankResult) -> None:
        """Put the given features last, and count them."""
        found.ranking, _ = self.order(run, found.ranking)
        status = found.scored.solution.status
        found.facts["input"]["given"] = int(np.count_nonzero(status == Status.GIVEN))

    @staticmethod
    def input(found: int) -> Pairs:
        """Return how many are given."""
        return [("Given features", f"{found:,}, already chosen")]


STEP = GivenStep
