"""Kill every command that writes, at random moments, and run it again.

::

    python -m tools.kills --kills 300 --looping 20 --seed 1 --keep DIR
    python -m tools.kills --job rank --job "shard run" --kills 40

After the next run all files must have the bytes of an undisturbed run, and nothing else may be
there: no scratch, locks, partial files or processes. ``looping`` is how many of the kills come
while the library loops in a damaged HDF5 file. Folders of failing cases are left in DIR. The last
line is ``N killed, K failed``; ends with 1 where anything has failed. Needs Linux.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from pathlib import Path

from tools.kills.jobs import JOBS
from tools.kills.killing import Series


def main() -> int:
    """Kill what the arguments ask for; return 1 where anything failed."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=300, help="number of kills, all together")
    parser.add_argument("--looping", type=int, default=20, help="of them, while a file loops")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--job", action="append", help="only these jobs")
    parser.add_argument("--keep", type=Path, help="folder for the files of failing cases")
    given = parser.parse_args()
    known = {job.name: job for job in JOBS}
    if unknown := set(given.job or ()) - set(known):
        parser.error(f"no such job: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    jobs = [known[name] for name in given.job] if given.job else list(JOBS)
    looping = min(given.looping, given.kills) if any(job.reads for job in jobs) else 0
    with tempfile.TemporaryDirectory(prefix="sfs-kills-") as home:
        series = Series(Path(home), random.Random(given.seed), given.keep)
        return series.run(jobs, given.kills, looping)


if __name__ == "__main__":
    sys.exit(main())
