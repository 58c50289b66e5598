"""The kernel: sums of features as they are, and in pieces, against those of centred features."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfs_cli.compute import matrix
from sfs_cli.compute.matrix import Block
from sfs_cli.graph.kinds import label_similarity
from sfs_cli.graph.laplacian import without
from sfs_cli.graph.similarity import DenseSimilarity, FactoredSimilarity
from sfs_cli.methods.base import Scorer, Status
from sfs_cli.methods.classical import FisherScorer
from sfs_cli.methods.kernel import KernelScorer, Thin
from sfs_cli.methods.spectral import SpecScorer
from tests.making import make_problem, write_labels, write_parquet
from tests.oracles import similarities
from tests.unit.methods.helpers import make_scorer, pair, run

N, M = 60, 40


def _data() -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(11)
    codes = rng.permutation(np.repeat(np.arange(3), [10, 20, 30]))
    X = rng.normal(size=(N, M)) + rng.normal(size=(3, M))[codes] * rng.exponential(1, size=M)
    return codes, X, rng.uniform(0.01, 1, size=(N, 4)) ** 3


CODES, X, FACTOR = _data()
DENSE = DenseSimilarity(similarities.rbf(X))
LABEL = label_similarity(CODES)
UNEVEN = FactoredSimilarity(FACTOR)
SCORERS: dict[str, tuple[str, dict[str, Any]]] = {
    "phi3": ("spec", {"S": DENSE, "ranking": "phi3", "clusters": 4}),
    "phi3 label": ("spec", {"S": LABEL, "ranking": "phi3", "clusters": 3}),
    "phi2": ("spec", {"S": LABEL, "ranking": "phi2"}),
    "phi2 uneven": ("spec", {"S": UNEVEN, "ranking": "phi2"}),
    "phi1": ("spec", {"S": UNEVEN, "ranking": "phi1"}),
    "fisher": ("fisher", {"codes": CODES}),
}
SHIFT_SAFE = [name for name in SCORERS if name not in ("phi1", "phi3", "phi3 label")]


@pytest.fixture(params=SCORERS)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def made(name: str) -> Scorer:
    method, options = SCORERS[name]
    scorer = make_scorer(method, N, **options)
    assert isinstance(scorer.thin, Thin)  # type: ignore[attr-defined]
    return scorer


def scores(scorer: Scorer, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return pair(scorer.score_block(Block(np.array(values.T, order="C"))))


def centred_first(scorer: Scorer, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return pair(scorer.score_centered(Block(np.array(values.T, np.float64, order="C"))))  # type: ignore[attr-defined]


@pytest.fixture
def centered(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many features at a time are scored from centered values."""
    sizes: list[int] = []
    once = KernelScorer.score_centered

    def score_centered(self, block):
        sizes.append(len(block.values))
        return once(self, block)

    monkeypatch.setattr(KernelScorer, "score_centered", score_centered)
    return sizes


@pytest.mark.parametrize("offset", [0.0, -12.0, 1e7])
def test_as_from_centered_values(name: str, offset: float, centered: list[int]) -> None:
    values = X + offset * X.std(axis=0)
    scorer = made(name)
    found, status = scores(scorer, values)
    assert not centered, "every feature of usual spread is scored from its sums"
    expected, _ = centred_first(scorer, values)
    np.testing.assert_allclose(found, expected, rtol=1e-11)
    assert (status == Status.OK).all()


@pytest.mark.parametrize("name", SHIFT_SAFE)
def test_a_shift_of_a_thousand_deviations(name: str) -> None:
    scorer = made(name)
    expected, _ = scores(scorer, X)
    for sign in (-1, 1):
        found, _ = scores(scorer, X + sign * 1000 * X.std(axis=0))
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1000.0])
def test_a_feature_that_is_constant_but_for_one_sample(name: str, offset: float) -> None:
    scorer = made(name)
    values = np.eye(N) + offset  # each sample in turn, so the one that is subtracted too
    found, status = scores(scorer, values)
    expected, _ = centred_first(scorer, values)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-15)
    assert (status == Status.OK).all()


def test_doubtful_features_are_scored_from_centered_values(name: str, centered: list[int]) -> None:
    scorer = made(name)
    values = X[:, :9].copy()
    values[:, 1], values[:, 3] = 0, 0.1
    values[:, 4] *= 1e-158  # its squares can be represented, with few digits
    values[:, 5] *= 1e180
    values[:, 7] = np.where(np.arange(N) % 2, 0.3, 0.1 + 0.2)  # equal but for rounding
    found, status = scores(scorer, values)
    assert centered == [5]
    unscored = [1, 3, 7]
    np.testing.assert_array_equal(np.flatnonzero(status), unscored)
    assert np.isnan(found[unscored]).all()
    usual, _ = scores(scorer, np.delete(X[:, :9], unscored, axis=1))
    np.testing.assert_allclose(np.delete(found, unscored), usual, rtol=1e-11)


