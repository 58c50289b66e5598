"""Parts of passes: the same sums whoever makes them, in whatever pieces and order."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfs_cli.compute import parts as parts_of
from sfs_cli.compute import passes
from sfs_cli.compute import running as running_of
from sfs_cli.compute.engine import BlockLike, Engine
from sfs_cli.compute.executor import ThreadExecutor
from sfs_cli.compute.parts import PartFolder, PartsMissingError
from sfs_cli.compute.running import RunningFolder
from sfs_cli.compute.shards import ScatterEndError, ShardFolder, owner
from sfs_cli.compute.spans import Span, cut
from sfs_cli.compute.tree import MAX_CHUNKS, added, chunks_of
from sfs_cli.errors import InputError
from tests.compute.test_passes import M, engine, matrix


def rows(block: BlockLike) -> tuple[np.ndarray, np.ndarray]:
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
    assert [span for chunk in chunks for span in chunk.spans] == spans
    assert len(chunks) == min(count, MAX_CHUNKS)
    sizes = [len(chunk.spans) for chunk in chunks]
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("shards", [1, 2, 5, 40])
def test_shards_in_any_order_give_the_bits_of_one_run(shards: int, tmp_path: Path) -> None:
    running = engine(matrix())
    expected = both(running)
    order = np.random.default_rng(shards).permutation(shards).tolist()
    for _ in range(2):
        for i in order:
            keeper = ShardFolder(tmp_path, (i, shards))
            missing: list[int] = []
            try:
                both(replace(running, keeper=keeper))
            except PartsMissingError as error:
                missing = error.chunks
            assert all(owner(chunk, 13, shards) != i for chunk in missing)
    assert_same(both(replace(running, keeper=ShardFolder(tmp_path))), expected)


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
@pytest.mark.parametrize("keeper", [None, RunningFolder, ShardFolder])
def test_workers_elsewhere_add_up_several_chunks_and_keep_the_bits(
    size: int, workers: int, tasks: int, keeper: type | None, tmp_path: Path
) -> None:
    running, far = engine(matrix(), size=size), Far(workers)
    kept = None if keeper is None else keeper(tmp_path, *([(0, 1)] * (keeper is ShardFolder)))
    ticks: list[int] = []
    elsewhere = replace(running, executor=far, keeper=kept, tick=ticks.append)
    assert_same(both(elsewhere), both(running))
    assert sum(span.size for span in far.spans) == sum(ticks) == 2 * M
    if keeper is None:
        assert len(far.spans) == 2 * tasks


def fewest(first: int, end: int) -> int:
    """How few whole nodes of 64 chunks make up a run of chunks."""
    if first == end:
        return 0
    sizes = [size for size in (1, 4, 16, 64) if first % size == 0 and first + size <= end]
    return min(1 + fewest(first + size, end) for size in sizes)


@pytest.mark.parametrize("shards", [1, 2, 3, 4, 7, 16, 64])
def test_parts_of_a_shard_that_make_a_node_are_kept_as_one(shards: int, tmp_path: Path) -> None:
    running = engine(matrix(), size=1)  # 64 chunks, of one feature or two
    expected = passes.gram(running)
    counts: list[int] = []

    class Counting(ShardFolder):
        def save(self, *given: Any) -> None:
            super().save(*given)
            counts.append(len(list(tmp_path.glob("*.npz"))))

    for i in range(shards - 1):
        with pytest.raises(PartsMissingError):
            passes.gram(replace(running, keeper=Counting(tmp_path, (i, shards))))
    last = replace(running, keeper=Counting(tmp_path, (shards - 1, shards)))
    np.testing.assert_array_equal(passes.gram(last), expected)
    owners = [owner(chunk, 64, shards) for chunk in range(64)]
    runs = [(owners.index(i), owners.index(i) + owners.count(i)) for i in range(shards)]
    least = sum(fewest(*run) for run in runs)
    assert counts[-1] == least
    assert max(counts) <= least + 9  # three of each level wait for the fourth
    reading = replace(running, keeper=ShardFolder(tmp_path))
    np.testing.assert_array_equal(passes.gram(reading), expected)


def test_a_shard_that_is_stopped_keeps_its_parts_and_takes_them_up_again(tmp_path: Path) -> None:
    running, left = engine(matrix(), size=1), 0

    def task(block: BlockLike) -> tuple[np.ndarray]:
        nonlocal left
        left -= 1
        if left == 0:
            raise KeyboardInterrupt
        return (block.values.sum(axis=0),)

    (expected,) = running.total(task)
    before = 0
    for stop in (1, 6, 1, 17, 30):
        left = stop
        keeper = ShardFolder(tmp_path, (0, 1))
        with pytest.raises(KeyboardInterrupt):
            replace(running, keeper=keeper).total(task)
        present = sum(keeper.has(0, chunk) for chunk in range(64))
        assert present == before + keeper.made
        before = present
    (found,) = replace(running, keeper=ShardFolder(tmp_path, (0, 1))).total(task)
    np.testing.assert_array_equal(found, expected)
    assert [path.name for path in tmp_path.glob("*.npz")] == ["pass-01-part-01x64.npz"]


@pytest.mark.parametrize("after", range(0, 26, 3))
def test_a_run_that_breaks_anywhere_is_gone_on_with(after: int, tmp_path: Path) -> None:
    running = engine(matrix())
    expected = both(running)
    seen = 0

    def tick(_size: int) -> None:
        nonlocal seen
        seen += 1
        if seen > after:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        both(replace(running, keeper=RunningFolder(tmp_path), tick=tick))
    done: list[int] = []
    again = replace(running, keeper=RunningFolder(tmp_path), tick=done.append)
    assert_same(both(again), expected)
    assert sum(done) == 2 * M  # what was kept counts as progress


def test_of_a_sum_the_latest_alone_is_kept_and_large_ones_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = engine(matrix())
    passes.gram(replace(running, keeper=RunningFolder(tmp_path)))
    assert [path.name for path in tmp_path.iterdir()] == ["pass-01-sum-13.npz"]
    monkeypatch.setattr(running_of, "SMALL", 0)
    written: list[str] = []
    real = parts_of.replace_file
    monkeypatch.setattr(parts_of, "replace_file", lambda p, w: (written.append(p.name), real(p, w)))
    (tmp_path / "other").mkdir()
    passes.gram(replace(running, keeper=RunningFolder(tmp_path / "other")))
    assert written == ["pass-01-sum-01.npz", "pass-01-sum-13.npz"]


@pytest.mark.parametrize("keep", [RunningFolder, ShardFolder])
@pytest.mark.parametrize("damage", [b"", b"no zip", None])
def test_a_damaged_part_is_made_again(keep: type, damage: bytes | None, tmp_path: Path) -> None:
    running = engine(matrix())
    expected = both(running)
    shard = ((0, 1),) if keep is ShardFolder else ()
    both(replace(running, keeper=keep(tmp_path, *shard)))
    for path in tmp_path.glob("*.npz"):
        content = path.read_bytes()
        middle = len(content) // 2
        changed = content[:middle] + bytes([content[middle] ^ 255]) + content[middle + 1 :]
        path.write_bytes(changed if damage is None else damage)
    assert_same(both(replace(running, keeper=keep(tmp_path, *shard))), expected)


def test_a_damaged_part_of_another_shard_is_missing(tmp_path: Path) -> None:
    running = engine(matrix())
    for i in (1, 0):
        with pytest.raises(PartsMissingError):
            both(replace(running, keeper=ShardFolder(tmp_path, (i, 2))))
    both(replace(running, keeper=ShardFolder(tmp_path, (1, 2))))
    assert [owner(chunk, 13, 2) for chunk in (5, 6)] == [0, 1]
    for chunk, level, lost in ((6, 0, [6]), (8, 1, [8, 9, 10, 11])):
        path = ShardFolder(tmp_path).path(0, chunk, level)
        whole = path.read_bytes()
        path.write_bytes(b"PK")
        with pytest.raises(PartsMissingError) as caught:
            both(replace(running, keeper=ShardFolder(tmp_path, (0, 2))))
        assert (caught.value.number, caught.value.chunks, caught.value.total) == (0, lost, 13)
        path.write_bytes(whole)


def test_one_pass_alone_may_be_asked_for(tmp_path: Path) -> None:
    running = engine(matrix())
    expected = both(running)
    with pytest.raises(PartsMissingError):
        both(replace(running, keeper=ShardFolder(tmp_path, (0, 1), only=1)))
    assert not list(tmp_path.glob("*.npz"))
    for number in (0, 1):
        with pytest.raises(ScatterEndError):
            both(replace(running, keeper=ShardFolder(tmp_path, (0, 1), only=number)))
        assert ShardFolder(tmp_path).totals() == [13] * (number + 1)
    assert_same(both(replace(running, keeper=ShardFolder(tmp_path))), expected)


def test_what_cannot_be_shared_stops_shards_and_is_done_where_all_is_gathered(
    tmp_path: Path,
) -> None:
    running = engine(matrix())
    with pytest.raises(ScatterEndError):
        ShardFolder(tmp_path, (0, 2)).leave()
    gathering = ShardFolder(tmp_path, gather=True)
    gathering.leave()
    assert_same(both(replace(running, keeper=gathering)), both(running))
    assert not list(tmp_path.iterdir())


def test_a_folder_is_of_one_work(tmp_path: Path) -> None:
    folder = PartFolder(tmp_path / "kept")
    assert not folder.claim("one")
    folder.save(0, 0, [np.ones(3)], 5, added)
    assert folder.claim("one")
    assert folder.has(0, 0)
    (tmp_path / "kept" / "store").mkdir()
    assert not folder.claim("two")
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["identity.json"]
    (tmp_path / "kept" / "identity.json").write_text("{")
    assert not folder.is_of("two")
    assert not folder.claim("two")


def test_a_part_that_cannot_be_written_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="cannot be written"):
        PartFolder(tmp_path / "file").save(0, 0, [np.ones(3)], 5, added)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_what_was_being_written_long_ago_is_tidied_up(tmp_path: Path) -> None:
    import os

    old, new = tmp_path / ".a.npz.1.partial", tmp_path / ".b.npz.2.partial"
    for path in (old, new):
        path.write_text("half")
    os.utime(old, (1, 1))
    ShardFolder(tmp_path).tidy()
    assert [path.name for path in tmp_path.iterdir()] == [new.name]
