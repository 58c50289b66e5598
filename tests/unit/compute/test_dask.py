"""A Dask cluster gives the numbers of threads; its workers are threads of this process here."""

from __future__ import annotations

import io
import multiprocessing.resource_tracker
import multiprocessing.spawn
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sfs_cli import RankConfig
from sfs_cli.compute.engine import ThreadExecutor
from sfs_cli.compute.matrix import Span, cut
from sfs_cli.errors import InputError, UsageError
from sfs_cli.io.results.writers import ranking_bytes
from sfs_cli.store.disk import open_store
from sfs_cli.workflow.rank import rank
from tests.making import write_labels, write_table
from tests.running import run_here
from tools.benchmarks.make_store import make_store

distributed = pytest.importorskip(
    "distributed", reason="Dask, the extra sfs-cli[dask], is not installed"
)
pytestmark = pytest.mark.xdist_group("dask")  # one cluster for all

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
    "components": {"similarity": "knn", "components": 5, "variable_genes": 1000},
    "mrsf": {"method": "mrsf", "select": 10},
    "batches": {
        "method": "spec",
        "similarity": "knn",
        "neighbors": 4,
        "transform": "unit-samples",
    },
}


def same_numbers(config: RankConfig, client: Any) -> dict[str, Any]:
    """Rank with threads and on the cluster, and compare order and numbers; return the facts."""
    results = [rank(config), rank(config, client=client)]
    ours, theirs = (
        pd.read_parquet(io.BytesIO(ranking_bytes(result.ranking, "parquet"))) for result in results
    )
    pd.testing.assert_frame_equal(ours, theirs, rtol=1e-10, atol=1e-300)
    return results[1].facts


@pytest.mark.parametrize("name", CASES)
def test_same_numbers_as_threads(
    name: str, store: Path, labels: Path, client: Any, set_blocks: Callable[[int], None]
) -> None:
    set_blocks(50)
    options = CASES[name] | ({"batch": str(labels)} if name == "batches" else {})
    same_numbers(RankConfig(str(store), **options), client)


def test_same_numbers_of_a_text_file(
    csv: Path, client: Any, set_blocks: Callable[[int], None]
) -> None:
    set_blocks(1500)
    same_numbers(RankConfig(str(csv)), client)


@pytest.mark.parametrize(("method", "given"), [("rfs", {}), ("mrmr", {"select": 3})])
def test_same_numbers_when_the_workers_make_every_pass(
    method: str,
    given: dict[str, Any],
    store: Path,
    labels: Path,
    client: Any,
    monkeypatch: pytest.MonkeyPatch,
    set_blocks: Callable[[int], None],
) -> None:
    """The matrix of an iterative method is too large to be held."""
    monkeypatch.setattr("sfs_cli.methods.centered_matrix.HOLD_BYTES", 0)
    set_blocks(1500)
    same_numbers(RankConfig(str(store), method=method, labels=str(labels), **given), client)


def test_same_numbers_when_the_workers_search_components(
    store: Path, client: Any, set_limits: Callable[..., None]
) -> None:
    set_limits(exact_samples=0, exact_features=0)
    config = RankConfig(str(store), similarity="knn", components=5, variable_genes="all")
    facts = same_numbers(config, client)
    assert facts["graph"]["components_by"] == "randomized"


def test_results_come_in_span_order_and_few_at_a_time(executor: Any, tmp_path: Path) -> None:
    def task(span: Span) -> int:
        (tmp_path / f"{span.lo}").touch()
        return span.lo

    results = executor.map(task, cut(60, 1))
    for taken in range(60):
        assert next(results) == taken
        assert len(list(tmp_path.iterdir())) <= taken + executor.workers * 2 + 1
    assert list(results) == []


def test_errors_of_tasks_reach_the_caller(executor: Any) -> None:
    def task(span: Span) -> int:
        if span.lo == 4:
            raise InputError("bad", where="feature 4", hint="mend it")
        return span.lo

    with pytest.raises(InputError, match="bad") as caught:
        list(executor.map(task, cut(30, 1)))
    assert (caught.value.where, caught.value.hint) == ("feature 4", "mend it")
    assert list(executor.map(lambda span: span.lo, cut(3, 1))) == [0, 1, 2]


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

    dask_cluster.check_workers(client, "here")
    own = dask_cluster.versions()
    cases: list[tuple[dict[str, Any], str, str]] = [
        (
            {"tcp://a": own, "tcp://b": own | {"numpy": "1.0"}},
            "1 of 2 workers cannot run",
            f"tcp://b has numpy 1.0, not {own['numpy']}",
        ),
        ({"tcp://a": ImportError("no sfs_cli")}, "1 of 1 workers", "cannot run this sfs_cli"),
    ]
    for found, what, where in cases:
        monkeypatch.setattr(client, "run", lambda *_, found=found, **__: found)
        with pytest.raises(InputError, match=what) as caught:
            dask_cluster.check_workers(client, "here")
        assert where in str(caught.value.where)


def test_two_clusters_are_one_too_many(client: Any, store: Path) -> None:
    with pytest.raises(UsageError, match="two clusters"):
        rank(RankConfig(str(store), dask="local"), client=client)


@pytest.mark.parametrize("address", ["", "tcp://", "host:8786"])
def test_what_is_no_address_is_refused(address: str, store: Path) -> None:
    with pytest.raises(UsageError, match="--dask") as caught:
        RankConfig(str(store), dask=address)
    assert "tcp://HOST:PORT" in f"{caught.value.what} {caught.value.hint}"


def test_without_dask_the_extra_is_named(
    store: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    done = run_here(["rank", str(store), "--dask", "local"], capfd)
    assert done.code == 6
    assert "sfs-cli[dask]" in done.err


@pytest.mark.skipif(
    tuple(map(int, distributed.__version__.split(".")[:2])) < (2026, 8),
    reason="an older Dask waits for such a process for ever",
)
def test_a_worker_process_that_ends_while_it_starts_is_told(
    store: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    multiprocessing.resource_tracker.ensure_running()  # which is a process of Python, too
    monkeypatch.setattr(multiprocessing.spawn, "_python_exe", os.fsencode(shutil.which("false")))
    done = run_here(["rank", str(store), "--dask", "local", "--method", "variance"], capfd)
    assert done.code == 3
    assert "a worker process of --dask local has ended" in done.err
    assert "fewer --threads" in done.err
