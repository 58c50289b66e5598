"""Amounts of memory as people write them."""

from __future__ import annotations

import pytest

from sfs_cli.compute import memory
from sfs_cli.errors import UsageError


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("512M", 512 << 20),
        (" 4 g ", 4 << 30),
        ("1.5GiB", 3 << 29),
        (str(64 << 20), 64 << 20),
        ("65536K", 64 << 20),
    ],
)
def test_sizes_are_powers_of_1024(text: str, size: int) -> None:
    assert memory.parse_size(text) == size


@pytest.mark.parametrize("text", ["", "-4G", "4X", "1M"])
def test_what_is_no_size_or_too_little_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        memory.parse_size(text)


@pytest.mark.parametrize(
    ("size", "text"),
    [(1023, "1023 B"), (1536, "1.5 KiB"), (5 << 40, "5.0 TiB")],
)
def test_sizes_are_shown_in_the_unit_that_fits(size: int, text: str) -> None:
    assert memory.format_size(size) == text
