"""Running jobs, each in a process of its own, and writing what they find as it comes."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tools.benchmarks.processes import ONE_THREAD
from tools.benchmarks.table import HEAD, JOBS, ROOT, Bench, Found, MissingError, Note, Part, Row

for _module in ("dense", "memory", "growth", "peers", "mrsf", "rfs", "cells"):
    importlib.import_module(f"tools.benchmarks.rows_{_module}")

FAILED = "**failed**: "
CHILD = "from tools.benchmarks.runner import child; child()"


class Output:
    """Lines to stdout, and to a file that is flushed after each."""

    def __init__(self, path: Path | None) -> None:
        self.file = path.open("w") if path is not None else None

    def __enter__(self) -> Output:
        return self

    def __exit__(self, *_: object) -> None:
        if self.file is not None:
            self.file.close()

    def write(self, text: str) -> None:
        """Write a line or more."""
        print(text, flush=True)
        if self.file is not None:
            print(text, file=self.file, flush=True)


@dataclass
class Tally:
    """What became of the rows."""

    holds: int = 0
    fails: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def add(self, row: Row) -> None:
        """Count a row."""
        if row.ours.startswith(FAILED):
            self.broken.append(row.what)
        elif row.holds is not None:
            if row.holds:
                self.holds += 1
            else:
                self.fails.append(row.what)

    def text(self, seconds: float) -> str:
        """Return the end of the table."""
        total = self.holds + len(self.fails)
        lines = [f"\n## In all\n\n{self.holds} of {total} hold; {seconds:.0f} s."]
        for title, names in (("Does not hold", self.fails), ("Failed", self.broken)):
            lines += [f"- {title}: {name}" for name in names]
        return "\n".join(lines)


def run_jobs(names: Sequence[str], bench: Bench, output: Output, timeout: float) -> int:
    """Run jobs one after the other; return 1 when one failed, which a ratio cannot make it."""
    start, tally = time.perf_counter(), Tally()
    for name in names:
        output.write(f"\n## {JOBS[name].title} (`{name}`)\n\n{HEAD}")
        notes = []
        with contextlib.closing(in_process(name, bench, timeout)) as found:
            for item in found:
                if isinstance(item, Note):
                    notes.append(item.text)
                elif isinstance(item, Row):
                    tally.add(item)
                    output.write(item.line())
        for note in notes:
            output.write(f"\n{note}")
    output.write(tally.text(time.perf_counter() - start))
    return 1 if tally.broken else 0


def in_process(name: str, bench: Bench, timeout: float) -> Generator[Row | Note]:
    """Run a job in a new process group, and yield what it finds as it comes."""
    settings = {key: str(value) if isinstance(value, Path) else value for key, value in _of(bench)}
    with contextlib.ExitStack() as stack:
        # an exception before what it starts is in the stack would leave a process, or a timer
        with _terminated_later():
            process = subprocess.Popen(
                [sys.executable, "-c", CHILD, name, json.dumps(settings)],
                stdout=subprocess.PIPE,
                text=True,
                cwd=ROOT,
                # a BLAS as the command line has it, for what runs in the process; no temporary
                # files stay
                env=os.environ | ONE_THREAD | {"TMPDIR": str(bench.scratch)},
                start_new_session=True,
            )
            stack.callback(_end, process)
            expired = threading.Event()

            def expire() -> None:
                expired.set()
                _end(process)

            late = threading.Timer(timeout, expire)
            stack.callback(late.cancel)
            late.start()
        assert process.stdout is not None
        for line in process.stdout:
            kind, fields = json.loads(line)
            yield Note(**fields) if kind == "note" else Row(**fields)
        if process.wait():
            why = "more than the seconds of --timeout" if expired.is_set() else "see stderr"
            yield Row(name, f"{FAILED}ended with {process.returncode}: {why}")


@contextlib.contextmanager
def _terminated_later() -> Iterator[None]:
    """Let a SIGTERM that comes meanwhile take effect at the end."""
    came: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        for number in came:
            signal.raise_signal(number)


def _of(bench: Bench) -> list[tuple[str, Any]]:
    return list(vars(bench).items())


def _end(process: subprocess.Popen[str]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def child() -> None:
    """Run the job that the command line names, and print what it finds as JSON lines."""
    name, settings = sys.argv[1], json.loads(sys.argv[2])
    for key in ("scratch", "peers", "data"):
        settings[key] = settings[key] and Path(settings[key])
    bench = Bench(**settings)
    rows = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        for item in guarded(JOBS[name].title, JOBS[name].run, bench):
            kind = "note" if isinstance(item, Note) else "row"
            print(json.dumps([kind, asdict(item)]), file=rows, flush=True)


def guarded(what: str, run: Any, *words: Any) -> Iterator[Row | Note]:
    """Yield what a job or a part of it finds; an error becomes a row."""
    try:
        found: Found = run(*words)
        for item in found:
            if isinstance(item, Part):
                yield from guarded(item.what, item.run)
            else:
                yield item
    except MissingError as error:
        yield Row(what, f"not run: {error}")
    except Exception as error:  # whatever it is, the others go on
        text = " ".join(f"{type(error).__name__}: {error}".split())
        yield Row(what, f"{FAILED}{text[:400]}")
