"""``sfs doctor``: whether this installation works on this machine, and what it has.

Each check gives one line. The last one ranks a small matrix and compares the scores with the
formula, evaluated densely: phi2 with gamma = lambda is the Laplacian Score on the same graph (Zhao,
dissertation, Arizona State University 2010, Theorem 9).
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sfs_cli import provenance
from sfs_cli.errors import InputError, SfsError, counted

DISTRIBUTION = "sfs-cli"
EXTRAS = {
    "ml": "selectors for scikit-learn, accuracy in evaluate and compare, the linear SVM",
    "singlecell": "faster passes over sparse matrices, neighbors of 50,000 samples and more",
    "excel": "workbooks (.xlsx), read and written",
    "r": "objects that R has saved (.rds, .RData)",
    "dask": "--executor dask",
    "plots": "figures of the page as files (sfs report --figures)",
    "cloud": "inputs at addresses (s3://, gs://, https://)",
    "multiqc": "the score curves in reports of MultiQC",
}
"""What each extra is for."""
_IMPORTS = {"pyyaml": "yaml", "scikit-learn": "sklearn"}
"""Modules that are not called as their distributions, in lower case."""
_LITTLE = 1 << 30
"""Less free space than that does not hold the store of a usual matrix."""
_SAMPLES, _FEATURES = 24, 60
_CLOSE = 1e-9
"""Relative difference of two ways to compute a score in float64."""


@dataclass(frozen=True)
class Check:
    """What was looked at, and whether it is well."""

    name: str
    well: bool
    found: str
    hint: str = ""  # what to do, where it is not well or could be better


def doctor(as_json: bool) -> tuple[str, SfsError | None]:
    """Return the report, and the error to end with where something is not well."""
    checks = [
        _guarded("versions", _versions),
        _guarded("libraries", _libraries),
        *_extras(),
        _guarded("BLAS", _blas),
        _guarded("threads", _threads),
        _guarded("memory", _memory),
        _guarded("scratch space", _scratch),
        _guarded("self-test", _self_test),
    ]
    bad = [check for check in checks if not check.well]
    error = None
    if bad:
        error = InputError(
            f"this installation does not work: {bad[0].found}",
            where=", ".join(check.name for check in bad),
            hint=bad[0].hint,
        )
    if as_json:
        record = {"well": not bad, "checks": [asdict(check) for check in checks]}
        return provenance.dumps(record), error
    width = max(len(check.name) for check in checks) + 2
    lines = []
    for check in checks:
        lines.append(f"{'ok ' if check.well else 'BAD'}  {check.name:<{width}}{check.found}")
        if check.hint:
            lines.append(f"{'':{width + 5}}to do: {check.hint}")
    return "\n".join(lines) + "\n", error


def _guarded(name: str, check: Callable[[], tuple[str, str]]) -> Check:
    """Make a check; whatever it raises is not well."""
    try:
        found, hint = check()
    except SfsError as error:
        return Check(name, False, error.what, error.hint or "")
    except Exception as error:  # a library that cannot be loaded raises any kind
        hint = f"install it again: pip install --force-reinstall {DISTRIBUTION}"
        return Check(name, False, f"{type(error).__name__}: {error}", hint)
    return Check(name, True, found, hint)


def _versions() -> tuple[str, str]:
    version = importlib.metadata.version(DISTRIBUTION)
    system = f"{platform.system()} {platform.machine()}"
    place = Path(__file__).parent.parent
    return f"sfs {version} in {place}, Python {platform.python_version()}, {system}", ""


def _required(extra: str | None) -> list[str]:
    """Return the names of the distributions that the package, or an extra of it, needs."""
    names = []
    for text in importlib.metadata.requires(DISTRIBUTION) or ():
        requirement, _, marker = text.partition(";")
        of = re.search(r"extra\s*==\s*[\"']([\w.-]+)[\"']", marker)
        name = re.match(r"[\w.-]+", requirement)
        if name and (of[1] if of else None) == extra:
            names.append(name[0])
    return names


def _module_of(distribution: str) -> str:
    name = distribution.lower()
    return _IMPORTS.get(name, name.replace("-", "_"))


def _libraries() -> tuple[str, str]:
    """Import every library that the package needs."""
    found = []
    for name in _required(None):
        importlib.import_module(_module_of(name))
        found.append(f"{name} {importlib.metadata.version(name)}")
    return ", ".join(found), ""


def _extras() -> list[Check]:
    """Say of each extra whether it is installed; it is well without one."""
    checks = []
    for extra in importlib.metadata.metadata(DISTRIBUTION).get_all("Provides-Extra") or ():
        names = [name for name in _required(extra) if name != DISTRIBUTION]
        if not names:
            continue  # only of other extras
        missing, there = [], []
        for name in names:
            try:
                there.append(f"{name} {importlib.metadata.version(name)}")
            except importlib.metadata.PackageNotFoundError:
                missing.append(name)
        use = EXTRAS.get(extra, "")
        text = ", ".join(there) if not missing else f"not installed ({', '.join(missing)})"
        hint = f"only if you want it: pip install '{DISTRIBUTION}[{extra}]'" if missing else ""
        checks.append(Check(f"extra {extra}", True, f"{text}: {use}" if use else text, hint))
    return checks


def _blas() -> tuple[str, str]:
    """Name the BLAS of NumPy and of SciPy, each of which has its own, and their threads."""
    import numpy as np
    import scipy.linalg  # noqa: F401 - which loads another BLAS

    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        built: Any = np.show_config(mode="dicts")
        blas = built.get("Build Dependencies", {}).get("blas", {})
        name = f"{blas.get('name', 'unknown')} {blas.get('version', '')}".strip()
        return f"{name} (blocks run in parallel, each on one thread)", ""

    np.ones((2, 2)) @ np.ones((2, 2))
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    texts = [
        f"{pool['internal_api']} {pool['version']} ({pool.get('architecture', '')}), "
        f"{counted(pool['num_threads'], 'thread')}"
        for pool in pools
    ]
    return "; ".join(dict.fromkeys(texts)) or "none that is known", ""


def _threads() -> tuple[str, str]:
    from sfs_cli.run.memory import thread_count

    count = thread_count()
    said = [n for n in ("OMP_NUM_THREADS", "SLURM_CPUS_PER_TASK") if os.environ.get(n)]
    why = f"by {said[0]}" if said else "the processors that this process may use"
    return f"{count} by default, {why}; the machine has {os.cpu_count()}", ""


def _memory() -> tuple[str, str]:
    from sfs_cli.compute.memory import available, default_memory, format_size

    free, limit = available(), default_memory()
    text = f"{format_size(free)} may be taken; --memory is {format_size(limit)} by default"
    return text, "" if free >= _LITTLE else "ask for more memory for large matrices"


def _scratch() -> tuple[str, str]:
    from sfs_cli.compute.memory import format_size
    from sfs_cli.io.files.scratch import made, scratch_folder

    with scratch_folder(None) as folder:
        (made(folder) / "written").write_bytes(b"sfs")
    home = tempfile.gettempdir()
    free = shutil.disk_usage(home).free
    more = "" if free >= _LITTLE else "set TMPDIR or give --scratch, a folder with more space"
    return f"{format_size(free)} free in {home}", more


def _self_test() -> tuple[str, str]:
    """Compare phi2 of SPEC and the Laplacian Score of a run with their formulas."""
    import numpy as np

    started = time.perf_counter()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(_SAMPLES, _FEATURES))
    distances = ((X[:, None, :8] - X[None, :, :8]) ** 2).sum(axis=2)
    S = np.exp(-distances / distances.mean())
    d = S.sum(axis=1)
    centered = X - (d @ X) / d.sum()
    norms = d @ centered**2
    expected = norms - np.einsum("ij,ij->j", centered, S @ centered)  # f' L f, with L = D - S
    expected /= norms
    of_one, of_two = (_scores(X, S, "spec", threads) for threads in (1, 2))
    difference, of_laplacian = (
        float(np.max(np.abs(scores / expected - 1)))
        for scores in (of_one, _scores(X, S, "laplacian", 1))
    )
    wrong = ""
    if difference > _CLOSE:
        wrong = f"phi2 of a small matrix differs from its formula by {difference:.1e}"
    elif not np.array_equal(of_one, of_two):
        wrong = "one thread and two do not give the same numbers"
    elif of_laplacian > _CLOSE:
        wrong = "the Laplacian Score of a small matrix is not phi2, as it has to be"
    if wrong:
        raise InputError(wrong, hint="install numpy and scipy anew, in an environment of their own")
    seconds = time.perf_counter() - started
    return (
        f"phi2 and the Laplacian Score of {_SAMPLES} x {_FEATURES} are their formula's (to "
        f"{difference:.0e}), with one thread and two ({seconds:.2f} s)"
    ), ""


def _scores(X: Any, S: Any, method: str, threads: int) -> Any:
    """Return the scores of the features, in their order, as `sfs rank` computes them."""
    import numpy as np

    from sfs_cli.io.given import giving, named
    from sfs_cli.io.matrix.memory import Table
    from sfs_cli.options import RankConfig
    from sfs_cli.run.rank import rank

    samples = [f"s{i}" for i in range(len(X))]
    matrix, graph = named("self-test"), named("similarity of the self-test")
    objects = {
        matrix: Table(X, samples, [f"g{j}" for j in range(X.shape[1])], True),
        graph: Table(S, samples, samples),
    }
    config = RankConfig(
        matrix,
        method,
        similarity_file=graph,
        dtype="float64",
        threads=threads,
        block_size=7,
        accept=("raw-values", "graph"),
    )
    with giving(objects):
        ranking = rank(config).ranking
    scores = np.empty(len(ranking))
    scores[ranking.order] = ranking.score
    return scores
