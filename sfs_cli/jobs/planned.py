"""What a run will go through: its passes over the matrix, and what each is for."""

from __future__ import annotations

from dataclasses import dataclass

from sfs_cli.compute.spans import cut
from sfs_cli.config import RankConfig
from sfs_cli.methods.catalog import METHODS
from sfs_cli.sources.neighbours import DENSE_DISTANCES, PANEL
from sfs_cli.store.transforms import SAMPLE_STEPS, parse

TYPICAL_PASSES = {"rfs": 18, "qalpha": 40, "mrsf": 8, "l21": 8, "mrmr": 2, "arom-svm": 40}
"""Passes of solvers, which nobody knows before. Those of rfs and qalpha are the catalogue's; the
others are guesses that no measurement stands behind."""
FEW_PASSES = 4


@dataclass(frozen=True)
class Pass:
    """Passes of one purpose.

    Attributes
    ----------
    purpose : str
        For people.
    kind : {"numbers", "gram", "pairs", "panels", "score", "solve"}
        What is computed of each block, as the calibration times it.
    times : int
        How often the matrix is read.
    exact : bool
        Whether `times` is known beforehand.
    split : bool
        Whether shards can share it.
    """

    purpose: str
    kind: str
    times: int = 1
    exact: bool = True
    split: bool = True


def passes_of(config: RankConfig, n: int, graph: str | None) -> list[Pass]:
    """Return the passes of a run in their order.

    Parameters
    ----------
    config : RankConfig
        What is asked for.
    n : int
        Samples.
    graph : str, optional
        The sample graph, by name, where one is needed.
    """
    found = [
        Pass(f"numbers per sample of --transform {step}", "numbers")
        for step in parse(config.transform)
        if step in SAMPLE_STEPS
    ]
    if config.members:
        for member in config.member_configs():
            found += passes_of(member, n, graph)
        return found
    found += _graph_passes(config, n, graph)
    method = METHODS[config.scorer]
    sources = len(config.source)
    if method.load("solve") is not None:
        exact = method.passes.isdigit()
        times = int(method.passes) if exact else TYPICAL_PASSES.get(method.name, FEW_PASSES)
        found.append(Pass(method.title, "solve", times, exact, split=False))
        return found
    if config.method == "kogs":
        return [*found, Pass("scores on every source", "score", sources)]
    found.append(Pass("scores", "score"))
    if config.leave_one_out and sources > 1:
        found.append(Pass("scores without each source", "score", sources))
    return found


def _graph_passes(config: RankConfig, n: int, graph: str | None) -> list[Pass]:
    if graph is None or graph in ("file", "label") or graph.startswith("obsp:"):
        return []
    if graph == "sources":
        targets = [source.name for source in config.source if source.kind == "target"]
        return [Pass(f"distances of the samples for source {name}", "gram") for name in targets]
    if graph in ("knn", "geodesic", "diffusion") and n > DENSE_DISTANCES:
        panels = len(cut(n, PANEL))
        return [
            Pass("median distance of the samples", "pairs"),
            Pass("samples that are identical", "numbers"),
            Pass("neighbours of the samples, a panel at a time", "panels", panels),
        ]
    return [Pass("inner products of the samples", "gram")]
