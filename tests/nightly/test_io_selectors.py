"""scikit-learn's own checks of each selector; the suite has those of two of them."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from sfs_cli import sklearn as selectors

CHECKS = [
    pytest.param(estimator, check, id=f"{name}-{check.func.__name__}")
    for name in selectors.__all__
    for estimator, check in estimator_checks_generator(getattr(selectors, name)())
    if check.func.__name__ != "check_array_api_input"  # of arrays that selectors do not take
]


@pytest.mark.parametrize(("estimator", "check"), CHECKS)
def test_checks_of_scikit_learn(estimator: Any, check: Any) -> None:
    check(estimator)
