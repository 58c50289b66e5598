"""A series of cases: run, judged, counted by cause, and kept where they fail."""

from __future__ import annotations

import os
import pickle
import shlex
import shutil
import sys
import time
import traceback
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tools.fuzz.cases import Case, mutated
from tools.fuzz.oracle import Fault, judge, ranking_of
from tools.fuzz.runner import Ended, Runner, in_child
from tools.fuzz.seeds import Seed

PATIENCE = 30
"""Seconds for what judges a result: other programs may hang on a damaged file, too."""
COMPILING = 120
"""Seconds for a command that compiles loops with numba, which keeps them for later processes."""
SHOWN = 200


@dataclass(frozen=True)
class Failure:
    """A case that failed, and why."""

    number: str
    name: str
    format: str
    command: str
    damage: str
    fault: Fault


@dataclass
class Tried:
    """What one process has tried."""

    count: int
    codes: Counter[int]
    slowest: float
    largest: int
    failures: list[Failure]


class Series:
    """Mutations by number, and a table of hostile cases, over some processes."""

    def __init__(
        self, seeds: Sequence[Seed], table: Sequence[Case], seed: int, home: Path, keep: Path | None
    ) -> None:
        self.seeds, self.table, self.seed, self.home, self.keep = seeds, table, seed, home, keep
        self.others = sorted({s.files[name] for s in seeds for name in s.targets})
        self._clean: dict[tuple[str, str], bytes | None] = {}

    def run(self, numbers: Iterable[int], jobs: int, minutes: float | None) -> int:
        """Run all, print what failed, and return 1 where anything has."""
        started = time.monotonic()
        deadline = started + 60 * minutes if minutes else float("inf")
        work = [*(("table", i) for i in range(len(self.table))), *(("seed", i) for i in numbers)]
        pipes = [self._start(work[job::jobs], job, deadline) for job in range(jobs)]
        done = [_finished(pid, path) for pid, path in pipes]
        tried = sum(each.count for each in done)
        failures = [failure for each in done for failure in each.failures]
        _print_causes(failures)
        if self.keep is not None and failures:
            _write_causes(self.keep, failures)
        codes = sum((each.codes for each in done), Counter())
        by_code = ", ".join(f"{code}: {count}" for code, count in sorted(codes.items()))
        largest = max(each.largest for each in done) >> 20
        print(
            f"exit codes {by_code}; slowest {max(each.slowest for each in done):.1f} s, largest "
            f"{largest} MiB above idle; {time.monotonic() - started:.0f} s"
        )
        failed = len({failure.number for failure in failures})
        print(f"{tried} tried, {failed} failed", flush=True)
        return 1 if failed or not tried else 0

    def _start(self, work: list[tuple[str, int]], job: int, deadline: float) -> tuple[int, Path]:
        path = self.home / f"tried-{job}"
        pid = os.fork()
        if pid:
            return pid, path
        code = 1
        try:
            path.write_bytes(pickle.dumps(self._work(work, job, deadline)))
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(code)

    def _work(self, work: list[tuple[str, int]], job: int, deadline: float) -> Tried:
        runner = Runner(self.home / f"case-{job}")
        tried = Tried(0, Counter(), 0.0, 0, [])
        said = time.monotonic()
        for kind, index in work:
            if time.monotonic() > deadline:
                break
            if kind == "table":
                case, number = self.table[index], f"table-{index:04d}"
            else:
                case = mutated(self.seeds, self.others, self.seed, index)
                number = f"{self.seed}-{index:05d}"
            ended, faults, damage = self.run_case(runner, case)
            tried.count += 1
            tried.codes[ended.code] += 1
            tried.slowest = max(tried.slowest, ended.seconds)
            tried.largest = max(tried.largest, ended.above)
            found = [
                Failure(number, case.name, case.format, case.command, damage, f) for f in faults
            ]
            tried.failures += found
            if found and self.keep is not None:
                self._keep(case, found, ended, runner)
            if time.monotonic() - said > 10:
                said = time.monotonic()
                failed = len({f.number for f in tried.failures})
                print(f"{tried.count} of {len(work)} tried, {failed} failed", file=sys.stderr)
        return tried

    def run_case(self, runner: Runner, case: Case) -> tuple[Ended, list[Fault], str]:
        """Run a case; return how it ended, what is wrong with it, and how it was damaged."""
        steps = case.steps
        clean = self._clean_result(runner, case) if case.undamaged else None
        given = {"stdin": case.stdin, "variables": case.variables, "apart": case.apart}
        ended = runner.run(case.prepare, steps, **given)
        if ended.stopped == "time" and "/numba/core/" in ended.fault:
            ended = runner.run(case.prepare, steps, **given, seconds=COMPILING)
        damage = (runner.home / "done").read_text() if (runner.home / "done").exists() else ""
        is_right = case.is_right
        if ended.code == 0 and ranking_of(runner.home, steps, ended) == clean:
            is_right = "valid"
        verdict = partial(judge, runner.home, steps, ended, case.codes, is_right, case.table, clean)
        try:
            if ended.code or is_right in ("valid", "same"):  # no library is asked
                return ended, verdict(), damage
            return ended, in_child(verdict, PATIENCE), damage
        except Exception as error:  # other programs may fail on a damaged file as well
            reason = (str(error).splitlines() or [""])[0]
            return ended, [Fault("judge", reason, traceback.format_exc())], damage

    def _clean_result(self, runner: Runner, case: Case) -> bytes | None:
        key = (case.name.partition(",")[0], case.command)
        if key not in self._clean:
            assert case.undamaged is not None
            ended = runner.run(case.undamaged, case.steps, seconds=COMPILING)
            if ended.code != 0:
                raise RuntimeError(f"{case.name}: {case.command}: {ended}")
            self._clean[key] = ranking_of(runner.home, case.steps, ended)
        return self._clean[key]

    def _keep(self, case: Case, found: list[Failure], ended: Ended, runner: Runner) -> None:
        assert self.keep is not None
        folder = self.keep / folder_of(found[0])
        shutil.rmtree(folder, ignore_errors=True)
        (folder / "files").mkdir(parents=True)
        try:
            in_child(partial(case.prepare, folder / "files"))
        except RuntimeError as error:
            (folder / "files.txt").write_text(str(error))
        command = " && ".join(f"sfs {shlex.join(words)}" for words in case.steps)
        given = "".join(f"export {k}={shlex.quote(v)}\n" for k, v in case.variables.items())
        if case.stdin:
            (folder / "stdin").write_bytes(case.stdin)
            command += " < ../stdin"
        (folder / "command.sh").write_text(f'cd "$(dirname "$0")/files"\n{given}{command}\n')
        for name in ("stdout", "stderr", "fault", "done"):
            if (runner.home / name).exists():
                shutil.copy(runner.home / name, folder / name)
        lines = [f"{f.fault.kind}: {f.fault.cause}\n{f.fault.detail}\n" for f in found]
        lines.append(
            f"code {ended.code}, {ended.seconds:.2f} s, {ended.above >> 20} MiB above idle"
        )
        (folder / "why.txt").write_text(
            "\n".join(lines), encoding="utf-8", errors="backslashreplace"
        )


