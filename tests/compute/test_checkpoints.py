"""Checkpoints: the same sums whoever makes them, in whatever pieces and order."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfs_cli.compute import checkpoints as checkpoints_of
from sfs_cli.compute.checkpoints import (
    Checkpoints,
    IncompletePassError,
    ShardCheckpoints,
    ShardDoneError,
    owner,
)
from sfs_cli.compute.engine import Engine, ThreadExecutor
from sfs_cli.compute.matrix import Block, Span, cut
from sfs_cli.compute.passes import PassList
from sfs_cli.compute.tree import MAX_CHUNKS, Accumulator, add, chunks_of, largest_nodes
from sfs_cli.errors import InputError
from sfs_cli.graph import distances as passes
from tests.graph.test_distances import M, matrix
from tests.making import array_engine, features_of

WHOLE = "pass-01-chunks-01-to-64-done-{}.npz"


def rows(block: Block) -> tuple[np.ndarray, np.ndarray]:
    return block.values.sum(axis=1), np.arange(len(block.values))


def both(running: Engine) -> list[np.ndarray]:
    """A pass that is a sum, and one that is a number per feature."""
    return [passes.gram(running), *running.columns(rows)]


def assert_same(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("shards", [1, 2, 7, 16, 200])
@pytest.mark.parametrize("chunks", [1, 5, 13, 64])
def test_every_chunk_has_one_owner_and_shards_own_runs(chunks: int, shards: int) -> None:
    owners = [owner(chunk, chunks, shards) for chunk in range(chunks)]
    assert owners == sorted(owners)
    assert 0 <= owners[0] <= owners[-1] < shards
    counts = np.bincount(owners, minlength=shards)
    assert counts.max() - counts.min() <= 1


@pytest.mark.parametrize("count", [1, 5, 63, 64, 65, 1000])
def test_chunks_hold_all_spans_in_order_and_are_of_nearly_equal_size(count: int) -> None:
    spans = cut(count * 3, 3)
    chunks = chunks_of(spans)
    assert [span for chunk in chunks for span in chunk] == spans
    assert len(chunks) == min(count, MAX_CHUNKS)
    sizes = [len(chunk) for chunk in chunks]
    assert max(sizes) - min(sizes) <= 1


def shard(folder: Path, i: int, shards: int, **how: Any) -> ShardCheckpoints:
    return ShardCheckpoints(folder, shards, range(i, i + 1), **how)


def everything(folder: Path, shards: int = 1) -> ShardCheckpoints:
    return ShardCheckpoints(folder, shards, range(shards))


@pytest.mark.parametrize("shards", [1, 2, 5, 40])
def test_shards_in_any_order_give_the_bits_of_one_run(shards: int, tmp_path: Path) -> None:
    running = array_engine(matrix())
    expected = both(running)
    order = np.random.default_rng(shards).permutation(shards).tolist()
    for _ in range(2):
        for i in order:
            missing: list[int] = []
            try:
                both(replace(running, checkpoints=shard(tmp_path, i, shards)))
            except IncompletePassError as error:
                missing = error.shards
            assert i not in missing
    gathered = replace(running, checkpoints=ShardCheckpoints(tmp_path, shards))
    assert_same(both(gathered), expected)


class Far(ThreadExecutor):
    """Stands for processes elsewhere, and counts the tasks that they are sent."""

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self.spans: list[Span] = []

    @property
    def nearby(self) -> ThreadExecutor:
        return ThreadExecutor(1)

    def map(self, task: Any, spans: Any) -> Any:
        self.spans += spans
        return super().map(task, spans)


@pytest.mark.parametrize(
    ("size", "workers", "tasks"), [(1, 1, 16), (1, 4, 16), (1, 5, 64), (2, 2, 12), (7, 1, 13)]
)
@pytest.mark.parametrize("keep", [None, Checkpoints, everything])
def test_workers_elsewhere_add_up_several_chunks_and_keep_the_bits(
    size: int, workers: int, tasks: int, keep: Any, tmp_path: Path
) -> None:
    running, far = array_engine(matrix(), size=size), Far(workers)
    kept = None if keep is None else keep(tmp_path)
    counted = PassList([], M)
    elsewhere = replace(running, executor=far, checkpoints=kept, passes=counted)
    assert_same(both(elsewhere), both(running))
    assert sum(span.size for span in far.spans) == features_of(counted) == 2 * M
    if keep is None:
        assert len(far.spans) == 2 * tasks


def fewest(first: int, end: int) -> int:
    """How few whole nodes of 64 chunks make up a run of chunks."""
    if first == end:
        return 0
    sizes = [size for size in (1, 4, 16, 64) if first % size == 0 and first + size <= end]
    return min(1 + fewest(first + size, end) for size in sizes)


@pytest.mark.parametrize("shards", [1, 2, 3, 4, 7, 16, 64])
def test_a_shard_keeps_one_file_for_each_of_the_fewest_nodes(shards: int, tmp_path: Path) -> None:
    running = array_engine(matrix(), size=1)  # 64 chunks, of one feature or two
    expected = passes.gram(running)
    counts: list[int] = []

    class Counting(ShardCheckpoints):
        def _save(self, *given: Any) -> None:
            super()._save(*given)
            counts.append(len(list(tmp_path.glob("*.npz"))))

    for i in range(shards - 1):
        one = Counting(tmp_path, shards, range(i, i + 1))
        with pytest.raises(IncompletePassError):
            passes.gram(replace(running, checkpoints=one))
    last = replace(running, checkpoints=Counting(tmp_path, shards, range(shards - 1, shards)))
    np.testing.assert_array_equal(passes.gram(last), expected)
    owners = [owner(chunk, 64, shards) for chunk in range(64)]
    runs = [(owners.index(i), owners.index(i) + owners.count(i)) for i in range(shards)]
    least = sum(fewest(*run) for run in runs)
    assert counts[-1] == max(counts) == least
    reading = replace(running, checkpoints=ShardCheckpoints(tmp_path, shards))
    np.testing.assert_array_equal(passes.gram(reading), expected)


def test_a_shard_that_is_stopped_keeps_its_parts_and_takes_them_up_again(tmp_path: Path) -> None:
    running, left = array_engine(matrix(), size=1), 0

    def task(block: Block) -> tuple[np.ndarray]:
        nonlocal left
        left -= 1
        if left == 0:
            raise KeyboardInterrupt
        return (block.values.sum(axis=0),)

    (expected,) = running.total(task)
    before = 0
    for stop in (1, 6, 1, 17, 30):
        left = stop
        kept = everything(tmp_path)
        with pytest.raises(KeyboardInterrupt):
            replace(running, checkpoints=kept).total(task)
        [[(present, share)]] = kept.progress()
        assert (present, share) == (before + kept.chunks_made, 64)
        before = present
    (found,) = replace(running, checkpoints=everything(tmp_path)).total(task)
    np.testing.assert_array_equal(found, expected)
    assert [path.name for path in tmp_path.glob("*.npz")] == [WHOLE.format(64)]


@pytest.mark.parametrize("after", range(0, 26, 3))
def test_a_run_that_breaks_anywhere_is_gone_on_with(after: int, tmp_path: Path) -> None:
    running = array_engine(matrix())
    expected = both(running)
    seen = 0

    def advance(_size: int) -> None:
        nonlocal seen
        seen += _size > 0
        if seen > after:
            raise KeyboardInterrupt

    interrupted, again = PassList([], M), PassList([], M)
    interrupted.watch(lambda _purpose, _total: None, advance)
    with pytest.raises(KeyboardInterrupt):
        both(replace(running, checkpoints=Checkpoints(tmp_path), passes=interrupted))
    done = replace(running, checkpoints=Checkpoints(tmp_path), passes=again)
    assert_same(both(done), expected)
    assert features_of(again) == 2 * M  # what was kept counts as progress


def test_of_a_sum_the_latest_alone_is_kept_and_large_ones_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = array_engine(matrix())
    passes.gram(replace(running, checkpoints=Checkpoints(tmp_path)))
    assert [path.name for path in tmp_path.iterdir()] == ["pass-01-chunks-01-to-13-done-13.npz"]
    monkeypatch.setattr(checkpoints_of, "SMALL", 0)
    written: list[str] = []
    real = checkpoints_of.replace_file
    monkeypatch.setattr(
        checkpoints_of, "replace_file", lambda p, w: (written.append(p.name), real(p, w))
    )
    (tmp_path / "other").mkdir()
    passes.gram(replace(running, checkpoints=Checkpoints(tmp_path / "other")))
    assert written == [f"pass-01-chunks-01-to-13-done-{done}.npz" for done in ("01", "13")]


@pytest.mark.parametrize("keep", [Checkpoints, everything])
@pytest.mark.parametrize("damage", [b"", b"no zip", None])
def test_a_damaged_file_is_made_again(keep: Any, damage: bytes | None, tmp_path: Path) -> None:
    running = array_engine(matrix())
    expected = both(running)
    both(replace(running, checkpoints=keep(tmp_path)))
    for path in tmp_path.glob("*.npz"):
        content = path.read_bytes()
        middle = len(content) // 2
        changed = content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :]
        path.write_bytes(changed if damage is None else damage)
    assert_same(both(replace(running, checkpoints=keep(tmp_path))), expected)


@pytest.mark.parametrize(
    "header",
    [b"{'descr': (", b"{'descr': '<f8', 'fortran_order': False, 'shape': (35184372088832,)}"],
)
def test_an_array_whose_header_is_damaged_is_made_again(header: bytes, tmp_path: Path) -> None:
    running = array_engine(matrix())
    expected = both(running)
    both(replace(running, checkpoints=Checkpoints(tmp_path)))
    for path in tmp_path.glob("*.npz"):
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("a0.npy", b"\x93NUMPY\x01\0" + bytes([len(header), 0]) + header)
            file.writestr("sum.npy", b"")
    assert_same(both(replace(running, checkpoints=Checkpoints(tmp_path))), expected)


def test_a_checkpoint_for_which_there_is_no_memory_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = replace(array_engine(matrix()), checkpoints=Checkpoints(tmp_path))
    both(running)
    before = sorted(tmp_path.iterdir())

    def fails(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(checkpoints_of.np, "load", fails)
    monkeypatch.setattr(checkpoints_of, "_has_room", lambda _size: False)
    with pytest.raises(MemoryError):
        both(replace(running, checkpoints=Checkpoints(tmp_path)))
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("keep", [Checkpoints, everything])
@pytest.mark.parametrize("change", [lambda a: a[0], lambda a: a + 1, lambda a: a.astype("f4")])
def test_a_whole_file_of_other_sums_is_made_again(keep: Any, change: Any, tmp_path: Path) -> None:
    running = array_engine(matrix())
    expected = both(running)
    both(replace(running, checkpoints=keep(tmp_path)))
    for path in tmp_path.glob("*.npz"):
        with np.load(path) as file:
            arrays = dict(file)
        np.savez(path, **arrays | {"a1": change(arrays["a1"])})
    assert_same(both(replace(running, checkpoints=keep(tmp_path))), expected)


def test_files_that_changed_places_are_made_again(tmp_path: Path) -> None:
    running = array_engine(matrix())
    expected = both(running)
    both(replace(running, checkpoints=everything(tmp_path, 4)))
    one, other, *_ = sorted(tmp_path.glob("pass-01-*.npz"))
    content = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(content)
    assert_same(both(replace(running, checkpoints=everything(tmp_path, 4))), expected)


def test_a_damaged_file_of_another_shard_is_missing(tmp_path: Path) -> None:
    running = array_engine(matrix())
    for i in (1, 0):
        with pytest.raises(IncompletePassError):
            both(replace(running, checkpoints=shard(tmp_path, i, 2)))
    both(replace(running, checkpoints=shard(tmp_path, 1, 2)))
    assert [owner(chunk, 13, 2) for chunk in (5, 6)] == [0, 1]
    for piece, lost in (("07-to-07-done-01", 1), ("09-to-12-done-04", 4)):
        path = tmp_path / f"pass-01-chunks-{piece}.npz"
        whole = path.read_bytes()
        path.write_bytes(b"PK")
        with pytest.raises(IncompletePassError) as caught:
            both(replace(running, checkpoints=shard(tmp_path, 0, 2)))
        error = caught.value
        assert (error.number, error.shards, error.missing, error.total) == (0, [1], lost, 13)
        path.write_bytes(whole)


def test_a_process_that_is_behind_another_of_the_same_shard_takes_nothing_away(
    tmp_path: Path,
) -> None:
    chunks = chunks_of(cut(13, 1))
    [piece] = largest_nodes(chunks, 0, 13)
    ahead, behind = Accumulator(13, add), Accumulator(13, add)
    for i in range(5):
        ahead.add(0, i + 1, [np.ones(1)])
    behind.add(0, 1, [np.ones(1)])
    Checkpoints(tmp_path)._save(0, piece, 5, ahead)
    Checkpoints(tmp_path)._save(0, piece, 1, behind)
    assert [path.name for path in tmp_path.iterdir()] == ["pass-01-chunks-01-to-13-done-05.npz"]


def test_one_pass_alone_may_be_asked_for(tmp_path: Path) -> None:
    running = array_engine(matrix())
    expected = both(running)
    with pytest.raises(IncompletePassError):
        both(replace(running, checkpoints=shard(tmp_path, 0, 1, only=1)))
    assert not list(tmp_path.glob("*.npz"))
    for number in (0, 1):
        with pytest.raises(ShardDoneError):
            both(replace(running, checkpoints=shard(tmp_path, 0, 1, only=number)))
        assert ShardCheckpoints(tmp_path, 1).progress() == [[(13, 13)]] * (number + 1)
    assert_same(both(replace(running, checkpoints=ShardCheckpoints(tmp_path, 1))), expected)


def test_what_cannot_be_shared_stops_shards_and_is_done_where_all_is_gathered(
    tmp_path: Path,
) -> None:
    running = array_engine(matrix())
    with pytest.raises(ShardDoneError):
        shard(tmp_path, 0, 2).stop_saving()
    gathering = ShardCheckpoints(tmp_path, 2, gather=True)
    gathering.stop_saving()
    assert_same(both(replace(running, checkpoints=gathering)), both(running))
    assert not list(tmp_path.iterdir())


def test_a_folder_is_of_one_work(tmp_path: Path) -> None:
    folder, running = Checkpoints(tmp_path / "kept"), array_engine(matrix())
    assert not folder.claim("one")
    passes.gram(replace(running, checkpoints=folder))
    assert folder.claim("one")
    assert list(folder.folder.glob("*.npz"))
    (tmp_path / "kept" / "store").mkdir()
    assert not folder.claim("two")
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["identity.json"]
    (tmp_path / "kept" / "identity.json").write_text("[" * 200_000)
    assert not folder.is_of("two")
    assert not folder.claim("two")


def test_a_checkpoint_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot be written"):
        passes.gram(replace(array_engine(matrix()), checkpoints=Checkpoints(tmp_path / "file")))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_what_was_being_written_long_ago_is_tidied_up(tmp_path: Path) -> None:
    import os

    old, new = tmp_path / ".a.npz.1.partial", tmp_path / ".b.npz.2.partial"
    for path in (old, new):
        path.write_text("half")
    os.utime(old, (1, 1))
    ShardCheckpoints(tmp_path, 1).remove_stale()
    assert [path.name for path in tmp_path.iterdir()] == [new.name]
