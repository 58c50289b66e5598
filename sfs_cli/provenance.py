"""What a run was: the content of ``run.json``, and whether an earlier one was the same."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

NAME = "run.json"


def versions() -> dict[str, str]:
    """Return the versions of this package and of what its numbers depend on."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    from sfs_cli.compute.compiled import kind

    found = {"sfs": version("sfs-cli"), "python": platform.python_version()}
    for name in ("numpy", "scipy", "pyarrow", "numba"):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue  # an extra that is not installed
    return found | {"sums": kind()}


def describe_input(path: Path) -> dict[str, Any]:
    """Return path, size in bytes and sha256 of an input.

    A store is known by its manifest, which holds the digests of its files.
    """
    from sfs_cli.io.digest import describe
    from sfs_cli.store import manifest

    if not manifest.is_store(path):
        return describe(path)
    size = sum(p.stat().st_size for p in path.iterdir() if p.is_file())
    return describe(path / manifest.NAME) | {"path": str(path), "bytes": size}


def fingerprint(options: dict[str, Any], inputs: list[dict[str, Any]]) -> str:
    """Return a digest of all that a result depends on: version, options, content of the inputs.

    Parameters
    ----------
    options : dict
        Every option that changes the result.
    inputs : list of dict
        ``role`` (the option that named it) and ``sha256`` of each input, and ``column`` or
        ``part`` where not all of it is read.
    """
    # where a file lies does not matter, what it holds and which part of it is read does
    paths = {i["role"] for i in inputs}
    kept = ("role", "sha256", "column", "part")
    sources = [
        [name, {k: v for k, v in source.items() if f"source.{name}.{k}" not in paths}]
        for name, source in options.get("source", {}).items()
    ]
    known = {
        "sfs": versions()["sfs"],
        "options": {k: v for k, v in options.items() if k not in paths} | {"source": sources},
        "inputs": [{k: i[k] for k in kept if k in i} for i in inputs],
    }
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()


def read_run(folder: Path) -> dict[str, Any] | None:
    """Return the ``run.json`` of an earlier run, or None where there is none that can be read."""
    return read_record(folder / NAME)


def read_record(path: Path) -> dict[str, Any] | None:
    """Return a record of provenance, or None where there is none that can be read."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def is_up_to_date(folder: Path, wanted: str) -> bool:
    """Tell whether a folder holds the whole and unchanged result of the same run."""
    from sfs_cli.io.digest import sha256_file

    run = read_run(folder)
    if run is None or run.get("fingerprint") != wanted:
        return False
    try:
        digests = {folder / name: facts["sha256"] for name, facts in run["outputs"].items()}
    except (KeyError, TypeError, AttributeError):
        return False  # damaged, or not ours
    return bool(digests) and all(
        path.is_file() and sha256_file(path) == digest for path, digest in digests.items()
    )


def dumps(content: dict[str, Any]) -> str:
    """Return JSON with numbers that JSON lacks as null."""
    return json.dumps(plain(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def plain(value: Any) -> Any:
    """Turn arrays, NumPy numbers, paths and non-finite numbers into what JSON has."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not (float("-inf") < value < float("inf")):
        return None
    if isinstance(value, Path):
        return str(value)
    return value
