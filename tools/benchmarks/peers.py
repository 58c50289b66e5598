"""Environments of the packages that ours is compared with, and running their functions there.

Each package has a virtual environment of its own, made once by pip in a folder outside of the tree
and used again: what one of them pins is no matter to another, nor to ours. A script of
``peer_scripts`` loads the input there, times the function alone, and hands over what it found.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from tools.benchmarks.processes import free_threads, last_line
from tools.benchmarks.table import HERE, Bench, MissingError

REQUIREMENTS = {
    "skfeature": ("skfeature-chappers==1.2.1", "pandas", "scikit-learn"),
    "sklearn": ("scikit-learn>=1.5",),
    "skrebate": ("skrebate==0.8.4",),
    "scanpy": ("scanpy>=1.11", "scikit-misc>=0.5", "igraph", "leidenalg"),
    "squidpy": ("squidpy>=1.8",),
    "quadsv": ("quadsv==0.1.1",),
    "flashs": ("flashs==0.2.1",),
}
"""What pip is asked for; these work with the NumPy and SciPy that it chooses today."""
READY = "ready"


@dataclass(frozen=True)
class Peer:
    """What a function of a peer took and found.

    Attributes
    ----------
    name : str
        Package and version.
    wall, processor : float
        Medians, seconds of the function alone.
    found : dict of ndarray
        Its results.
    peak : int
        Largest resident size of its process, bytes.
    """

    name: str
    wall: float
    processor: float
    found: dict[str, np.ndarray]
    peak: int


def default_folder() -> Path:
    """Return where environments are kept if no folder is named."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "sfs-benchmarks"


def environment(bench: Bench, name: str) -> Path:
    """Return the interpreter of a peer's environment, made on first use.

    Raises
    ------
    MissingError
        When it could not be made; says why.
    """
    wanted = REQUIREMENTS[name]
    if bench.peers is None:
        raise MissingError(f"{wanted[0]}: peers were left out (--no-peers)")
    words = [*wanted, sys.version]
    folder = bench.peers / f"{name}-{hashlib.sha256(repr(words).encode()).hexdigest()[:8]}"
    interpreter = folder / "bin" / "python"
    if (folder / READY).exists():
        return interpreter
    shutil.rmtree(folder, ignore_errors=True)
    folder.parent.mkdir(parents=True, exist_ok=True)
    pip = [str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for command in ([sys.executable, "-m", "venv", str(folder)], [*pip, *wanted]):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            lines = [line for line in done.stderr.splitlines() if "ERROR" in line] or ["pip failed"]
            raise MissingError(f"{wanted[0]} cannot be installed here: {lines[-1][:300]}")
    (folder / READY).touch()
    return interpreter


def run_peer(
    interpreter: Path,
    name: str,
    function: str,
    inputs: Mapping[str, Any],
    *,
    repeat: int = 1,
    timeout: float | None = None,
    threads: int | None = None,
    **options: Any,
) -> Peer:
    """Run a function of a peer in its environment.

    Parameters
    ----------
    interpreter : path
        Its Python.
    name, function : str
        ``peer_scripts/run_NAME.py``, and which of its functions.
    inputs : dict
        Arrays, dense or sparse, by the names the script knows.
    repeat : int
        Number of timed runs.
    timeout : float, optional
        Seconds after which the process is ended.
    threads : int, optional
        For numba; a BLAS takes what it wants.
    **options
        Anything else the function takes.

    Raises
    ------
    subprocess.TimeoutExpired
        When it takes longer than `timeout`.
    RuntimeError
        When it fails; the end of its messages.
    """
    from scipy import sparse

    variables = free_threads() | ({"NUMBA_NUM_THREADS": str(threads)} if threads else {})
    with tempfile.TemporaryDirectory() as folder:
        for key, value in inputs.items():
            if isinstance(value, np.ndarray):
                np.save(f"{folder}/{key}.npy", value)
            else:
                sparse.save_npz(f"{folder}/{key}.npz", value, compressed=False)
        script = HERE / "peer_scripts" / f"run_{name}.py"
        words = [function, folder, str(repeat), json.dumps(options)]
        done = subprocess.run(
            [str(interpreter), str(script), *words],
            capture_output=True,
            text=True,
            timeout=timeout,
            env=variables,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{name} {function}: {last_line(done.stderr)}")
        facts = json.loads(done.stdout.splitlines()[-1])
        with np.load(f"{folder}/found.npz") as file:
            found = dict(file)
    wall, processor = (median(column) for column in zip(*facts["seconds"]))
    return Peer(facts["name"], wall, processor, found, facts["peak"])
