"""Rates of counts that have nothing but depth, and real cells."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.contract.run.test_depth import HOLD, M, N
from tests.unit.methods.nulls import of_depth
from tools.benchmarks.depth import KINDS, TESTS, TRANSFORMS, cell, ranked


@pytest.mark.parametrize("case", list(itertools.product(KINDS, TRANSFORMS, TESTS)), ids="-".join)
def test_rates_of_counts_that_have_nothing_but_depth(case: tuple[str, str, str]) -> None:
    kind, transform, test = case
    draws = [of_depth(kind, N, M, 0.5, seed) for seed in range(4)]
    found = [ranked(X, test, transform, seed) for seed, X in enumerate(draws)]
    rate = float((np.concatenate([p for p, _ in found]) <= 0.05).mean())
    told = sum(told for _, told in found)
    if transform in HOLD:
        assert told == 0
        assert rate < 0.075, cell(found)
    else:
        assert rate > 0.06, cell(found)
        assert told == len(found) if kind == "Poisson" else told, cell(found)
