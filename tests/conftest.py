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
from tests.places import ROOT, SAMPLE_DATA  # noqa: E402

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


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what needs the shared data sets, and all but each k-th ``one_in(k)``, as nightly.

    Cases are taken in the order of a sum of their names, so that no value of one of several
    parameters is always among the others.
    """
    cases: dict[tuple[str, int], list[pytest.Item]] = {}
    for item in items:
        if "shared_data" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.nightly)
        mark = item.get_closest_marker("one_in")
        if mark is not None:
            test = item.nodeid.partition("[")[0]
            cases.setdefault((test, mark.args[0]), []).append(item)
    for (_, k), found in cases.items():
        found.sort(key=lambda item: crc32(item.nodeid.encode()))
        for item in found[-(-len(found) // k) :]:
            item.add_marker(pytest.mark.nightly)


def find_shared() -> Path:
    """Return the folder of the shared data sets (it need not exist)."""
    return Path(os.environ.get("SFS_SHARED", ROOT.parent / "shared"))


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Numbers that depend on the name of the test and of its case, and on nothing else."""
    return np.random.default_rng(crc32(request.node.name.encode()))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The shared data sets, or a skip that names what is missing."""
    folder = find_shared() / "data"
    if not folder.is_dir():
        pytest.skip(f"shared data sets are absent: {folder}")
    return folder


@pytest.fixture(scope="session")
def sample_data() -> Path:
    """The simulated data that comes with the project."""
    return SAMPLE_DATA


@pytest.fixture
def set_limits(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Give whole runs other limits, where no argument reaches: ``set_limits(panel=5)``."""

    def set_them(**sizes: int) -> None:
        for name, size in sizes.items():
            assert hasattr(LIMITS, name)
            monkeypatch.setitem(vars(LIMITS), name, size)

    return set_them
