"""Knowledge sources: their kinds, the options that each takes, their form as text, their weights.

Adding a kind takes its entry here and its file in ``sfs_cli.knowledge``; a new option of sources is
one more field of `SourceSpec` and its name at the kinds that take it. Adding a way of weighting
sources takes its file in ``sfs_cli.knowledge.weights`` and its entry in `WEIGHTINGS`; a new
parameter is one more field of `WeightingFields`. No numeric library is imported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

from sfs_cli.errors import ConflictError, UsageError, nearest, within
from sfs_cli.options.fields import (
    ON_SOURCE,
    SMALLEST,
    Config,
    Idle,
    Option,
    Refusal,
    flag,
    option,
    option_fields,
    options_of,
    stated,
)
from sfs_cli.options.grammar import key_of, split, typed
from sfs_cli.options.graph import (
    FROM_DISTANCES,
    GRAPH_FIELDS,
    LABEL_GRAPHS,
    LABELS_ALONE,
    SIMILARITIES,
    GraphFields,
    GraphOptions,
)
from sfs_cli.options.paths import READS, MovePart

MISSING = ("error", "drop", "mean")
ROWS = ("auto", "features", "samples")
NAME = "[A-Za-z0-9_.+-]+"
FORM = "write NAME=KIND:PATH[@WEIGHT][,OPTION=VALUE...], such as mirna=profile:mirna.csv"
"""The form of a source on the command line."""
LATE = "write the weight after the path: PATH@WEIGHT,OPTION=VALUE"

INSIDE = ("obs:", "obsp:", "obsm:")  # so begins what is in the file of the matrix itself
_GRAPH = ("similarity", *GRAPH_FIELDS)
_DISTANCES = tuple(name for name in _GRAPH if name not in ("components", "variable_genes"))
_VALUES = ("transform", "missing")
# options without effect on coordinates, which have no features
_OF_FEATURES = ("missing", "rows", "layer", "components", "variable_genes")
_OF_MATRIX = tuple(name for name in SIMILARITIES if name not in LABELS_ALONE)


class Kind(NamedTuple):
    """A kind of source."""

    meaning: str  # which samples are similar
    opener: str  # module of ``sfs_cli.knowledge``, a point, and its class or function
    path: str = ""  # what its path names; empty where it takes none
    takes: tuple[str, ...] = ()  # its options
    # the values of its option `similarity`: kinds that compute distances between samples by
    # themselves have no features to reduce, and no inner products
    similarities: tuple[str, ...] = ()
    path_is_optional: bool = False
    of_matrix: bool = False  # whether it is made of values of the matrix that is ranked

    @property
    def measured(self) -> bool:
        """Whether samples are compared by values of features, which can be reduced."""
        return "components" in self.takes

    @property
    def by_products(self) -> bool:
        """Whether distances come from products with what is known of the features."""
        return bool(self.similarities) and not self.measured


KINDS = {
    "profile": Kind(
        "Samples with similar values in another matrix of the same samples.",
        "samples.Profile",
        path="The matrix, or obsm:KEY.",
        takes=(*_VALUES, *_GRAPH, "rows", "layer"),
        similarities=_OF_MATRIX,
    ),
    "target": Kind(
        "Samples with similar values in the matrix that is ranked.",
        "samples.TargetMatrix",
        takes=(*_VALUES, *_GRAPH),
        similarities=_OF_MATRIX,
        path_is_optional=True,
        of_matrix=True,
    ),
    "labels": Kind(
        "Samples of one class; without a path, by the labels of the run.",
        "samples.Classes",
        path="FILE, FILE:COLUMN, or obs:KEY.",
        path_is_optional=True,
    ),
    "hierarchy": Kind(
        "Samples with a deep common ancestor.",
        "samples.Tree",
        path="A table of samples and paths (FILE or FILE:COLUMN), or a Newick tree.",
    ),
    "genes": Kind(
        "Samples with similar values in the genes of a list, of gene sets or of annotations.",
        "genes.open_genes",
        path="A gene list, a GMT or GMX (FILE.gmt:SET1,SET2 for some of its sets), or a GAF.",
        takes=(*_VALUES, *_GRAPH, "evidence", "ids", "id_map"),
        similarities=_OF_MATRIX,
        of_matrix=True,
    ),
    "interactions": Kind(
        "Samples with similar values in the genes that interact.",
        "genes.open_interactions",
        path="Edges between genes (SIF, if the name ends in .sif).",
        takes=(*_VALUES, *_GRAPH, "min_score", "seeds", "id_map"),
        similarities=_OF_MATRIX,
        of_matrix=True,
    ),
    "feature-similarity": Kind(
        "Samples at a small Mahalanobis distance, by similarities between genes.",
        "genes.FeatureSimilarity",
        path="Edges (also .sif) or a matrix between genes.",
        takes=(*_VALUES, *_DISTANCES, "min_score", "id_map"),
        similarities=FROM_DISTANCES,
        of_matrix=True,
    ),
    "terms": Kind(
        "Samples at a small Mahalanobis distance, by terms that genes share.",
        "genes.SharedTerms",
        path="A matrix of genes and terms, a GMT, a GMX or a GAF.",
        takes=(*_VALUES, *_DISTANCES, "evidence", "ids", "id_map"),
        similarities=FROM_DISTANCES,
        of_matrix=True,
    ),
    "similarity": Kind(
        "A similarity matrix of the samples.",
        "samples.GivenSimilarity",
        path="A matrix, or obsp:KEY.",
    ),
}
"""The kinds of sources, in the order they are listed."""


def kinds_taking(name: str) -> list[str]:
    """Return the kinds that take an option."""
    return [kind for kind, entry in KINDS.items() if name in entry.takes]


_option = partial(option, takers=kinds_taking)
_knowledge = partial(_option, section="Knowledge sources")


@dataclass(frozen=True, eq=False, repr=False)
class SourceSpec(GraphFields):
    """One knowledge source, as it is asked for; None stands for a default."""

    name: str  # that the user gives it
    kind: str  # one of `KINDS`
    # FILE, FILE:COLUMN, FILE.gmt:SET, obs:KEY, obsp:KEY or obsm:KEY; empty for some kinds
    path: str = ""
    weight: float | None = option("Weight of the source.", least=0, default_text="1")
    transform: str | None = _option(
        "Transformations of this source, in order, such as cpm,log1p,zscore.", items=str
    )
    missing: str | None = _option(
        "Missing values: refuse them, drop such features, or use the mean of the feature.",
        words=MISSING,
        default_text="error",
    )
    rows: str | None = _option("What a row of the file is.", words=ROWS, default_text="auto")
    layer: str | None = _option(
        "Layer of an h5ad to read instead of X; raw.X is that of raw.", metavar="NAME"
    )
    similarity: str | None = _option(
        "How samples are compared.",
        section="Sample graph",
        metavar="NAME",
        words=_OF_MATRIX,
        default_text="rbf",
        lead=True,
    )
    min_score: float | None = _knowledge("Drop edges with a lower score.")
    seeds: str | None = _knowledge(
        "Use only the interactions of the genes in this file.", metavar="FILE", path=READS
    )
    evidence: str | None = _knowledge(
        "Evidence codes of a GAF to keep, or to drop if they begin with !; ND only if named.",
        metavar="CODES",
        items=str,
    )
    ids: str | None = _knowledge(
        "The column of a GAF that has the ids of the features.",
        words=("symbol", "id"),
        default_text="symbol",
    )
    id_map: str | None = _knowledge(
        "Table of two columns, ids of the matrix and ids of this source.",
        metavar="FILE",
        path=READS,
    )

    def __post_init__(self) -> None:
        if not re.fullmatch(NAME, self.name):
            what = f"the source name {self.name!r} is not one word"
            hint = f"use only letters, digits and . _ + -; {FORM}"
            raise UsageError(what, hint=hint, option="source")
        if self.kind not in KINDS:
            raise self.error(f"unknown kind {self.kind!r}", nearest(self.kind, KINDS), "kind")
        if not self.path and not KINDS[self.kind].path_is_optional:
            raise self.error("the path is missing", FORM)
        if self.path and not KINDS[self.kind].path:
            hint = f"write {self.name}={self.kind}:, or {self.name}=profile:{self.path}"
            what = f"{self.kind} takes no path: it is the matrix itself"
            raise self.error(what, hint, "path")
        self.check_values()

    def without_effect(self) -> Iterator[Idle]:
        """Yield the options that the kind does not take, and those of features on coordinates."""
        for name in self.given(*OPTIONS):
            if name not in KINDS[self.kind].takes:
                yield name, f"on sources of the kind {self.kind}"
        for name in self.given(*_OF_FEATURES) if self.has_coordinates else ():
            yield name, f"on {self.path}, whose coordinates are used as they are"
        yield from super().without_effect()

    def refusals(self) -> Iterator[Refusal]:
        """Yield what is wrong with how the options go together."""
        yield from super().refusals()
        known = KINDS[self.kind].similarities
        if self.similarity is not None and self.similarity not in known:
            what = f"unknown value {self.similarity!r} of similarity for the kind {self.kind}"
            yield what, nearest(self.similarity, known), ("similarity", "kind")

    def users(self, option: str) -> tuple[str, ...]:
        """Return what takes other options: the similarity."""
        return (self.graph,) if option == "similarity" else ()

    @property
    def graph(self) -> str:
        """The name of the similarity."""
        return self.similarity or "rbf"

    @property
    def has_coordinates(self) -> bool:
        """Whether it is made of coordinates of the samples in the file of the matrix."""
        return self.kind == "profile" and self.path.startswith("obsm:")

    def graph_options(self, name: str) -> GraphOptions:
        """Return how a similarity of this name is made; coordinates are used as they are."""
        options = super().graph_options(name)
        return replace(options, components="none") if self.has_coordinates else options

    @property
    def gene_ids(self) -> Literal["symbol", "id"]:
        """The column of a GAF that has the ids of the genes."""
        return "id" if self.ids == "id" else "symbol"

    @property
    def needs_labels(self) -> bool:
        """Whether it is made from the labels of the run."""
        return self.similarity in LABEL_GRAPHS or (self.kind == "labels" and not self.path)

    @property
    def about_genes(self) -> bool:
        """Whether it names genes, so that their ids are matched with the features."""
        return "id_map" in KINDS[self.kind].takes

    def error(
        self, what: str, hint: str, *names: str, kind: type[UsageError] = UsageError
    ) -> UsageError:
        """Return an error that names this source."""
        return _error(self.name, what, hint, *names, kind=kind)

    def label(self, name: str, value: Any = None) -> str:
        """Return how messages name an option: as it is written after the path."""
        key = flag(name)[2:]
        return key if value is None else f"{key}={value}"

    def options(self) -> dict[str, Any]:
        """Return the options that are given, without the weight."""
        return {name: getattr(self, name) for name in self.given(*OPTIONS)}

    def __str__(self) -> str:
        """Return the source in the form of the command line."""
        weight = "" if self.weight is None else f"@{self.weight!r}"
        options = "".join(f",{self.label(k, v)}" for k, v in self.options().items())
        return f"{self.name}={self.kind}:{self.path}{weight}{options}"

    def with_paths(self, move: MovePart) -> SourceSpec:
        """Return the source with other paths, by a function of option and path."""
        given = {option: getattr(self, option) for option in SOURCE_PATHS}
        moved: dict[str, Any] = {
            k: move(k, v) for k, v in given.items() if v and not v.startswith(INSIDE)
        }
        return replace(self, **moved)

    def plain(self) -> dict[str, Any]:
        """Return the source as a configuration file has it under its name."""
        known = {"kind": self.kind, "path": self.path or None, "weight": self.weight}
        return stated(known) | {self.label(k): v for k, v in self.options().items()}


def _error(
    name: str, what: str, hint: str, *options: str, kind: type[UsageError] = UsageError
) -> UsageError:
    """Return an error that names a source, and some of its options."""
    places = tuple(f"source.{name}.{option}" for option in options) or f"source.{name}"
    return kind(what, where=f"--source {name}", hint=hint, option=places)


SOURCE_OPTIONS = {o.name: o for o in options_of(SourceSpec)}
"""The weight and the options that some kind of source takes, by their attributes."""
SOURCE_PATHS = ("path", *(o.name for o in SOURCE_OPTIONS.values() if o.path))
OPTIONS = tuple(name for name in SOURCE_OPTIONS if name != "weight")
SOURCE_KEYS = {
    o.key: o._replace(of="source")
    for o in (*(Option(help="", name=name) for name in ("kind", "path")), *SOURCE_OPTIONS.values())
}
"""The kind, the path and the same by their keys, as parameters of ``--source``."""


def check_names(sources: Sequence[SourceSpec]) -> None:
    """Check that no two sources have the same name."""
    names = [source.name for source in sources]
    if twice := [name for name in names if names.count(name) > 1]:
        what, hint = f"two sources are named {twice[0]!r}", "give each source its own name"
        raise ConflictError(what, where="--source", hint=hint, option="source")


# ---- NAME=KIND:PATH[@WEIGHT][,OPTION=VALUE...], and mappings ------------------------------------


def parse_sources(texts: Sequence[str]) -> tuple[SourceSpec, ...]:
    """Return the sources of the command line."""
    return tuple(parse_source(text) for text in texts)


def parse_source(text: str) -> SourceSpec:
    """Parse a source in the form of the command line."""
    name, equals, rest = text.partition("=")
    kind, colon, rest = rest.partition(":")
    if not equals or not colon:
        raise UsageError(f"--source {text!r} cannot be read", hint=FORM, option="source")
    path, pairs = split(rest)
    if any(key == "weight" for key, _ in pairs):
        raise _error(name, "unknown option 'weight'", LATE, "weight")
    before, at, number = path.rpartition("@")
    with suppress(ValueError):  # an @ without a number after it belongs to the path
        if at:
            pairs, path = [("weight", str(float(number))), *pairs], before
    place = [("kind", kind), *([("path", path)] if path else [])]
    try:
        return source_of(name, [*place, *pairs])
    except UsageError as error:
        if any("@" in value for _, value in pairs):
            error.hint = LATE
        raise


def source_of(name: str, given: Iterable[tuple[str, Any]]) -> SourceSpec:
    """Return a source of its name, and of its kind, path, weight and options by their keys."""
    found = dict[str, Any]()
    for written, value in given:
        key = key_of(written)
        if key not in SOURCE_KEYS:
            hint = nearest(key, keys_taken(found.get("kind")))
            raise _error(name, f"unknown option {written!r}", hint, key)
        if (option := SOURCE_KEYS[key]).name in found:
            raise _error(name, f"{key} is given twice", "leave one out", key)
        with within(f"--source {name}"):
            found[option.name] = typed(option, value)
    if "kind" not in found:
        raise _error(name, "the kind is missing", f"give one of {', '.join(KINDS)}")
    return SourceSpec(name, **found)


def keys_taken(kind: Any) -> list[str]:
    """Return the keys of a source of a kind; those of all where it is none."""
    takes = KINDS[kind].takes if isinstance(kind, str) and kind in KINDS else OPTIONS
    return ["kind", "path", "weight", *(SOURCE_OPTIONS[name].key for name in takes)]


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
