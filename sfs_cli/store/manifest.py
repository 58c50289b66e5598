"""The manifest of a store: what is in the directory and how it came to be."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from sfs_cli.errors import InputError

NAME = "manifest.json"
FORMAT = "sfs-store"
VERSION = 1

FEATURES = "features.parquet"
SAMPLES = "samples.parquet"
DENSE = ("values.bin",)
SPARSE = ("indptr.bin", "indices.bin", "data.bin")

_REBUILD = "build it again with `sfs convert`"


@dataclass(frozen=True)
class Manifest:
    """What ``manifest.json`` holds.

    Attributes
    ----------
    n_features, n_samples : int
        Shape.
    dtype : str
        ``float32`` or ``float64``; values are little-endian, one feature after the other.
    sparse : bool
        Whether values are three arrays (indptr and indices are int64 and int32) or one.
    missing : dict
        ``values``, ``features`` and ``places`` of the NaN.
    files : dict
        Size and sha256 of each file.
    source : dict
        What the store was built from: path, format, sha256, orientation.
    """

    n_features: int
    n_samples: int
    dtype: str
    sparse: bool
    missing: dict[str, Any] = field(default_factory=dict)
    files: dict[str, dict[str, Any]] = field(default_factory=dict)
    source: dict[str, Any] = field(default_factory=dict)

    def write(self, directory: Path) -> None:
        """Write the manifest; it is written last, so a directory that has one is whole."""
        content = {"format": FORMAT, "version": VERSION, **asdict(self)}
        (directory / NAME).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def is_store(path: Path) -> bool:
    """Tell whether `path` is a directory with a store's manifest."""
    return path.is_dir() and (path / NAME).is_file()


def read_manifest(directory: Path) -> Manifest:
    """Read and check the manifest of a store.

    Raises
    ------
    InputError
        When it is no manifest, of a later version, or its files are not as it says.
    """
    path = directory / NAME
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        kind, version = content.pop("format"), content.pop("version")
        manifest = Manifest(**content) if (kind, version) == (FORMAT, VERSION) else None
        sizes = _sizes(manifest) if manifest else {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise InputError(
            "the manifest of the store cannot be read", where=f"{path}: {reason}", hint=_REBUILD
        ) from None
    if manifest is None:
        raise InputError(
            f"the store is of format {kind} {version}; this version reads {FORMAT} {VERSION}",
            where=str(path),
            hint=_REBUILD,
        )
    _check_files(directory, sizes)
    return manifest


def _sizes(manifest: Manifest) -> dict[str, int]:
    """Return the size of every file that the store must have.

    Raises
    ------
    KeyError, TypeError, ValueError
        When the manifest lacks one, or does not agree with itself.
    """
    itemsize = {"float32": 4, "float64": 8}[manifest.dtype]
    names = (*(SPARSE if manifest.sparse else DENSE), FEATURES, SAMPLES)
    sizes = {name: int(manifest.files[name]["bytes"]) for name in names}
    if manifest.sparse:
        first, expected = SPARSE[0], 8 * (manifest.n_features + 1)
    else:
        first, expected = DENSE[0], itemsize * manifest.n_features * manifest.n_samples
    if sizes[first] != expected:
        raise ValueError(f"{first} of {sizes[first]:,} bytes does not fit the shape")
    return sizes


def _check_files(directory: Path, sizes: dict[str, int]) -> None:
    for name, size in sizes.items():
        file = directory / name
        found = file.stat().st_size if file.is_file() else None
        if found != size:
            raise InputError(
                f"{name} of the store "
                + ("is missing" if found is None else f"has {found:,} bytes")
                + f"; the manifest says {size:,} bytes",
                where=str(directory),
                hint=f"the store is damaged: {_REBUILD}",
            )
