"""All benchmarks, as one Markdown table a job.

usage: python -m tools.benchmarks [--data FOLDER] [--peers FOLDER] [--no-peers] [--only NAME ...]
           [--small] [--scratch FOLDER] [--out FILE.md]

Every row has ours and a reference that was measured in turn with it, their ratio, what is asked of
it and whether that holds. Times are medians of several runs. Rows are written as they come; what
cannot run, or fails, is a row that says why, and the rest goes on. The packages of others are
installed by pip on first use, each in an environment of its own in the folder `--peers`.
`--small` runs everything at toy sizes, where ratios mean nothing, to see that it works.
"""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
import tempfile
from pathlib import Path

from tools.benchmarks import machine, runner
from tools.benchmarks.peers import default_folder
from tools.benchmarks.table import JOBS, Bench


def options() -> argparse.ArgumentParser:
    """Return what parses the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.benchmarks", description=__doc__.splitlines()[0]
    )
    parser.add_argument("--data", type=Path, help="folder of the shared data sets")
    parser.add_argument("--peers", type=Path, default=default_folder(), help="environments")
    parser.add_argument("--no-peers", action="store_true", help="leave out what others do")
    parser.add_argument(
        "--only", nargs="+", choices=list(JOBS), metavar="NAME", help=", ".join(JOBS)
    )
    parser.add_argument("--small", action="store_true", help="toy sizes")
    parser.add_argument("--scratch", type=Path, help="where stores go: about 8 GB")
    parser.add_argument("--out", type=Path, help="Markdown file, besides stdout")
    parser.add_argument("--timeout", type=float, default=900, help="seconds for a job")
    return parser


def main() -> int:
    """Run what is asked for; return 1 when something failed."""
    given = options().parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # jobs are ended then, too
    command = shlex.join(["python", "-m", "tools.benchmarks", *sys.argv[1:]])
    peers = None if given.no_peers else given.peers.absolute()
    if given.scratch is not None:
        given.scratch.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="sfs-bench-", dir=given.scratch) as folder:
        bench = Bench(Path(folder), peers, given.data and given.data.absolute(), given.small)
        with runner.Output(given.out) as output:
            output.write(f"# Benchmarks\n\n{machine.describe(command)}")
            return runner.run_jobs(given.only or list(JOBS), bench, output, given.timeout)


if __name__ == "__main__":
    sys.exit(main())
