"""The sample similarities and what each takes. No numeric library is loaded here."""

from __future__ import annotations

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
    "sources": (),
}
"""Which options each similarity takes."""
ALL_GRAPH_OPTIONS = ("bandwidth", "neighbors", "edge_weights", "beta")
LABEL_GRAPHS = ("label", "relieff")
"""Similarities that are made from labels."""

DEFAULT_NEIGHBORS = 10
DEFAULT_BETA = 1.0
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
    """

    name: str
    bandwidth: str | None = None
    neighbors: int | None = None
    edge_weights: str | None = None
    beta: float | None = None


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
