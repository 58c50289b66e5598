"""Files of options that were made to do harm, or are damaged."""

from __future__ import annotations

from pathlib import Path

import pytest

from sfs_cli.errors import SfsError
from sfs_cli.options import documents
from sfs_cli.options.files import load

LAUGHS = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]\n" for a, b in zip("abcdefg", "bcdefgh")
)
DIGITS = "9" * 4000


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("laughs.yaml", LAUGHS),
        ("self.yaml", "a: &a\n  b: *a\n"),
        ("deep.yaml", "[" * 20_000),
        ("deep.json", "[" * 100_000),
        ("deep.toml", "a = " + "[" * 100_000),
        ("keys.toml", "a." * 20_000 + "a = 1"),
        ("blanks.toml", "a . 'a' ." * 20_000 + "a = 1"),
        ("hex.yaml", f"matrix: m.csv\nseed: 0x{'f' * 4000}\n"),
        ("digits.yaml", f"matrix: m.csv\nseed: {DIGITS}\n"),
        ("digits.json", f'{{"matrix": "m.csv", "seed": {DIGITS}}}'),
        ("hex.toml", f'matrix = "m.csv"\nseed = 0x{"f" * 4000}\n'),
        ("half.yaml", 'matrix: "\\ud800"\n'),
        ("half.json", '{"matrix": "\\ud800"}'),
        ("halfkey.json", '{"\\ud800": 1}'),
        ("half.toml", 'matrix = "\\ud800"\n'),
        ("tag.yaml", '!!python/object/apply:os.system ["true"]\n'),
    ],
)
def test_a_hostile_document_is_refused_by_name(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SfsError) as raised:
        load(path)
    assert name in str(raised.value)


def test_a_large_document_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    with path.open("wb") as file:
        file.truncate(documents.LARGEST + 1)
    with pytest.raises(SfsError, match="MiB"):
        load(path)


def test_aliases_that_stand_for_little_are_values(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("matrix: &m m.csv\nsimilarity-file: *m\n")
    options = load(path).options
    assert options["similarity_file"] == options["matrix"]
