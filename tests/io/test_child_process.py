"""Work in a child process: what it makes arrives whole, and however it ends, that is told."""

from __future__ import annotations

import faulthandler
import itertools
import os
import pickle
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

from sfs_cli.errors import InputError, OutOfMemoryError
from sfs_cli.io.files import child_process as apart
from sfs_cli.io.files.child_process import ChildReader, call_apart, reading

HERE = Path(__file__)
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the work is done here elsewhere")


def circle() -> None:
    """Loop in C and hold the interpreter's lock: no handler of Python runs."""
    sum(itertools.repeat(0))


def test_items_arrive_in_order_and_whole():
    def items():
        for i in range(20):
            yield i, np.full((i, 3), i, np.float32), np.asfortranarray(np.ones((2, i))), "é" * i

    seen = list(ChildReader(items, HERE))
    assert [item[0] for item in seen] == list(range(20))
    for i, c_order, f_order, text in seen:
        np.testing.assert_array_equal(c_order, np.full((i, 3), i))
        assert c_order.flags.writeable
        assert f_order.shape == (2, i)
        assert text == "é" * i


def test_large_arrays_pass_whatever_the_pipe_holds():
    X = np.random.default_rng(0).random((300, 5000))
    np.testing.assert_array_equal(call_apart(lambda: X, HERE), X)


def test_errors_reach_the_caller_with_the_place_where_they_were_raised():
    def fail():
        raise InputError("what", where="where", hint="hint", option=("a", "b"))

    with pytest.raises(InputError) as caught:
        call_apart(fail, HERE)
    found = caught.value
    assert (found.what, found.where, found.hint, found.options) == (
        "what",
        "where",
        "hint",
        ("a", "b"),
    )
    assert "in fail" in str(found.__cause__)
    with pytest.raises(ZeroDivisionError):
        call_apart(lambda: 1 // 0, HERE)


def test_an_exception_that_cannot_be_pickled_is_still_told():
    class LocalError(Exception):
        pass

    def fail():
        raise LocalError("of here")

    with pytest.raises(RuntimeError, match="LocalError: of here"):
        call_apart(fail, HERE)


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGFPE])
def test_a_crash_is_a_damaged_file(number):
    def crash():
        faulthandler.disable()  # of pytest
        reading("obs")
        os.kill(os.getpid(), number)

    with pytest.raises(InputError, match="crash") as caught:
        call_apart(crash, HERE)
    assert caught.value.where == f"{HERE}, obs"


def test_a_kill_by_the_system_is_a_lack_of_memory():
    with pytest.raises(OutOfMemoryError):
        call_apart(lambda: os.kill(os.getpid(), signal.SIGKILL), HERE)


def test_one_call_that_never_returns_is_left(monkeypatch):
    monkeypatch.setattr(apart, "CALL_SECONDS", 0.3)
    with pytest.raises(InputError, match="does not come to an end"):
        call_apart(circle, HERE)


@pytest.mark.slow
def test_many_calls_may_take_longer_than_one(monkeypatch):
    monkeypatch.setattr(apart, "CALL_SECONDS", 0.8)

    def work():
        start = time.process_time()
        while time.process_time() - start < 2.0:
            sum(range(1000))
        return "done"

    assert call_apart(work, HERE) == "done"


def test_calls_that_leave_their_time_to_the_system_may_take_longer(monkeypatch):
    """As where the memory of the process is copied on a busy machine: hardly any time is ours."""
    monkeypatch.setattr(apart, "CALL_SECONDS", 0.8)

    def work():
        buffer = bytearray(1 << 20)
        start = time.process_time()
        with Path("/dev/urandom").open("rb", buffering=0) as file:
            while time.process_time() - start < 1.6:
                file.readinto(buffer)
        return "done"

    assert call_apart(work, HERE) == "done"


def test_a_child_takes_no_more_than_it_may():
    def hold(size):
        def work():
            held = np.ones(size >> 3)
            time.sleep(1)
            return held.nbytes

        return work

    assert call_apart(hold(64 << 20), HERE, memory=128 << 20) == 64 << 20
    with pytest.raises(InputError, match=r"more than the 128\.0 MiB") as caught:
        call_apart(hold(256 << 20), HERE, memory=128 << 20)
    assert "--memory" in caught.value.hint


def test_closing_ends_the_child():
    items = ChildReader(lambda: iter([os.getpid(), circle()]), HERE)
    child = items._pid
    items.close()
    items.close()
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_signals_are_answered_while_the_child_loops(tmp_path):
    with running("circle()") as process:
        process.send_signal(signal.SIGTERM)
        process.wait(20)
        assert process.returncode == -signal.SIGTERM
        assert_gone(process.child)


def test_the_child_ends_with_its_parent():
    with running("circle()") as process:
        process.kill()
        process.wait(20)
        assert_gone(process.child)


@pytest.mark.slow
def test_signals_to_the_group_leave_the_child_to_its_parent():
    with running("time.sleep(0.5); sys.exit", wait="time.sleep(1)") as process:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(process.child, number)
        process.wait(20)
        assert process.returncode == 0


def running(work: str, wait: str = "pass") -> subprocess.Popen[str]:
    """Start a process whose child does some work, and wait until it does."""
    code = f"""
        import itertools, os, sys, time
        from pathlib import Path
        from sfs_cli.io.files.child_process import ChildReader
        def circle():
            sum(itertools.repeat(0))
        def items():
            yield os.getpid()
            {work}
            yield 1
        found = ChildReader(items, Path({str(HERE)!r}))
        print(next(found), flush=True)
        {wait}
        next(found)
        """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True
    )
    process.child = int(process.stdout.readline())
    time.sleep(0.3)
    return process


def assert_gone(pid: int) -> None:
    for _ in range(100):
        try:
            state = Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            return
        if re.search(r"\) Z ", state):  # whoever inherited it has not looked yet
            return
        time.sleep(0.05)
    pytest.fail("the child lives on")


def test_errors_with_options_survive_pickling():
    error = pickle.loads(pickle.dumps(InputError("a", where="b", option="c")))
    assert (error.what, error.where, error.options) == ("a", "b", ("c",))
