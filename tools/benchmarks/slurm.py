"""Rank on a Slurm cluster, by the Snakemake workflow and by the scripts, and compare the bytes.

usage: python tools/benchmarks/slurm.py CLUSTER [--snakemake PATH] [--way WAY] [--shards N]
       [--features M]

CLUSTER is a folder with `slurm-up.sh DIR` and `slurm-down.sh DIR`, which start and stop a Slurm of
one host with its state in DIR (SLURM_CPUS, 8 where it is not set, says how many processors it
claims); it has one partition, `main`. Each way runs twice: as it is, and with one shard cancelled
(`scancel`) while it runs and everything started again. Prints a Markdown table; ends with 1 where
bytes differ.
"""

from __future__ import annotations

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = ROOT / "workflows"
SAMPLES = 500
POLLING = (
    *("--slurm-no-account", "--slurm-status-command", "squeue"),
    *("--slurm-init-seconds-before-status-checks", "3", "--seconds-between-status-checks", "3"),
    *("--default-resources", "slurm_partition=main", "runtime=30"),
)
OPTIONS = ("--transform", "log1p")


def make_matrix(path: Path, n_features: int) -> None:
    """Write a Parquet file of counts, features in rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    X = np.random.default_rng(0).gamma(2.0, 3.0, (n_features, SAMPLES)).astype(np.float32)
    columns: dict[str, pa.Array] = {"gene": pa.array([f"g{i}" for i in range(n_features)])}
    columns |= {f"s{j}": pa.array(X[:, j]) for j in range(SAMPLES)}
    pq.write_table(pa.table(columns), path)


def run(command: list[str], folder: Path, *, check: bool = True) -> str:
    """Run a command and return what it said on stdout."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if check and done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def running_job(pattern: str) -> str | None:
    """Return the id of a job that runs now and whose name, comment or log matches."""
    for job in run(["squeue", "--noheader", "--states=R", "--format=%i"], ROOT).split():
        if re.search(pattern, run(["scontrol", "show", "job", job], ROOT, check=False)):
            return job
    return None


def cancel_one(process: subprocess.Popen[bytes], pattern: str) -> bool:
    """Cancel the first job that matches; tell whether there was one."""
    while process.poll() is None:
        job = running_job(pattern)
        if job is not None:
            run(["scancel", job], ROOT)
            return True
        time.sleep(0.1)
    return False


def snakemake(tool: str, matrix: Path, shards: int) -> Callable[[Path, str | None], Path]:
    """Return what runs the Snakemake workflow in a folder, with a job to cancel."""
    base = WORKFLOWS / "snakemake"
    command = [
        *(tool, "--snakefile", str(base / "workflow" / "Snakefile")),
        *("--configfile", str(base / "config" / "config.yaml")),
        *("--profile", str(base / "profiles" / "slurm"), *POLLING),
        *("--config", "samples=samples.tsv", "threads=1", "mem_mb=1000"),
    ]

    def start(folder: Path, victim: str | None) -> Path:
        sheet = f"name\tmatrix\toptions\tshards\nbig\t{matrix}\t{' '.join(OPTIONS)}\t{shards}\n"
        (folder / "samples.tsv").write_text(sheet)
        if victim:
            first = subprocess.Popen([*command, "--retries", "0"], cwd=folder, **_quiet(folder))
            if not cancel_one(first, victim) or first.wait() == 0:
                sys.exit("no job was cancelled")
        run(command, folder)
        return folder / "results" / "ranked" / "big"

    return start


def scripts(matrix: Path, shards: int) -> Callable[[Path, str | None], Path]:
    """Return what submits the scripts in a folder, with a job to cancel."""
    command = [str(WORKFLOWS / "slurm" / "submit.sh"), "ranked", str(shards), str(matrix), *OPTIONS]

    def start(folder: Path, victim: str | None) -> Path:
        if victim:
            waits = _submit_and_wait(command, folder)
            if not cancel_one(waits, victim):
                sys.exit("no job was cancelled")
            waits.wait()
            if (folder / "ranked").exists():
                sys.exit("a ranking was made without a shard")
        _submit_and_wait(command, folder).wait()
        if not (folder / "ranked").exists():
            logs = sorted((folder / "ranked.logs").glob("*.log"))
            sys.exit("\n".join(f"{log.name}: {log.read_text()[-500:]}" for log in logs))
        return folder / "ranked"

    return start


def _submit_and_wait(command: list[str], folder: Path) -> subprocess.Popen[bytes]:
    last = run(command, folder).split()[-1]
    loop = f"while squeue --noheader --jobs {last} 2>/dev/null | grep -q .; do sleep 0.5; done"
    return subprocess.Popen(["bash", "-c", loop], cwd=folder, **_quiet(folder))


def _quiet(folder: Path) -> dict[str, object]:
    return {"stdout": (folder / "said.txt").open("ab"), "stderr": subprocess.STDOUT}


def main() -> int:
    """Run each way twice and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cluster", type=Path)
    parser.add_argument("--snakemake", default="snakemake")
    parser.add_argument("--way", choices=("Snakemake", "submit.sh"), help="one of the two alone")
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--features", type=int, default=100_000)
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the cluster is stopped then, too
    os.environ["SBATCH_PARTITION"] = "main"
    os.environ.setdefault("SLURM_CPUS", "8")  # the scripts ask for 4 a shard: fewer would wait
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with tempfile.TemporaryDirectory(prefix="sfs-slurm-") as name:
        folder = Path(name)
        state = folder / "slurm"
        os.environ["SLURM_CONF"] = str(state / "slurm.conf")
        run(["bash", str(given.cluster / "slurm-up.sh"), str(state)], folder)
        try:
            return compare(folder, given)
        finally:
            run(["bash", str(given.cluster / "slurm-down.sh"), str(state)], folder, check=False)


def compare(folder: Path, given: argparse.Namespace) -> int:
    """Rank in one run and in every other way; return how many differ, as an exit code."""
    matrix = folder / "matrix.parquet"
    make_matrix(matrix, given.features)
    begin = time.perf_counter()
    run(["sfs", "rank", str(matrix), *OPTIONS, "--threads", "1", "--out", "plain"], folder)
    wanted = (folder / "plain" / "ranking.tsv").read_bytes()
    print(f"{SAMPLES} samples x {given.features:,} features, {given.shards} shards\n")
    print("| way | cancelled | seconds | bytes |\n|---|---|---|---|")
    print(f"| sfs rank, one thread | | {time.perf_counter() - begin:.0f} | |", flush=True)
    ways = {
        "Snakemake": (snakemake(given.snakemake, matrix, given.shards), r"Comment=.*run"),
        "submit.sh": (scripts(matrix, given.shards), r"JobName=sfs-run-1\b"),
    }
    wrong = 0
    for way, (start, victim) in ways.items():
        if given.way not in (None, way):
            continue
        for job in (None, victim):
            place = folder / f"{way}-{job is not None}"
            place.mkdir()
            begin = time.perf_counter()
            same = (start(place, job) / "ranking.tsv").read_bytes() == wanted
            wrong += not same
            seconds = time.perf_counter() - begin
            cancelled = "one shard" if job else "none"
            print(
                f"| {way} | {cancelled} | {seconds:.0f} | {'same' if same else 'DIFFER'} |",
                flush=True,
            )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
