"""A damaged store never gives a ranking: every command ends with exit code 3 and names the part."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.sparse import csr_matrix

from sfs_cli.compute.matrix import Span
from sfs_cli.errors import InputError
from sfs_cli.logs import QUIET, Messages
from sfs_cli.options import RankConfig
from sfs_cli.run.checkpoints import MatrixCheckpoint
from tests.cli.running import run_here
from tests.making import annotated, write_table
from tests.store.damaging import as_if_written, flip

BAD = 3
N, M = 30, 400
Capture = pytest.CaptureFixture[str]
Change = Callable[[Path], None]
OPTIONS = ["--similarity", "knn", "--neighbors", "5", "--threads", "2"]


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dense and a sparse store, both with their text or h5ad."""
    from sfs_cli.cli.app import run

    folder = tmp_path_factory.mktemp("stores")
    rng = np.random.default_rng(4)
    X = rng.poisson(1.0, (M, N)) * rng.integers(1, 9, (M, N))
    write_table(folder / "dense.csv", X.astype(float))
    annotated(csr_matrix(X.T.astype(np.float32))).write_h5ad(folder / "sparse.h5ad")
    for source in ("dense.csv", "sparse.h5ad"):
        name = source.partition(".")[0]
        assert run(["convert", str(folder / source), str(folder / f"{name}.store"), "-q"]) == 0
    return folder


@pytest.fixture(params=["dense", "sparse"])
def store(request: pytest.FixtureRequest, stores: Path, tmp_path: Path) -> Path:
    """A whole store to damage."""
    return Path(shutil.copytree(stores / f"{request.param}.store", tmp_path / "m.store"))


def values_of(store: Path) -> Path:
    return next(store / name for name in ("values.bin", "data.bin") if (store / name).exists())


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(25))
def test_one_changed_bit_is_bad_input_for_every_command(
    store: Path, capfd: Capture, seed: int
) -> None:
    folder = store.parent
    rank = ["rank", str(store), *OPTIONS, "--out", str(folder / "before")]
    if seed % 5 == 0:  # the result of a run that this one would repeat
        assert run_here(rank, capfd).code == 0
    plan = ["shard", "init", str(folder / "plan"), str(store), "--shards", "2", *OPTIONS]
    if seed % 5 == 1:
        assert run_here(plan, capfd).code == 0
    rng = np.random.default_rng(seed)
    path = store / rng.choice(sorted(p.name for p in store.iterdir()))
    flip(path, int(rng.integers(8 * path.stat().st_size)))
    commands = [rank, ["inspect", str(store), "--check"], ["rank", str(store), "-q"]]
    if seed % 5 == 1:
        for i in (1, 2):  # of damage to ids, only the merge knows
            found = run_here(["shard", "run", str(folder / "plan"), str(i)], capfd)
            assert found.code in (0, BAD), found.err
        merged = run_here(
            ["shard", "merge", str(folder / "plan"), "--out", str(folder / "merged")], capfd
        )
        assert merged.code == BAD
        assert not (folder / "merged").exists()
    for command in commands:
        found = run_here(command, capfd)
        if command is rank and seed % 5 == 0 and path.name == "manifest.json":
            # another manifest is another input, whose result is not replaced
            assert found.code in (BAD, 4)
        else:
            assert (found.code, "Traceback" in found.err) == (BAD, False), found.err
            assert "sfs convert" in found.err or "shard init" in found.err
    if seed % 5:
        assert not (folder / "before").exists()


def _swap_ids(store: Path) -> None:
    table = pq.read_table(store / "features.parquet")
    names = table["feature"].to_pylist()
    names[0], names[1] = names[1], names[0]
    pq.write_table(pa.table({"feature": names}), store / "features.parquet")


def _swap_values(store: Path) -> None:
    values = np.fromfile(values_of(store), np.float32)
    values[[0, -1]] = values[[-1, 0]]
    values[values != 0] += 1
    values.tofile(values_of(store))


