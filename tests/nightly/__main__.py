"""What is worth a run before a release, and what a landing does not depend on.

usage: python -m tests.nightly [PROGRAM ...] [--out FILE.md]

Each program is a row of the table that is printed at the end. The command ends with 1 if one fails.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
PYTHON = "python3.11"
NEWER = ("3.12", "3.13", "3.14")
ANNDATA = ("0.7.8", "0.8.0", "0.10.9")
"""Releases whose files are read and written back, with the libraries of their time."""
OF_THAT_TIME = (
    *("numpy<1.24", "pandas<2", "scipy<1.11", "zarr<2.17", "h5py", "natsort", "packaging"),
    *("array-api-compat", "exceptiongroup"),
)


SUITES = ("tests/unit", "tests/contract", "tests/cli", "tests/docs")


def call(*command: str | Path | int, **variables: str | Path) -> None:
    """Run a command in the root of the project, whose output is shown as it comes."""
    words = [str(word) for word in command]
    print("$", *words, flush=True)
    env = os.environ | {name: str(value) for name, value in variables.items()}
    subprocess.run(words, cwd=ROOT, env=env, check=True)


def environment(name: str, *packages: str) -> Path:
    """Make an environment with the newest releases of some packages; return its programs."""
    folder = ROOT / f".venv-nightly-{name}"
    if not folder.is_dir():
        call(PYTHON, "-m", "venv", folder)
    call(folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--upgrade", *packages)
    return folder / "bin"


def old_anndata() -> Path:
    """Install the old releases of AnnData, each in a folder of its own beside their libraries."""
    folder = ROOT / ".venv-anndata"
    if not (folder / ANNDATA[-1]).is_dir():
        call(PYTHON, "-m", "venv", folder / "base")
        install = (folder / "base" / "bin" / "python", "-m", "pip", "install", "--quiet")
        call(*install, *OF_THAT_TIME)
        for version in ANNDATA:
            call(*install, "--no-deps", "--target", folder / version, f"anndata=={version}")
    return folder


def skipped_of(report: Path) -> list[str]:
    """Return why tests of a JUnit report were skipped, with how many of each."""
    told = Counter(each.get("message", "") for each in ElementTree.parse(report).iter("skipped"))
    return [f"{count} skipped: {reason}".replace("|", "/") for reason, count in told.items()]


def nightly_tests() -> list[str]:
    """Run tests/nightly; SFS_NEXTFLOW and SLURM_CONF name the engines that are not installed."""
    engines = environment(
        "workflows", "snakemake>=9", "pandas", "pygments", "nf-core", "multiqc", "snakefmt"
    )
    cells = environment("cells", "scanpy", "squidpy", "muon")
    own = environment("tests", "dask-jobqueue")  # the project itself comes by run.sh
    report = Path(tempfile.mkdtemp()) / "nightly.xml"
    call(
        *(ROOT / "tests" / "run.sh", "tests/nightly", f"--junitxml={report}"),
        VENV=own.parent,
        SFS_SNAKEMAKE=engines / "snakemake",
        SFS_SNAKEFMT=engines / "snakefmt",
        SFS_NF_CORE=engines / "nf-core",
        SFS_MULTIQC=engines / "multiqc",
        SFS_SQUIDPY=cells / "python",
        SFS_SCANPY=cells / "python",
        SFS_ANNDATA=old_anndata(),
    )
    return skipped_of(report)


def newest_releases() -> None:
    """Run the README's tests with the newest releases on each Python of this machine."""
    found = [version for version in ("3.11", *NEWER) if interpreter(version)]
    if not found:
        raise OSError("there is no Python of 3.11 to 3.14 on this machine")
    print("with Python", ", ".join(found))
    for version in found:
        venv = ROOT / f".venv-nightly-{version}"
        if venv.exists():
            shutil.rmtree(venv)  # it has the newest releases of another night
        call(
            *(ROOT / "tests" / "run.sh", "-m", "not any_python"),
            PYTHON=interpreter(version),
            VENV=venv,
            RELEASES="newest",
        )


def interpreter(version: str) -> str:
    """Return a Python of a version that works, or nothing."""
    places = Path.home().glob(f".pyenv/versions/{version}.*/bin/python{version}")
    for candidate in (f"python{version}", *map(str, places)):
        try:
            done = subprocess.run([candidate, "-c", ""], capture_output=True, check=False)
        except OSError:
            continue
        if done.returncode == 0:
            return candidate
    return ""


def orders() -> None:
    """Run the tests of a landing in two random orders, with one worker and with two."""
    venv = environment("orders", "pytest-randomly").parent
    for seed in (1, 2):
        for workers in (1, 2):
            options = ("-n", workers, f"--randomly-seed={seed}")
            call(ROOT / "tests" / "run.sh", *options, *SUITES, VENV=venv)


def calibration() -> None:
    """Count the p-values of null features, of every null, graph and kind of data."""
    call(sys.executable, "-m", "tools.benchmarks.calibration", "--quick", "--jobs", "2")


PROGRAMS: dict[str, Callable[[], list[str] | None]] = {
    "tests": nightly_tests,
    "newest": newest_releases,
    "orders": orders,
    "calibration": calibration,
}


def main() -> int:
    """Run the programs that are named, or all, and print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.nightly", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=", ".join(PROGRAMS))
    parser.add_argument("--out", type=Path, help="Markdown file for the table")
    given = parser.parse_args()
    if unknown := sorted({*given.programs} - {*PROGRAMS}):
        parser.error(f"no program {', '.join(unknown)}; there are {', '.join(PROGRAMS)}")
    rows = ["| program | what | minutes | result |", "|---|---|---:|---|"]
    failed = False
    for name in given.programs or PROGRAMS:
        start = time.monotonic()
        try:
            result = "; ".join(["passed", *(PROGRAMS[name]() or [])])
        except (subprocess.CalledProcessError, OSError) as error:
            failed, result = True, f"failed: {error}"
        what = (PROGRAMS[name].__doc__ or "").splitlines()[0]
        rows.append(f"| {name} | {what} | {(time.monotonic() - start) / 60:.1f} | {result} |")
    table = "\n".join(rows) + "\n"
    print("\n" + table, end="")
    if given.out:
        given.out.write_text(table, encoding="utf-8")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
