"""What all hostile cases are made of: odd numbers and names, and small writers of files."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from tools.fuzz.cases import Case, write_files
from tools.fuzz.oracle import BAD, REFUSED, USAGE
from tools.fuzz.seeds import COMPANIONS, Files
from tools.fuzz.study import FEATURES, SAMPLES, values

RANK = "rank {} --method variance"
TOO_MUCH = REFUSED | {137}
MUST_FAIL = frozenset({USAGE, BAD})

NUMBERS = {
    "1e308": "1e308",
    "-1e308": "-1e308",
    "1e309": "1e309",
    "beyond float32": "3.5e38",
    "tiny": "1e-320",
    "nan": "nan",
    "inf": "inf",
    "-inf": "-inf",
    "Infinity": "Infinity",
    "empty": "",
    "space": " ",
    "NA": "NA",
    "null": "null",
    "decimal comma": "1;5",
    "two points": "1.2.3",
    "hexadecimal": "0x1F",
    "underscore": "1_000",
    "Arabic digits": "\u0663\u0664",
    "percent": "5%",
    "true": "TRUE",
    "many digits": "1." + "3" * 4000,
    "long integer": "9" * 5000,
    "huge exponent": "1e999999999",
    "Fortran": "1d3",
    "sign alone": "-",
    "Unicode minus": "\u22125",
    "2^53+1": "9007199254740993",
    "no-break space": "1\u00a0000",
    "NUL": "1\x002",
    "text": "high",
}
"""What may stand in place of a number."""
NAMES = {
    "empty": "",
    "spaces": "   ",
    "no-break space": "\u00a0gene2",
    "escape": "\x1b[31mred\x1b[0m",
    "title": "\x1b]0;owned\x07",
    "C1 control": "\x9b31mx",
    "markup": "[bold red]x[/bold red]",
    "closing markup": "[/]",
    "script": "<script>alert(1)</script>",
    "formula": '=cmd|"/C calc"!A0',
    "option": "--out",
    "path": "../../etc/passwd",
    "repeated": "gene3",
    "right to left": "\u202egene",
    "line separator": "a\u2028b",
    "next line": "a\x85b",
    "vertical tab": "a\x0bb",
    "NUL": "a\x00b",
    "carriage return": "a\rb",
    "quote": 'a"b',
    "20,000 letters": "x" * 20_000,
    "number": "12",
    "nan": "nan",
    "comment": "#gene",
    "combining": "e\u0301",
    "emoji": "\U0001f9ec",
    "delete": "a\x7fb",
    "format": "%s%n{0}",
    "surrogate": "a\udc80b",
    "private": "\ue000",
    "slash": "a/b",
    "colon": "a:b",
}
"""What may stand in place of a name."""


def hostile(name: str, format: str, files: Mapping[str, Any], command: str, **more: Any) -> Case:
    """Return a case of files that are given as text or bytes."""
    content: Files = {
        path: c if isinstance(c, bytes) else c.encode("utf-8", "surrogateescape")
        for path, c in files.items()
    }
    return Case(name, format, command, partial(write_files, COMPANIONS | content), **more)


def table_text(cells: Sequence[Sequence[object]], delimiter: str = ",") -> str:
    return "".join(delimiter.join(map(str, row)) + "\n" for row in cells)


def cells() -> list[list[Any]]:
    """Return the rows of the clean matrix, the header first."""
    return [["id", *SAMPLES], *([f, *row] for f, row in zip(FEATURES, values().tolist()))]


def replaced(cells: list[list[Any]], row: int, column: int, new: object) -> list[list[Any]]:
    cells[row][column] = new
    return cells


def write_made(files: Mapping[str, Callable[[], bytes]], folder: Path) -> None:
    write_files(COMPANIONS | {name: make() for name, make in files.items()}, folder)


def zip_of(members: Mapping[str, bytes]) -> bytes:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return sink.getvalue()


def npy_of(array: np.ndarray) -> bytes:
    sink = io.BytesIO()
    np.save(sink, array, allow_pickle=True)
    return sink.getvalue()


def npy_header(shape: str, kind: str = "'<f8'", values: bytes = bytes(64)) -> bytes:
    header = f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + values
