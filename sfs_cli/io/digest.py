"""Digests of inputs and outputs."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from sfs_cli.io.modality import split_modality


def sha256_file(path: Path) -> str:
    """Return the sha256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def describe(path: Path) -> dict[str, Any]:
    """Return path, size in bytes and sha256 of a file, or of a folder's files taken together.

    The digest of ``FILE.h5mu:MODALITY`` is of the file's and the modality's name: two modalities of
    a file are two matrices. That of the file alone is ``file_sha256``.
    """
    file, modality = split_modality(path)
    if modality is not None:
        facts = describe(file)
        part = hashlib.sha256(f"{modality}\0{facts['sha256']}\n".encode()).hexdigest()
        return facts | {"path": str(path), "sha256": part, "file_sha256": facts["sha256"]}
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.is_file())
        total = hashlib.sha256()
        for file in files:
            total.update(f"{file.relative_to(path).as_posix()}\0{sha256_file(file)}\n".encode())
        size = sum(p.stat().st_size for p in files)
        return {"path": str(path), "bytes": size, "sha256": total.hexdigest()}
    return {"path": str(path), "bytes": path.stat().st_size, "sha256": sha256_file(path)}
