"""Tasks that travel: pickled by value, with what they share left out, and with the same results."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sfs_cli.catalog import METHODS, ON_SOURCES
from sfs_cli.compute.context import Labels, Survival
from sfs_cli.compute.matrix import Span
from sfs_cli.graph.similarity import DenseSimilarity
from sfs_cli.methods.base import Problem
from sfs_cli.store.disk import open_store
from tests.making import make_engine, make_problem
from tools.benchmarks.make_store import make_store

pytest.importorskip("cloudpickle", reason="cloudpickle, of the extra sfs-cli[dask], is absent")

N = 24
X = np.random.default_rng(5).gamma(2.0, 2.0, (N, 30))
CODES = np.arange(N) % 2
SCORERS = [
    name
    for name, method in METHODS.items()
    if method.load("solve") is None and name not in ON_SOURCES
]


def context_of(name: str) -> Problem:
    S = np.exp(-((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2) / 100)
    options, method = METHODS[name].options, METHODS[name]
    problem = make_problem(X, codes=CODES, S=DenseSimilarity(S), block_size=7, **options)
    if method.unordered:
        return problem
    labels = Labels(CODES, [], X[:, 0], Survival(X[:, 0], CODES == 1))
    return replace(problem, context=replace(problem.context, labels=labels))


def opened(task: object) -> object:
    """The task as another process has it, where all that it shares has arrived."""
    from sfs_cli.compute.dask_executor import pack

    parcel, shared = pack(task)
    arrived = pickle.loads(pickle.dumps(shared))
    return pickle.loads(pickle.dumps(parcel)).task(arrived)


@pytest.mark.parametrize("name", SCORERS)
def test_every_scorer_travels(name: str) -> None:
    context = context_of(name)
    prepare = METHODS[name].load("prepare")
    assert prepare is not None
    scorer = prepare(context)
    there = opened(scorer)
    for span in context.engine.spans():
        here = scorer.score_block(context.engine.source.read(span, scorer.dtype))
        sent = there.score_block(context.engine.source.read(span, scorer.dtype))  # type: ignore[attr-defined]
        assert list(here) == list(sent)
        for name, ours in here.items():
            np.testing.assert_array_equal(ours, sent[name])


def test_the_matrix_is_left_out_and_sent_once() -> None:
    from sfs_cli.compute.dask_executor import pack

    engine = make_engine(np.ones((50, 4000)))
    matrix = engine.source.matrix

    def task(span: Span) -> tuple[int, object]:
        return span.size, (engine.source.read(span, engine.dtype), matrix)

    parcel, shared = pack(task)
    assert len(parcel.content) < 10_000
    assert len(shared) == 1
    assert shared[0] is matrix


def test_a_store_is_opened_again_where_it_arrives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_store(tmp_path / "a.store", 6, 40)
    monkeypatch.chdir(tmp_path)
    matrix = open_store(Path("a.store"))  # relative: the other process may be elsewhere
    content = pickle.dumps(matrix)
    monkeypatch.chdir("/")
    assert len(content) < 1000
    there, out, ours = pickle.loads(content), np.empty((40, 6), np.float32), None
    there.read(Span(0, 40), out)
    ours = np.empty_like(out)
    open_store(tmp_path / "a.store").read(Span(0, 40), ours)
    np.testing.assert_array_equal(out, ours)
    assert there.files == (tmp_path / "a.store" / "manifest.json",)
