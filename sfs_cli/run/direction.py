"""The direction of features between two classes, for the sign of the metric of ``--format rnk``."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from sfs_cli.compute.matrix import BlockLike
from sfs_cli.methods.base import Problem, Solution
from sfs_cli.methods.class_means import ClassMeans
from sfs_cli.run.class_columns import compared_classes
from sfs_cli.run.load import Run
from sfs_cli.run.passes import DIRECTION, wants_direction


def direction_of(run: Run, solution: Solution) -> tuple[np.ndarray, str] | None:
    """Return 1 or -1 for every feature, shape (m,), and the difference that it is the sign of.

    It is 1 where the mean of the second class is not below that of the first, in the order of their
    names, by the values as they were scored. None where no sign is asked for, or there are not two
    classes. Of rankings within batches the differences of all samples are found by another pass.
    """
    means = ClassMeans.of(Problem(run.context))
    if means is None or len(means.classes) != 2 or not wants_direction(run.config):
        return None
    found = solution.class_means
    if found is None:
        # neither shards nor checkpoints know of this pass: it comes when the scores are there
        engine = replace(run.context.engine.at(DIRECTION), checkpoints=None)
        dtype = run.matrix.lossless_dtype
        (found,) = engine.columns(partial(_measured, means), dtype)
    first, second = compared_classes(run)
    run.log.note(
        f"rnk: the metric is positive for features that are higher in {second} than in {first}, "
        "negative for those that are lower (--no-signed: positive for all)"
    )
    return np.where(found[:, 2] < 0, -1.0, 1.0), f"{second} - {first}"


def _measured(means: ClassMeans, block: BlockLike) -> tuple[np.ndarray]:
    return (means.measure(block.values),)
