"""The same matrix gives the same bytes, whatever it is stored in and however it is run."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfs_cli.store import build
from tests.contract.io.format_cases import CASES, write_csv
from tests.contract.numbers.commands import facts, ranked, ranking_bytes
from tests.making import write_labels, write_parquet

SMALL = {
    "knn": ("--similarity", "knn,neighbors=5"),
    "components": ("--similarity", "knn,neighbors=5,components=6,variable-genes=50"),
    "variance": ("--method", "variance"),
}


def small() -> tuple[np.ndarray, list[str], list[str]]:
    """120 features x 40 samples, many of them zero, exact in float32; one feature is constant."""
    rng = np.random.default_rng(12)
    values = rng.poisson(1.5, size=(120, 40)) * rng.uniform(0.5, 2, size=(120, 1))
    values[:20] += rng.normal(size=(20, 40)) + np.arange(40) % 2
    values[7] = 0
    names = [f"gene{i}" for i in range(120)], [f"sample{i}" for i in range(40)]
    return values.astype(np.float32).astype(np.float64), *names


@pytest.fixture(scope="module")
def from_csv(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, bytes]]:
    """A CSV file, and its ranking by every method."""
    folder = tmp_path_factory.mktemp("csv")
    path = write_csv(folder, *small())
    return path, {k: ranking_bytes(folder / k, path, *o) for k, o in SMALL.items()}


SPARSE = ("h5ad csr", "h5ad csc", "zarr 3 csr", "10x folder", "mtx by feature", "10x h5")
"""Formats that are stored without zeros, and scored from the other values alone."""


def check_same(made: bytes, expected: bytes, case: str, name: str) -> None:
    """Compare a ranking with that of the CSV file: the bytes, or of `SPARSE` formats the numbers.

    Sums without zeros are rounded otherwise, and a score between two decimals may go to either.
    """
    if case not in SPARSE:
        assert made == expected, name
        return
    lines = [[line.split("\t") for line in text.decode().splitlines()] for text in (made, expected)]
    for own, other in zip(*lines, strict=True):
        assert own[:2] + own[3:] == other[:2] + other[3:], name
        if own[2] != other[2]:
            np.testing.assert_allclose(float(own[2]), float(other[2]), rtol=1.01e-9)


@pytest.mark.parametrize("case", CASES)
def test_every_format_gives_the_same_bytes(
    case: str, from_csv: tuple[Path, dict[str, bytes]], tmp_path: Path
) -> None:
    folder = tmp_path / "matrix"
    folder.mkdir()
    path = CASES[case](folder, *small())
    for name, options in SMALL.items():
        out = tmp_path / name.replace(" ", "-")
        made, expected = ranking_bytes(out, path, *options), from_csv[1][name]
        if ".gct" in path.name:  # it has descriptions, which are kept as columns
            width = expected.partition(b"\n")[0].count(b"\t") + 1
            rows = (line.split(b"\t") for line in made.split(b"\n"))
            made = b"\n".join(b"\t".join(row[:width]) for row in rows)
        check_same(made, expected, case, name)


def test_samples_in_rows_give_the_same_bytes(
    from_csv: tuple[Path, dict[str, bytes]], tmp_path: Path
) -> None:
    values, features, samples = small()
    path = write_csv(tmp_path, values.T, samples, features)
    for name, options in SMALL.items():
        found = ranking_bytes(tmp_path / name, path, "--rows", "samples", *options)
        assert found == from_csv[1][name], name


@pytest.mark.parametrize("kind", ["csv", "h5ad csr"])
def test_what_memory_held_before_changes_no_bit(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Arrays that are made without values hold what was there before: other numbers each time."""
    path, really, found = CASES[kind](tmp_path, *small()), (np.empty, np.empty_like), []
    for value in (0, 0x55, 0xFF):

        def filled(make: Any, *given: Any, value: int = value, **options: Any) -> np.ndarray:
            made = make(*given, **options)
            if made.size and made.dtype.kind in "fiub" and made.flags.c_contiguous:
                made.reshape(-1).view(np.uint8)[:] = value
            return made

        for name, make in zip(("empty", "empty_like"), really):
            monkeypatch.setattr(np, name, partial(filled, make))
        tables = [
            ranked(tmp_path / f"{name}-{value}", path, *options) for name, options in SMALL.items()
        ]
        found.append([(table.feature, table.score.tobytes()) for table in tables])
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize(
    ("size", "dtype"),
    [(7, "float32"), (1, "float64")],
)
def test_block_sizes_change_rounding_alone(
    size: int,
    dtype: str,
    from_csv: tuple[Path, dict[str, bytes]],
    tmp_path: Path,
    set_blocks: Callable[[int], None],
) -> None:
    path, _ = from_csv
    made = []
    for how in ("whole", "cut"):
        for name, options in SMALL.items():
            given = ("--dtype", dtype, *options)
            table = ranked(tmp_path / f"{name}-{how}", path, *given)
            made.append((name, table, ranking_bytes(tmp_path / f"{name}-{how}-text", path, *given)))
        set_blocks(size)
    for (name, whole, text), (_, cut, own) in zip(made[: len(SMALL)], made[len(SMALL) :]):
        assert cut.feature == whole.feature, name
        np.testing.assert_allclose(cut.score, whole.score, rtol=1e-12)
        assert own == text, name


@pytest.mark.parametrize(("method", "close"), [("rfs", 1e-11), ("qalpha", 1e-8)])
def test_block_sizes_of_solvers_that_stop_at_a_tolerance(
    method: str, close: float, tmp_path: Path, set_blocks: Callable[[int], None]
) -> None:
    values, features, samples = small()
    path = write_parquet(tmp_path / "m.parquet", values, features, samples)
    labels = write_labels(tmp_path / "y.tsv", [i % 2 for i in range(40)], samples)
    given = ("--method", method, "--labels", labels)
    whole = ranked(tmp_path / "whole", path, *given)
    set_blocks(7)
    cut = ranked(tmp_path / "cut", path, *given)
    assert cut.feature == whole.feature
    largest = np.nanmax(np.abs(whole.score))
    np.testing.assert_allclose(cut.score, whole.score, rtol=0, atol=close * largest)


LARGE = (160, 30_000)
"""Samples and features: 19 MB in float32, more than a quarter of 64 MB."""


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(13)
    values = rng.standard_normal(LARGE, np.float32) + (np.arange(160) % 4 < 2)[:, None]
    path = tmp_path_factory.mktemp("large") / "matrix.parquet"
    return Path(write_parquet(path, values.T))


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The folders that matrices were spilled to."""
    folders: list[Path] = []
    really = build.open_store

    def open_store(folder: Path, **given: Any) -> Any:
        assert (folder / "manifest.json").is_file()
        folders.append(folder)
        return really(folder, **given)

    monkeypatch.setattr(build, "open_store", open_store)
    return folders


def test_threads_and_memory_do_not_change_a_byte(
    large: Path, opened: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ("--similarity", "rbf")
    expected = ranking_bytes(tmp_path / "a", large, *given, "--threads", "1", "--memory", "4G")
    assert not opened
    assert expected.count(b"\n") == LARGE[1] + 1
    two = ranking_bytes(tmp_path / "b", large, *given, "--threads", "2", "--memory", "4G")
    assert two == expected
    assert facts(tmp_path / "b")["plan"]["threads"] == 2
    assert not opened
    (tmp_path / "scratch").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    spilled = ranking_bytes(tmp_path / "c", large, *given, "--memory", "64M")
    assert len(opened) == 1
    assert not any((tmp_path / "scratch").iterdir())
    assert spilled == expected
