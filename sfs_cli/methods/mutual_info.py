"""The mutual information of a feature and the classes (information gain).

B. C. Ross, "Mutual information between discrete and continuous data sets", PLoS ONE 9, 2014, as
scikit-learn implements it: from the distances to the 3 nearest samples of the class, without
bins.
"""

from __future__ import annotations

import numpy as np

from sfs_cli.methods.base import BlockLike, Problem, Scorer, Status
from sfs_cli.methods.blocks import center
from sfs_cli.methods.shared import class_counts, require_sklearn


class MutualInfoScorer(Scorer):
    """Mutual information of a feature and the classes, in nats; larger is better.

    scikit-learn adds a little noise against ties. Every feature gets the same noise, so that its
    score depends neither on other features nor on the block size.

    Raises
    ------
    InputError
        If a label is missing, there are fewer than two classes, or one has a single sample.
    MissingExtraError
        If scikit-learn is not installed.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        assert problem.codes is not None
        require_sklearn("the mutual information")
        class_counts(problem.codes, "the mutual information", each=2)
        self.codes = problem.codes
        self.seed = problem.context.seed
        self.facts |= {"neighbors": 3, "seed": self.seed}

    def score_block(self, block: BlockLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores and statuses of a block; overwrites it."""
        from sklearn.feature_selection import mutual_info_classif

        centered = center(block)
        status = centered.status(centered.square)
        score = np.full(len(status), np.nan)
        for row in np.flatnonzero(status == Status.OK):
            # one at a time: for a whole block the noise of a feature would depend on its neighbors
            feature = centered.values[row][:, None]
            score[row] = mutual_info_classif(
                feature, self.codes, discrete_features=False, random_state=self.seed
            )[0]
        return score, status
