"""No library warns, of every command on many matrices."""

from __future__ import annotations

import pytest

from tests.contract.run.extremes import Study, matrices
from tests.contract.run.test_extremes import check


@pytest.mark.parametrize("number", range(len(matrices())))
def test_no_library_warns_of_any_command(number, tmp_path, capfd):
    """An eighth of the commands on each matrix: all of them on any eight."""
    study = Study(tmp_path / "x", list(matrices().values())[number])
    for command in list(study.commands())[number % 8 :: 8]:
        check(study, command, capfd)
