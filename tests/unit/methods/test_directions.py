"""Every method here puts a feature that matters before noise, and constant features last."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sfs_cli.graph.distances import median_bandwidth, rbf, squared_distances
from sfs_cli.methods import arom_svm, classical, mrmr, mutual_info, relieff, seper, sselect
from tests.making import make_problem
from tests.unit.methods.helpers import score_all

METHODS: dict[str, tuple[Any, dict[str, Any]]] = {
    "relieff": (relieff, {"relieff_neighbors": 5}),
    "sselect": (sselect, {"lambda_": 0.5, "variant": "fixed", "select": 10}),
    "sselect, mix chosen": (sselect, {"lambda_": 0.5, "variant": "cut-value", "select": 10}),
    "f-test": (classical.FTestScorer, {}),
    "t-test": (classical.TTestScorer, {}),
    "mutual-info": (mutual_info.MutualInfoScorer, {}),
    "mrmr, difference": (mrmr, {"select": 10, "variant": "difference"}),
    "mrmr, quotient": (mrmr, {"select": 10, "variant": "quotient"}),
    "seper": (seper.SeperScorer, {}),
    "arom-svm": (arom_svm, {"select": 10}),
}


def ranked(module: Any, X: np.ndarray, codes: np.ndarray, options: dict) -> np.ndarray:
    """Features from best to worst, those without a score left out."""
    Z = X - X.mean(axis=0)
    d2 = squared_distances(Z @ Z.T)
    S = rbf(d2, median_bandwidth(d2))
    context = make_problem(X, codes=codes, S=S, **options)
    if hasattr(module, "solve"):
        solution = module.solve(context)
        if solution.order is not None:
            return solution.order
        score, larger = solution.score, solution.larger_is_better
    else:
        prepare = getattr(module, "prepare", module)
        scorer = prepare(context)
        score, larger = score_all(scorer, context)[0], scorer.larger_is_better
    order = np.argsort(-score if larger else score, kind="stable")
    return order[~np.isnan(score[order])]


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("seed", range(1))
def test_an_informative_feature_is_first_and_constant_ones_are_nowhere(
    name: str, seed: int
) -> None:
    module, options = METHODS[name]
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat([0, 1], 30))
    X = rng.uniform(-1, 1, (60, 40))
    X[:, 0], X[:, 1] = 0.0, 1e6
    X[:, 17] = 10.0 * codes + rng.normal(size=60)
    order = ranked(module, X, codes, options)
    assert order[0] == 17
    assert not {0, 1} & set(order.tolist())
