"""The mutual information of a feature and the classes, or an outcome (information gain).

B. C. Ross, "Mutual information between discrete and continuous data sets", PLoS ONE 9, 2014, as
scikit-learn implements it: from the distances to the 3 nearest samples of the class, without
bins. Of an outcome: A. Kraskov, H. Stoegbauer and P. Grassberger, "Estimating mutual information",
Phys. Rev. E 69, 2004.
"""

from __future__ import annotations

import numpy as np

from sfs_cli.methods.base import BlockLike, Problem, Scorer, Status
from sfs_cli.methods.blocks import center
from sfs_cli.methods.shared import class_counts, require_sklearn, unit_outcome


class MutualInfoScorer(Scorer):
    """Mutual information of a feature and the classes, or an outcome, in nats; larger is better.

    scikit-learn adds a little noise against ties. Every feature gets the same noise, so that its
    score depends neither on other features nor on the block size.

    Raises
    ------
    InputError
        If a label is missing, there are fewer than two classes, or one has a single sample; if all
        outcomes are the same, or there are fewer than four.
    MissingExtraError
        If scikit-learn is not installed.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__()
        assert problem.codes is not None
        require_sklearn("the mutual information")
        self.outcome = problem.outcome
        if self.outcome is None:
            class_counts(problem.codes, "the mutual information", each=2)
        else:
            self.outcome = unit_outcome(self.outcome, "the mutual information", 4)
        self.codes = problem.codes
        self.seed = problem.context.seed
        self.facts |= {"neighbors": 3, "seed": self.seed}

    def score_block(self, block: BlockLike) -> tuple[np.ndarray, np.ndarray]:
        """Return the scores and statuses of a block; overwrites it."""
        from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

        centered = center(block)
        status = centered.status(centered.square)
        score = np.full(len(status), np.nan)
        for row in np.flatnonzero(status == Status.OK):
            # one at a time: for a whole block the noise of a feature would depend on its neighbors
            feature = centered.values[row][:, None]
            estimate, labels = mutual_info_classif, self.codes
            if self.outcome is not None:
                estimate, labels = mutual_info_regression, self.outcome
            score[row] = estimate(feature, labels, discrete_features=False, random_state=self.seed)[
                0
            ]
        return score, status
