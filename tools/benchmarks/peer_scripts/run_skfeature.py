"""Functions of skfeature-chappers, timed in its own environment."""

import numpy as np
from common import main
from scipy.sparse import csr_matrix
from skfeature.function.similarity_based.fisher_score import fisher_score
from skfeature.function.similarity_based.lap_score import lap_score
from skfeature.function.similarity_based.SPEC import spec
from skfeature.function.sparse_learning_based.RFS import rfs


def laplacian(given, options):
    """Order by the Laplacian Score; the function hands out no scores."""
    W = csr_matrix(given["S"])
    return lambda: lap_score(given["X"], mode="index", W=W), lambda order: {"order": order}


def spectral(given, options):
    """Scores of SPEC, and the order that it makes of them."""
    words = {"W": given["S"], "style": options["style"]}

    def results(score):
        return {"score": score, "order": spec(given["X"], mode="index", **words)}

    return lambda: spec(given["X"], mode="raw", **words), results


def fisher(given, options):
    """Order by the Fisher Score; the function hands out no scores."""
    return lambda: fisher_score(given["X"], given["y"], mode="index"), lambda o: {"order": o}


def robust(given, options):
    """Row norms of the coefficients of RFS; the last feature is the intercept."""
    gamma = options["gamma"]
    return (
        lambda: rfs(given["X"], given["y"], mode="raw", gamma=gamma),
        lambda W: {"score": np.linalg.norm(W[:-1], axis=1)},
    )


if __name__ == "__main__":
    main(
        "skfeature-chappers",
        {"lap_score": laplacian, "spec": spectral, "fisher_score": fisher, "rfs": robust},
    )
