"""A Dask cluster gives the same bytes as threads, also when its workers are killed.

The workers of most tests are threads of this process. What needs processes, or kills some, has a
cluster of its own and is nightly.
"""

from __future__ import annotations

import os
import signal
import sys
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
from sfs_cli.errors import InputError, OutOfMemoryError, UsageError
from sfs_cli.io.results.writers import ranking_bytes
from sfs_cli.logs import Messages
from sfs_cli.run.rank import rank
from sfs_cli.store.disk import open_store
from tests.making import write_labels, write_table
from tests.running import run_here
from tools.benchmarks.make_store import make_store

distributed = pytest.importorskip(
    "distributed", reason="Dask, the extra sfs-cli[dask], is not installed"
)
pytestmark = pytest.mark.xdist_group("dask")  # one cluster for all
START_SECONDS = 120  # no worker of this machine needs a tenth of it

N, M = 40, 3000


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A client of two workers, which are threads of this process."""
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=False,
            dashboard_address=None,
            memory_limit=0,
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as started,
    ):
        yield started


@pytest.fixture
def executor(client: Any) -> Any:
    from sfs_cli.compute.dask_executor import DaskExecutor

    return DaskExecutor(client, ThreadExecutor(1))


@pytest.fixture
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A client of two worker processes, which this test alone has and may kill."""
    from sfs_cli.compute.dask_cluster import starting_cluster

    with starting_cluster(2, tmp_path_factory.mktemp("cluster")) as started:
        client = started()
        client.wait_for_workers(2, timeout=START_SECONDS)
        yield client


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("matrices") / "m.store"
    make_store(path, N, M)
    return path


@pytest.fixture(scope="module")
def csv(store: Path) -> Path:
    """The same values as text."""
    matrix, path = open_store(store), store.parent / "m.csv"
    values = np.empty((M, N), np.float32)
    matrix.read(Span(0, M), values)
    write_table(path, values, matrix.ids.features, matrix.ids.samples)
    return path


@pytest.fixture(scope="module")
def labels(store: Path) -> Path:
    path = store.parent / "labels.tsv"
    ids = open_store(store).ids.samples
    write_labels(path, ["abc"[i % 3] for i in range(N)], ids)
    return path


CASES: dict[str, dict[str, Any]] = {
    "spec": {},
    "fisher": {"method": "fisher", "labels": "LABELS"},
    "gdcov": {"method": "gdcov"},
    "components": {"similarity": "knn", "components": 5, "variable_genes": 1000},
    "knn": {"similarity": "knn"},
    "mrsf": {"method": "mrsf", "select": 10},
    "relieff": {"method": "relieff", "labels": "LABELS"},
    "adjusted": {"method": "spec", "similarity": "rbf", "adjust": ("LABELS",)},
    "batches": {
        "method": "spec",
        "similarity": "knn",
        "neighbors": 4,
        "batch": "LABELS",
        "transform": "unit-samples",
    },
}


def same_bytes(config: RankConfig, client: Any) -> None:
    found = [rank(config).ranking, rank(config, client=client).ranking]
    ours, theirs = (ranking_bytes(ranking, "tsv", 17) for ranking in found)
    assert ours == theirs


@pytest.mark.parametrize("name", CASES)
def test_same_bytes_as_threads(name: str, store: Path, labels: Path, client: Any) -> None:
    options = {
        key: str(labels) if value == "LABELS" else (str(labels),) if value == ("LABELS",) else value
        for key, value in CASES[name].items()
    }
    same_bytes(RankConfig(str(store), block_size=50, **options), client)


@pytest.mark.parametrize("size", [200, 1500])
def test_same_bytes_of_a_text_file(size: int, csv: Path, client: Any) -> None:
    same_bytes(RankConfig(str(csv), block_size=size), client)


