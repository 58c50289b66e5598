"""What every reader does, whatever the format."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from sfs_cli.io.matrix.base import FORMATS, ReadOptions, open_matrix

_spec = importlib.util.spec_from_file_location(
    "format_cases", Path(__file__).with_name("format_cases.py")
)
cases = importlib.util.module_from_spec(_spec)
sys.modules.setdefault("format_cases", cases)
_spec.loader.exec_module(cases)

FEATURES = [f"ENSG{i:05d}" for i in range(23)]
SAMPLES = [f"sample_{i}" for i in range(5)]


@pytest.fixture(params=cases.CASES)
def case(request):
    return request.param


@pytest.fixture
def matrix(case):
    rng = np.random.default_rng(5)
    counts = rng.poisson(3.0, (len(FEATURES), len(SAMPLES))).astype(float)
    if case in cases.COUNTS_ONLY:
        return counts
    values = counts * rng.normal(1.0, 3.0, counts.shape)
    values[2, 3] = values[7, 4] = values[22, 0] = np.nan
    return values


@pytest.fixture
def path(case, matrix, tmp_path):
    return cases.CASES[case](tmp_path, matrix, FEATURES, SAMPLES)


def read(path, **options):
    """Return row ids and values, features in rows, and the reader (closed)."""
    reader = open_matrix(path, ReadOptions(**options))
    blocks = list(reader.blocks())
    reader.close()
    ids = [i for block in blocks for i in block.ids]
    dense = [b.values.toarray() if reader.sparse else b.values for b in blocks]
    return ids, np.concatenate(dense), reader, blocks


def by_features(values, reader):
    return values.T if reader.fixed_rows == "samples" else values


def test_ids_are_known_before_the_first_block(path):
    reader = open_matrix(path, ReadOptions())
    columns, rows = (FEATURES, SAMPLES) if reader.fixed_rows == "samples" else (SAMPLES, FEATURES)
    assert list(reader.column_ids) == columns
    first = list(reader.first_row_ids())
    assert first
    assert first == rows[: len(first)]
    assert reader.n_rows in (None, len(rows))
    assert [i for block in reader.blocks() for i in block.ids] == rows
    reader.close()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_values_are_those_that_were_written(path, matrix, dtype):
    _, values, reader, _ = read(path, dtype=dtype)
    assert values.dtype == dtype
    np.testing.assert_array_equal(by_features(values, reader), matrix.astype(dtype))


@pytest.mark.one_in(3)
@pytest.mark.parametrize("block_bytes", [1, 64, 1000, 1 << 20])
def test_any_block_size_gives_the_same_matrix(path, matrix, block_bytes):
    ids, values, reader, _ = read(path, block_bytes=block_bytes, dtype="float64")
    np.testing.assert_array_equal(by_features(values, reader), matrix)
    assert ids == (SAMPLES if reader.fixed_rows == "samples" else FEATURES)


@pytest.mark.one_in(2)
def test_blocks_are_of_bounded_size_and_carry_their_ids(case, tmp_path):
    matrix = np.arange(40_000.0).reshape(2000, 20) % 1000
    path = cases.CASES[case](
        tmp_path, matrix, [f"g{i}" for i in range(2000)], [f"s{i}" for i in range(20)]
    )
    _, _, reader, blocks = read(path, block_bytes=1 << 15)
    row_bytes = 4 * len(reader.column_ids)
    assert len(blocks) > 1
    for block in blocks:
        assert block.values.shape == (len(block.ids), len(reader.column_ids))
        assert len(block.ids) * row_bytes <= max(2 << 15, row_bytes)


def test_closing_halfway_is_allowed(path):
    reader = open_matrix(path, ReadOptions(block_bytes=64))
    blocks = reader.blocks()
    next(blocks)
    blocks.close()
    reader.close()


def test_reader_names_its_file_and_a_registered_format(path):
    reader = open_matrix(str(path), ReadOptions())
    assert Path(reader.path) == path
    assert reader.format in {f.name for f in FORMATS}
    reader.close()
