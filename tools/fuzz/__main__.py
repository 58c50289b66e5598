"""Damage files of every format at random, run hostile cases, and say what fails.

::

    python -m tools.fuzz --cases 5000 --seed 7 --keep DIR      # mutations, and the table of cases
    python -m tools.fuzz --format h5ad --format zarr --minutes 5
    python -m tools.fuzz --seed 7 --only 1234 --keep DIR       # one case again

Files of failing cases are left in DIR, each with its command. The last line is ``N tried, K
failed``; ends with 1 where anything has failed.
"""

from __future__ import annotations

import os

for _name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[_name] = "1"  # before NumPy is loaded: the process that forks has no threads

import argparse  # noqa: E402
import sys  # noqa: E402
import tempfile  # noqa: E402
from pathlib import Path  # noqa: E402

from tools.fuzz.runner import in_child, warm_up  # noqa: E402


def main() -> int:
    """Run the cases that the arguments ask for; return 1 where any failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=1000, help="number of mutations")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--format", action="append", help="only these groups of formats")
    parser.add_argument("--minutes", type=float, help="stop after so long")
    parser.add_argument(
        "--undamaged", action="store_true", help="run every command on the files as they are, first"
    )
    parser.add_argument("--only", type=int, action="append", help="only these mutations")
    parser.add_argument("--no-table", action="store_true", help="without the hostile cases")
    parser.add_argument(
        "--every",
        type=int,
        default=1,
        help="only each K-th case of the table, and of each file",
    )
    parser.add_argument("--keep", type=Path, help="folder for the files of failing cases")
    parser.add_argument("--jobs", type=int, default=1, help="processes that run cases")
    given = parser.parse_args()

    warm_up()
    from tools.fuzz.cases import undamaged
    from tools.fuzz.hostile import hostile_cases
    from tools.fuzz.seeds import make_seeds
    from tools.fuzz.series import Series

    seeds = in_child(make_seeds)
    table = [] if given.no_table or given.only else hostile_cases(seeds)[:: given.every]
    if given.undamaged:
        some = [case for seed in seeds for case in undamaged([seed])[:: given.every]]
        table = [*some, *table]
    if given.format:
        unknown = set(given.format) - {s.format for s in seeds} - {c.format for c in table}
        if unknown:
            parser.error(f"no such format: {', '.join(sorted(unknown))}")
        seeds = [s for s in seeds if s.format in given.format]
        table = [c for c in table if c.format in given.format]
    with tempfile.TemporaryDirectory(prefix="sfs-fuzz-") as home:
        series = Series(seeds, table, given.seed, Path(home), given.keep)
        numbers = given.only if given.only else range(given.cases if seeds else 0)
        return series.run(numbers, given.jobs, given.minutes)


if __name__ == "__main__":
    sys.exit(main())
