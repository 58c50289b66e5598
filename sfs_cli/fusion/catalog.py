"""The ways of weighing sources, as they are listed. No numeric library is loaded here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Entry:
    """A way of weighing sources.

    Attributes
    ----------
    title : str
        What people call it.
    module : str
        Where its ``learn(kernels, context)`` is.
    when : str
        When to use it.
    needs_labels : bool
        Whether it learns from classes of the samples.
    options : mapping
        Its options and their defaults; None where the default depends on the data.
    reference : str
        Where it comes from.
    """

    title: str
    module: str
    when: str
    needs_labels: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    reference: str = ""

    def load(self) -> Callable[..., Any]:
        """Import it and return its ``learn``, from kernels and a FusionContext to a Weighting."""
        return import_module(self.module).learn


WEIGHTINGS: dict[str, Entry] = {
    "given": Entry(
        title="given weights",
        module="sfs_cli.fusion.given",
        when="it is known how far each source is to be trusted",
        reference="Zhao and Liu, JMLR W&CP 4, 2008",
    ),
    "uniform": Entry(
        title="equal weights",
        module="sfs_cli.fusion.uniform",
        when="nothing is known of the sources; hard to beat where all of them are good",
    ),
    "alignf": Entry(
        title="centred kernel alignment",
        module="sfs_cli.fusion.alignf",
        when="there are labels, and sources that say nothing of them should count little; fast",
        needs_labels=True,
        reference="Cortes, Mohri and Rostamizadeh, JMLR 13, 2012",
    ),
    "rkda": Entry(
        title="regularized kernel discriminant analysis",
        module="sfs_cli.fusion.rkda",
        when="there are labels, and the sources together should separate the classes",
        needs_labels=True,
        options={"lambda": None},
        reference="Ye, Ji and Chen, JMLR 9, 2008",
    ),
    "statis": Entry(
        title="STATIS",
        module="sfs_cli.fusion.statis",
        when="there are no labels, and what most sources agree on is to be trusted",
        reference="L'Hermier des Plantes, 1976; Lavit et al., Comput. Stat. Data Anal. 18, 1994",
    ),
    "sparse-umkl": Entry(
        title="sparse unsupervised multiple kernel learning",
        module="sfs_cli.fusion.sparse_umkl",
        when="there are no labels, neighbours in the sources should stay neighbours, and few "
        "sources are to be kept",
        options={"neighbors": 5},
        reference="Mariette and Villa-Vialaneix, Bioinformatics 34, 2018",
    ),
    "naml": Entry(
        title="nonlinear adaptive metric learning",
        module="sfs_cli.fusion.naml",
        when="there are no labels, and the samples fall into a known number of clusters",
        options={"lambda": None, "clusters": None},
        reference="Chen, Zhao and Ye, KDD 2007",
    ),
    "snf": Entry(
        title="similarity network fusion",
        module="sfs_cli.fusion.snf",
        when="local neighbourhoods are to be trusted more than far similarities; not a weighted "
        "sum, so it cannot be said what each source counts",
        options={"neighbors": 20, "iterations": 20},
        reference="Wang et al., Nature Methods 11, 2014",
    ),
}
"""The ways of weighing sources by the name of ``--weights``, in the order they are listed."""
