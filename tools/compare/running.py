"""Running commands as processes, each in a fresh folder, and keeping what they leave."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from tools.compare.commands import Command, Step

TIMEOUT = 300
TIMED_OUT = -999
KNOWN = {"COLUMNS": "100", "NO_COLOR": "1", "TERM": "dumb", "OMP_NUM_THREADS": "2"}
"""Variables that are the same for both sides, whatever the terminal and the scheduler say."""


@dataclass(frozen=True)
class Ended:
    """How a step ended."""

    words: str
    free: bool
    code: int
    out: str
    err: str
    seconds: float


@dataclass(frozen=True)
class Recorded:
    """What a command did, and the folder with the files it left."""

    steps: list[Ended]
    work: Path

    @property
    def seconds(self) -> float:
        return sum(step.seconds for step in self.steps)


@dataclass(frozen=True)
class Program:
    """A command line to be tried."""

    words: list[str]

    @classmethod
    def of(cls, text: str) -> Program:
        """Take a command as the shell would; a path may be relative to the current folder."""
        words = shlex.split(text)
        if "/" in words[0]:
            words[0] = os.path.abspath(words[0])  # noqa: PTH100  (a link stays one)
        return cls(words)

    def run(self, arguments: list[str], folder: Path) -> subprocess.CompletedProcess[bytes]:
        """Run it in a folder."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "OMP_"))}
        if kept.get("PYTHONPATH"):  # an empty one would become this folder
            places = kept["PYTHONPATH"].split(os.pathsep)
            kept["PYTHONPATH"] = os.pathsep.join(os.path.abspath(p) for p in places)  # noqa: PTH100
        return subprocess.run(
            [*self.words, *arguments],
            cwd=folder,
            env=kept | KNOWN,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT,
            check=False,
        )


@dataclass(frozen=True)
class Place:
    """Where the inputs and the data are, and where the runs of one side are kept."""

    inputs: Path
    data: Path | None
    runs: Path

    def has(self, command: Command) -> bool:
        """Tell whether the real data that a command needs are there."""
        return all(self.data is not None and (self.data / d).is_dir() for d in command.data)

    def recorded(self, command: Command) -> Recorded | None:
        """Return what a command did, if it was run."""
        folder = self.runs / command.name
        try:
            record = json.loads((folder / "record.json").read_text())
        except FileNotFoundError:
            return None
        return Recorded([Ended(**step) for step in record["steps"]], folder / "work")


def run_all(program: Program, commands: Iterable[Command], place: Place, jobs: int) -> None:
    """Run those commands that are not recorded yet."""
    left = [c for c in commands if place.recorded(c) is None]
    with ThreadPoolExecutor(jobs) as pool:
        for i, command in enumerate(pool.map(lambda c: _run(program, c, place), left), 1):
            if i % 25 == 0 or i == len(left):
                print(f"{i} of {len(left)}: {command.group}", file=sys.stderr, flush=True)


def _run(program: Program, command: Command, place: Place) -> Command:
    folder = place.runs / command.name
    shutil.rmtree(folder, ignore_errors=True)
    work = folder / "work"
    work.mkdir(parents=True)
    if command.fails:  # it might write where it should not
        shutil.copytree(place.inputs / "bad", work / "in" / "bad")
    else:
        (work / "in").symlink_to(place.inputs.resolve())
    if command.data and place.data is not None:
        (work / "data").symlink_to(place.data.resolve())
    ended = [_step(program, step, work) for step in command.steps]
    shutil.rmtree(work / "in") if command.fails else (work / "in").unlink()
    (work / "data").unlink(missing_ok=True)
    record = {"group": command.group, "line": command.line, "steps": [asdict(e) for e in ended]}
    (folder / "record.json").write_text(json.dumps(record, indent=1))
    return command


def _step(program: Program, step: Step, work: Path) -> Ended:
    started = time.monotonic()
    if step.action:
        _change(step, work)
        return Ended(step.words, True, 0, "", "", 0.0)
    try:
        done = program.run(shlex.split(step.words), work)
    except subprocess.TimeoutExpired:
        return Ended(step.words, step.free, TIMED_OUT, "", f"over {TIMEOUT} s", float(TIMEOUT))
    out, err = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
    seconds = round(time.monotonic() - started, 3)
    return Ended(step.words, step.free, done.returncode, out, err, seconds)


def _change(step: Step, work: Path) -> None:
    action, name = step.words[1:].split()
    path = work / name
    if not path.exists():  # what should have made it has failed, which is told by itself
        return
    if action == "cut":
        path.write_bytes(path.read_bytes()[: int(path.stat().st_size * 0.6)])
    elif action == "remove":
        path.unlink()
    else:
        raise ValueError(f"no such change of a file: {step.words}")
