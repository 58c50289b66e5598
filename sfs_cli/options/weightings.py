"""The ways of weighting knowledge sources: what each needs, takes and cites.

Adding one takes its file in ``sfs_cli.knowledge.weights`` and its entry here; a new parameter is
one more field of `WeightingFields`. No numeric library is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

from sfs_cli.options.fields import (
    ON_SOURCE,
    SMALLEST,
    Config,
    Option,
    option,
    option_fields,
    options_of,
    stated,
)

PREFIX = "fusion_"
"""So begin the names of parameters in Python that have a name of a method's, such as clusters."""


class Entry(NamedTuple):
    """A way of weighting sources."""

    title: str  # its name in the literature
    when: str  # to use it
    learner: str  # module of ``sfs_cli.knowledge.weights``, a point, and its function
    needs_labels: bool = False  # whether it learns from the classes of the samples
    # its parameters and their defaults, None where the default depends on the data
    options: Mapping[str, Any] = {}
    reference: str = ""  # what to cite


WEIGHTINGS: dict[str, Entry] = {
    "given": Entry(
        title="given weights",
        learner="simple.given",
        when="you know how much each source can be trusted",
        reference="Zhao and Liu, JMLR W&CP 4, 2008",
    ),
    "uniform": Entry(
        title="equal weights",
        learner="simple.uniform",
        when="nothing is known about the sources; a misleading one counts as much as a good one",
    ),
    "alignf": Entry(
        title="centered kernel alignment",
        learner="alignf.learn_alignf",
        when="there are labels, and sources unrelated to them should get small weights; fast",
        needs_labels=True,
        reference="Cortes, Mohri and Rostamizadeh, JMLR 13, 2012",
    ),
    "rkda": Entry(
        title="regularized kernel discriminant analysis",
        learner="discriminant.learn_rkda",
        when="there are labels, and the sources together should separate the classes",
        needs_labels=True,
        options={"lambda": None},
        reference="Ye, Ji and Chen, JMLR 9, 2008",
    ),
    "statis": Entry(
        title="STATIS",
        learner="statis.learn_statis",
        when="there are no labels, and sources that agree with most others should count more",
        reference="L'Hermier des Plantes, 1976; Lavit et al., Comput. Stat. Data Anal. 18, 1994",
    ),
    "sparse-umkl": Entry(
        title="sparse unsupervised multiple kernel learning",
        learner="sparse_umkl.learn_sparse_umkl",
        when="there are no labels, neighbors in the sources should stay neighbors, and only a few "
        "sources should be kept",
        options={"neighbors": 5},
        reference="Mariette and Villa-Vialaneix, Bioinformatics 34, 2018",
    ),
    "naml": Entry(
        title="nonlinear adaptive metric learning",
        learner="discriminant.learn_naml",
        when="there are no labels, and the samples form a known number of clusters",
        options={"lambda": None, "clusters": None},
        reference="Chen, Zhao and Ye, KDD 2007",
    ),
    "snf": Entry(
        title="similarity network fusion",
        learner="snf.learn_snf",
        when="local neighborhoods are more reliable than distant similarities; not a weighted sum, "
        "so the sources get no weights",
        options={"neighbors": 20, "iterations": 20},
        reference="Wang et al., Nature Methods 11, 2014",
    ),
}
"""The ways of weighting sources by the name of ``--weights``, in the order they are listed."""


def taking(name: str) -> list[str]:
    """Return the ways of weighting that take a parameter, by the name of its option."""
    own = name.removeprefix(PREFIX)
    return [key for key, entry in WEIGHTINGS.items() if own in entry.options]


_weighting = partial(
    option,
    section="Knowledge sources",
    verbs=ON_SOURCE,
    needs=("source",),
    taken_by="weights",
    of="weights",
)
_fusion = partial(_weighting, takers=taking)


@option_fields
class WeightingFields(Config):
    """The parameters of the ways of weighting; None stands for the default."""

    normalize: str | None = _weighting(
        "Scale similarities by their Frobenius norm as well as by their mean diagonal.",
        metavar="frobenius",
        words=("frobenius",),
    )
    fusion_lambda: float | None = _fusion(
        "Regularization.",
        word="lambda",
        metavar="L",
        above=0,
        least=SMALLEST,
        default_text="1 / samples",
    )
    fusion_neighbors: int | None = _fusion(
        "Number of nearest neighbors.",
        word="neighbors",
        metavar="K",
        least=1,
        default_text="; ".join(
            f"{name}: {entry.options['neighbors']}"
            for name, entry in WEIGHTINGS.items()
            if "neighbors" in entry.options
        ),
    )
    fusion_clusters: int | None = _fusion(
        "Number of clusters of the samples.",
        word="clusters",
        metavar="K",
        least=2,
        default_text="by the eigengap",
    )

    def fusion_options(self) -> dict[str, float | int]:
        """Return the given parameters of the way of weighting, by its own names."""
        own = (o.name for o in options_of(WeightingFields) if o.takers is not None)
        return stated({name.removeprefix(PREFIX): getattr(self, name) for name in own})


def parameters_of(name: str) -> dict[str, Option]:
    """Return the parameters of a way of weighting by their names, with its own defaults."""
    defaults = WEIGHTINGS[name].options
    taken = (o for o in options_of(WeightingFields) if o.takers is None or o.parameter in defaults)
    return {o.name: o.with_default(defaults.get(o.parameter)) for o in taken}
