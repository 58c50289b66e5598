from __future__ import annotations

import pytest

from sfs_cli.io.files.text import first_lines, read_whole, text_chunks, text_lines

TEXT = "a\n\nbb\r\n  \nccc ddd\n\ne"
LINES = [(1, "a"), (3, "bb"), (5, "ccc ddd"), (7, "e")]


@pytest.mark.parametrize("size", [3, 4, 7, 100])
def test_chunks_are_whole_lines_and_keep_count(write_text, size):
    path = write_text("\ufeff" + TEXT, "t.txt")
    chunks = list(text_chunks(path, size))
    assert b"".join(chunk.text for chunk in chunks).decode() == TEXT + "\n"
    line = 1
    for chunk in chunks:
        assert chunk.first_line == line
        assert chunk.text.endswith(b"\n")
        line += chunk.text.count(b"\n")


def test_lines(write_text, ending):
    path = write_text(TEXT, f"t.txt{ending}")
    assert list(text_lines(path)) == LINES
    assert first_lines(path, 2) == LINES[:2]
    assert read_whole(path) == TEXT + "\n"


def test_cut_off_data_are_refused(write_text, check_refused):
    path = write_text("a\n" * 100_000, "t.txt.gz")
    path.write_bytes(path.read_bytes()[:-20])
    check_refused(lambda: list(text_lines(path)), "cut off or damaged", "t.txt.gz")
