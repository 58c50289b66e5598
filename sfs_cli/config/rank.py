"""The configuration of a ranking run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from sfs_cli.config import choices
from sfs_cli.config.durations import parse_duration
from sfs_cli.config.sources import check_sources
from sfs_cli.config.values import at_least, at_most, matches, one_of, positive
from sfs_cli.errors import UsageError
from sfs_cli.graph.options import (
    ALL_GRAPH_OPTIONS,
    GRAPH_OPTIONS,
    LABEL_GRAPHS,
    REDUCING,
    SIMILARITIES,
    check_reduction,
    parse_bandwidth,
    takers,
)
from sfs_cli.methods import catalog
from sfs_cli.methods.entry import Method
from sfs_cli.sources.spec import SourceSpec, needs_labels

ON_SOURCES = ("msfs", "kogs")
"""Methods that another one scores for, on knowledge sources."""
WITH_POWER = ("power", "ritz", "kernel")
"""Variants of Q-alpha that take a power."""
WITH_COEFFICIENTS = ("mrsf", "l21")
"""Methods with coefficients to write."""

_LABELS_HINT = "give --labels FILE[:COLUMN], or obs:KEY where the matrix is AnnData"
_GRAPHS = ("similarity", "similarity_file", "source", *ALL_GRAPH_OPTIONS)
_NO_EFFECT_ON_RESULT = (
    "out",
    "threads",
    "memory",
    "scratch",
    "executor",
    "resume",
    "time_limit",
    "force",
    "write_h5ad",
    "weights_out",
)


@dataclass(frozen=True)
class RankConfig:
    """What `sfs rank` is asked to do; None stands for a default that depends on the data.

    The attributes are the options of the command line with underscores for dashes.
    """

    matrix: str
    method: str = "spec"
    rows: str = "auto"
    layer: str | None = None
    use_raw: bool = False
    transform: str | None = None
    missing: str = "error"
    labels: str | None = None
    samples: str = "error"
    ranking: str | None = None
    gamma: str | None = None
    gamma_power: int | None = None
    clusters: int | None = None
    select: int | None = None
    variant: str | None = None
    definition: int | None = None
    power: int | None = None
    response: str | None = None
    rank: int | None = None
    lambda_: float | None = None
    budget: float | None = None
    then: str | None = None
    how: str | None = None
    members: tuple[str, ...] = ()
    source: tuple[SourceSpec, ...] = ()
    weights: str | None = None
    normalize: str | None = None
    fusion_lambda: float | None = None
    fusion_neighbors: int | None = None
    fusion_clusters: int | None = None
    id_map: str | None = None
    allow_unmatched: bool = False
    leave_one_out: bool = True
    similarity: str | None = None
    similarity_file: str | None = None
    neighbors: int | None = None
    bandwidth: str | None = None
    edge_weights: str | None = None
    beta: float | None = None
    components: str | int | None = None
    variable_genes: str | int | None = None
    out: str | None = None
    format: str = "tsv"
    digits: int = 10
    write_h5ad: str | None = None
    weights_out: str | None = None
    force: bool = False
    threads: int | None = None
    memory: str | None = None
    dtype: str | None = None
    scratch: str | None = None
    executor: str = "local"
    resume: bool = False
    time_limit: str | None = None
    block_size: int | None = None
    seed: int = 0
    on_no_convergence: str = "warn"

    def __post_init__(self) -> None:
        for option in REDUCING:
            if isinstance(getattr(self, option), int):  # one form, of files and command lines too
                object.__setattr__(self, option, str(getattr(self, option)))
        self._check_choices()
        self._check_graph()
        self._check_method()
        check_sources(self)

    @property
    def scorer(self) -> str:
        """The method that scores: the one asked for, or the one that follows the fusion."""
        return (self.then or "spec") if self.method in ON_SOURCES else self.method

    @property
    def uses_classes(self) -> bool:
        """Whether the graph or the weights are made from the labels."""
        return (
            self.graph in LABEL_GRAPHS
            or self.weights in ("alignf", "rkda")
            or any(needs_labels(source) for source in self.source)
        )

    @property
    def graph(self) -> str | None:
        """The name of the similarity as `GRAPH_OPTIONS` has it; None where the data decide."""
        if self.source:
            return "sources"
        if self.similarity_file is not None:
            return "file"
        if self.similarity is not None and self.similarity.startswith("obsp:"):
            return "obsp"
        if self.similarity is None and self.method == "hsic" and self.labels is not None:
            return "label"
        return self.similarity

    def method_options(self) -> dict[str, Any]:
        """Return the options of the method itself, defaults filled in."""
        defaults = catalog.METHODS[self.scorer].options
        given = {name: getattr(self, name) for name in defaults}
        options = {k: defaults[k] if v is None else v for k, v in given.items()}
        if isinstance(defaults.get("gamma"), float):
            options["gamma"] = float(options["gamma"])
        return options

    def result_options(self) -> dict[str, Any]:
        """Return the options that the result depends on."""
        known = {k: v for k, v in asdict(self).items() if k not in _NO_EFFECT_ON_RESULT}
        return known | {"source": {source.name: source.plain() for source in self.source}}

    def command(self) -> list[str]:
        """Return the command line that asks for the same result."""
        words = ["sfs", "rank", self.matrix]
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in ("matrix", *_NO_EFFECT_ON_RESULT) or value == field.default:
                continue
            words += _words(field.name, value)
        return words

    def _check_choices(self) -> None:
        for option, words in choices.CHOICES.items():
            one_of(flag(option), getattr(self, option), words)
        for option, least in choices.LEAST.items():
            at_least(flag(option), getattr(self, option), least)
        for option, most in choices.MOST.items():
            at_most(flag(option), getattr(self, option), most)
        for option in choices.POSITIVE:
            positive(flag(option), getattr(self, option))
        at_least("--clusters", self.clusters, 1 if self.method == "qalpha" else 2)
        if self.method == "l21":
            positive("--lambda", self.lambda_)
        if self.definition not in (None, *choices.DEFINITIONS):
            raise UsageError(f"--definition {self.definition} is not known", hint="give 1 or 3")
        if self.bandwidth is not None:
            parse_bandwidth(self.bandwidth)
        check_reduction(self.components, self.variable_genes)
        if self.time_limit is not None:
            parse_duration(self.time_limit)
        if self.resume and self.out is None:
            raise UsageError("--resume needs --out", hint="what is done is kept beside --out")
        if not re.fullmatch(choices.EXECUTOR, self.executor):
            raise UsageError(
                f"--executor {self.executor!r} is not known",
                hint="give local, dask, or dask:ADDRESS as dask:tcp://HOST:PORT, which the "
                "scheduler prints",
            )

    def _check_graph(self) -> None:
        if self.similarity is not None and not self.similarity.startswith("obsp:"):
            one_of("--similarity", self.similarity, (*SIMILARITIES, "obsp:KEY"))
        if self.similarity is not None and self.similarity_file is not None:
            raise UsageError(
                "--similarity and --similarity-file name two sample graphs", hint="give one of them"
            )
        graph = self.graph
        for option in self._given(ALL_GRAPH_OPTIONS):
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
        if graph in LABEL_GRAPHS and self.labels is None:
            raise UsageError(f"--similarity {graph} needs --labels", hint=_LABELS_HINT)
        if self.edge_weights == "binary" and self.bandwidth is not None:
            raise UsageError(
                "--bandwidth has no effect on --edge-weights binary",
                hint="leave one of them out: binary edges all weigh 1",
            )

    def _check_method(self) -> None:
        if self.members:
            self._check_members()
            return
        if self.method in ON_SOURCES:
            matches("--then", self.then, catalog.METHODS[self.method].choices["then"])
        method = catalog.METHODS[self.scorer]
        own = {**method.options, **catalog.METHODS[self.method].options}
        for option in self._given(catalog.OPTIONS):
            if option not in own and option not in ALL_GRAPH_OPTIONS:
                raise UsageError(
                    f"{flag(option)} has no effect on --method {self.method}",
                    hint=f"leave it out; it goes with --method {', '.join(catalog.takers(option))}",
                )
        for option, known in {**method.choices, **catalog.METHODS[self.method].choices}.items():
            matches(flag(option), getattr(self, option), known)
        self._check_combinations()
        needs = method.needed(self.method_options())
        if "graph" not in needs:
            for option in self._given(_GRAPHS):
                if option not in method.options:
                    raise UsageError(
                        f"{flag(option)} has no effect: --method {self.method} uses no graph",
                        hint="leave it out, or take a method that ranks on a graph, such as spec",
                    )
        if needs & {"labels", "some-labels"} and self.labels is None:
            raise UsageError(f"{self._asking_for_labels(method)} needs --labels", hint=_LABELS_HINT)

    def _check_members(self) -> None:
        """Check the methods whose rankings are aggregated, and that some takes each option."""
        for member in self.members:
            one_of("--members", member, tuple(m for m in choices.METHODS if m not in ON_SOURCES))
        matches("--how", self.how, catalog.METHODS["kogs"].choices["how"])
        taken = {"members", "how", *ALL_GRAPH_OPTIONS}
        taken.update(*(catalog.METHODS[member].options for member in self.members))
        for option in self._given(catalog.OPTIONS):
            if option not in taken:
                raise UsageError(
                    f"{flag(option)} has no effect on --members {','.join(self.members)}",
                    hint=f"leave it out; it goes with {', '.join(catalog.takers(option))}",
                )
        self.member_configs()

    def member_configs(self) -> list[RankConfig]:
        """Return the configuration of each member of `kogs`: the options that it takes."""
        return [self._member(name) for name in self.members]

    def _member(self, name: str) -> RankConfig:
        method = catalog.METHODS[name]
        dropped = [option for option in catalog.OPTIONS if option not in method.options]
        if "graph" not in method.needed(dict(method.options)):
            dropped += [option for option in _GRAPHS if option not in method.options]
        cleared: dict[str, Any] = dict.fromkeys(dropped)
        cleared |= {"members": (), "source": (), "weights": None, "weights_out": None}
        cleared["leave_one_out"] = True
        return replace(self, method=name, **cleared)

    def _asking_for_labels(self, method: Method) -> str:
        """Return the options that need labels, for a message."""
        options = self.method_options()
        deciding = [f"{flag(option)} {options[option]}" for option in method.needs_by]
        return " ".join([f"--method {self.method}", *deciding])

    def _check_combinations(self) -> None:
        """Check options of methods that decide about each other."""
        if self.method == "l21" and (self.lambda_ is None) == (self.budget is None):
            raise UsageError(
                "--method l21 takes either --lambda or --budget",
                hint="give the penalty, or the sum of the norms of the coefficients",
            )
        if self.weights_out is not None and self.scorer not in WITH_COEFFICIENTS:
            raise UsageError(
                f"--weights-out has no effect: --method {self.method} has no coefficients",
                hint=f"it goes with --method {', '.join(WITH_COEFFICIENTS)}",
            )
        if self.power is not None and self.variant not in WITH_POWER:
            raise UsageError(
                "--power has no effect on this --variant",
                hint=f"it goes with --variant {', '.join(WITH_POWER)}",
            )
        if self.scorer == "spec" and self.clusters is not None and self.ranking != "phi3":
            raise UsageError(
                f"--clusters has no effect on --ranking {self.ranking or 'phi2'}",
                hint="leave it out, or take --ranking phi3",
            )
        if self.gamma == "exp" and self.gamma_power is not None:
            raise UsageError(
                "--gamma-power has no effect on --gamma exp",
                hint="leave it out, or take --gamma power",
            )

    def _given(self, options: tuple[str, ...]) -> Iterator[str]:
        return (option for option in options if getattr(self, option) not in (None, ()))


def flag(option: str) -> str:
    """Return the flag of an option; ``lambda_`` has its underscore from Python alone."""
    return "--" + option.rstrip("_").replace("_", "-")


def _words(option: str, value: Any) -> list[str]:
    """Return the words of the command line that give an option its value."""
    if option == "source":
        return [word for source in value for word in (flag(option), source.text())]
    if option == "members":
        return [flag(option), ",".join(value)]
    if value is False:
        return ["--no-" + flag(option)[2:]]
    return [flag(option)] if value is True else [flag(option), str(value)]
