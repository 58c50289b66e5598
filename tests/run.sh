#!/usr/bin/env bash
# Set up a virtual environment and run every check: style, types, tests, and the installed wheel.
# usage: tests/run.sh [pytest options]
# PYTHON chooses the interpreter (default python3.11), VENV where the environment goes (.venv).
# CHECKS=tests leaves style and types out: they are held on one version of Python and NumPy, whose
# type stubs differ from release to release.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
python=${PYTHON:-python3.11}
venv=${VENV:-$root/.venv}
cd "$root"

[ -x "$venv/bin/python" ] || "$python" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --upgrade "pip>=25.1"
"$venv/bin/python" -m pip install --quiet --editable . --group dev

# the build goes on without the compiled sums where there is no compiler; here there may be one
must_have_sums() {
    if command -v cc >/dev/null && grep -qs avx2 /proc/cpuinfo; then
        "$1" -c 'import sys
from sfs_cli.compute.compiled import kind
sys.exit(None if kind() == "compiled" else "the compiled sums were not built")'
    fi
}
must_have_sums "$venv/bin/python"

if [ "${CHECKS:-all}" = all ]; then
    "$venv/bin/ruff" check .
    "$venv/bin/ruff" format --check .
    "$venv/bin/mypy"
    # Snakemake and nf-core pin much of their own: an environment apart, which tests/workflows find
    tools=$venv-workflows
    [ -x "$tools/bin/snakemake" ] || {
        "$python" -m venv "$tools"
        "$tools/bin/python" -m pip install --quiet "snakemake>=9" "nf-core>=4.2"
    }
    export SFS_SNAKEMAKE=$tools/bin/snakemake SFS_NF_CORE=$tools/bin/nf-core
fi
"$venv/bin/python" -m pytest -n 2 --dist loadgroup "$@"

# the wheel, installed where the sources are not, run from where they are not
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$venv/bin/python" -m build --quiet --wheel --outdir "$work/dist" .
"$python" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet "$work"/dist/*.whl
cd "$work"
must_have_sums "$work/venv/bin/python"
"$work/venv/bin/sfs" rank "$root/sample_data/expression.csv" --out results
"$work/venv/bin/sfs" rank "$root/sample_data/expression.csv" --out results
head -n 4 results/ranking.tsv
echo "the wheel works: $("$work/venv/bin/sfs" --version)"
