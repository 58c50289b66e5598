"""Checks of the options of a ranking, each by itself and how they go with each other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sfs_cli.config import choices
from sfs_cli.config.choices import ON_SOURCES
from sfs_cli.config.durations import parse_duration
from sfs_cli.config.flags import flag
from sfs_cli.config.values import at_least, at_most, matches, one_of, positive
from sfs_cli.errors import UsageError
from sfs_cli.graph.options import (
    ALL_GRAPH_OPTIONS,
    GRAPH_OPTIONS,
    LABEL_GRAPHS,
    SIMILARITIES,
    check_reduction,
    parse_bandwidth,
    takers,
)
from sfs_cli.methods import catalog
from sfs_cli.methods.entry import Method

if TYPE_CHECKING:
    from sfs_cli.config.rank import RankConfig

WITH_POWER = ("power", "ritz", "kernel")
"""Variants of Q-alpha that take a power."""
WITH_COEFFICIENTS = ("mrsf", "l21")
"""Methods with coefficients to write."""
GRAPHS = ("similarity", "similarity_file", "source", *ALL_GRAPH_OPTIONS)
"""Options that name a sample graph, or go with one."""
_LABELS_HINT = "give --labels FILE[:COLUMN], or obs:KEY where the matrix is AnnData"


def check_values(config: RankConfig) -> None:
    """Check each option by itself: words, bounds and forms.

    Raises
    ------
    UsageError
        Naming the option.
    """
    for option, words in choices.CHOICES.items():
        one_of(flag(option), getattr(config, option), words)
    for option, least in choices.LEAST.items():
        at_least(flag(option), getattr(config, option), least)
    for option, most in choices.MOST.items():
        at_most(flag(option), getattr(config, option), most)
    for option in choices.POSITIVE:
        positive(flag(option), getattr(config, option))
    at_least("--clusters", config.clusters, 1 if config.method == "qalpha" else 2)
    if config.method == "l21":
        positive("--lambda", config.lambda_)
    if config.definition not in (None, *choices.DEFINITIONS):
        raise UsageError(f"--definition {config.definition} is not known", hint="give 1 or 3")
    if config.bandwidth is not None:
        parse_bandwidth(config.bandwidth)
    check_reduction(config.components, config.variable_genes)
    if config.time_limit is not None:
        parse_duration(config.time_limit)
    if config.resume and config.out is None:
        raise UsageError("--resume needs --out", hint="what is done is kept beside --out")
    if not re.fullmatch(choices.EXECUTOR, config.executor):
        raise UsageError(
            f"--executor {config.executor!r} is not known",
            hint="give local, dask, or dask:ADDRESS as dask:tcp://HOST:PORT, which the "
            "scheduler prints",
        )


def check_graph(config: RankConfig) -> None:
    """Check the options of the sample graph, and how they go with each other.

    Raises
    ------
    UsageError
        Naming the option.
    """
    if config.similarity is not None and not config.similarity.startswith("obsp:"):
        one_of("--similarity", config.similarity, (*SIMILARITIES, "obsp:KEY"))
    if config.similarity is not None and config.similarity_file is not None:
        raise UsageError(
            "--similarity and --similarity-file name two sample graphs", hint="give one of them"
        )
    graph = config.graph
    for option in _given(config, ALL_GRAPH_OPTIONS):
        if graph is None and option in ("beta", "edge_weights"):
            raise UsageError(f"{flag(option)} needs --similarity", hint=takers(option))
        if graph == "sources":
            raise UsageError(
                f"{flag(option)} has no effect on --source",
                hint=f"give it to a source: --source NAME=KIND:PATH,{flag(option)[2:]}=VALUE",
            )
        if graph is not None and option not in GRAPH_OPTIONS[graph]:
            raise UsageError(
                f"{flag(option)} has no effect on --similarity {graph}", hint=takers(option)
            )
    if graph in LABEL_GRAPHS and config.labels is None:
        raise UsageError(f"--similarity {graph} needs --labels", hint=_LABELS_HINT)
    if config.edge_weights == "binary" and config.bandwidth is not None:
        raise UsageError(
            "--bandwidth has no effect on --edge-weights binary",
            hint="leave one of them out: binary edges all weigh 1",
        )


def check_method(config: RankConfig) -> None:
    """Check that the method takes the options that are given, and has what it needs.

    Raises
    ------
    UsageError
        Naming the option.
    """
    if config.members:
        _check_members(config)
        return
    if config.method in ON_SOURCES:
        matches("--then", config.then, catalog.METHODS[config.method].choices["then"])
    method = catalog.METHODS[config.scorer]
    own = {**method.options, **catalog.METHODS[config.method].options}
    for option in _given(config, catalog.OPTIONS):
        if option not in own and option not in ALL_GRAPH_OPTIONS:
            raise UsageError(
                f"{flag(option)} has no effect on --method {config.method}",
                hint=f"leave it out; it goes with --method {', '.join(catalog.takers(option))}",
            )
    for option, known in {**method.choices, **catalog.METHODS[config.method].choices}.items():
        matches(flag(option), getattr(config, option), known)
    _check_combinations(config)
    needs = method.needed(config.method_options())
    if "graph" not in needs:
        for option in _given(config, GRAPHS):
            if option not in method.options:
                raise UsageError(
                    f"{flag(option)} has no effect: --method {config.method} uses no graph",
                    hint="leave it out, or take a method that ranks on a graph, such as spec",
                )
    if needs & {"labels", "some-labels"} and config.labels is None:
        raise UsageError(f"{_asking_for_labels(config, method)} needs --labels", hint=_LABELS_HINT)


def _check_members(config: RankConfig) -> None:
    """Check the methods whose rankings are aggregated, and that some takes each option."""
    for member in config.members:
        one_of("--members", member, tuple(m for m in choices.METHODS if m not in ON_SOURCES))
    matches("--how", config.how, catalog.METHODS["kogs"].choices["how"])
    taken = {"members", "how", *ALL_GRAPH_OPTIONS}
    taken.update(*(catalog.METHODS[member].options for member in config.members))
    for option in _given(config, catalog.OPTIONS):
        if option not in taken:
            raise UsageError(
                f"{flag(option)} has no effect on --members {','.join(config.members)}",
                hint=f"leave it out; it goes with {', '.join(catalog.takers(option))}",
            )
    config.member_configs()


def _asking_for_labels(config: RankConfig, method: Method) -> str:
    """Return the options that need labels, for a message."""
    options = config.method_options()
    deciding = [f"{flag(option)} {options[option]}" for option in method.needs_by]
    return " ".join([f"--method {config.method}", *deciding])


def _check_combinations(config: RankConfig) -> None:
    """Check options of methods that decide about each other."""
    if config.method == "l21" and (config.lambda_ is None) == (config.budget is None):
        raise UsageError(
            "--method l21 takes either --lambda or --budget",
            hint="give the penalty, or the sum of the norms of the coefficients",
        )
    if config.weights_out is not None and config.scorer not in WITH_COEFFICIENTS:
        raise UsageError(
            f"--weights-out has no effect: --method {config.method} has no coefficients",
            hint=f"it goes with --method {', '.join(WITH_COEFFICIENTS)}",
        )
    if config.power is not None and config.variant not in WITH_POWER:
        raise UsageError(
            "--power has no effect on this --variant",
            hint=f"it goes with --variant {', '.join(WITH_POWER)}",
        )
    if config.scorer == "spec" and config.clusters is not None and config.ranking != "phi3":
        raise UsageError(
            f"--clusters has no effect on --ranking {config.ranking or 'phi2'}",
            hint="leave it out, or take --ranking phi3",
        )
    if config.gamma == "exp" and config.gamma_power is not None:
        raise UsageError(
            "--gamma-power has no effect on --gamma exp",
            hint="leave it out, or take --gamma power",
        )


def _given(config: RankConfig, options: tuple[str, ...]) -> Iterator[str]:
    return (option for option in options if getattr(config, option) not in (None, ()))
