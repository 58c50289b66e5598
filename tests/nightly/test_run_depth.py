"""Rates of counts that have nothing but depth, and real cells."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from tests.contract.run.test_depth import HOLD, WAYS, M, N
from tests.running import run_here
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


def test_real_cells(shared_data: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Cells of three lines, whose totals differ by a factor of ten and have nothing to do with it.

    The graph of the counts follows the totals, and most genes do after `cpm,log1p`.
    """
    matrix = str(shared_data / "cells" / "dropseq3.h5ad")

    def told(*more: str) -> bool:
        done = run_here(["rank", matrix, "--min-samples", "20", *more], capfd)
        assert done.code == 0, done.err
        return "[depth]" in done.err

    assert told("--transform", "cpm,log1p", *WAYS["moments"])
    assert not told("--transform", "pearson-residuals", *WAYS["moments"])
