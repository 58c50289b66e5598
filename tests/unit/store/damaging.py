"""What damages a store, and what makes the damage look as if it had been written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from sfs_cli.store.checksums import sums_of, write_sums
from sfs_cli.store.disk import CHECKSUMS, NAME, Manifest


def as_if_written(folder: Path) -> None:
    """Make sizes and checksums of a store fit what its files hold."""
    content = json.loads((folder / NAME).read_text())
    known = {k: v for k, v in content.items() if k not in ("format", "version", "checksum")}
    manifest = Manifest(**known)
    files = {name: {"bytes": (folder / name).stat().st_size} for name in manifest.names}
    sums = write_sums(folder / CHECKSUMS, [sums_of(folder / name) for name in manifest.names])
    replace(manifest, files=files, checksums=sums).write(folder)


def flip(path: Path, bit: int) -> None:
    """Change one bit of a file."""
    content = bytearray(path.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)
