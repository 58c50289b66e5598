"""The sample similarities and what each takes. No numeric library is loaded here."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sfs_cli.errors import UsageError, nearest

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
"""The similarities that are made from a matrix or from labels."""

REDUCING = ("components", "variable_genes")
"""Options of the space in which neighbours are searched."""
GRAPH_OPTIONS: dict[str, tuple[str, ...]] = {
    "rbf": ("bandwidth",),
    "knn": ("neighbors", "bandwidth", "edge_weights", *REDUCING),
    "geodesic": ("neighbors", *REDUCING),
    "diffusion": ("neighbors", "bandwidth", "edge_weights", "beta", *REDUCING),
    "label": (),
    "relieff": ("neighbors",),
    "linear": (),
    "correlation": (),
    "obsp": (),
    "file": (),
    "sources": (),
}
"""Which options each similarity takes."""
NEIGHBOUR_GRAPHS = tuple(name for name, takes in GRAPH_OPTIONS.items() if "components" in takes)
"""Similarities made from nearest neighbours."""
ALL_GRAPH_OPTIONS = ("bandwidth", "neighbors", "edge_weights", "beta", *REDUCING)
LABEL_GRAPHS = ("label", "relieff")
"""Similarities that are made from labels."""

DEFAULT_NEIGHBORS = 10
DEFAULT_BETA = 1.0
DEFAULT_COMPONENTS = 50
DEFAULT_VARIABLE_GENES = 2000
NO_COMPONENTS = "none"
ALL_GENES = "all"
COUNT = r"\s*\+?0*[1-9]\d*(\.0*)?\s*"
"""Whole numbers above zero as text."""
DENSE_SAMPLES = 2000
"""Up to this many samples the default graph is `rbf`; it is sparse above."""


@dataclass(frozen=True)
class GraphOptions:
    """How a similarity is made; None stands for the default.

    Attributes
    ----------
    name : str
        One of `SIMILARITIES`.
    bandwidth : str, optional
        ``median`` (default), ``self-tuning`` or a positive number.
    neighbors : int, optional
        Nearest neighbours.
    edge_weights : str, optional
        ``rbf`` (default) or ``binary``.
    beta : float, optional
        Time of the diffusion.
    components : str or int, optional
        How many principal components neighbours are searched in, or ``none`` for all features.
    variable_genes : str or int, optional
        How many features, of those that vary most, the components are made of, or ``all``.
    """

    name: str
    bandwidth: str | None = None
    neighbors: int | None = None
    edge_weights: str | None = None
    beta: float | None = None
    components: str | int | None = None
    variable_genes: str | int | None = None


def default_similarity(n: int) -> str:
    """Return the similarity that suits so many samples."""
    return "rbf" if n <= DENSE_SAMPLES else "knn"


def takers(option: str) -> str:
    """Return a hint that names the similarities that take an option."""
    names = [name for name, takes in GRAPH_OPTIONS.items() if option in takes]
    return f"it goes with --similarity {', '.join(names)}"


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


def parse_components(text: str | int) -> int | None:
    """Return a number of principal components; None for ``none``.

    Raises
    ------
    UsageError
        For anything else.
    """
    return _count("components", text, NO_COMPONENTS)


def parse_variable_genes(text: str | int) -> int | None:
    """Return a number of features; None for ``all``.

    Raises
    ------
    UsageError
        For anything else.
    """
    return _count("variable-genes", text, ALL_GENES)


def check_reduction(components: str | int | None, variable_genes: str | int | None) -> None:
    """Check the options of the space in which neighbours are searched.

    Raises
    ------
    UsageError
        When one is not known, or they contradict each other.
    """
    if variable_genes is not None:
        parse_variable_genes(variable_genes)
    off = components is not None and parse_components(components) is None
    if off and variable_genes is not None:
        raise UsageError(
            f"--variable-genes has no effect on --components {NO_COMPONENTS}",
            hint="leave one of them out: components alone are made of variable genes",
        )


def _count(option: str, given: str | int, word: str) -> int | None:
    if given == word:
        return None
    if not re.fullmatch(COUNT, str(given)):
        raise UsageError(
            f"--{option} {given!r} is not known", hint=f"give a whole number above zero, or {word}"
        )
    return int(float(given))
