"""What ``run.json``, the report and AnnData say of how a ranking was made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sfs_cli import provenance
from sfs_cli.compute.matrix import LeftOut
from sfs_cli.methods.base import Status
from sfs_cli.options import RankConfig
from sfs_cli.parts import FACTS
from sfs_cli.provenance import RunFacts
from sfs_cli.run.load import Run
from sfs_cli.run.scoring import Scored


def facts_of(run: Run, scored: Scored) -> RunFacts:
    """Return what ``run.json`` and the report say of a run, once the features have scores.

    The optional parts add what they find.
    """
    config, matrix, solution = run.config, run.matrix, scored.solution
    read = run.opened.facts | {
        "n_samples": matrix.n_samples,
        "n_samples_in_file": matrix.matrix.n_samples,
        "n_features": matrix.n_features,
        "dtype": matrix.dtype.name,
        "sparse": matrix.matrix.sparse,
        "missing_values": matrix.matrix.missing.values,
        "features_with_missing_values": matrix.matrix.missing.features,
        "left_out": {
            Status(why).text: count
            for why in LeftOut
            if (count := int(np.count_nonzero(solution.status == why)))
        },
        "transform": list(matrix.steps),
    }
    if matrix.dispersion is not None:
        read["dispersion"] = matrix.dispersion
    method: dict[str, Any] = {"name": config.method}
    if config.method == "kogs":
        method["how"] = scored.sources["aggregation"]["how"]
    if run.options and config.method != config.scorer:  # members have options of their own
        method["then"] = config.scorer
    keys = {name: each.word or name.rstrip("_") for name, each in run.method.parameters.items()}
    method |= {keys[name]: value for name, value in run.options.items()}
    method |= solution.facts  # such as fewer neighbors than were asked for
    facts: RunFacts = {
        "input": read,
        "graph": scored.graph,
        "method": method,
        "knowledge": scored.sources,
        "solver": {},
        **{name: {} for name in FACTS},
        "plan": {
            "arithmetic": run.plan.dtype.name,
            "block_size": run.plan.block_size,
            "dask": config.dask,
            "threads": run.plan.workers,
            "passes": 0,
        },
        "passes": [],
        "labels": {},
    }
    facts |= scored.facts
    if solution.stop or solution.objective:
        facts["solver"] = {
            "converged": solution.converged,
            "stop": solution.stop,
            "objective": solution.objective,
        }
    if run.labels is not None:
        facts["labels"] = {
            "from": config.labels,
            "type": config.label_type,
            "classes": run.labels.counts(),
            "used": run.labels_used,
        }
        if "labels" in run.taken:
            facts["labels"]["column"] = run.taken["labels"]
        if config.label_type == "continuous":
            facts["labels"] |= run.labels.range()
    return facts


def about_ranking(config: RankConfig, facts: Mapping[str, Any], top: int | None) -> dict[str, Any]:
    """Return what ``uns`` of AnnData tells of how a ranking was made.

    ``params`` are the options that were given, lists as JSON, and the method; ``record`` is all of
    it, as JSON.
    """
    options = config.result_options() | {"top": top}
    default = RankConfig(config.matrix).result_options()
    given = {name: value for name, value in options.items() if value != default[name]}
    record = {"config": options, **facts} | ({} if top is None else {"top": top})
    params = {
        name: value if isinstance(value, str | int | float) else provenance.dumps(value)
        for name, value in provenance.plain(given).items()
    }
    return {"params": params, "record": provenance.dumps(record)}