@pytest.mark.parametrize("type_", ["float32"])
def test_every_place_in_a_block_gives_the_same_digits(name: str, type_: str) -> None:
    """Products round by the shape of their factors, which must not show."""
    scorer = made(name)
    values = np.array(X.T + 3, order="C").astype(type_)
    whole = scorer.score_block(Block(values.copy()))
    for size in (1, 2, 3, 5, 7, 16):
        for lo in (0, 1, 6, M - size):
            part = scorer.score_block(Block(values[lo : lo + size].copy()))
            assert list(part) == list(whole)
            for key, found in part.items():
                np.testing.assert_array_equal(found, whole[key][lo : lo + size])


@pytest.mark.parametrize("steps", [(), ("log1p",)])
def test_no_digit_of_the_values_is_lost_on_the_way(tmp_path: Path, steps: tuple[str, ...]) -> None:
    counts = np.random.default_rng(1).poisson(20, size=(N, 30)).astype(float)
    single = write_parquet(tmp_path / "m.parquet", counts.astype(np.float32).T)
    double = write_parquet(tmp_path / "d.parquet", counts.T)
    labels = write_labels(tmp_path / "labels.tsv", CODES)
    options = {"labels": labels, "similarity": "label", "transform": ",".join(steps) or None}
    given = {name: value for name, value in options.items() if value}
    a = run(single, dtype="float32", **given).ranking
    b = run(double, dtype="float64", **given).ranking
    assert a.score.tobytes() == b.score.tobytes()


def test_the_rounding_of_many_degrees_is_no_part_of_a_score() -> None:
    n = 300_000
    codes = np.arange(n) % 3
    values = np.random.default_rng(3).normal(5, 2, size=(2, n))
    fisher = make_scorer("fisher", n, codes=codes).score_block(Block(values))["score"]
    spec = make_scorer("spec", n, S=label_similarity(codes)).score_block(Block(values))["score"]
    np.testing.assert_allclose(spec, 1 / (1 + fisher), rtol=2e-12)


@pytest.mark.parametrize("height", [1e153, 1.5e154, 1e155, 1e-161])
def test_a_variance_that_float64_has_though_not_the_scale_of_its_squares(height: float) -> None:
    values = np.array([[0, height, 0, height, height, 0], [0, 3.0, 1, 2, 5, 0]])
    with np.errstate(over="ignore", under="ignore"):
        expected = 0.3 * height * height
    found, status = pair(make_scorer("variance", 6).score_block(Block(values)))
    np.testing.assert_allclose(found[0], expected, rtol=1e-14)
    assert (status == Status.OK).all()


def test_one_direction_taken_out_of_a_factor() -> None:
    Y = np.random.default_rng(2).normal(size=(9, 4))
    u = np.array([0.5, -0.5, 0.1, 0.7])
    rest = without(Y, u)
    assert rest.shape == (9, 3)
    np.testing.assert_allclose(rest @ rest.T, Y @ Y.T - np.outer(Y @ u, Y @ u), atol=1e-13)


# ---- blocks that are scored in pieces ------------------------------------------------------------

PHI3 = {"ranking": "phi3", "gamma": "power", "gamma_power": 1, "clusters": 3}
PHI2 = PHI3 | {"ranking": "phi2", "clusters": None}
THIN = [(SpecScorer, PHI2), (SpecScorer, PHI3), (FisherScorer, {})]


@pytest.fixture
def context():
    def make(**options):
        rng = np.random.default_rng(0)
        X, codes = rng.normal(5, 2, (24, 301)), np.arange(24) % 3
        X[:, 7], X[:, 250] = 0, 3
        return make_problem(X, codes=codes, S=label_similarity(codes), **options)

    return make


@pytest.fixture
def scored(monkeypatch):
    """Scores in pieces of so many rows."""

    def run(method, context, rows):
        monkeypatch.setattr(matrix, "PIECE_BYTES", 8 * 24 * rows)
        scorer = method(context)
        return pair(context.engine.columns(scorer.score_block, scorer.dtype))

    return run


def check(found, whole):
    np.testing.assert_allclose(found[0], whole[0], rtol=1e-12)
    np.testing.assert_array_equal(found[1], whole[1])
    assert np.isnan(found[0][[7, 250]]).all()
    assert np.isfinite(np.delete(found[0], [7, 250])).all()


@pytest.mark.parametrize(("method", "options"), THIN)
def test_pieces_change_no_score_of_few_columns(monkeypatch, context, scored, method, options):
    sizes, once = [], Thin._rooted

    def rooted(self, values, *, shifted):
        sizes.append(len(values))
        return once(self, values, shifted=shifted)

    monkeypatch.setattr(Thin, "_rooted", rooted)
    whole = scored(method, context(**options), 301)
    assert sizes == [301, 2]
    found = scored(method, context(**options), 40)
    assert sizes[2:] == [*[40] * 7, 21, 2]
    check(found, whole)


def test_pieces_change_no_score_of_a_power(monkeypatch, context, scored):
    sizes, once = [], SpecScorer.score_centered

    def score_centered(self, block):
        sizes.append(len(block.values))
        return once(self, block)

    monkeypatch.setattr(SpecScorer, "score_centered", score_centered)
    squared = PHI2 | {"gamma_power": 2}
    whole = scored(SpecScorer, context(**squared), 301)
    assert sizes == [301]
    found = scored(SpecScorer, context(**squared), 40)
    assert sizes[1:] == [*[40] * 7, 21]
    check(found, whole)
