"""Outputs are whole or not there, and nothing else is left behind."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from sfs_cli.errors import InputError, unwritable
from sfs_cli.io.files.atomic import check_writable, output_folder, replacing


class BreakError(Exception):
    """Something goes wrong in the middle."""


def everything(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*")}


def write_and_break(path: Path, inner: str = "") -> None:
    """Write a file, or a folder with one, and fail."""
    if inner:
        path.mkdir()
    (path / inner).write_text("half")
    raise BreakError


def test_the_record_that_vouches_for_the_others_comes_last(tmp_path, monkeypatch):
    moved = []
    real = Path.replace
    monkeypatch.setattr(Path, "replace", lambda a, b: (moved.append(a.name), real(a, b)))
    with output_folder(tmp_path) as out:
        for name in ("z.tsv", "run.json", "a.html"):
            out.file(name).write_text(name)
        out.commit(last="run.json")
    assert moved == ["a.html", "z.tsv", "run.json"]


def test_an_exception_in_the_middle_leaves_what_was_there_and_no_folder(tmp_path):
    with pytest.raises(BreakError), output_folder(tmp_path / "a" / "b") as out:
        write_and_break(out.file("ranking.tsv"))
    assert everything(tmp_path) == set()
    (tmp_path / "ranking.tsv").write_text("old")
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(BreakError), output_folder(tmp_path) as out:
        write_and_break(out.file("ranking.tsv"))
    assert everything(tmp_path) == {"ranking.tsv", "notes.txt"}
    assert (tmp_path / "ranking.tsv").read_text() == "old"


@pytest.mark.parametrize("there", [True, False])
def test_a_file_is_replaced_whole(tmp_path, there):
    target = tmp_path / "deep" / "x.h5ad"
    if there:
        target.parent.mkdir()
        target.write_text("old")
    with replacing(target) as partial:
        partial.write_text("new")
        assert target.exists() == there
    assert target.read_text() == "new"
    assert everything(tmp_path) == {"deep", "deep/x.h5ad"}


def test_a_folder_is_replaced_whole(tmp_path):
    target = tmp_path / "x.store"
    target.mkdir()
    (target / "old").write_text("")
    with replacing(target) as partial:
        partial.mkdir()
        (partial / "new").write_text("")
    assert everything(tmp_path) == {"x.store", "x.store/new"}


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_failed_replacement_leaves_the_old_and_nothing_else(tmp_path, kind):
    target = tmp_path / "x"
    if kind == "folder":
        target.mkdir()
        (target / "old").write_text("")
    else:
        target.write_text("old")
    before = everything(tmp_path)
    with pytest.raises(BreakError), replacing(target) as partial:
        write_and_break(partial, inner="new" if kind == "folder" else "")
    assert everything(tmp_path) == before


def test_a_folder_without_permission_is_told_before_a_link_in_it(tmp_path, monkeypatch):
    """What the link leads to could not be told, nor the link be removed."""
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(InputError, match="is a link to nowhere"):
        check_writable(tmp_path / "link", "--out", folder=True)
    monkeypatch.setattr(os, "access", lambda path, mode: mode == os.F_OK and path == tmp_path)
    with pytest.raises(InputError, match="permission denied"):
        check_writable(tmp_path / "link", "--out", folder=True)


def test_a_full_disk_is_said_to_be_full(tmp_path):
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    with pytest.raises(InputError, match="no space left") as caught, replacing(tmp_path / "x"):
        raise full
    assert caught.value.where == str(tmp_path / "x")
    assert everything(tmp_path) == set()
    assert (
        "permission denied"
        in unwritable("out", PermissionError(errno.EACCES, "Permission denied")).what
    )


def test_a_full_disk_that_hdf5_tells_of_is_an_error_of_the_output(tmp_path):
    words = f"flush failed (errno = {errno.ENOSPC}, error message = 'No space left on device')"
    with pytest.raises(InputError, match="no space left"), replacing(tmp_path / "x.h5ad"):
        raise RuntimeError(words)
    with pytest.raises(RuntimeError, match="no such thing"), replacing(tmp_path / "x.h5ad"):
        raise RuntimeError("no such thing")
    assert everything(tmp_path) == set()


def replaced(folder: Path, names: tuple[str, ...] = ("a.html", "run.json", "z.tsv")) -> None:
    with output_folder(folder) as out:
        for name in names:
            out.file(name).write_text("new")
        out.commit(last="run.json")


def old_result(folder: Path) -> None:
    for name in ("run.json", "z.tsv"):
        (folder / name).write_text("old")
    (folder / "a.html").symlink_to("z.tsv")  # a link is replaced, and put back


@pytest.mark.parametrize("fails", ["a.html", "new.txt", "run.json", "z.tsv"])
def test_a_file_that_cannot_be_replaced_leaves_the_old_result(tmp_path, monkeypatch, fails):
    old_result(tmp_path)
    before = everything(tmp_path)
    real, refused = Path.replace, []

    def replace(one: Path, other: Path) -> Path:
        if other == tmp_path / fails and not refused:  # the first time: not when it is put back
            refused.append(other)
            raise OSError(errno.EBUSY, "Device or resource busy", str(one), None, str(other))
        return real(one, other)

    monkeypatch.setattr(Path, "replace", replace)
    with pytest.raises(InputError, match="busy") as caught:
        replaced(tmp_path, ("a.html", "new.txt", "run.json", "z.tsv"))
    assert str(tmp_path / fails) in caught.value.what
    assert "sfs-" not in str(caught.value)
    assert everything(tmp_path) == before
    assert (tmp_path / "a.html").is_symlink()
    assert {p.read_text() for p in tmp_path.iterdir()} == {"old"}
