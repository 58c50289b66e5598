"""numba gets a private folder where it has none of its own."""

from __future__ import annotations

import os
import pwd
import tempfile
from pathlib import Path

import pytest

from sfs_cli.run import caches
from sfs_cli.run.caches import VARIABLE, compiled_code_kept

pytest.importorskip("numba")


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    """Return an empty folder for temporary files of a user who can write nowhere else."""
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(caches.os, "access", lambda *_: False)
    return tmp_path


def test_the_folder_is_private_and_goes_with_the_run(nowhere):
    with compiled_code_kept():
        folder = Path(os.environ[VARIABLE])
        assert folder.parent == nowhere
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "code").write_text("x")
    assert VARIABLE not in os.environ
    assert not list(nowhere.iterdir())


@pytest.mark.parametrize("what", ["is named", "is writable", "no home", "no folder at all"])
def test_nothing_is_made_where_it_would_not_help(what, nowhere, monkeypatch):
    expected = None
    if what == "is named":
        expected = str(nowhere / "own")
        monkeypatch.setenv(VARIABLE, expected)
    elif what == "is writable":
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.setenv("HOME", str(nowhere))
        monkeypatch.setattr(caches.os, "access", lambda place, _: place == nowhere)
    elif what == "no home":  # then the folder of the source is asked alone
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.delenv("HOME", raising=False)
        monkeypatch.setattr(pwd, "getpwuid", lambda _: {}["nobody"])
        monkeypatch.setattr(caches.os, "access", lambda place, _: Path(place).name == "run")
    else:
        monkeypatch.setattr(tempfile, "tempdir", str(nowhere / "absent"))
    with compiled_code_kept():
        assert os.environ.get(VARIABLE) == expected
    assert not list(nowhere.iterdir())