@pytest.mark.parametrize("method", ["mrsf", "rfs", "spca", "gdcov-spca", "qalpha", "mrmr"])
def test_same_bytes_when_the_workers_make_every_pass(
    method: str, store: Path, labels: Path, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The matrix of an iterative method is too large to be held."""
    monkeypatch.setattr("sfs_cli.methods.centered_matrix.HOLD_BYTES", 0)
    given: dict[str, Any] = {} if method in ("rfs", "qalpha") else {"select": 3}
    if method in ("rfs", "mrmr"):
        given["labels"] = str(labels)
    same_bytes(RankConfig(str(store), method=method, block_size=1500, **given), client)


@pytest.mark.parametrize("how", [pytest.param("exact", marks=pytest.mark.nightly), "randomized"])
def test_same_bytes_when_the_workers_search_components(
    how: str, store: Path, client: Any, set_limits: Callable[..., None]
) -> None:
    set_limits(exact_samples=0, exact_features=5000 * (how == "exact"))
    config = RankConfig(str(store), similarity="knn", components=5, variable_genes="all")
    ours, theirs = rank(config), rank(config, client=client)
    assert ours.facts["graph"]["components_by"] == how
    assert ours.facts["graph"] == theirs.facts["graph"]
    assert ranking_bytes(ours.ranking, "tsv", 17) == ranking_bytes(theirs.ranking, "tsv", 17)


@pytest.mark.nightly
def test_same_bytes_of_worker_processes(
    store: Path, labels: Path, processes: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = ["rank", str(store), "-q", "--block-size", "50", "--method", "fisher"]
    words += ["--labels", str(labels), "--out"]
    address = f"dask:{processes.scheduler.address}"
    assert run_here([*words, str(tmp_path / "threads"), "--threads", "2"], capfd).code == 0
    assert run_here([*words, str(tmp_path / "dask"), "--executor", address], capfd).code == 0
    ours = [(tmp_path / run / "ranking.tsv").read_bytes() for run in ("threads", "dask")]
    assert ours[0] == ours[1]


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


@pytest.mark.nightly
@pytest.mark.parametrize("killed", [1, 2])
@pytest.mark.parametrize("form", ["store", "csv"])
def test_same_bytes_when_workers_are_killed(
    killed: int, form: str, store: Path, csv: Path, processes: Any
) -> None:
    ids = list(processes.run(os.getpid).values())
    config = RankConfig(str(store if form == "store" else csv), block_size=50)

    def kill() -> None:
        for process in ids[:killed]:
            os.kill(process, signal.SIGKILL)

    found = rank(config, AtFirstProgress(kill), client=processes)
    assert ranking_bytes(found.ranking, "tsv", 17) == ranking_bytes(rank(config).ranking, "tsv", 17)


def test_results_come_in_span_order_and_few_at_a_time(executor: Any, tmp_path: Path) -> None:
    def task(span: Span) -> int:
        (tmp_path / f"{span.lo}").touch()
        return span.lo

    results = executor.map(task, cut(60, 1))
    for taken in range(60):
        assert next(results) == taken
        assert len(list(tmp_path.iterdir())) <= taken + executor.workers * 2 + 1
    assert list(results) == []


def test_fewer_tasks_at_a_time(executor: Any, tmp_path: Path) -> None:
    def task(span: Span) -> int:
        mark = tmp_path / f"{span.lo}"
        mark.touch()
        seen = len(list(tmp_path.iterdir()))
        mark.unlink()
        return seen

    assert max(executor.at_most(1).map(task, cut(20, 1))) == 1
    assert max(executor.at_most(9).map(task, cut(20, 1))) <= 2
    assert max(executor.at_most(1).at_most(9).map(task, cut(20, 1))) == 1


def test_errors_of_tasks_reach_the_caller(executor: Any) -> None:
    def task(span: Span) -> int:
        if span.lo == 4:
            raise InputError("bad", where="feature 4", hint="mend it")
        return span.lo

    with pytest.raises(InputError, match="bad") as caught:
        list(executor.map(task, cut(30, 1)))
    assert (caught.value.where, caught.value.hint) == ("feature 4", "mend it")
    assert list(executor.map(lambda span: span.lo, cut(3, 1))) == [0, 1, 2]


@pytest.mark.nightly
def test_a_task_that_kills_its_worker_every_time_is_given_up(processes: Any) -> None:
    from sfs_cli.compute.dask_executor import DaskExecutor

    def task(span: Span) -> int:
        if span.lo == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return span.lo

    with pytest.raises(OutOfMemoryError, match="died repeatedly"):
        list(DaskExecutor(processes, ThreadExecutor(1)).map(task, cut(4, 1)))


@pytest.mark.nightly
def test_results_may_be_written_to(processes: Any) -> None:
    from sfs_cli.compute.dask_executor import DaskExecutor

    executor = DaskExecutor(processes, ThreadExecutor(1))
    (found,) = executor.map(lambda span: np.zeros(200_000), cut(1, 1))
    found += 1
    assert found.sum() == 200_000


def test_a_store_that_workers_do_not_see_is_refused(client: Any, store: Path) -> None:
    from sfs_cli.compute import dask_cluster

    hidden = store.parent / "hidden.json"
    hidden.write_text("x")

    class Elsewhere:
        """A cluster whose workers see another file system."""

        def run(self, function: Callable[[str], object], *given: str, **how: str) -> Any:
            hidden.unlink()
            return client.run(function, *given, **how)

    with pytest.raises(InputError, match="2 of 2 Dask workers do not see") as caught:
        dask_cluster.check_files(Elsewhere(), [hidden])  # type: ignore[arg-type]
    assert str(hidden) in str(caught.value.where)
    assert "sfs convert" in str(caught.value.hint)


def test_workers_with_other_versions_are_refused(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sfs_cli.compute import dask_cluster

    assert dask_cluster.check_workers(client, "here") == []
    own = dask_cluster.describe()
    other = {"versions": own["versions"] | {"numpy": "1.0"}, "single": True}
    with monkeypatch.context() as patch:
        patch.setattr(client, "run", lambda *_, **__: {"tcp://a": own, "tcp://b": other})
        with pytest.raises(InputError, match="1 of 2 workers cannot run") as caught:
            dask_cluster.check_workers(client, "here")
        assert "tcp://b has numpy 1.0, not" in str(caught.value.where)
        versions = {name: own["versions"][name] for name in own["versions"] if name != "scipy"}
        patch.setattr(client, "run", lambda *_, **__: {"tcp://a": own | {"versions": versions}})
        with pytest.raises(InputError) as caught:
            dask_cluster.check_workers(client, "here")
        assert "has scipy of an earlier sfs-cli, not" in str(caught.value.where)
        patch.setattr(client, "run", lambda *_, **__: {"tcp://a": ImportError("no sfs_cli")})
        with pytest.raises(InputError, match="1 of 1 workers cannot run"):
            dask_cluster.check_workers(client, "here")
        patch.setattr(client, "run", lambda *_, **__: {"tcp://a": own | {"single": False}})
        (warning,) = dask_cluster.check_workers(client, "here")
        assert "OPENBLAS_NUM_THREADS" in warning


def test_two_clusters_are_one_too_many(client: Any, store: Path) -> None:
    with pytest.raises(UsageError, match="two clusters"):
        rank(RankConfig(str(store), executor="dask"), client=client)


@pytest.mark.parametrize("executor", ["ray", "dask:", "dask:host:8786", "dask:http://host:1"])
def test_other_executors_are_refused(executor: str, store: Path) -> None:
    with pytest.raises(UsageError, match="--executor"):
        RankConfig(str(store), executor=executor)


@pytest.mark.nightly
def test_a_scheduler_that_is_not_there(
    store: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sfs_cli.compute.dask_cluster.WAIT_SECONDS", 0.5)
    done = run_here(["rank", str(store), "--executor", "dask:tcp://127.0.0.1:9"], capfd)
    assert done.code == 3
    assert "no Dask scheduler" in done.err
    assert "tcp://127.0.0.1:9" in done.err
    assert "Traceback" not in done.err


@pytest.mark.nightly
def test_a_worker_is_no_scheduler(
    store: Path, processes: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    worker = next(iter(processes.nthreads()))
    done = run_here(["rank", str(store), "--executor", f"dask:{worker}"], capfd)
    assert done.code == 3
    assert "this is a Worker" in done.err


def test_without_dask_the_extra_is_named(
    store: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = run_here(["rank", str(store), "--executor", "dask"], capfd)
    assert done.code == 6
    assert "sfs-cli[dask]" in done.err


@pytest.mark.nightly
def test_processes_of_this_machine_leave_nothing(
    store: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    words = ["rank", str(store), "--executor", "dask", "--threads", "2", "--block-size", "100"]
    done = run_here([*words, "--out", str(tmp_path / "out")], capfd)
    assert done.code == 0, done.err
    assert "distributed" not in done.err
    assert list((tmp_path / "tmp").iterdir()) == []
