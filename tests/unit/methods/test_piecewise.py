"""Blocks that are scored in pieces get the scores of whole blocks."""

from __future__ import annotations

import numpy as np
import pytest

from sfs_cli.graph.kinds import label_similarity
from sfs_cli.methods import pieces
from sfs_cli.methods.classical import FisherScorer
from sfs_cli.methods.low_rank import LowRankScores
from sfs_cli.methods.spectral import SpecScorer
from tests.making import make_problem

N, M = 24, 301
PHI3 = {"ranking": "phi3", "gamma": "power", "gamma_power": 1, "clusters": 3}
PHI2 = PHI3 | {"ranking": "phi2", "clusters": None}
THIN = [(SpecScorer, PHI2), (SpecScorer, PHI3), (FisherScorer, {})]


@pytest.fixture
def context():
    def make(**options):
        rng = np.random.default_rng(0)
        X, codes = rng.normal(5, 2, (N, M)), np.arange(N) % 3
        X[:, 7], X[:, 250] = 0, 3
        return make_problem(X, codes=codes, S=label_similarity(codes), **options)

    return make


@pytest.fixture
def scored(monkeypatch):
    """Scores in pieces of so many rows."""

    def run(method, context, rows):
        monkeypatch.setattr(pieces, "PIECE_BYTES", 8 * N * rows)
        scorer = method(context)
        return context.engine.columns(scorer.score_block, scorer.dtype)

    return run


def check(found, whole):
    np.testing.assert_allclose(found[0], whole[0], rtol=1e-12)
    np.testing.assert_array_equal(found[1], whole[1])
    assert np.isnan(found[0][[7, 250]]).all()
    assert np.isfinite(np.delete(found[0], [7, 250])).all()


@pytest.mark.parametrize(("method", "options"), THIN)
def test_pieces_change_no_score_of_few_columns(monkeypatch, context, scored, method, options):
    sizes, once = [], LowRankScores._prepared

    def prepared(self, values, *, subtract):
        sizes.append(len(values))
        return once(self, values, subtract=subtract)

    monkeypatch.setattr(LowRankScores, "_prepared", prepared)
    whole = scored(method, context(**options), M)
    assert sizes == [M, 2]
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
    whole = scored(SpecScorer, context(**squared), M)
    assert sizes == [M]
    found = scored(SpecScorer, context(**squared), 40)
    assert sizes[1:] == [*[40] * 7, 21]
    check(found, whole)
