"""Comparing what a command did on both sides."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from tools.compare.commands import Command
from tools.compare.outputs import compare_folders, compare_printed
from tools.compare.running import TIMED_OUT, Ended, Place, Recorded
from tools.compare.tables import Findings, Tolerance

IN_DOUBLE, IN_SINGLE = 1e-9, 1e-6


@dataclass
class Compared:
    """A command, and how alike its two runs are."""

    command: Command
    found: Findings
    ends: tuple[str, str] = ("", "")
    """The first line of what each side said of a command that has to be refused."""
    unexpected: str = ""
    """Where it ended otherwise than the catalogue has it, on both sides."""
    seconds: tuple[float, float] = field(default=(0.0, 0.0))


def compare(command: Command, before: Place, after: Place) -> Compared | None:
    """Compare two runs; None where the data of the command are not there."""
    one, other = before.recorded(command), after.recorded(command)
    if one is None and other is None and not (before.has(command) and after.has(command)):
        return None
    found = Findings()
    if one is None or other is None:
        found.differ(f"was not run {'before' if one is None else 'after'}")
        return Compared(command, found)
    tolerance = Tolerance(tolerance_of(command, one.work))
    for a, b in zip(one.steps, other.steps, strict=True):
        if not a.free:
            found.add(_compare_steps(a, b, tolerance), f"sfs {a.words}")
    found.add(compare_folders(one.work, other.work, tolerance), "files")
    told = tuple(_first_line(_last_refusal(side)) for side in (one, other))
    ends = told if command.fails else ("", "")
    unexpected = _unexpected(command, one) if _codes(one) == _codes(other) else ""
    return Compared(command, found, ends, unexpected, (one.seconds, other.seconds))


def _compare_steps(a: Ended, b: Ended, tolerance: Tolerance) -> Findings:
    found = Findings()
    if a.code != b.code:
        said = _first_line(b.err)
        found.differ(f"exit code {_told(a.code)}, now {_told(b.code)}" + (f": {said}" * bool(said)))
        return found
    found.add(compare_printed(a.out, b.out, a.words, tolerance), "stdout")
    return found


def tolerance_of(command: Command, work: Path) -> float:
    """Return how far scores may be apart, by the arithmetic of the run and its digits."""
    kinds = {_arithmetic(path) for path in work.rglob("run.json")}
    limit = IN_SINGLE if "float32" in kinds else IN_DOUBLE
    digits = [int(n) for n in re.findall(r"--digits (\d+)", command.line)]
    return max([limit, *(10.0 ** (1 - n) for n in digits)])


def _arithmetic(path: Path) -> str:
    try:
        return str(json.loads(path.read_text()).get("plan", {}).get("arithmetic"))
    except (ValueError, AttributeError):
        return ""


def _codes(side: Recorded) -> list[int]:
    return [step.code for step in side.steps if not step.free]


def _unexpected(command: Command, side: Recorded) -> str:
    codes = _codes(side)
    if TIMED_OUT in codes:
        return "took too long"
    if 1 in codes:
        return "ended with a traceback"
    if command.fails:
        return "" if any(codes) else "was not refused"
    wrong = [s for s in side.steps if s.code and not s.free and "--time-limit 0.01" not in s.words]
    return f"exit code {wrong[0].code}: {_first_line(wrong[0].err)}" if wrong else ""


def _last_refusal(side: Recorded) -> str:
    return next((s.err for s in reversed(side.steps) if s.code), "")


def _first_line(text: str) -> str:
    lines = [s.strip() for s in text.splitlines()]
    return next((s for s in lines if s.startswith("error")), lines[0] if lines else "")


def _told(code: int) -> str:
    return "none (too long)" if code == TIMED_OUT else str(code)
