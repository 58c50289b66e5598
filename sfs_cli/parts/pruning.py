"""The work of ``--max-correlation``: the best features are read and compared, in batches."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import numpy as np

from sfs_cli.compute.engine import Engine
from sfs_cli.compute.matrix import DOUBLE, Span, cut
from sfs_cli.ranking.prune import InOrder, prune, pruned_ranking, standardized
from sfs_cli.ranking.table import Ranking
from sfs_cli.report.model import Section, as_pairs
from sfs_cli.run.load import Run

KEEP = 1000
"""Features at which pruning stops: more than most readers look at."""
BATCH_BYTES = 16 << 20
MAX_BATCH = 1024
"""Features that are examined at a time: so many, or fewer that take `BATCH_BYTES` in float64."""
READ_AT_ONCE = 64
"""Features of a batch that a thread reads."""
HELD_SHARE = 4
"""The kept features are held in memory if they take at most this fraction (1/N) of it."""


def pruned_by_correlation(run: Run, ranking: Ranking) -> tuple[Ranking, dict[str, Any]]:
    """Prune the ranking by the correlations of its features, as they were scored.

    From the best on, a batch of features is read at a time, until enough are kept; the rest of
    the matrix is not read. A feature without a score stays at the end.

    Of the facts, `examined` features, from the best on, were read; of these some were `kept`
    and the others `moved` behind; `repeat_given` of them repeat a feature of ``--given``.
    """
    source, most = run.matrix, run.config.max_correlation
    assert most is not None
    n, count = source.n_samples, ranking.n_scored
    engine = run.context.engine.at(f"correlations, until {KEEP:,} features are kept")
    engine.begin()

    def take(lo: int, hi: int) -> np.ndarray:
        out = np.empty((hi - lo, n))
        read_standardized(engine, ranking.order[lo:hi], out)
        return out

    batch = max(1, min(MAX_BATCH, BATCH_BYTES // (8 * n)))  # never by memory: see `prune`
    given = np.array(run.context.given, np.int64)
    g = len(given)
    with room_for_features((g + min(KEEP, count), n), run) as values:
        if g:
            read_standardized(engine, given, values[:g])
        in_order = cast(InOrder, engine.executor.nearby.map)
        pruned = prune(take, count, most, values, batch, in_order, g)
    kept, moved = len(pruned.kept), len(pruned.moved)
    better = "a better one" if not g else "a given or better one"
    run.log.note(
        f"kept {kept:,} of the best {pruned.examined:,} features; {moved:,} with a correlation "
        f"above {most:g} with {better} are behind them"
    )
    facts = {
        "max_correlation": most,
        "keep": KEEP,
        "examined": pruned.examined,
        "kept": kept,
        "moved": moved,
    }
    if g:
        facts["repeat_given"] = int((pruned.representative < g).sum())
    ids = source.ids.features
    return pruned_ranking(ranking, pruned, [ids[i] for i in given.tolist()]), facts


def section(facts: dict[str, Any]) -> Section:
    """Return what the page says of pruning: what was kept and moved."""
    return Section(heading="Pruning", pairs=as_pairs(facts))


def read_standardized(engine: Engine, features: np.ndarray, out: np.ndarray) -> None:
    """Read features (b,) as they were scored into `out` (b, n), centered and of unit norm."""
    ascending = np.argsort(features)  # as they lie in the matrix, so that it is read forwards
    view = engine.source.selecting(features[ascending])

    def read(span: Span) -> None:
        values = view.read(span, DOUBLE).values
        out[ascending[span.lo : span.hi]] = standardized(values)

    for _ in engine.executor.nearby.map(read, cut(len(features), READ_AT_ONCE)):
        pass
    engine.count(len(features))


@contextmanager
def room_for_features(shape: tuple[int, int], run: Run) -> Iterator[np.ndarray]:
    """Give an array of float64 for some features: in memory, or in a file if it is large."""
    if 8 * shape[0] * shape[1] <= run.context.memory // HELD_SHARE:
        yield np.empty(shape)
        return
    with tempfile.TemporaryFile(prefix="sfs-") as file:
        yield np.memmap(file, np.float64, "w+", shape=shape)


@contextmanager
def standardized_features(purpose: str, features: np.ndarray, run: Run) -> Iterator[np.ndarray]:
    """Read features (b,) in a pass for a purpose, and give them as `read_standardized` does."""
    engine = run.context.engine.at(purpose)
    engine.begin()
    with room_for_features((len(features), run.context.n), run) as rows:
        read_standardized(engine, features, rows)
        yield rows
