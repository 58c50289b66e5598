"""Fixtures that every room of the tests shares."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from zlib import crc32

import pytest

from sfs_cli.cli.app import BLAS_VARIABLES

for variable in BLAS_VARIABLES:  # as the command line does, before NumPy is loaded
    os.environ[variable] = "1"

import hypothesis  # noqa: E402
import numpy as np  # noqa: E402

from sfs_cli.compute.limits import LIMITS  # noqa: E402
from tests.places import SAMPLE_DATA  # noqa: E402

# the same examples in every run, however slow the machine is
hypothesis.settings.register_profile(
    "certain",
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("certain")

# a script that starts the tests in the background has SIGINT ignored, and commands, which inherit
# that, would not be interrupted
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # `nohup`
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Numbers that depend on the name of the test and of its case, and on nothing else."""
    return np.random.default_rng(crc32(request.node.name.encode()))


@pytest.fixture(scope="session")
def sample_data() -> Path:
    """The simulated data that comes with the project."""
    return SAMPLE_DATA


@pytest.fixture(autouse=True)
def no_figures(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the figures of pages empty, which take half a second, where no test looks at them.

    Those that do have the mark `figures`. Commands that are processes of their own draw them.
    """
    if request.node.get_closest_marker("figures"):
        return
    from sfs_cli.report import figures
    from sfs_cli.report.drawing import Chart, sheet

    empty = Chart("empty", "", "", sheet(1, 1))
    for name in figures.FIGURES:
        monkeypatch.setitem(figures.FIGURES, name, lambda **_: empty)


@pytest.fixture
def set_limits(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Give whole runs other limits, where no argument reaches: ``set_limits(exact_samples=5)``."""

    def set_them(**sizes: int) -> None:
        for name, size in sizes.items():
            assert hasattr(LIMITS, name)
            monkeypatch.setitem(vars(LIMITS), name, size)

    return set_them


@pytest.fixture
def set_blocks(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Cut small matrices as large ones are: ``set_blocks(9)`` makes blocks of 9 features."""

    def set_them(size: int) -> None:
        monkeypatch.setattr("sfs_cli.run.needs.block_features", lambda *_: size)

    return set_them
