"""What every reader does, whatever the format."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sfs_cli.io.matrix.base import FORMATS, ReadOptions, open_matrix
from tests.contract.io.format_cases import CASES
from tests.contract.io.reading import read_all
from tests.making import names

FEATURES = [f"ENSG{i:05d}" for i in range(23)]
SAMPLES = [f"sample_{i}" for i in range(5)]


@pytest.fixture(scope="module", params=CASES)
def case(request):
    return request.param


@pytest.fixture(scope="module")
def matrix():
    rng = np.random.default_rng(5)
    counts = rng.poisson(3.0, (len(FEATURES), len(SAMPLES))).astype(float)
    values = counts * rng.normal(1.0, 3.0, counts.shape)
    values[2, 3] = values[7, 4] = values[22, 0] = np.nan
    return values


@pytest.fixture(scope="module")
def path(case, matrix, tmp_path_factory):
    return CASES[case](tmp_path_factory.mktemp("format"), matrix, FEATURES, SAMPLES)


def test_ids_are_known_before_the_first_block_and_reading_may_stop_halfway(path):
    reader = open_matrix(str(path), ReadOptions())
    assert Path(reader.path) == path
    assert reader.format in {f.name for f in FORMATS}
    columns, rows = (FEATURES, SAMPLES) if reader.fixed_rows == "samples" else (SAMPLES, FEATURES)
    assert list(reader.column_ids) == columns
    first = list(reader.first_row_ids())
    assert first
    assert first == rows[: len(first)]
    assert reader.n_rows in (None, len(rows))
    assert [i for block in reader.blocks() for i in block.ids] == rows
    reader.close()
    reader = open_matrix(path, ReadOptions(block_bytes=64))
    blocks = reader.blocks()
    next(blocks)
    blocks.close()
    reader.close()


def test_values_are_those_that_were_written_whatever_the_block_size(path, matrix):
    for dtype, block_bytes in [("float64", 1), ("float32", 1 << 20)]:
        ids, values, reader = read_all(path, block_bytes=block_bytes, dtype=dtype)
        assert values.dtype == dtype
        by_sample = reader.fixed_rows == "samples"
        np.testing.assert_array_equal(values.T if by_sample else values, matrix.astype(dtype))
        assert ids == (SAMPLES if by_sample else FEATURES)


def test_blocks_are_of_bounded_size_and_carry_their_ids(case, tmp_path):
    matrix = np.arange(20_000.0).reshape(1000, 20) % 1000
    path = CASES[case](tmp_path, matrix, names("g", 1000), names("s", 20))
    reader = open_matrix(path, ReadOptions(block_bytes=1 << 15))
    blocks = list(reader.blocks())
    reader.close()
    row_bytes = 4 * len(reader.column_ids)
    assert len(blocks) > 1
    for block in blocks:
        assert block.values.shape == (len(block.ids), len(reader.column_ids))
        assert len(block.ids) * row_bytes <= max(2 << 15, row_bytes)
