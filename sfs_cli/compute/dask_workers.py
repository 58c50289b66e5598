"""What the workers of a Dask cluster must have in common with this process."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfs_cli.errors import InputError, MissingExtraError, listed

if TYPE_CHECKING:
    from distributed import Client

WAIT_SECONDS = 5
"""How long a scheduler, and its first worker, are waited for."""
BLAS_VARIABLES = (
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "OMP_NUM_THREADS",
)


def require_dask() -> None:
    """Refuse to go on without Dask.

    Raises
    ------
    MissingExtraError
        When it is not installed.
    """
    try:
        import distributed  # noqa: F401
    except ImportError:
        raise MissingExtraError(
            "--executor dask needs Dask, which is not installed",
            hint="pip install 'sfs-cli[dask]'",
        ) from None


def check_workers(client: Client, where: str) -> list[str]:
    """Compare the software of the workers with that of this process.

    Parameters
    ----------
    client : distributed.Client
        Of the cluster.
    where : str
        Its address, for messages.

    Returns
    -------
    list of str
        What the user should know.

    Raises
    ------
    InputError
        When there are no workers, or some lack `sfs_cli` or have other versions.
    """
    try:
        client.wait_for_workers(1, timeout=WAIT_SECONDS)
    except TimeoutError:
        raise InputError(
            "the Dask cluster has no workers", where=where, hint="start some first (dask worker)"
        ) from None
    found: dict[str, Any] = client.run(describe, on_error="return")
    own = describe()
    wrong = {worker: _difference(own, facts) for worker, facts in found.items()}
    wrong = {worker: why for worker, why in wrong.items() if why}
    if wrong:
        raise InputError(
            f"{len(wrong):,} of {len(found):,} workers cannot run the tasks of this process",
            where=f"{where}: " + listed([f"{worker} {why}" for worker, why in wrong.items()], 3),
            hint="install the same versions of Python, NumPy, SciPy and sfs-cli on the workers",
        )
    many = sum(not facts["single"] for facts in found.values())
    if not many:
        return []
    return [
        f"BLAS may use several threads on {many:,} Dask workers, so the last digits may differ "
        f"from run to run; set {BLAS_VARIABLES[0]}=1 (or the variable of its BLAS) before they "
        "start"
    ]


def _difference(own: dict[str, Any], facts: dict[str, Any] | BaseException) -> str:
    """Return what a worker has that differs from what this process has; empty for nothing."""
    if isinstance(facts, BaseException):
        return f"has no sfs_cli like this one ({facts})"
    theirs, ours = facts["versions"], own["versions"]
    return ", ".join(
        f"has {name} {theirs.get(name, 'of an earlier sfs-cli')}, not {ours[name]}"
        for name in ours
        if theirs.get(name) != ours[name]
    )


def describe() -> dict[str, Any]:
    """Return versions, and whether BLAS has one thread; called here and on the workers."""
    import platform
    from importlib.metadata import version

    from sfs_cli.compute.compiled import kind

    versions = {name: version(name) for name in ("sfs-cli", "numpy", "scipy")}
    python = ".".join(platform.python_version_tuple()[:2])  # code of other versions does not load
    single = any(os.environ.get(name) == "1" for name in BLAS_VARIABLES)
    return {"versions": {"Python": python, "sums": kind()} | versions, "single": single}


def check_files(client: Client, files: Sequence[Path]) -> None:
    """Check that every worker sees the files that this process sees.

    Raises
    ------
    InputError
        Naming the file, and some workers.
    """
    for path in files:
        own = digest(str(path.absolute()))
        found = client.run(digest, str(path.absolute()), on_error="ignore")  # of dying workers
        blind = [worker for worker, seen in found.items() if seen != own]
        if blind:
            raise InputError(
                f"{len(blind):,} of {len(found):,} Dask workers do not see the matrix",
                where=f"{path.absolute()}: {listed(blind, 3)}",
                hint="convert it to a store (`sfs convert`) on a file system that the workers "
                "share, or give --scratch there",
            )


def digest(path: str) -> str | None:
    """Return the sha256 of a small file, None where it is not there; called on the workers."""
    import hashlib

    try:
        return hashlib.sha256(Path(path).read_bytes()).hexdigest()
    except OSError:
        return None
