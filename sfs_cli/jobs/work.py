"""Everything a ranking needs, put together from a configuration and an open matrix."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfs_cli.compute.executor import ThreadExecutor
from sfs_cli.compute.passes import Engine
from sfs_cli.config import LABEL_GRAPHS, RankConfig
from sfs_cli.jobs import inputs
from sfs_cli.jobs.graph import default_graph
from sfs_cli.jobs.plan import Plan, make_plan
from sfs_cli.jobs.threads import thread_count
from sfs_cli.logs import Messages
from sfs_cli.methods.catalog import METHODS
from sfs_cli.methods.entry import Method
from sfs_cli.store.prepared import PreparedMatrix

SPARSE_GRAPHS = ("knn", "relieff", "label")
"""Similarities that are no n x n arrays."""


@dataclass
class Work:
    """What is ranked, by what, and with how much.

    Attributes
    ----------
    config : RankConfig
        What was asked for.
    method : Method
        Its entry in the catalogue.
    options : dict
        The method's own options, defaults filled in.
    needs : set of str
        ``graph``, ``labels`` and ``some-labels``, as far as they are needed.
    source : PreparedMatrix
        The matrix.
    engine : Engine
        Passes over it.
    plan : Plan
        Memory, workers and block size.
    codes : ndarray of int, shape (n,), or None
        Classes of the samples, where they are needed; -1 where some have none.
    labels : Labels or None
        Labels of all samples in the file.
    graphs : tuple of str
        Names of the sample graphs that the file holds.
    memory : int
        Bytes that may be used.
    """

    config: RankConfig
    method: Method
    options: dict[str, Any]
    needs: set[str]
    source: PreparedMatrix
    engine: Engine
    plan: Plan
    codes: np.ndarray | None
    labels: inputs.Labels | None
    graphs: tuple[str, ...]
    memory: int


def put_together(
    config: RankConfig,
    opened: inputs.Opened,
    table: dict[str, str] | None,
    steps: tuple[str, ...],
    memory: int,
    messages: Messages,
) -> Work:
    """Align labels, choose samples, plan, and prepare the matrix.

    Parameters
    ----------
    config : RankConfig
        What is asked for.
    opened : Opened
        The matrix.
    table : dict, optional
        Labels by sample id, where they come from a file.
    steps : tuple of str
        Transformations.
    memory : int
        Bytes that may be used.
    messages : Messages
        Told of decisions.

    Raises
    ------
    InputError
        When labels, samples or values do not do.
    OutOfMemoryError
        When the work does not fit.
    """
    matrix = opened.matrix
    options = config.method_options()
    needs: set[str] = {*METHODS[config.method].needed(options)}
    if config.graph in LABEL_GRAPHS:
        needs.add("labels")
    labels = inputs.align_labels(config, matrix.ids, table, messages)
    chosen, codes = _samples(config, labels, needs, matrix.ids, messages)
    policy: Any = config.missing
    source = PreparedMatrix(
        matrix, samples=chosen, missing=policy, steps=steps, where=config.matrix
    )
    plan = plan_shape(
        config, source.n_samples, matrix.n_features, matrix.dtype, opened.graphs, memory
    )
    executor = ThreadExecutor(plan.workers)
    source.fit(executor, plan.block_size)
    return Work(
        config,
        METHODS[config.method],
        options,
        needs,
        source,
        Engine(source, executor, plan.dtype, plan.block_size),
        plan,
        codes,
        labels,
        opened.graphs,
        memory,
    )


def _samples(
    config: RankConfig,
    labels: inputs.Labels | None,
    needs: set[str],
    ids: Any,
    messages: Messages,
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Return which samples are used (None: all), and their classes where those are needed."""
    if labels is None:
        return None, None
    if "labels" in needs:
        chosen = inputs.choose_samples(config, labels, True, ids)
        return chosen, inputs.check_classes(labels, chosen, str(config.labels))
    if "some-labels" in needs:
        inputs.check_classes(labels, np.flatnonzero(labels.codes >= 0), str(config.labels))
        return None, labels.codes
    messages.note(f"the labels are not used by --method {config.method}")
    return None, None


def plan_shape(
    config: RankConfig,
    n: int,
    m: int,
    stored: np.dtype[Any],
    graphs: tuple[str, ...],
    memory: int,
) -> Plan:
    """Return the plan of a run on a matrix of a given shape.

    Parameters
    ----------
    config : RankConfig
        What is asked for.
    n, m : int
        Samples and features.
    stored : dtype
        Type of the stored values.
    graphs : tuple of str
        Names of the sample graphs that the input holds.
    memory : int
        Bytes that may be used.
    """
    needs = METHODS[config.method].needed(config.method_options())
    name = default_graph(config, n, graphs) if "graph" in needs else None
    given = name is not None and (name == "file" or name.startswith("obsp:"))
    return make_plan(
        n,
        m,
        stored,
        dense_graph=name is not None and name not in SPARSE_GRAPHS and not given,
        distances=name is not None and name != "label" and not given,
        threads=thread_count(config.threads),
        memory=memory,
        block_size=config.block_size,
    )
