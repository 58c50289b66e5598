"""What the table of bad inputs is made of: small files, good ones and bad ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sfs_cli.cli.app import run
from tests.making import annotated, table_text, write_labels, write_parquet

Make = Callable[[Path], list[str]]

USAGE, BAD, EXISTS, MEMORY = 2, 3, 4, 137

N, M = 6, 9
SAMPLES = [f"s{i}" for i in range(1, N + 1)]
FEATURES = [f"gene{i}" for i in range(1, M + 1)]
AB = ["a", "b"] * (N // 2)


@dataclass(frozen=True)
class Bad:
    """A command that must fail.

    Attributes
    ----------
    id : str
        Name of the case.
    make : callable
        Builds the files of the case in an empty folder, and returns the arguments.
    name : str
        The file or option that the message must name.
    words : tuple of str
        What else the message must hold, whatever its case; ``a|b`` is one of both.
    code : int
        The exit code.
    """

    id: str
    make: Make
    name: str
    words: tuple[str, ...]
    code: int


def bad(id: str, make: Make, name: str, words: str, code: int = BAD) -> Bad:
    """Return a row; the words are divided by semicolons."""
    return Bad(id, make, name, tuple(words.split("; ")), code)


def option(id: str, words: str, *arguments: str, name: str | None = None, code: int = USAGE) -> Bad:
    """Return a row for options that are wrong on a good matrix; LABELS stands for good labels."""

    def make(folder: Path) -> list[str]:
        given = [labels(folder, AB) if a == "LABELS" else a for a in arguments]
        return ["rank", good(folder), *given]

    flags = [a for a in arguments if a.startswith("--")]
    return bad(id, make, name or flags[-1], words, code)


def values(rows: int = M, columns: int = N) -> np.ndarray:
    return np.random.default_rng(7).normal(5.0, 2.0, (rows, columns)).round(3)


def table(
    X: np.ndarray,
    features: Sequence[str] = FEATURES,
    samples: Sequence[str] = SAMPLES,
    delimiter: str = ",",
) -> str:
    return table_text(X[: len(features)], features[: len(X)], samples, delimiter)


def text(folder: Path, content: str, name: str = "m.csv") -> str:
    (folder / name).write_text(content, encoding="utf-8")
    return str(folder / name)


def raw(folder: Path, content: bytes, name: str) -> str:
    (folder / name).write_bytes(content)
    return str(folder / name)


def good(folder: Path, name: str = "good.csv") -> str:
    return text(folder, table(values()), name)


def edited(folder: Path, old: int | tuple[int, int], new: str, name: str = "m.csv") -> str:
    """Write a good matrix with one whole line, or one field of a line, replaced."""
    lines = table(values()).splitlines()
    if isinstance(old, int):
        lines[old - 1] = new
    else:
        fields = lines[old[0] - 1].split(",")
        fields[old[1]] = new
        lines[old[0] - 1] = ",".join(fields)
    return text(folder, "\n".join(lines) + "\n", name)


def parquet(folder: Path, X: np.ndarray, name: str = "m.parquet", **options: object) -> str:
    return write_parquet(folder / name, X, FEATURES[: len(X)], SAMPLES, **options)


def h5ad(folder: Path, name: str = "m.h5ad", **parts: object) -> str:
    data = annotated(values().T, FEATURES, SAMPLES, **parts)
    data.obs["tissue"] = AB
    data.write_h5ad(folder / name)
    return str(folder / name)


def labels(folder: Path, classes: Sequence[str], ids: Sequence[str] = SAMPLES) -> str:
    return write_labels(folder / "labels.tsv", classes, ids)


def fisher(folder: Path, spec: str) -> list[str]:
    return ["rank", good(folder), "--method", "fisher", "--labels", spec]


def similarity(folder: Path, S: np.ndarray, ids: Sequence[str] = SAMPLES) -> list[str]:
    path = text(folder, table(S, ids, ids), "S.csv")
    return ["rank", good(folder), "--similarity", f"file:{path}"]


def folder_of_things(folder: Path) -> Path:
    (folder / "things").mkdir()
    good(folder / "things")
    return folder / "things"


def kernel(n: int = N) -> np.ndarray:
    return np.exp(-0.1 * np.subtract.outer(np.arange(n), np.arange(n)) ** 2)


def changed(S: np.ndarray, at: tuple[int, int], value: float, both: bool = True) -> np.ndarray:
    S[at] = value
    if both:
        S[at[::-1]] = value
    return S


def built_store(folder: Path) -> Path:
    """Build a good store."""
    path = folder / "m.store"
    assert run(["convert", good(folder), str(path), "-q"]) == 0
    return path


def cut(path: Path, part: float = 0.6) -> str:
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * part)])
    return str(path)
