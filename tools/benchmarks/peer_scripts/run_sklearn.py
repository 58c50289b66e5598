"""Functions of scikit-learn, timed in its own environment."""

import numpy as np
from common import main
from sklearn.feature_selection import f_classif
from sklearn.linear_model import MultiTaskLasso


def f_test(given, options):
    """The F statistic of every feature."""
    return lambda: f_classif(given["X"], given["y"]), lambda found: {"score": found[0]}


def lasso(given, options):
    """The multi-task lasso at one penalty."""
    X = np.asfortranarray(given["X"])
    model = MultiTaskLasso(
        alpha=options["alpha"], fit_intercept=False, tol=options["tol"], max_iter=100_000
    )
    return lambda: model.fit(X, given["y"]), lambda fitted: {"coefficients": fitted.coef_.T}


if __name__ == "__main__":
    main("scikit-learn", {"f_classif": f_test, "lasso": lasso})
