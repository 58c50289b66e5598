"""The catalogue of methods: what each needs, takes, means and cites. No numeric library is loaded.

Adding a method is adding its file and its entry here; options that no other method has are added
to ``sfs_cli.config.RankConfig`` and the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

Need = Literal["graph", "labels", "some-labels"]


@dataclass(frozen=True)
class Method:
    """A ranking method, as the catalogue lists it.

    Attributes
    ----------
    name : str
        The value of ``--method``.
    title : str
        What people call it.
    module : str
        Where it lives: it has ``prepare`` (separable: features are scored block by block) or
        ``solve`` (iterative).
    meaning : mapping
        How to read its score; by the value of ``--ranking`` where that decides (else under "").
    needs : tuple of str
        ``graph``, ``labels`` (of all samples) or ``some-labels``, whatever its options.
    needs_by : mapping
        For an option that decides: from its values to what else is needed.
    options : mapping
        Its own options and their defaults.
    choices : mapping
        The values of those options that are words.
    cost : str
        Order of its arithmetic in n samples, m features, c classes, k eigenvectors, l selected.
    passes : str
        Passes over the matrix, besides that for the graph.
    when : str
        When to use it.
    reference : str
        Where it comes from.
    extra : str
        Optional dependencies that it needs.
    """

    name: str
    title: str
    module: str
    meaning: Mapping[str, str]
    cost: str
    passes: str
    when: str
    needs: tuple[Need, ...] = ()
    needs_by: Mapping[str, Mapping[str, tuple[Need, ...]]] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    reference: str = ""
    extra: str = ""

    def how(self, options: Mapping[str, Any]) -> str:
        """Return how to read a score under the given options, as one sentence."""
        return self.meaning.get(options.get("ranking", ""), "") or self.meaning[""]

    def needed(self, options: Mapping[str, Any]) -> set[Need]:
        """Return what is needed under the given options, defaults filled in."""
        found = set(self.needs)
        for option, by_value in self.needs_by.items():
            found.update(by_value.get(options[option], ()))
        return found

    def load(self, function: Literal["prepare", "solve"]) -> Callable[..., Any] | None:
        """Import the method; return its function of that name, or None where it has the other."""
        return getattr(import_module(self.module), function, None)


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            name="spec",
            title="SPEC",
            module="sfs_cli.methods.spec",
            meaning={
                "phi1": "The smaller the score, the smoother the feature over the sample graph; "
                "features that hardly vary for their mean score well too.",
                "phi2": "The smaller the score, the smoother the feature over the sample graph: "
                "similar samples have similar values.",
                "phi3": "The larger the score, the closer the feature follows the leading "
                "clusters of the sample graph.",
            },
            needs=("graph",),
            options={"ranking": "phi2", "gamma": "power", "gamma_power": 1, "clusters": None},
            choices={"ranking": ("phi1", "phi2", "phi3"), "gamma": ("power", "exp")},
            cost="n^2 m ceil(r/2); phi3: n m k",
            passes="1",
            when="few classes: phi1 or phi2; many: phi2 or phi3; noisy data: phi3, or a higher "
            "--gamma-power",
            reference="Zhao and Liu, ICML 2007; Zhao, dissertation, Arizona State University "
            "2010, ch. 2",
        ),
        Method(
            name="laplacian",
            title="Laplacian Score",
            module="sfs_cli.methods.laplacian_score",
            meaning={
                "": "The smaller the score, the better the feature keeps neighbouring samples "
                "together."
            },
            needs=("graph",),
            cost="n^2 m",
            passes="1",
            when="the classical unsupervised filter; equal to SPEC's phi2",
            reference="He, Cai and Niyogi, NIPS 2005",
        ),
        Method(
            name="fisher",
            title="Fisher Score",
            module="sfs_cli.methods.fisher",
            meaning={
                "": "The larger the score, the further apart are the class means for the spread "
                "within the classes."
            },
            needs=("labels",),
            cost="n m c",
            passes="1",
            when="labels for all samples, one gene at a time, no graph wanted",
            reference="Duda, Hart and Stork, Pattern Classification, 2001",
        ),
        Method(
            name="variance",
            title="Variance",
            module="sfs_cli.methods.variance",
            meaning={"": "The larger the score, the more the feature varies between samples."},
            cost="n m",
            passes="1",
            when="a baseline: it prefers what is measured on a large scale, batch effects included",
        ),
    )
}
"""The methods by name, in the order they are listed."""

OPTIONS = tuple(dict.fromkeys(option for m in METHODS.values() for option in m.options))
"""Every option that some method has."""


def takers(option: str) -> list[str]:
    """Return the names of the methods that have an option."""
    return [name for name, method in METHODS.items() if option in method.options]
