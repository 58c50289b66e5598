"""The work of ``--given`` once the features have scores; methods start from ``context.given``."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfs_cli.methods.base import Solution, Status
from sfs_cli.ranking.table import Ranking
from sfs_cli.report.model import Section
from sfs_cli.run.load import Run
from sfs_cli.run.scoring import check_scored


def without_scores(run: Run, solution: Solution) -> Solution:
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


def put_last(ranking: Ranking) -> Ranking:
    """Return a ranking that ends with the given features."""
    given = ranking.status.positions == Status.GIVEN
    return ranking.reordered(np.argsort(given, kind="stable"))


def section(count: int) -> Section:
    """Return what the page says of so many given features."""
    return Section(input=[("Given features", f"{count:,}, already chosen")])
