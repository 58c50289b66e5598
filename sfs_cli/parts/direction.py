"""The sign of the metric of ``--format rnk``: the difference between the means of two classes."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from sfs_cli.compute.matrix import Arrays, BlockLike
from sfs_cli.methods.base import Problem
from sfs_cli.methods.class_means import ClassMeans
from sfs_cli.parts.classes import compared_classes
from sfs_cli.run.load import Run
from sfs_cli.run.scoring import RankResult

DIRECTION = "differences between the classes, for --format rnk"


def add_direction(run: Run, found: RankResult) -> None:
    """Give the ranking 1 or -1 for every feature, and say which difference it is the sign of.

    It is 1 where the mean of the second class is not below that of the first, in the order of
    their names, or where the column of the method that says the direction is not below its
    middle. Of three classes or more there is no sign.
    """
    means = ClassMeans.of(Problem(run.context))
    column, middle = run.method.signed_by or ("", 0)
    extra = found.scored.solution.extra
    if means is not None and len(means.classes) == 2:
        measured = found.scored.solution.class_means
        if measured is None:
            # shards do not share this pass: it comes when the scores are
            # there
            engine = replace(run.context.engine.at(DIRECTION), parts=None)
            measured = engine.columns(partial(_measured, means), run.matrix.lossless_dtype)["means"]
        change = run.method.sign(extra, measured[:, 2])
        first, second = compared_classes(run)
        what = f"for features that are higher in {second} than in {first}, negative for those "
        what += "that are lower"
        of = f"{second} - {first}"
    elif column in extra and means is None:
        change = run.method.sign(extra, None)
        what, of = f"where {column} is above {middle:g}, negative below", column
    else:
        return
    run.log.note(f"rnk: the metric is positive {what}")
    sign = np.where(change < 0, -1.0, 1.0)
    found.ranking = replace(found.ranking, direction=sign[found.ranking.order])
    found.facts["method"]["direction"] = of


def _measured(means: ClassMeans, block: BlockLike) -> Arrays:
    return {"means": means.measure(block.values)}
