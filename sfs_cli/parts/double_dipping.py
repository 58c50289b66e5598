"""Whether a sample graph was built from the tested features (double dipping)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sfs_cli import provenance
from sfs_cli.options import RankConfig
from sfs_cli.options.graph import LABELS_ALONE
from sfs_cli.options.source import KINDS
from sfs_cli.run.identity import Identity, any_same, identity_of, matrix_identity, same_matrix
from sfs_cli.run.needs import graph_asked

OTHER_GRAPH = (
    "test on a graph of other data: --similarity label, --coordinates, or --similarity file:PATH "
    "of another profile"
)
_OF_FEATURES = r"obsm:X_.*|obsp:(connectivities|distances)"
"""What scanpy computes from the matrix itself."""


def made_of_features(config: RankConfig, n: int) -> bool | None:
    """Tell whether the graph of n samples is built from the features; None if that is unknown."""
    name = graph_asked(config, n).name
    if name in LABELS_ALONE:
        return False
    if name == "file":
        return _fused_from_matrix(config)
    if name == "sources":
        own = [
            KINDS[each.kind].of_matrix
            or each.path == config.matrix
            or re.fullmatch(_OF_FEATURES, each.path)
            for each in config.source
        ]
        unknown = any(each.kind == "similarity" for each in config.source)
        return bool(config.rank_sources or any(own)) or (None if unknown else False)
    held = name if name.startswith("obsp:") else config.coordinates_from
    if held is None:
        return True
    if not held.startswith(("obsp:", "obsm:")):
        return None
    return re.fullmatch(_OF_FEATURES, held) is not None


def circular(graph: Mapping[str, Any]) -> str:
    """Say that a graph, of these facts, was built from the features."""
    name = str(graph.get("similarity"))
    where = name if name.startswith("obsp:") else graph.get("coordinates", graph.get("file"))
    what = "the sample graph" if where is None else f"the sample graph ({where})"
    if where is None or "file" in graph:
        return f"{what} was built from the tested features"
    return f"{what} was probably built from the tested features, as by scanpy"


def without_double_dipping(graph: Mapping[str, Any]) -> str:
    """Return what to do about tests on such a graph; --split takes no graph that is given."""
    if "file" in graph:
        return OTHER_GRAPH
    if graph.get("similarity") == "sources":
        return f"leave out the sources that are made of tested features, or {OTHER_GRAPH}"
    given = "coordinates" in graph or ":" in str(graph.get("similarity"))
    without = " without the given --similarity or --coordinates" if given else ""
    return f"give --split features{without}, or {OTHER_GRAPH}"


def _fused_from_matrix(config: RankConfig) -> bool | None:
    """Tell whether `sfs fuse` has built the graph of a file from values of the matrix.

    The record beside the file says so; None where it does not.
    """
    path = Path(str(config.similarity_file))
    record = provenance.read_record(path.with_name(path.name + provenance.BESIDE)) or {}
    if path.name not in provenance.outputs_of(record) or record.get("bytes") != path.stat().st_size:
        return None  # it is that of another file, or of version 1.0.0
    roles, unknown = set(), False
    for source in record["sources"]:
        kind, of_matrix = source["kind"], str(source.get("path"))
        inside = of_matrix.startswith(("obsm:", "obsp:"))
        if KINDS[kind].of_matrix or re.fullmatch(_OF_FEATURES, of_matrix):
            roles.add("matrix")  # of that run
        elif kind == "profile" and not inside:
            roles.add(f"source.{source['name']}.path")
        elif kind == "similarity" and not inside:
            unknown = True
    own = matrix_identity(config.matrix) if roles else Identity()
    found = [same_matrix(own, identity_of(record["inputs"], [role])) for role in roles]
    return any_same([*found, None] if unknown else found)
