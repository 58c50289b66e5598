"""The configuration of a ranking run."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from sfs_cli.config.checks import GRAPHS, check_graph, check_method, check_values
from sfs_cli.config.choices import ON_SOURCES
from sfs_cli.config.flags import words_of
from sfs_cli.config.sources import check_sources
from sfs_cli.graph.options import LABEL_GRAPHS, REDUCING
from sfs_cli.methods import catalog
from sfs_cli.sources.spec import SourceSpec, needs_labels

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
        check_values(self)
        check_graph(self)
        check_method(self)
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
            words += words_of(field.name, value)
        return words

    def member_configs(self) -> list[RankConfig]:
        """Return the configuration of each member of `kogs`: the options that it takes."""
        return [self._member(name) for name in self.members]

    def _member(self, name: str) -> RankConfig:
        method = catalog.METHODS[name]
        dropped = [option for option in catalog.OPTIONS if option not in method.options]
        if "graph" not in method.needed(dict(method.options)):
            dropped += [option for option in GRAPHS if option not in method.options]
        cleared: dict[str, Any] = dict.fromkeys(dropped)
        cleared |= {"members": (), "source": (), "weights": None, "weights_out": None}
        cleared["leave_one_out"] = True
        return replace(self, method=name, **cleared)
