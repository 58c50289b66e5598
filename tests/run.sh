#!/usr/bin/env bash
# Set up a virtual environment and run the tests.
# usage: tests/run.sh [pytest options], such as tests/unit/methods or tests/nightly; tests/unit and
# tests/contract if no folder is named
# PYTHON chooses the interpreter of a new environment (python3.11), VENV its folder (.venv),
# RELEASES the file of .ci/constraints with the releases to install (default: that of the Python;
# without such a file the newest ones are installed).
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
venv=${VENV:-$root/.venv}
cd "$root"

# hundreds of tests start a process, which is a quarter faster with its modules kept as bytecode
unset PYTHONDONTWRITEBYTECODE

.ci/install "$venv" --editable . --group test
# a worker that crashes ends the run: xdist may wait forever for the one that replaces it
"$venv/bin/python" -m pytest -n 2 --dist loadgroup --max-worker-restart 0 "$@"
