"""Kill runs again and again, or fill their disk, and go on: the bytes must be those of one run.

    python tools/benchmarks/kill_and_resume.py [KILLS]

Prints a table: what was killed, how often, in which phase it was, and whether the result of the
run that got through in the end is the expected one, with nothing else left.
"""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.results import RESULT, result

SFS = (sys.executable, "-m", "sfs_cli")
N_SAMPLES, N_FEATURES = 400, 30_000
SLOW = ("--threads", "1", "--transform", "cpm,rank", "--block-size", "100")


def make_matrix(path: Path) -> None:
    """Write a text file of 60 MB."""
    X = np.random.default_rng(1).gamma(2.0, 3.0, (300, N_SAMPLES))
    rows = [",".join(f"{value:.2f}" for value in row) for row in X]
    with path.open("w") as file:
        file.write(",".join(["id", *(f"s{j}" for j in range(N_SAMPLES))]) + "\n")
        for i in range(N_FEATURES):
            file.write(f"g{i},{i % 97}.5,{rows[i % 300].partition(',')[2]}\n")


def killed(words: list[str], delay: float) -> bool:
    """Start a command, and kill it after a delay; tell whether it was over before."""
    process = subprocess.Popen([*SFS, *words, "-q"], stderr=subprocess.PIPE)
    try:
        process.wait(delay)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()
        return False
    assert process.returncode == 0, process.stderr.read() if process.stderr else ""
    return True


def killed_while_writing(words: list[str], out: Path) -> bool:
    """Kill a command as soon as it writes its outputs; tell whether it was over before."""
    process = subprocess.Popen([*SFS, *words, "-q"])
    while process.poll() is None:
        if out.is_dir() and any(path.name.startswith("..sfs-") for path in out.iterdir()):
            time.sleep(random.uniform(0, 0.03))
            process.kill()
            process.wait()
            return False
    assert process.returncode == 0
    return True


def phase(work: Path) -> str:
    """Return in which phase a run was, by what it has left."""
    left = [path for path in work.rglob("*") if "whole" not in path.parts]
    names = " ".join(path.name for path in left)
    if "sfs-whole" in names or ("sfs-partial" in names and "ranking.tsv" in names):
        return "writing"
    for number in (3, 2, 1):
        if f"pass-{number:02d}-" in names:
            return f"pass {number}"
    if "manifest.json" in names:
        return "read"
    return "reading" if "store" in names or "sfs-" in names else "starting"


def once(words: list[str]) -> float:
    start = time.monotonic()
    subprocess.run([*SFS, *words, "-q"], check=True)
    return time.monotonic() - start


def left_over(work: Path, known: set[str]) -> list[str]:
    """Return what is there that should not be."""
    return sorted(p.name for p in work.iterdir() if p.name not in known)


def same(one: Path, other: Path) -> bool:
    return result(one) == result(other)


def round_of(
    name: str, work: Path, steps: Callable[[], list[list[str]]], kills: int, seconds: float
) -> list[str]:
    """Go through the steps, each killed until it gets through; return what a row says."""
    phases: dict[str, int] = {}
    done = 0
    for words in steps():
        while True:
            delay = random.uniform(0.15, 1.05) * seconds if done < kills else 600.0
            if killed(words, delay):
                break
            done += 1
            found = phase(work)
            phases[found] = phases.get(found, 0) + 1
    told = ", ".join(f"{k} {v}" for k, v in sorted(phases.items()))
    return [name, str(done), told]


def writing_round(home: Path, matrix: Path, whole: Path, kills: int) -> list[str]:
    """Kill runs while they write; return the row."""
    left: list[str] = []
    done, equal = 0, True
    for i in range(kills):
        work = home / f"writing-{i}"
        work.mkdir()
        rank = ["rank", str(matrix), *SLOW, "--resume", "--out", str(work / "out")]
        done += not killed_while_writing(rank, work / "out")
        once(rank)
        equal &= same(work / "out", whole)
        left += left_over(work, {"out"}) + left_over(work / "out", {*RESULT, "run.json"})
    told = f"writing {done}"
    bytes_ = "same" if equal else "DIFFERENT"
    return ["rank --resume", str(done), told, bytes_, ", ".join(left) or "nothing"]


def main() -> None:
    """Run all rounds and print the table."""
    kills = int(sys.argv[1]) if len(sys.argv) > 1 else 30
    random.seed(4)
    home = Path(tempfile.mkdtemp(prefix="kill-and-resume-"))
    matrix = home / "m.csv"
    make_matrix(matrix)
    whole, scratch = home / "whole", home / "scratch"
    scratch.mkdir()
    seconds = once(["rank", str(matrix), *SLOW, "--out", str(whole)])
    print(f"one run takes {seconds:.1f} s")
    rows = []
    total = 0
    while total < kills:
        work = home / f"work-{total}"
        work.mkdir()
        out = work / "out"
        rank = ["rank", str(matrix), *SLOW, "--out", str(out), "--scratch", str(scratch)]
        some = min(8, kills - total)
        if len(rows) % 3 == 1:
            plan = str(work / "plan")
            init = ["shard", "init", plan, str(matrix), *SLOW, "--shards", "2"]
            runs = [["shard", "run", plan, i] for _ in range(3) for i in "12"]
            merge = ["shard", "merge", plan, "--out", str(out)]
            steps = [init, *runs, merge]
            row = round_of("shards", work, lambda s=steps: s, some, seconds)
            known = {"out", "plan"}
        elif len(rows) % 3 == 2:
            row = round_of("rank, from the start", work, lambda r=rank: [r], 3, seconds)
            known = {"out"}
        else:
            row = round_of("rank --resume", work, lambda r=rank: [[*r, "--resume"]], some, seconds)
            known = {"out"}
        total += max(int(row[1]), 1)
        left = (
            left_over(work, known)
            + left_over(scratch, set())
            + left_over(out, {*RESULT, "run.json"})
        )
        rows.append(
            [*row, "same" if same(out, whole) else "DIFFERENT", ", ".join(left) or "nothing"]
        )
        print("  ".join(rows[-1]), flush=True)
        if not left:
            shutil.rmtree(work)
    rows.append(writing_round(home, matrix, whole, kills=6))
    print(f"\n{'what':<22}{'kills':<7}{'bytes':<11}{'left over':<11}phases")
    for name, count, told, bytes_, left in rows:
        print(f"{name:<22}{count:<7}{bytes_:<11}{left:<11}{told}")
    print(f"{sum(int(row[1]) for row in rows)} kills")
    shutil.rmtree(home)


if __name__ == "__main__":
    main()
