"""The variance-stabilizing transformation of counts, and the dispersion that it is made with."""

from __future__ import annotations

import numpy as np
import pytest

from sfs_cli.compute.engine import Engine, ThreadExecutor
from sfs_cli.compute.matrix import LeftOut
from sfs_cli.errors import InputError
from sfs_cli.store.filters import FeatureFilter
from sfs_cli.store.prepared import PreparedMatrix
from sfs_cli.store.size_factors import LEAST_DISPERSION
from sfs_cli.store.transforms import doublings
from tests.making import DOUBLE, PLENTY, fit, make_matrix, read_all
from tests.oracles import preparation as twin


def negative_binomial(alpha: float, m: int, n: int, seed: int = 0) -> np.ndarray:
    """Return counts (m, n) of means from 5 to 3000 and sizes that differ; alpha 0 is Poisson."""
    rng = np.random.default_rng(seed)
    mean = np.exp(rng.uniform(np.log(5), np.log(3000), (m, 1))) * np.exp(rng.normal(0, 0.3, n))
    return rng.poisson(mean if not alpha else rng.gamma(1 / alpha, alpha * mean)).astype(float)


def fitted(
    counts: np.ndarray, *steps: str, memory: int = PLENTY, threads: int = 1, size: int = 50
) -> PreparedMatrix:
    source = PreparedMatrix(make_matrix(counts.T), steps=steps, where="x")
    source.fit(Engine(source, ThreadExecutor(threads), DOUBLE, size), memory)
    return source


def values(source: PreparedMatrix) -> np.ndarray:
    return read_all(source, 60)[0]


def test_values_of_large_counts_are_log2_of_normalized_ones() -> None:
    counts = negative_binomial(0.2, 500, 12) + 1
    size = twin.ratio_sizes(counts)
    normalized = counts / size * np.exp(np.log(size).mean())
    large = normalized > 2000
    assert large.any()
    np.testing.assert_allclose(
        values(fitted(counts, "vst"))[large], np.log2(normalized)[large], atol=0.01
    )
    assert doublings(("vst",)) is None, "of small counts a difference is not a log2 fold change"


@pytest.mark.parametrize(
    ("step", "samples", "threads", "size"), [("vst", 3, 3, 33), ("vst:tmm", 100, 1, 7)]
)
def test_memory_threads_and_blocks_do_not_change_a_byte(
    step: str, samples: int, threads: int, size: int
) -> None:
    counts = negative_binomial(0.1, 301, 9) + 1
    limit = 8 * 8 * len(counts) * samples
    found = fitted(counts, step, memory=limit, threads=threads, size=size)
    expected = fitted(counts, step)
    np.testing.assert_array_equal(values(found), values(expected))
    sizes = twin.ratio_sizes(counts) if step == "vst" else twin.tmm_sizes(counts)
    assert found.dispersion == pytest.approx(twin.dispersion(counts, sizes), rel=1e-12)


def test_features_that_are_left_out_have_no_part() -> None:
    counts = negative_binomial(0.1, 200, 8) + 1
    by_id = np.where(np.arange(200) < 50, LeftOut.EXCLUDED, 0).astype(np.int8)
    source = PreparedMatrix(make_matrix(counts.T), steps=("vst",), features=FeatureFilter(by_id))
    fit(source, size=9)
    np.testing.assert_allclose(values(source)[50:], values(fitted(counts[50:], "vst")), rtol=1e-13)


def test_poisson_counts_have_the_least_dispersion() -> None:
    found = fitted(negative_binomial(0, 2000, 100), "vst").dispersion
    assert found == pytest.approx(LEAST_DISPERSION, abs=2e-3)
    assert fitted(np.full((20, 5), 40.0), "vst").dispersion == pytest.approx(LEAST_DISPERSION)


def test_errors_say_what_is_wrong() -> None:
    counts = negative_binomial(0.1, 30, 6) + 1
    for value, what in ((-1, "needs counts; found -1"), (2.5, "needs whole numbers; found 2.5")):
        bad = counts.copy()
        bad[3, 4] = value
        with pytest.raises(InputError, match=f"--transform vst {what}") as error:
            fitted(bad, "vst")
        assert error.value.where == "x: feature g3, sample s4"
    with pytest.raises(InputError, match="needs whole numbers"):
        fitted(counts, "cpm", "vst")
    for few in (np.ones((30, 6)), counts[:, :1]):
        with pytest.raises(InputError, match="no dispersion can be estimated"):
            fitted(few, "vst")
    counts[:, 2] = 0
    with pytest.raises(InputError, match="each feature has a count of 0"):
        fitted(counts, "vst")
    with pytest.raises(InputError, match=r"--transform vst:tmm: .* add up to 0") as error:
        fitted(counts, "vst:tmm")
    assert error.value.where == "x: sample s2"
