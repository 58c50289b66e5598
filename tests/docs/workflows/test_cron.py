"""The nightly script is silent when all is well, and says why when it is not."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest

from tests.docs.workflows.commands import MATRIX, WORKFLOWS, environment, run, write_script

pytestmark = pytest.mark.any_python

NIGHTLY = str(WORKFLOWS / "cron" / "nightly.sh")


@pytest.fixture
def study(tmp_path: Path) -> Path:
    lines = MATRIX.read_text().splitlines(keepends=True)
    (tmp_path / "expression.csv").write_text("".join(lines[:300]))
    (tmp_path / "run.yaml").write_text("matrix: expression.csv\nmethod: variance\nthreads: 1\n")
    return tmp_path


def nightly(study: Path, env: dict[str, str]) -> tuple[int, str]:
    done = run([NIGHTLY, "run.yaml", "ranked"], study, env)
    return done.returncode, done.stdout + done.stderr


def test_nights_follow_the_inputs(study):
    env = environment(study / "bin")
    ranking = study / "ranked" / "ranking.tsv"
    assert nightly(study, env) == (0, "")
    first = ranking.read_bytes()
    made = ranking.stat().st_ino

    assert nightly(study, env) == (0, "")
    assert ranking.stat().st_ino == made

    lines = (study / "expression.csv").read_text().splitlines(keepends=True)
    (study / "expression.csv").write_text("".join(lines[:200]))
    assert nightly(study, env) == (0, "")
    assert ranking.read_bytes() != first
    assert len(ranking.read_text().splitlines()) == 200


def test_bad_input_is_mailed(study):
    (study / "expression.csv").unlink()
    code, said = nightly(study, environment(study / "bin"))
    assert code == 3
    assert "expression.csv" in said
    assert "bad input (exit code 3)" in said
    assert "expression.csv" in (study / "ranked.log").read_text()


def test_night_that_is_still_busy_is_left_alone(study):
    with (study / "ranked.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert nightly(study, environment(study / "bin")) == (0, "")
    assert not (study / "ranked").exists()


def test_a_lock_that_cannot_be_taken_is_told(study):
    env = environment(study / "bin")
    (study / "ranked.lock").mkdir()
    code, said = nightly(study, env)
    assert code == 3
    assert "ranked.lock" in said
    (study / "ranked.lock").rmdir()
    write_script(study / "bin" / "flock", "#!/bin/sh\nexit 71\n")
    code, said = nightly(study, env)
    assert code == 3
    assert "cannot lock ranked.lock" in said
    assert not (study / "ranked").exists()


ASKED = """#!/bin/sh
echo "$@" >> asked
echo "{said}" >&2
case "$*" in *--force*) exit 0 ;; esac
exit 4
"""


@pytest.mark.parametrize(
    ("record", "said", "forces"),
    [
        ('{"versions": {"sfs": "0.1.0"}}', "holds the result of another run", True),
        ('{"name": "of another program"}', "holds the result of another run", False),
        (None, "holds the result of another run", False),
    ],
)
def test_only_an_old_ranking_is_replaced(record, said, forces, study):
    write_script(study / "bin" / "sfs", ASKED, said=said)
    (study / "ranked").mkdir()
    if record is not None:
        (study / "ranked" / "run.json").write_text(record)
    code, told = nightly(study, environment(study / "bin"))
    assert ("--force" in (study / "asked").read_text()) == forces
    assert code == (0 if forces else 4)
    assert forces or said in told


def test_a_lack_of_memory_is_told(study):
    write_script(study / "bin" / "sfs", "#!/bin/sh\nexit 137\n")
    code, said = nightly(study, environment(study / "bin"))
    assert code == 137
    assert "memory" in said
