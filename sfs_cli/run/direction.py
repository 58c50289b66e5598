"""The direction of features between two classes, for the sign of the metric of ``--format rnk``."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfs_cli.methods.classical import MeanDifference
from sfs_cli.run.load import Run
from sfs_cli.run.passes import wants_direction


def direction_of(run: Run) -> tuple[np.ndarray, str] | None:
    """Return 1 or -1 for every feature, shape (m,), and the difference that it is the sign of.

    It is 1 where the mean of the second class is not below that of the first, in the order of their
    names, by the values as they were scored. None where no sign is asked for, or there are not two
    classes.
    """
    labels = run.context.labels
    if labels is None or not wants_direction(run.config):
        return None
    used, codes = np.unique(labels.codes, return_inverse=True)
    if len(used) != 2 or used[0] < 0:
        return None
    first, second = (labels.classes[code] for code in used.tolist())
    run.passes.close()
    # neither shards nor checkpoints know of this pass: it comes when the scores are there
    engine = replace(run.context.engine, checkpoints=None)
    scorer = MeanDifference(codes)
    difference, _ = engine.columns(scorer.score_block, scorer.dtype, kind="score")
    run.log.note(
        f"rnk: the metric is positive for features that are higher in {second} than in {first}, "
        "negative for those that are lower (--no-signed: positive for all)"
    )
    return np.where(difference < 0, -1.0, 1.0), f"{second} - {first}"