def _finished(pid: int, path: Path) -> Tried:
    _, status = os.waitpid(pid, 0)
    if status or not path.exists():
        raise SystemExit("a process that runs cases has ended with an error")
    found: Tried = pickle.loads(path.read_bytes())
    return found


def by_cause(failures: Iterable[Failure]) -> Iterator[tuple[str, str, list[Failure]]]:
    """Yield kind, cause and failures of each cause, the most frequent first."""
    groups: dict[tuple[str, str], list[Failure]] = defaultdict(list)
    for failure in failures:
        fault = failure.fault
        plain = fault.kind in ("wrong result", "accepted", "input changed")
        groups[fault.kind, f"{fault.cause} ({failure.format})" if plain else fault.cause].append(
            failure
        )
    for (kind, cause), found in sorted(groups.items(), key=lambda item: -len(item[1])):
        yield kind, cause, found


def _write_causes(keep: Path, failures: list[Failure]) -> None:
    """Write the table of causes, each with the folder of an example."""
    lines = ["| cases | what | cause | formats | example | command |", "|---|---|---|---|---|---|"]
    for kind, cause, found in by_cause(failures):
        formats = ", ".join(f"{k} {v}" for k, v in Counter(f.format for f in found).most_common(4))
        first = min(found, key=lambda f: f.damage.count("+"))
        cells = (len(found), kind, cause[:SHOWN], formats, folder_of(first).name, first.command)
        plain = (ascii(str(cell))[1:-1].replace("|", "/") for cell in cells)
        lines.append("| " + " | ".join(plain) + " |")
    (keep / "causes.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def folder_of(failure: Failure) -> Path:
    """Return the name of the folder that keeps a failing case."""
    slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in failure.name)[:50]
    return Path(f"{failure.number}-{slug}")


def _print_causes(failures: list[Failure]) -> None:
    for kind, cause, found in by_cause(failures):
        formats = ", ".join(f"{k} {v}" for k, v in Counter(f.format for f in found).most_common(4))
        first = min(found, key=lambda f: f.damage.count("+"))
        print(f"{len(found):5} {kind}: {cause[:SHOWN]}")
        print(f"      {formats}; such as {first.number}: {first.name} ({first.damage})")
        print(f"      sfs {first.command}")
