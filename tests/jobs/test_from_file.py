"""Scores that are made while a store is read: the same as from blocks, and read no other way."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sfs_cli.compute import compiled
from sfs_cli.compute.spans import Span
from sfs_cli.config import RankConfig
from sfs_cli.errors import InputError
from sfs_cli.jobs import reading
from sfs_cli.jobs.convert import convert
from sfs_cli.jobs.rank import rank
from sfs_cli.logs import Messages
from sfs_cli.methods.precision import Rows
from sfs_cli.methods.thin import ThinScores
from sfs_cli.methods.thin_sums import make_sums
from sfs_cli.store import stored
from sfs_cli.store.disk import open_store
from sfs_cli.store.prepared import PreparedMatrix
from sfs_cli.store.stored import StoredBlock, StoredSource

if not compiled.SETS:
    pytest.skip("the compiled sums are not here", allow_module_level=True)

N, M = 30, 400
LABEL_GRAPH = {"similarity": "label"}
CASES: list[dict[str, Any]] = [
    {"method": "fisher"},
    {"method": "f-test"},
    {"method": "variance"},
    LABEL_GRAPH,
    LABEL_GRAPH | {"method": "laplacian"},
    {"ranking": "phi3", "clusters": 3},
    LABEL_GRAPH | {"ranking": "phi3", "clusters": 3},
]


def values(unscored: int) -> np.ndarray:
    """Return features of which one in `unscored` is constant, and some need a second look."""
    rng = np.random.default_rng(0)
    X = rng.normal(5, 2, size=(M, N)).astype(np.float32)
    X[::unscored] = np.where(np.arange(len(X[::unscored])) % 2, 0, 3)[:, None]
    X[7::97] += 3000
    return X


@pytest.fixture
def store(tmp_path: Path):
    def make(unscored: int = 50) -> Path:
        table = pd.DataFrame(
            values(unscored).T,
            index=[f"s{i}" for i in range(N)],
            columns=[f"g{j}" for j in range(M)],
        )
        table.to_parquet(tmp_path / "matrix.parquet")
        config = RankConfig(str(tmp_path / "matrix.parquet"), rows="samples")
        convert(config, str(tmp_path / "matrix.sfs"), Messages(verbosity=-1))
        return tmp_path / "matrix.sfs"

    return make


@pytest.fixture
def labels(tmp_path: Path) -> str:
    path = tmp_path / "labels.tsv"
    rows = "".join(f"s{i}\tc{i % 3}\n" for i in range(N))
    path.write_text(f"sample\tclass\n{rows}")
    return str(path)


def ranked(path: Path, labels: str, **options: Any):
    result = rank(RankConfig(str(path), labels=labels, **options)).ranking
    return result.score.tobytes(), list(result.feature), list(result.status)


@pytest.fixture
def from_file(monkeypatch: pytest.MonkeyPatch) -> list[StoredSource]:
    """Sources that were read by what scores them; none is read whole."""
    found: list[StoredSource] = []
    once = reading.from_file

    def spied(engine):
        changed = once(engine)
        found.append(changed.source)
        return changed

    def refused(_self):
        raise AssertionError("a block was read whole")

    monkeypatch.setattr(reading, "from_file", spied)
    monkeypatch.setattr(StoredBlock, "values", property(refused))
    return found


@pytest.mark.parametrize("unscored", [2, 50])
@pytest.mark.parametrize("options", CASES, ids=str)
def test_the_bytes_are_those_of_blocks(store, labels, from_file, monkeypatch, options, unscored):
    path = store(unscored)
    found = ranked(path, labels, **options)
    assert len(from_file) == 1
    monkeypatch.setattr(reading, "is_stored", lambda _source: False)
    assert ranked(path, labels, **options) == found
    assert len(from_file) == 1
    assert len(set(found[2])) > 1  # some cannot be scored


@pytest.mark.parametrize(
    "options",
    [
        {"transform": "zscore"},
        {"method": "gdcov"},
        {"ranking": "phi2"},
    ],
    ids=str,
)
def test_what_is_changed_first_is_read_in_blocks(store, labels, from_file, options):
    ranked(store(), labels, **options)
    assert not from_file


def test_without_the_compiled_sums_blocks_are_read(store, labels, from_file, monkeypatch):
    path = store()
    found = ranked(path, labels, method="fisher")
    assert from_file
    from_file.clear()
    monkeypatch.setattr(compiled, "SETS", ())
    again = ranked(path, labels, method="fisher")
    assert not from_file
    assert again[1:] == found[1:]
    scores = (np.frombuffer(s[0]) for s in (again, found))
    np.testing.assert_allclose(*scores, rtol=1e-12)


def test_a_store_that_becomes_shorter_is_told_of(store):
    path = store()
    source = StoredSource(PreparedMatrix(open_store(path)), M)
    os.truncate(path / "values.bin", 4 * N * (M - 1))
    sums = make_sums(np.ones((N, 1)), None, 0)
    sums.of(source.read(Span(0, M - 1), np.dtype(np.float32)), less=False)
    with pytest.raises(InputError, match="ends before its last value"):
        sums.of(source.read(Span(0, M), np.dtype(np.float32)), less=False)


@pytest.mark.parametrize("dtype", ["i4", "i8", "u8", ">f4", ">f8", "f2"])
def test_bytes_of_another_type_are_not_taken_for_floats(dtype):
    sums = make_sums(np.ones((N, 1)), None, 0)
    with pytest.raises(TypeError, match="float32 or float64"):
        sums.of(Rows(np.ones((3, N), dtype), None, None), less=False)


@pytest.mark.parametrize("rows", [[0], [5, 6, 9], [3, 60, 180], list(range(40, 90)), [0, 199]])
def test_some_features_of_a_block(store, rows):
    source = StoredSource(PreparedMatrix(open_store(store())), M)
    block = source.read(Span(100, 300), np.dtype(np.float32))
    assert block.shape == (200, N)
    np.testing.assert_array_equal(block.take(np.array(rows)), values(50)[100:300][rows])


@pytest.mark.parametrize(
    ("n", "m", "held", "blocks"),
    [(500, 10**6, 4194, 80), (100, 2000, 16384, 1), (5000, 10**6, 419, 299), (500, 10**6, 10, 64)],
)
def test_blocks_are_large_and_leave_work_for_many(n, m, held, blocks):
    source = object.__new__(StoredSource)
    source.held = held
    source.store = type("Store", (), {"n_samples": n, "n_features": m, "dtype": np.dtype("f4")})()
    assert -(-m // source.block_size) == pytest.approx(blocks, abs=1)
    assert source.block_size % held == 0


def test_doubtful_features_are_grouped_as_in_blocks(store, labels, monkeypatch):
    path, seen = store(2), []
    monkeypatch.setattr(stored, "BLOCKS", 4)
    once = ThinScores._closer
    monkeypatch.setattr(
        ThinScores,
        "_closer",
        lambda self, block, *rest: seen.append(block.values.tobytes()) or once(self, block, *rest),
    )
    found = ranked(path, labels, method="fisher", block_size=7)
    from_file, seen[:] = sorted(seen), []
    monkeypatch.setattr(reading, "is_stored", lambda _source: False)
    assert ranked(path, labels, method="fisher", block_size=7) == found
    assert sorted(seen) == from_file
    assert len(seen) > M // 8
    assert ranked(path, labels, method="fisher") == found


def test_advice_is_given_only_about_what_is_not_held(store, monkeypatch):
    matrix = open_store(store())
    told, held = [], True
    monkeypatch.setattr(os, "posix_fadvise", lambda *args: told.append(args))
    once = os.preadv

    def preadv(descriptor, buffers, offset, flags=0):
        if flags and not held:
            raise BlockingIOError
        return once(descriptor, buffers, offset)

    monkeypatch.setattr(os, "preadv", preadv)
    matrix.prefetch(Span(0, 10))
    assert not told
    held = False
    matrix.prefetch(Span(0, 10))
    assert [args[1:3] for args in told] == [(0, 10 * 4 * N)]
