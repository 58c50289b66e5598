"""How long the stages of a ranking take, inside of a fresh process.

usage: python -m tools.benchmarks.stages MATRIX OPTIONS, which are those of `RankConfig` as JSON

``scoring`` is the pass alone; what it needs besides the graph, as eigenvectors, is ``preparing``.
"""

from __future__ import annotations

import json
import os
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest import mock

from tools.benchmarks.processes import ONE_THREAD, printed

STAGES = ("imports", "opening", "graph", "preparing", "scoring")


def stages(matrix: Path, **options: Any) -> dict[str, float]:
    """Return the seconds of each stage of a ranking; options are those of `RankConfig`."""
    words = ("-m", __name__, matrix, json.dumps(options))
    return dict(zip(STAGES, json.loads(printed(*words, environment=os.environ | ONE_THREAD))))


def main() -> None:
    """Print the seconds of the stages, as `STAGES` has them."""
    marks, passes = [time.perf_counter()], [0.0]

    def mark() -> None:
        marks.append(time.perf_counter())

    # imported here: the first stage
    from sfs_cli.compute.engine import Arrays, Engine
    from sfs_cli.logs import Messages
    from sfs_cli.options import RankConfig
    from sfs_cli.run import scoring
    from sfs_cli.run.load import loaded
    from sfs_cli.run.needs import SCORES

    columns = Engine.columns

    def timed(engine: Engine, *given: Any) -> Arrays:
        start = time.perf_counter()
        found = columns(engine, *given)
        if engine.purpose == SCORES:
            passes.append(time.perf_counter() - start)
        return found

    config = RankConfig(sys.argv[1], **json.loads(sys.argv[2]))
    mark()
    with mock.patch.object(Engine, "columns", timed), loaded(config, Messages(verbosity=-1)) as run:
        run.fit()
        mark()
        graph = scoring.make_graph(run)
        mark()
        scoring.solve(run, graph.similarity if graph else None)
        mark()
    *times, solved = [b - a for a, b in pairwise(marks)]
    print(json.dumps([*times, solved - sum(passes), sum(passes)]))


if __name__ == "__main__":
    main()
