#!/usr/bin/env bash
# Set up a virtual environment and run the tests, but for the slow ones.
# usage: tests/run.sh [pytest options], such as -m slow for the slow tests
# PYTHON chooses the interpreter (default python3.11), VENV the folder of the environment (.venv).
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3.11}
venv=${VENV:-$root/.venv}
cd "$root"

# hundreds of tests start a process, which is a quarter faster with its modules kept as bytecode
unset PYTHONDONTWRITEBYTECODE

[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --upgrade "pip>=25.1"
"$venv/bin/python" -m pip install --quiet --editable . --group dev
# a worker that crashes ends the run: xdist may wait forever for the one that replaces it
"$venv/bin/python" -m pytest -n 2 --dist loadgroup --max-worker-restart 0 "$@"
