"""Inputs at addresses, which fsspec copies: its memory, files, and servers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import fsspec.core
import numpy as np
import pytest
from fsspec.implementations.local import LocalFileSystem

from tests.making import annotated, names
from tests.running import Finished
from tests.running import run_here as run_captured

Run = Callable[..., Finished]


@pytest.fixture
def here(capfd: pytest.CaptureFixture[str]) -> Run:
    return lambda *words: run_captured([str(word) for word in words], capfd)


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Files of 30 and of 24 cells."""
    rng = np.random.default_rng(3)
    paths = []
    for name, count in (("a", 30), ("b", 24)):
        counts = rng.poisson(4, (count, 50)).astype(np.float32)
        paths.append(tmp_path / f"{name}.h5ad")
        annotated(counts, samples=names("c", count)).write_h5ad(paths[-1])
    return paths


def test_a_file_elsewhere_is_as_one_here(here: Run, files: list[Path], tmp_path: Path) -> None:
    labels = "".join(f"c{i}\t{'xy'[i % 2]}\t{i % 3}\n" for i in range(30))
    (tmp_path / "l.tsv").write_text(f"sample\tkind\tbatch\n{labels}")
    memory = fsspec.filesystem("memory")
    for path in (*files, tmp_path / "l.tsv"):
        memory.pipe(f"/it/{path.name}", path.read_bytes())
    out = tmp_path / "out"
    words = ["--method", "f-test", "--labels", "memory://it/l.tsv:kind"]
    words += ["--adjust", "memory://it/l.tsv:batch", "--out", out]
    done = here("rank", "memory://it/a.h5ad", *words)
    assert done.code == 0, done.err
    record = json.loads((out / "run.json").read_text())
    assert record["config"]["matrix"] == record["inputs"][0]["path"] == "memory://it/a.h5ad"
    assert str(tmp_path) not in json.dumps(record["inputs"])
    assert "up to date" in here("rank", "memory://it/a.h5ad", *words).err
    again = here("rank", "--config", out / "run.json", "--out", tmp_path / "again")
    assert again.code == 0, again.err
    local = [str(word).replace("memory://it/", f"{tmp_path}/") for word in words[:-1]]
    assert here("rank", files[0], *local, tmp_path / "local").code == 0
    tables = [(tmp_path / name / "ranking.tsv").read_bytes() for name in ("out", "again", "local")]
    assert tables[0] == tables[1] == tables[2]


def test_errors(here: Run, files: list[Path], tmp_path: Path, monkeypatch) -> None:
    done = here("inspect", "memory://it/none.h5ad")
    assert done.code == 3
    assert "MATRIX memory://it/none.h5ad cannot be read" in done.err
    assert here("inspect", "nothing://it/none.h5ad").code == 3
    done = here("shard", "init", tmp_path / "plan", f"file://{files[0]}", "--shards", "2")
    assert done.code == 2
    assert "sfs convert" in done.err
    (tmp_path / "damaged.h5ad").write_bytes(files[0].read_bytes()[:999])
    done = here("inspect", f"file://{tmp_path}/damaged.h5ad")
    assert done.code == 3
    assert f"where: file://{tmp_path}/damaged.h5ad" in done.err

    def fails(*_: object, **__: object) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec.core, "url_to_fs", fails)
    done = here("inspect", "s3://bucket/a.h5ad")
    assert done.code == 6
    assert "sfs-cli[cloud]" in done.err


def test_secrets_are_not_written(here: Run, files: list[Path], tmp_path: Path, monkeypatch) -> None:
    out = tmp_path / "out"
    monkeypatch.setattr(fsspec.core, "url_to_fs", lambda _: (LocalFileSystem(), str(files[0])))
    url = "https://me:sekret@host/a.h5ad?sig=sekret&se=2030-01-01T00:00:00Z&x=1"
    words = ["rank", url, "--method", "variance", "--out", out]
    monkeypatch.setattr("sys.argv", ["sfs", *map(str, words)])
    done = here(*words)
    assert done.code == 0, done.err
    assert json.loads((out / "run.json").read_text())["config"]["matrix"] == "https://host/a.h5ad"
    for path in out.iterdir():
        assert b"sekret" not in path.read_bytes(), path.name
    assert "sekret" not in done.err
    assert "up to date" in here(*words).err

    def fails(*_: object, **__: object) -> None:
        raise FileNotFoundError(f"404, url='{url}'")

    monkeypatch.setattr(fsspec.core, "url_to_fs", fails)
    for asked in (["inspect", url], ["shard", "init", tmp_path / "p", url, "--shards", "2"]):
        done = here(*asked)
        assert done.code in (2, 3)
        assert "sekret" not in done.err


def test_files_of_one_name_are_told_apart_by_their_folders(
    here: Run, files: list[Path], tmp_path: Path
) -> None:
    for path in files:
        (tmp_path / path.stem).mkdir()
        path.rename(tmp_path / path.stem / "cells.h5ad")
    done = here("inspect", *(f"file://{tmp_path}/{name}/cells.h5ad" for name in "ab"))
    assert "2 values: a, b" in done.out


def test_a_web_page_is_refused(here: Run) -> None:
    fsspec.filesystem("memory").pipe("/it/page.csv", b"<!DOCTYPE html>\n<a>x,y</a>\n")
    done = here("inspect", "memory://it/page.csv")
    assert done.code == 3
    assert "is a web page" in done.err


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """The address of a server of the files, which knows of no ranges."""
    handler = partial(_Quiet, directory=tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as running:
        Thread(target=running.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()


def test_a_folder_is_refused(here: Run, tmp_path: Path) -> None:
    (tmp_path / "cells.zarr").mkdir()
    done = here("inspect", f"file://{tmp_path}/cells.zarr")
    assert done.code == 3
    assert "is a folder" in done.err


def test_a_server(here: Run, files: list[Path], server: str) -> None:
    done = here("inspect", f"{server}/a.h5ad", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["path"] == f"{server}/a.h5ad"
    done = here("inspect", f"{server}/none.h5ad")
    assert done.code == 3
    assert "there is no such file" in done.err
