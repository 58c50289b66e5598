"""``--time-limit``: stop by itself, before the scheduler of a cluster kills the run."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from sfs_cli.errors import TimeLimitError
from sfs_cli.logs import Messages
from sfs_cli.options.fields import parse_duration

_OTHERS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class _TimeUpError(BaseException):
    """The time is up; a BaseException, so that no handler of ordinary errors catches it."""


@contextmanager
def time_limit(limit: str | None, messages: Messages, *, hint: str) -> Iterator[None]:
    """Stop the block after a duration, wherever it is: reading, a pass, a solver.

    Then it raises a TimeLimitError: how far the run has come, which `messages` know, and `hint`,
    what the user can do.
    """
    if limit is None:
        yield
        return
    rang = False

    def alarm(_number: int, _frame: FrameType | None) -> None:
        nonlocal rang
        rang = True
        for number in _OTHERS:  # no other signal may interrupt the cleaning up
            signal.signal(number, signal.SIG_IGN)
        raise _TimeUpError

    before = signal.signal(signal.SIGALRM, alarm)
    others = {number: signal.getsignal(number) for number in _OTHERS}
    seconds = parse_duration(limit)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        yield
    except (Exception, _TimeUpError):
        # an import that the alarm interrupts turns it into an ImportError: `rang` tells
        if not rang:
            raise
        raise TimeLimitError(
            f"stopped at the time limit of {limit}",
            where=f"reached: {messages.reached()}",
            hint=hint,
        ) from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        for number, handler in others.items():
            signal.signal(number, handler)
