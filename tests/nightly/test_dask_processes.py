"""Dask with processes of its own: the same numbers, also when one of them is killed."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfs_cli import RankConfig
from sfs_cli.compute.engine import ThreadExecutor
from sfs_cli.compute.matrix import Span, cut
from sfs_cli.errors import OutOfMemoryError
from sfs_cli.logs import Messages
from sfs_cli.workflow.rank import rank
from tests.results import assert_same_numbers
from tests.running import run_here
from tests.unit.compute import test_dask as plain

store, csv, labels = plain.store, plain.csv, plain.labels
START_SECONDS = 120  # no worker of this machine needs a tenth of it


@pytest.fixture
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A client of two worker processes, which this test alone has and may kill."""
    from sfs_cli.compute.dask_cluster import local_cluster

    with local_cluster(2, tmp_path_factory.mktemp("cluster")) as client:
        client.wait_for_workers(2, timeout=START_SECONDS)
        yield client


def test_same_numbers_of_worker_processes(
    store: Path,
    labels: Path,
    processes: Any,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    set_blocks: Callable[[int], None],
) -> None:
    set_blocks(50)
    words = ["rank", str(store), "-q", "--method", "fisher"]
    words += ["--labels", str(labels), "--out"]
    address = processes.scheduler.address
    assert run_here([*words, str(tmp_path / "threads"), "--threads", "2"], capfd).code == 0
    assert run_here([*words, str(tmp_path / "dask"), "--dask", address], capfd).code == 0
    assert_same_numbers(tmp_path / "dask", tmp_path / "threads")


class AtFirstProgress(Messages):
    """Does something when the first block of the ranking is done, and others are on their way."""

    def __init__(self, act: Callable[[], object]) -> None:
        super().__init__(-1)
        self._act: Callable[[], object] | None = act

    @contextmanager
    def progress(self, title: str, total: int | None) -> Iterator[Callable[[int], None]]:
        def advance(_count: int) -> None:
            if title == "ranking" and self._act is not None:
                act, self._act = self._act, None
                act()

        yield advance


@pytest.mark.parametrize("form", ["store", "csv"])
@pytest.mark.parametrize("killed", [1, 2])
def test_workers_that_are_killed(
    killed: int,
    form: str,
    store: Path,
    csv: Path,
    processes: Any,
    set_blocks: Callable[[int], None],
) -> None:
    set_blocks(50)
    ids = list(processes.run(os.getpid).values())
    config = RankConfig(str(store if form == "store" else csv))

    def kill() -> None:
        for process in ids[:killed]:
            os.kill(process, signal.SIGKILL)

    found = rank(config, AtFirstProgress(kill), client=processes).ranking
    assert list(found.feature) == list(rank(config).ranking.feature)


def test_a_task_that_kills_its_worker_every_time_is_given_up(processes: Any) -> None:
    from sfs_cli.compute.dask_executor import DaskExecutor

    def task(span: Span) -> int:
        if span.lo == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return span.lo

    with pytest.raises(OutOfMemoryError, match="died repeatedly"):
        list(DaskExecutor(processes, ThreadExecutor(1)).map(task, cut(4, 1)))


def test_results_may_be_written_to(processes: Any) -> None:
    from sfs_cli.compute.dask_executor import DaskExecutor

    executor = DaskExecutor(processes, ThreadExecutor(1))
    (found,) = executor.map(lambda span: np.zeros(200_000), cut(1, 1))
    found += 1
    assert found.sum() == 200_000


def test_a_scheduler_that_is_not_there(
    store: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sfs_cli.compute.dask_cluster.WAIT_SECONDS", 0.5)
    done = run_here(["rank", str(store), "--dask", "tcp://127.0.0.1:9"], capfd)
    assert done.code == 3
    assert "no Dask scheduler" in done.err
    assert "tcp://127.0.0.1:9" in done.err
    assert "Traceback" not in done.err


def test_a_worker_is_no_scheduler(
    store: Path, processes: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    worker = next(iter(processes.nthreads()))
    done = run_here(["rank", str(store), "--dask", worker], capfd)
    assert done.code == 3
    assert "this is a Worker" in done.err


def test_processes_of_this_machine_leave_nothing(
    store: Path,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    set_blocks: Callable[[int], None],
) -> None:
    set_blocks(100)
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    words = ["rank", str(store), "--dask", "local", "--threads", "2"]
    done = run_here([*words, "--out", str(tmp_path / "out")], capfd)
    assert done.code == 0, done.err
    assert "distributed" not in done.err
    assert list((tmp_path / "tmp").iterdir()) == []
