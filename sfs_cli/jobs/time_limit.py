"""Stopping in time: before the scheduler of a cluster does."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from sfs_cli.config.durations import parse_duration
from sfs_cli.errors import TimeLimitError
from sfs_cli.logs import Messages

_OTHERS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class _TimeUpError(BaseException):
    """The alarm rang; no handler of ordinary errors may take it for one of its own."""


@contextmanager
def time_limit(limit: str | None, messages: Messages, *, kept: str | None) -> Iterator[None]:
    """Stop what is done here when the time is up, wherever that is: reading, a pass, a solver.

    Parameters
    ----------
    limit : str, optional
        As `parse_duration` takes it; without it nothing is stopped.
    messages : Messages
        Knows how far the work has come.
    kept : str, optional
        How what is done can be gone on with; None where it is lost.

    Raises
    ------
    TimeLimitError
        When the time is up.
    """
    if limit is None:
        yield
        return
    alarm = _Alarm()
    before = signal.signal(signal.SIGALRM, alarm)
    others = {number: signal.getsignal(number) for number in _OTHERS}
    signal.setitimer(signal.ITIMER_REAL, parse_duration(limit))
    try:
        yield
    except (Exception, _TimeUpError):
        if not alarm.rang:  # else it is what a library that was being imported made of it
            raise
        raise TimeLimitError(
            f"stopped at the time limit of {limit}",
            where=f"it had come to {messages.reached()}",
            hint=kept or "allow more time; with --resume, a run goes on where another has stopped",
        ) from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        for number, handler in others.items():
            signal.signal(number, handler)


class _Alarm:
    """Raises when the time is up."""

    def __init__(self) -> None:
        self.rang = False

    def __call__(self, _number: int, _frame: FrameType | None) -> None:
        self.rang = True
        for number in _OTHERS:  # no other signal interrupts the tidying up
            signal.signal(number, signal.SIG_IGN)
        raise _TimeUpError
