"""numba gets a private folder where it has none of its own."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from sfs_cli.workflow import caches
from sfs_cli.workflow.caches import VARIABLE, compiled_code_kept

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


def test_a_folder_that_is_named_stays(nowhere, monkeypatch):
    monkeypatch.setenv(VARIABLE, str(nowhere / "own"))
    with compiled_code_kept():
        assert os.environ[VARIABLE] == str(nowhere / "own")
    assert not list(nowhere.iterdir())


def test_nothing_is_made_where_the_user_can_write(nowhere, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(nowhere))
    monkeypatch.setattr(caches.os, "access", lambda place, _: place == str(nowhere))
    with compiled_code_kept():
        assert VARIABLE not in os.environ
    assert not list(nowhere.iterdir())
