"""What the tests of runs share."""

from __future__ import annotations

import pytest

from tests.running import Finished, Sfs, run_here


@pytest.fixture
def sfs(capfd: pytest.CaptureFixture[str]) -> Sfs:
    """Run a command in this process, which must end with the code that is expected."""

    def command(*words: object, code: int = 0) -> Finished:
        done = run_here([*map(str, words)], capfd)
        assert done.code == code, done.err
        return done

    return command
