"""scikit-learn's own checks of selectors with more methods; the suite has those of two."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from sfs_cli import sklearn as selectors

METHODS = ("spec", "mrsf", "rfs", "qalpha", "gdcov", "trace-ratio", "hsic", "sselect")
SELECTORS = [
    *(selectors.Selector(method=method) for method in METHODS),
    *(selectors.Selector(), selectors.MultiSourceSelector()),
]
CHECKS = [
    pytest.param(estimator, check, id=f"{selector}-{check.func.__name__}")
    for selector in SELECTORS
    for estimator, check in estimator_checks_generator(selector)
    if check.func.__name__ != "check_array_api_input"  # of arrays that selectors do not take
]


@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)
