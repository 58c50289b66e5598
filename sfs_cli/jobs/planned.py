"""What a run will go through: its passes over the matrix, and what each is for."""

from __future__ import annotations

from dataclasses import dataclass

from sfs_cli.compute.principal import reads
from sfs_cli.compute.spans import cut
from sfs_cli.config import RankConfig
from sfs_cli.graph.options import NEIGHBOUR_GRAPHS
from sfs_cli.jobs.graph import reductions
from sfs_cli.methods.catalog import METHODS
from sfs_cli.sources.neighbours import DENSE_DISTANCES, PANEL, approximates
from sfs_cli.sources.reduction import Reduction
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
    kind : {"numbers", "gram", "pairs", "panels", "components", "score", "solve"}
        What is computed of each block, as the calibration times it.
    times : int
        How often the matrix is read.
    exact : bool
        Whether `times` is known beforehand.
    split : bool
        Whether shards can share it.
    part : float
        How much of the matrix each takes, as bytes and as time.
    """

    purpose: str
    kind: str
    times: int = 1
    exact: bool = True
    split: bool = True
    part: float = 1.0


def passes_of(config: RankConfig, n: int, m: int, graph: str | None) -> list[Pass]:
    """Return the passes of a run in their order.

    Parameters
    ----------
    config : RankConfig
        What is asked for.
    n, m : int
        Samples and features.
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
            found += passes_of(member, n, m, graph)
        return found
    found += _graph_passes(config, n, m, graph)
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


def _graph_passes(config: RankConfig, n: int, m: int, graph: str | None) -> list[Pass]:
    if graph is None or graph in ("file", "label") or graph.startswith("obsp:"):
        return []
    reduced = dict(reductions(config, graph, n, m))
    if graph == "sources":
        found = []
        for source in config.source:
            if source.kind != "target":
                continue
            what = f" for source {source.name}"
            if source.name in reduced:
                found += _reduced_passes(reduced[source.name], n, m, what)
            else:
                found.append(Pass(f"distances of the samples{what}", "gram"))
        return found
    if reduced:
        return _reduced_passes(reduced[""], n, m)
    if graph in NEIGHBOUR_GRAPHS and n > DENSE_DISTANCES:
        return _search_passes(n)
    return [Pass("inner products of the samples", "gram")]


def _search_passes(n: int) -> list[Pass]:
    """Return the passes that end in neighbours among all features."""
    pairs = Pass("median distance of the samples", "pairs")
    if approximates(n):
        return [Pass("all values, to be searched in memory", "numbers", split=False), pairs]
    panels = len(cut(n, PANEL))
    return [
        pairs,
        Pass("samples that are identical", "numbers"),
        Pass("neighbours of the samples, a panel at a time", "panels", panels),
    ]


def _reduced_passes(reduced: Reduction, n: int, m: int, what: str = "") -> list[Pass]:
    """Return the passes that end in neighbours among principal components."""
    found = []
    if reduced.genes is not None:
        found.append(Pass(f"features that vary most{what}", "numbers"))
    used = reduced.read(m)
    times = reads(n, used, reduced.components)
    made = f"{reduced.components} principal components of the samples{what}"
    found += [
        Pass(f"samples that are identical{what}", "numbers", split=False, part=used / m),
        Pass(made, "components", times, split=False, part=used / m),
    ]
    if n > DENSE_DISTANCES and not approximates(n):
        among = f"neighbours of the samples among the components{what}, a panel at a time"
        part = reduced.components / m
        found.append(Pass(among, "panels", len(cut(n, PANEL)), part=part))
    return found