def _truncate(store: Path) -> None:
    path = values_of(store)
    path.write_bytes(path.read_bytes()[:-8])


def _drop_checksums(store: Path) -> None:
    (store / "checksums.bin").unlink()


@pytest.mark.parametrize("change", [_swap_ids, _swap_values, _truncate, _drop_checksums])
def test_what_was_replaced_is_not_up_to_date(store: Path, capfd: Capture, change: Change) -> None:
    command = ["rank", str(store), "--method", "variance", "--out", str(store.parent / "out")]
    assert run_here(command, capfd).code == 0
    assert "up to date" in run_here(command, capfd).err
    change(store)
    found = run_here(command, capfd)
    assert found.code == BAD
    assert "up to date" not in found.err


@pytest.mark.parametrize("index", [-1, N, 2**31 - 1])
def test_wrong_indices_with_right_checksums_are_bad_input(
    stores: Path, tmp_path: Path, capfd: Capture, index: int
) -> None:
    store = Path(shutil.copytree(stores / "sparse.store", tmp_path / "m.store"))
    indices = np.fromfile(store / "indices.bin", np.int32)
    indices[len(indices) // 2] = index
    indices.tofile(store / "indices.bin")
    as_if_written(store)
    for method in ("spec", "variance", "hsic"):
        found = run_here(["rank", str(store), "--method", method], capfd)
        assert (found.code, found.out) == (BAD, "")
        assert "indices.bin" in found.err


def test_check_says_that_there_is_no_damage(stores: Path, tmp_path: Path, capfd: Capture) -> None:
    for name in ("dense.csv", "dense.store", "sparse.h5ad", "sparse.store"):
        found = run_here(["inspect", str(stores / name), "--check"], capfd)
        assert (found.code, found.out) == (0, f"checked: {N * M:,} values, no damage\n")
    path = tmp_path / "m.csv"
    path.write_text((stores / "dense.csv").read_text().replace("g7", "g7,word", 1))
    assert run_here(["inspect", str(path), "--check"], capfd).code == BAD


def test_converting_again_finds_the_damage_and_with_force_mends_it(
    stores: Path, tmp_path: Path, capfd: Capture
) -> None:
    store = tmp_path / "m.store"
    command = ["convert", str(stores / "dense.csv"), str(store)]
    assert run_here(command, capfd).code == 0
    whole = {path.name: path.read_bytes() for path in store.iterdir()}
    assert "up to date" in run_here(command, capfd).err
    for path in sorted(store.iterdir()):
        flip(path, 8 * (path.stat().st_size // 2))
        assert run_here(command, capfd).code == BAD
        assert run_here([*command, "--force"], capfd).code == 0
        assert {path.name: path.read_bytes() for path in store.iterdir()} == whole


def test_a_damaged_checkpoint_of_the_matrix_is_made_again(stores: Path, tmp_path: Path) -> None:
    config, messages = RankConfig(str(stores / "dense.csv")), Messages(QUIET)
    checkpoint = MatrixCheckpoint(tmp_path)

    def read() -> np.ndarray:
        matrix = checkpoint.load(config, [], 1 << 30, tmp_path, messages).matrix
        out = np.empty((M, N), matrix.dtype)
        matrix.read(Span(0, M), out)
        return out

    whole = read()
    for name in ("values.bin", "features.parquet", "manifest.json", "checksums.bin"):
        before = (checkpoint.store / name).read_bytes()
        flip(checkpoint.store / name, 100)
        np.testing.assert_array_equal(read(), whole)
        assert (checkpoint.store / name).read_bytes() == before
    flip(checkpoint.store / "values.bin", 1000)
    plan = MatrixCheckpoint(tmp_path, fixed=True)
    matrix = plan.load(config, [], 1 << 30, tmp_path, messages).matrix
    with pytest.raises(InputError, match="damaged") as caught:
        matrix.read(Span(0, M), np.empty((M, N), matrix.dtype))
    assert "sfs shard init --force" in caught.value.hint
