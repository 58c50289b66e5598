"""The information that a feature gives about the classes (information gain).

B. C. Ross, "Mutual information between discrete and continuous data sets", PLoS ONE 9, 2014, as
scikit-learn implements it: from the distances to the 3 nearest samples of the class, with no
binning.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfs_cli.methods.base import BlockLike, Context, Scorer, Status
from sfs_cli.methods.centering import center
from sfs_cli.methods.classes import class_counts
from sfs_cli.methods.extras import require_sklearn


class MutualInfoScorer:
    """Mutual information of a feature and the classes, in nats; larger is better.

    scikit-learn adds a little noise against ties. Every feature gets the same, so that a score
    depends neither on the other features nor on how the matrix is cut.
    """

    dtype = np.dtype(np.float64)
    larger_is_better = True

    def __init__(self, context: Context) -> None:
        assert context.codes is not None
        require_sklearn("the mutual information")
        class_counts(context.codes, "the mutual information", each=2)
        self.codes = context.codes
        self.seed = context.seed
        self.facts: dict[str, Any] = {"neighbors": 3, "seed": context.seed}
        self.warnings: list[str] = []

    def score_block(self, block: BlockLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores and statuses of a block; overwrites it."""
        from sklearn.feature_selection import mutual_info_classif

        n = len(self.codes)
        centred = center(block, np.ones(n))
        status = centred.status(np.vecdot(centred.values, centred.values), float(n))
        score = np.full(len(status), np.nan)
        for row in np.flatnonzero(status == Status.OK):
            feature = centred.values[row][:, None]
            score[row] = mutual_info_classif(
                feature, self.codes, discrete_features=False, random_state=self.seed
            )[0]
        return score, status


def prepare(context: Context) -> Scorer:
    """Return the scorer of the mutual information.

    Raises
    ------
    InputError
        When a label is missing, there are fewer than two classes, or one has a single sample.
    MissingExtraError
        When scikit-learn is not installed.
    """
    return MutualInfoScorer(context)
