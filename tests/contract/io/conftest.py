"""Fixtures of the tests of readers of text."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from sfs_cli.errors import SfsError


@pytest.fixture
def write_text(tmp_path: Path) -> Callable[..., Path]:
    """Write text (or bytes) to a file, compressed as its name says."""

    def write(text: str | bytes, name: str) -> Path:
        data = text.encode() if isinstance(text, str) else text
        if name.endswith(".gz"):
            data = gzip.compress(data, mtime=0)
        elif name.endswith(".zst"):
            data = pa.compress(data, codec="zstd", asbytes=True)
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


@pytest.fixture
def check_refused() -> Callable[..., None]:
    """Check that reading raises an error with this message, at this place, and with a hint."""

    def check(read: Callable[[], object], what: str, where: str) -> None:
        with pytest.raises(SfsError) as caught:
            read()
        assert what in caught.value.what
        assert where in str(caught.value.where)
        assert caught.value.hint

    return check


def _crlf(text: str) -> str:
    return text.replace("\n", "\r\n")


DIALECTS = {
    "plain": lambda text: text,
    "crlf": _crlf,
    "bom": lambda text: "\ufeff" + text,
    "no end": lambda text: text.rstrip("\n"),
    "blank lines": lambda text: "\n" + text.replace("\n", "\n\n") + "  \n\n",
}


@pytest.fixture(params=zip(DIALECTS, ["", ".gz", ".zst", "", ".gz"]), ids=" ".join)
def write_dialect(
    request: pytest.FixtureRequest, write_text: Callable[..., Path]
) -> Callable[..., Path]:
    """Write lines in one of the ways in which editors and programs write and pack them."""
    name, ending = request.param
    return lambda text, file: write_text(DIALECTS[name](text), file + ending)


@pytest.fixture(params=["", ".gz", ".zst"])
def ending(request: pytest.FixtureRequest) -> str:
    """The end of the name of a file, by its compression."""
    return request.param
