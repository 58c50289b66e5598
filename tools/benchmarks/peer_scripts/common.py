"""What the scripts that run in the peers' environments share: input, timing, output.

usage of each: run_NAME.py FUNCTION FOLDER REPEAT OPTIONS

FOLDER holds the inputs, ``X.npy`` or ``S.npz``; results go to ``found.npz`` in it, and a line of
JSON with the seconds (wall, processor) of every run, and the largest memory in bytes, to stdout.
OPTIONS is a JSON object.
"""

import json
import resource
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np


def load(folder):
    """Return the inputs by their names."""
    from scipy import sparse

    found = {path.stem: np.load(path) for path in Path(folder).glob("*.npy")}
    found.update({path.stem: sparse.load_npz(path) for path in Path(folder).glob("*.npz")})
    return found


def main(package, functions):
    """Run one of some functions as the command line says.

    Each takes the inputs and the options, prepares what is not to be timed, and returns the call
    to be timed and what turns its result into a dict of arrays.
    """
    function, folder, repeat, options = sys.argv[1:]
    call, results = functions[function](load(folder), json.loads(options))
    seconds = []
    for _ in range(int(repeat)):
        start = time.perf_counter(), time.process_time()
        value = call()
        seconds.append((time.perf_counter() - start[0], time.process_time() - start[1]))
    np.savez(Path(folder) / "found.npz", **results(value))
    unit = 1 if sys.platform == "darwin" else 1 << 10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
    facts = {"seconds": seconds, "name": f"{package} {version(package)}", "peak": peak}
    print(json.dumps(facts))
