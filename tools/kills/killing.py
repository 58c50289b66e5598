"""Commands that are killed at random moments, run again, and compared with an undisturbed run."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cli.test_damaged_hdf5 import circular
from tools.kills.jobs import Job, led_in_a_circle, write_inputs

SFS = (sys.executable, "-m", "sfs_cli")
PATIENCE = 3600.0
"""Seconds for any command: other work on the machine must not fail one."""
GONE = 10.0
"""Seconds in which all processes of a command that was killed must be gone."""
LOOPING_BYTES = 256 << 20
"""The size of a damaged file: the larger, the longer a call of the library may take."""
CHANGES = {"started", "finished", "seconds", "peak_memory_bytes", "command"}
"""What of a record differs between two runs."""
TIMED = {"methods.tsv"}
"""Tables of times."""
MOMENTS = ("any", "working", "writing")

Files = dict[str, bytes | None]


@dataclass(frozen=True)
class Fault:
    """What is wrong after a kill."""

    job: str
    how: str
    what: str


@dataclass
class Prepared:
    """A job, its files before the command, those after it, and the seconds it takes."""

    job: Job
    before: Path
    after: Files
    seconds: float


@dataclass
class Series:
    """Kills of many jobs.

    Attributes
    ----------
    home : Path
        An empty folder for all files.
    rng : random.Random
        Draws jobs, signals and moments.
    keep : Path or None
        Where the folders of failing cases go.
    """

    home: Path
    rng: random.Random
    keep: Path | None = None
    kills: Counter[tuple[str, str]] = field(default_factory=Counter)
    faults: list[Fault] = field(default_factory=list)
    _prepared: dict[str, Prepared] = field(default_factory=dict)

    def run(self, jobs: Sequence[Job], kills: int, looping: int) -> int:
        """Kill so many commands, some of them while a file loops; return 1 where one failed."""
        started = time.monotonic()
        reading = [job for job in jobs if job.reads]
        work = [(jobs[i % len(jobs)], False) for i in range(kills - looping)]
        work += [(reading[i % len(reading)], True) for i in range(looping)]
        self.rng.shuffle(work)
        for number, (job, loops) in enumerate(work, 1):
            known = len(self.faults)
            self._case(job, loops, number)
            for fault in self.faults[known:]:
                print(f"{fault.job}, {fault.how}: {fault.what}", flush=True)
            if number % 20 == 0:
                print(f"{number} of {len(work)}, {len(self.faults)} failed", file=sys.stderr)
        names = dict.fromkeys(how for _, how in sorted(self.kills))
        for job in dict.fromkeys(name for name, _ in sorted(self.kills)):
            counts = (f"{self.kills[job, how]} {how}" for how in names if self.kills[job, how])
            print(f"{job}: {', '.join(counts)}")
        print(f"{time.monotonic() - started:.0f} s")
        failed = len({(fault.job, fault.how) for fault in self.faults})
        print(f"{sum(self.kills.values())} killed, {failed} failed", flush=True)
        return 1 if self.faults or not self.kills else 0

    def prepared(self, job: Job) -> Prepared:
        """Return a job with its files, which are made once."""
        if job.name not in self._prepared:
            before = self.home / "before" / _slug(job.name)
            before.mkdir(parents=True)
            write_inputs(before)
            (before / "tmp").mkdir()
            (before / "scratch").mkdir()
            for words in job.before:
                _finish(words, before)
            work = self._copy(before)
            started = time.monotonic()
            _finish(job.words, work)
            seconds = time.monotonic() - started
            self._prepared[job.name] = Prepared(job, before, files_below(work), seconds)
        return self._prepared[job.name]

    def _copy(self, before: Path) -> Path:
        work = self.home / "work"  # one name for all: paths are part of a result
        shutil.rmtree(work, ignore_errors=True)
        shutil.copytree(before, work, symlinks=True)
        return work

    def _case(self, job: Job, loops: bool, number: int) -> None:
        given = self.prepared(job)
        sent = self.rng.choice((signal.SIGKILL, signal.SIGTERM))
        group = self.rng.random() < 0.3
        for attempt in range(20):
            moment = "looping" if loops else self.rng.choice(MOMENTS)
            work = self._copy(given.before)
            if loops:
                sound = (work / job.reads).read_bytes()
                led_in_a_circle(work / job.reads, circular, LOOPING_BYTES)
            killed = self._kill(given, work, sent, group, moment)
            if killed is not None:
                break
            if attempt == 19:
                return  # it is too fast
        assert killed is not None
        how = f"{sent.name}{' of the group' * group}, {moment}"
        self.kills[job.name, how] += 1
        found = list(self._after_kill(given, work, killed, sent))
        if loops:
            (work / job.reads).write_bytes(sound)
        found += self._after_next(given, work)
        label = f"{how}, kill {number}, after {killed.seconds:.2f} of {given.seconds:.2f} s"
        self.faults += [Fault(job.name, label, what) for what in found]
        if found and self.keep is not None:
            folder = self.keep / f"{number:03d}-{_slug(job.name)}"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(work, folder, symlinks=True)
            (folder / "why.txt").write_text(
                "\n".join([f"sfs {' '.join(job.words)}", label, *found, killed.said])
            )

    def _kill(
        self, given: Prepared, work: Path, sent: signal.Signals, group: bool, moment: str
    ) -> Killed | None:
        """Kill a command at a moment; return None if it was over before."""
        with started(given.job.words, work) as process:
            begun = time.monotonic()
            if moment == "any":
                process.wait_until(begun + self.rng.uniform(0, 1) * given.seconds)
            elif moment == "working":
                process.wait_for(process.answers)
                left = given.seconds - (time.monotonic() - begun)
                process.wait_until(time.monotonic() + self.rng.uniform(0, 1) * max(left, 0.05))
            elif moment == "writing":
                process.wait_for(lambda: _writes(work))
                process.wait_until(time.monotonic() + self.rng.uniform(0, 0.03))
            else:
                process.wait_for(process.children)
                process.wait_until(time.monotonic() + self.rng.uniform(0.05, 1.0))
            answers = process.answers()
            if process.is_over():
                return None
            seconds = time.monotonic() - begun
            with suppress(ProcessLookupError):
                (os.killpg if group else os.kill)(process.pid, sent)
            code, said = process.ended()
            left = _left_in_session(process.pid)
        return Killed(code, said, answers, seconds, left)

    def _after_kill(
        self, given: Prepared, work: Path, killed: Killed, sent: signal.Signals
    ) -> Iterator[str]:
        """Yield what is wrong right after a kill."""
        if killed.left:
            yield f"processes left: {', '.join(killed.left)}"
        if "Traceback" in killed.said or "Exception ignored" in killed.said:
            yield f"it said: {killed.said}"
        if sent == signal.SIGKILL:
            if killed.code not in (-sent, 0):
                yield f"exit code {killed.code} after SIGKILL: {killed.said}"
            return
        allowed = (143, 0) if killed.answers else (143, 0, -sent)
        if killed.code not in allowed:
            yield f"exit code {killed.code} after {sent.name}: {killed.said}"
        if given.job.keeps:
            return
        # what a command reads is damaged on purpose, and made very large
        there, before = files_below(work, given.job.reads), files_below(given.before)
        for name, content in there.items():
            if name not in before and name not in given.after:
                yield f"left behind after {sent.name}: {name}"
            elif content not in (before.get(name, 0), given.after.get(name, 0)):
                yield f"neither the old nor the new one after {sent.name}: {name}"

    def _after_next(self, given: Prepared, work: Path) -> Iterator[str]:
        """Run the command again, and yield what is not as after an undisturbed run."""
        try:
            _finish(given.job.words, work)
        except AssertionError as error:
            yield f"the next run: {error}"
            return
        there = files_below(work)
        for name in sorted(set(there) | set(given.after)):
            if name not in given.after:
                yield f"left behind: {name}"
            elif name not in there:
                yield f"missing: {name}"
            elif there[name] != given.after[name]:
                yield f"other bytes: {name}"


@dataclass(frozen=True)
class Killed:
    """How a command ended that was killed.

    `answers` says whether it had its handlers of signals, `left` which of its processes lived on.
    """

    code: int
    said: str
    answers: bool
    seconds: float
    left: list[str]


class Process:
    """A command in a session of its own."""

    def __init__(self, words: Sequence[str], work: Path) -> None:
        self._errors = work.with_name("errors")
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [*SFS, *words],
                cwd=work,
                env=_environment(work),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
        self.pid = self._process.pid

    def is_over(self) -> bool:
        return self._process.poll() is not None

    def answers(self) -> bool:
        """Tell whether it handles SIGTERM."""
        with suppress(OSError):
            status = Path(f"/proc/{self.pid}/status").read_text()
            caught = re.search(r"SigCgt:\s*([0-9a-f]+)", status)
            return bool(caught and int(caught[1], 16) >> (signal.SIGTERM - 1) & 1)
        return False

    def children(self) -> list[str]:
        with suppress(OSError):
            return Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return []

    def wait_for(self, what: Any) -> None:
        """Wait until something is so, or the command is over."""
        end = time.monotonic() + PATIENCE
        while not what() and not self.is_over() and time.monotonic() < end:
            time.sleep(0.001)

    def wait_until(self, moment: float) -> None:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, moment - time.monotonic()))

    def ended(self) -> tuple[int, str]:
        """Wait for the end; return the exit code and what was said."""
        try:
            code = self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            code = 999
        return code, self._errors.read_text(errors="replace")

    def close(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()


@contextmanager
def started(words: Sequence[str], work: Path) -> Iterator[Process]:
    """Start a command, and end whatever is left of it at the end of the block."""
    process = Process(words, work)
    try:
        yield process
    finally:
        process.close()


def _environment(work: Path) -> dict[str, str]:
    return os.environ | {"TMPDIR": str(work / "tmp"), "COLUMNS": "200"}


def _finish(words: Sequence[str], work: Path) -> None:
    done = subprocess.run(
        [*SFS, *words],
        cwd=work,
        env=_environment(work),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, f"sfs {' '.join(words)}: {done.returncode}: {done.stderr}"


def _writes(work: Path) -> bool:
    """Tell whether a command has begun to write an output."""
    return any("sfs-partial" in name or "sfs-whole" in name for name in _names(work))


def _names(folder: Path) -> Iterator[str]:
    for _, folders, names in os.walk(folder):  # what goes meanwhile is left out
        yield from folders
        yield from names


def _left_in_session(session: int) -> list[str]:
    """Return the processes of a session that still run some seconds after its first one ended."""
    end = time.monotonic() + GONE
    while found := _in_session(session):
        if time.monotonic() > end:
            return found
        time.sleep(0.02)
    return []


def _in_session(session: int) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError):
            name, _, rest = path.read_text().rpartition(")")
            state, _, _, of = rest.split()[:4]
            if int(of) == session and state != "Z":
                found.append(f"{name})")
    return found


def files_below(folder: Path, without: str = "") -> Files:
    """Return every file and folder (None) by its name; of records only what two runs share."""
    found: Files = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name == without:
            continue
        if path.is_dir():
            found[name] = None
        elif path.name in TIMED:
            found[name] = b""
        elif path.suffix == ".json":
            found[name] = json.dumps(_shared(json.loads(path.read_bytes()))).encode()
        else:
            found[name] = path.read_bytes()
    return found


def _shared(content: Any) -> Any:
    if isinstance(content, dict):
        return {k: _shared(v) for k, v in content.items() if k not in (*CHANGES, *TIMED)}
    return [_shared(each) for each in content] if isinstance(content, list) else content


def _slug(name: str) -> str:
    return re.sub(r"\W+", "-", name)
