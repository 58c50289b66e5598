"""Amounts of time, as ``--time-limit`` has them."""

from __future__ import annotations

import re

from sfs_cli.errors import UsageError

LONGEST = 99_999 * 86_400
_SECONDS = (86_400, 3_600, 60, 1)
_UNITS = "".join(rf"(?:(\d{{1,5}}(?:\.\d+)?){unit})?" for unit in "dhms")
_CLOCK = r"(?:(\d{1,5})-)?(\d{1,5}):([0-5]\d):([0-5]\d)"
PATTERN = rf"\s*(?=.*[1-9])(?:{_CLOCK}|{_UNITS})\s*"
"""What is no plain number: ``1h30m``, ``1:30:00``, ``2-00:00:00``."""


def parse_duration(text: str, option: str = "--time-limit") -> float:
    """Return the seconds that ``90m``, ``1h30m``, ``1:30:00``, ``2-00:00:00`` or ``3600`` mean.

    Raises
    ------
    UsageError
        When the text is no amount of time, or is zero.
    """
    match = re.fullmatch(PATTERN, text)
    if match is not None:
        groups = match.groups()
        parts = groups[:4] if any(groups[:4]) else groups[4:]
        return sum(float(part or 0) * each for part, each in zip(parts, _SECONDS))
    try:
        seconds = float(text)
    except ValueError:
        seconds = float("nan")
    if 0 < seconds <= LONGEST:
        return seconds
    raise UsageError(
        f"{option} {text!r} is not an amount of time above zero",
        hint="write it as 90m, 1h30m, 1:30:00 (hours, minutes, seconds) or 3600 (seconds)",
    )
