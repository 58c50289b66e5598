"""The configuration of a run: every option once, with its default and what it goes with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any

from sfs_cli.errors import UsageError, nearest
from sfs_cli.methods import catalog
from sfs_cli.methods.entry import Method

METHODS = tuple(catalog.METHODS)
SIMILARITIES = (
    "rbf",
    "knn",
    "geodesic",
    "diffusion",
    "label",
    "relieff",
    "linear",
    "correlation",
)
FORMATS = ("tsv", "csv", "parquet", "json", "rnk")

DEFAULT_NEIGHBORS = 10
DEFAULT_BETA = 1.0
MAX_GAMMA_POWER = 64
"""Higher powers of eigenvalues, which go up to 2, leave the range of numbers of 32 bits."""
MAX_DIGITS = 17
"""A number of 64 bits is told from every other by so many digits."""
DENSE_SAMPLES = 2000
"""Up to this many samples the default graph is `rbf`; it is sparse above."""

GRAPH_OPTIONS: dict[str, tuple[str, ...]] = {
    "rbf": ("bandwidth",),
    "knn": ("neighbors", "bandwidth", "edge_weights"),
    "geodesic": ("neighbors",),
    "diffusion": ("neighbors", "bandwidth", "edge_weights", "beta"),
    "label": (),
    "relieff": ("neighbors",),
    "linear": (),
    "correlation": (),
    "obsp": (),
    "file": (),
}
"""Which options each similarity takes."""
WITH_POWER = ("power", "ritz", "kernel")
"""Variants of Q-alpha that take a power."""
WITH_COEFFICIENTS = ("mrsf", "l21")
"""Methods with coefficients to write."""
LABEL_GRAPHS = ("label", "relieff")
"""Similarities that are made from labels."""

_LABELS_HINT = "give --labels FILE[:COLUMN], or obs:KEY where the matrix is AnnData"
_ALL_GRAPH_OPTIONS = ("bandwidth", "neighbors", "edge_weights", "beta")
_NO_EFFECT_ON_RESULT = ("out", "threads", "memory", "scratch", "force", "write_h5ad", "weights_out")


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
    similarity: str | None = None
    similarity_file: str | None = None
    neighbors: int | None = None
    bandwidth: str | None = None
    edge_weights: str | None = None
    beta: float | None = None
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
    block_size: int | None = None
    seed: int = 0
    on_no_convergence: str = "warn"

    def __post_init__(self) -> None:
        self._check_choices()
        self._check_graph()
        self._check_method()

    @property
    def graph(self) -> str | None:
        """The name of the similarity as `GRAPH_OPTIONS` has it; None where the data decide."""
        if self.similarity_file is not None:
            return "file"
        if self.similarity is not None and self.similarity.startswith("obsp:"):
            return "obsp"
        if self.similarity is None and self.method == "hsic" and self.labels is not None:
            return "label"
        return self.similarity

    def method_options(self) -> dict[str, Any]:
        """Return the options of the method itself, defaults filled in."""
        defaults = catalog.METHODS[self.method].options
        given = {name: getattr(self, name) for name in defaults}
        options = {k: defaults[k] if v is None else v for k, v in given.items()}
        if isinstance(defaults.get("gamma"), float):
            options["gamma"] = float(options["gamma"])
        return options

    def result_options(self) -> dict[str, Any]:
        """Return the options that the result depends on."""
        return {k: v for k, v in asdict(self).items() if k not in _NO_EFFECT_ON_RESULT}

    def command(self) -> list[str]:
        """Return the command line that asks for the same result."""
        words = ["sfs", "rank", self.matrix]
        for name, value in self.result_options().items():
            default = next(f.default for f in fields(self) if f.name == name)
            if name == "matrix" or value == default:
                continue
            words += [flag(name)] if value is True else [flag(name), str(value)]
        return words

    def _check_choices(self) -> None:
        _one_of("--method", self.method, METHODS)
        _one_of("--rows", self.rows, ("auto", "features", "samples"))
        _one_of("--missing", self.missing, ("error", "drop", "mean"))
        _one_of("--samples", self.samples, ("error", "intersect"))
        _one_of("--edge-weights", self.edge_weights, ("rbf", "binary"))
        _one_of("--format", self.format, FORMATS)
        _one_of("--on-no-convergence", self.on_no_convergence, ("warn", "error"))
        _one_of("--dtype", self.dtype, ("float32", "float64"))
        _at_least("--gamma-power", self.gamma_power, 1)
        _at_least("--clusters", self.clusters, 1 if self.method == "qalpha" else 2)
        _at_least("--select", self.select, 1)
        _at_least("--rank", self.rank, 1)
        _at_least("--power", self.power, 1)
        _positive("--budget", self.budget)
        if self.method == "l21":
            _positive("--lambda", self.lambda_)
        if self.definition not in (None, 1, 3):
            raise UsageError(f"--definition {self.definition} is not known", hint="give 1 or 3")
        _at_least("--neighbors", self.neighbors, 1)
        _at_least("--threads", self.threads, 1)
        _at_least("--block-size", self.block_size, 1)
        _at_least("--digits", self.digits, 1)
        _at_least("--seed", self.seed, 0)
        _at_most("--gamma-power", self.gamma_power, MAX_GAMMA_POWER)
        _at_most("--digits", self.digits, MAX_DIGITS)
        if self.beta is not None and not 0 < self.beta < float("inf"):
            raise UsageError(
                f"--beta {self.beta:g} is not a positive number", hint="give one, such as 1"
            )
        if self.bandwidth is not None:
            parse_bandwidth(self.bandwidth)

    def _check_graph(self) -> None:
        if self.similarity is not None and not self.similarity.startswith("obsp:"):
            _one_of("--similarity", self.similarity, (*SIMILARITIES, "obsp:KEY"))
        if self.similarity is not None and self.similarity_file is not None:
            raise UsageError(
                "--similarity and --similarity-file name two sample graphs", hint="give one of them"
            )
        graph = self.graph
        for option in self._given(_ALL_GRAPH_OPTIONS):
            if graph is None and option in ("beta", "edge_weights"):
                raise UsageError(f"{flag(option)} needs --similarity", hint=_takers(option))
            if graph is not None and option not in GRAPH_OPTIONS[graph]:
                raise UsageError(
                    f"{flag(option)} has no effect on --similarity {graph}", hint=_takers(option)
                )
        if graph in LABEL_GRAPHS and self.labels is None:
            raise UsageError(f"--similarity {graph} needs --labels", hint=_LABELS_HINT)
        if self.edge_weights == "binary" and self.bandwidth is not None:
            raise UsageError(
                "--bandwidth has no effect on --edge-weights binary",
                hint="leave one of them out: binary edges all weigh 1",
            )

    def _check_method(self) -> None:
        method = catalog.METHODS[self.method]
        for option in self._given(catalog.OPTIONS):
            if option not in method.options and option not in _ALL_GRAPH_OPTIONS:
                raise UsageError(
                    f"{flag(option)} has no effect on --method {self.method}",
                    hint=f"leave it out; it goes with --method {', '.join(catalog.takers(option))}",
                )
        for option, known in method.choices.items():
            _matches(flag(option), getattr(self, option), known)
        self._check_combinations()
        needs = method.needed(self.method_options())
        if "graph" not in needs:
            for option in self._given(("similarity", "similarity_file", *_ALL_GRAPH_OPTIONS)):
                if option not in method.options:
                    raise UsageError(
                        f"{flag(option)} has no effect: --method {self.method} uses no graph",
                        hint="leave it out, or take a method that ranks on a graph, such as spec",
                    )
        if needs & {"labels", "some-labels"} and self.labels is None:
            raise UsageError(f"{self._asking_for_labels(method)} needs --labels", hint=_LABELS_HINT)

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
        if self.weights_out is not None and self.method not in WITH_COEFFICIENTS:
            raise UsageError(
                f"--weights-out has no effect: --method {self.method} has no coefficients",
                hint=f"it goes with --method {', '.join(WITH_COEFFICIENTS)}",
            )
        if self.power is not None and self.variant not in WITH_POWER:
            raise UsageError(
                "--power has no effect on this --variant",
                hint=f"it goes with --variant {', '.join(WITH_POWER)}",
            )
        if self.method == "spec" and self.clusters is not None and self.ranking != "phi3":
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
        return (option for option in options if getattr(self, option) is not None)


def parse_bandwidth(text: str) -> str | float:
    """Return ``median``, ``self-tuning`` or a positive number.

    Raises
    ------
    UsageError
        For anything else.
    """
    if text in ("median", "self-tuning"):
        return text
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0 < value < float("inf"):
        raise UsageError(
            f"--bandwidth {text!r} is not known",
            hint=nearest(text, ("median", "self-tuning", "a positive number")),
        )
    return value


def flag(option: str) -> str:
    """Return the flag of an option; ``lambda_`` has its underscore from Python alone."""
    return "--" + option.rstrip("_").replace("_", "-")


def _takers(option: str) -> str:
    names = [name for name, takes in GRAPH_OPTIONS.items() if option in takes]
    return f"it goes with --similarity {', '.join(names)}"


def _one_of(flag: str, value: str | None, known: tuple[str, ...]) -> None:
    if value is None or value in known:
        return
    raise UsageError(f"{flag} {value!r} is not known", hint=nearest(value, known))


def _matches(flag: str, value: str | None, known: tuple[str, ...]) -> None:
    """Check a value against words, ``NUMBER``, and words with a number such as ``heat:T``."""
    if value is None or (value in known and not value.isupper()):
        return
    for pattern in known:
        word, colon, _ = pattern.partition(":")
        number = value.removeprefix(word + ":") if colon else value
        if (pattern == "NUMBER" or (colon and number != value)) and _is_positive(number):
            return
    words = tuple("a positive number" if pattern == "NUMBER" else pattern for pattern in known)
    raise UsageError(f"{flag} {value!r} is not known", hint=nearest(value, words))


def _is_positive(text: str) -> bool:
    try:
        return 0 < float(text) < float("inf")
    except ValueError:
        return False


def _positive(flag: str, value: float | None) -> None:
    if value is not None and not 0 < value < float("inf"):
        raise UsageError(f"{flag} {value:g} is not a positive number", hint="give one, such as 1")


def _at_least(flag: str, value: int | None, least: int) -> None:
    if value is not None and value < least:
        raise UsageError(f"{flag} {value} is too small", hint=f"give {least} or more")


def _at_most(flag: str, value: int | None, most: int) -> None:
    if value is not None and value > most:
        raise UsageError(f"{flag} {value} is too large", hint=f"give {most} or less")
