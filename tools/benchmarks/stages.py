"""How long the stages of a ranking take, inside of a fresh process.

``scoring`` is the pass alone; what it needs besides the graph, as eigenvectors, is ``preparing``.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tools.benchmarks.processes import ONE_THREAD, printed

STAGES = ("imports", "opening", "graph", "preparing", "scoring")
CODE = """
import json, sys, time
marks = [time.perf_counter()]
def mark():
    marks.append(time.perf_counter())
from sfs_cli.options import RankConfig
from sfs_cli.run.load import loaded
from sfs_cli.run import scoring
from sfs_cli.run.needs import SCORES
from sfs_cli.compute.engine import Engine
from sfs_cli.logs import Messages
silent = Messages(verbosity=-1)
passes = []
def columns(engine, *args, once=Engine.columns):
    start = time.perf_counter()
    found = once(engine, *args)
    if engine.purpose == SCORES:
        passes.append(time.perf_counter() - start)
    return found
Engine.columns = columns
config = RankConfig(sys.argv[1], **json.loads(sys.argv[2]))
mark()
with loaded(config, silent) as run:
    run.fit()
    mark()
    graph = scoring.make_graph(run)
    mark()
    scoring.solve(run, graph.similarity if graph else None)
    mark()
*times, solved = [b - a for a, b in zip(marks, marks[1:])]
print(json.dumps([*times, solved - sum(passes), sum(passes)]))
"""


def stages(matrix: Path, **options: Any) -> dict[str, float]:
    """Return the seconds of each stage of a ranking; options are those of `RankConfig`."""
    environment = os.environ | ONE_THREAD
    line = printed(CODE, matrix, json.dumps(options), environment=environment)
    return dict(zip(STAGES, json.loads(line)))
