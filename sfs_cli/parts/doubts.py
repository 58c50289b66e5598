"""Why the p-values of a ranking are too small, by its record: for warnings, the page, `sfs select`.

The record may be that of another run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from sfs_cli.catalog import METHODS, TESTING, WITH_PVALUES
from sfs_cli.parts.depth import TOO_SMALL, confounded_by_depth
from sfs_cli.parts.donors import doubt as about_donors
from sfs_cli.parts.double_dipping import circular, without_double_dipping
from sfs_cli.run.guards import Doubt


def doubts(record: Mapping[str, Any]) -> Iterator[Doubt]:
    """Yield why the p-values of a ranking, or of an aggregate of lists, are too small."""
    graph = record.get("graph", {})
    if graph.get("of_tested_features"):
        made = circular(graph)
        text = f"{made} (double dipping): {TOO_SMALL}; {without_double_dipping(graph)}"
        yield Doubt("tested-graph", text, "the sample graph was built from the tested features")
    read = record.get("input", {})
    if read.get("donors") and (doubt := about_donors(read)):
        yield doubt
    depth = record.get("significance", {}).get("depth", {})
    if depth.get("leads"):
        weighted = record["method"].get("variances") == "weighted"
        led = confounded_by_depth(depth, read["transform"], weighted=weighted)
        yield Doubt("depth", led, "library size confounds the test")
    how = record.get("knowledge", {}).get("aggregation", {}).get("how")
    if how == "rra" or record.get("of_one_matrix"):
        yield Doubt("dependent-lists", DEPENDENT, "the lists rank the features of one matrix")


DEPENDENT = (
    "the p-values of rra assume independent lists, and these rank the features of one matrix, so "
    f"that null features agree, too: {TOO_SMALL}; use the order, not a cut by q_value"
)


def to_have_q_values(record: Mapping[str, Any]) -> str:
    """Return what to do about a ranking without q-values, by its record."""
    method = record.get("method", {})
    name, others = method.get("then", method.get("name")), "or choose by --top or --stable"
    tests = f"by a method that tests ({', '.join(TESTING)})"
    if name in METHODS and name not in (*WITH_PVALUES, *TESTING):
        return f"{name} has none: choose by --top or --stable, or rank {tests}"
    if why := record.get("significance", {}).get("none"):
        return f"{why}, {others}"
    if record.get("input", {}).get("sample_weights"):
        return f"rank without --sample-weights, {tests} or with --pvalues; {others}"
    return f"rank with --pvalues, or {tests}"
