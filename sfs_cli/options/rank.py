"""The configuration of a ranking: every option of ``sfs rank`` and of the commands around it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Self

from sfs_cli import catalog
from sfs_cli.catalog import KNOWN_AS, METHODS, ON_SOURCES
from sfs_cli.errors import either
from sfs_cli.options import parts, testing
from sfs_cli.options.fields import (
    ASKED,
    ON_MATRIX,
    ON_SOURCE,
    RANKING,
    READ,
    READING,
    WHOLE,
    WRITTEN,
    Config,
    Idle,
    Option,
    Refusal,
    flag,
    numbers_of,
    option,
    option_fields,
    options_of,
    reason,
    stated,
    texts_of,
)
from sfs_cli.options.grammar import MethodFields, names_of, parameters_of, typed
from sfs_cli.options.graph import (
    DEFAULT_COMPONENTS,
    DEFAULT_GRAPHS,
    GRAPH_FIELDS,
    LABEL_GRAPHS,
    MOST_PROFILES,
    SIMILARITIES,
    GraphFields,
    GraphOptions,
)
from sfs_cli.options.parts import can_start, member_configs, others
from sfs_cli.options.paths import FILLS, READS, REPLACES, beside_labels
from sfs_cli.options.source import (
    KINDS,
    MISSING,
    ROWS,
    WEIGHTINGS,
    SourceSpec,
    WeightingFields,
    check_names,
    parse_sources,
)

FORMATS = ("tsv", "csv", "parquet", "json", "rnk", "xlsx")
TOGETHER = 10_000
"""Up to this many samples features are selected together by default; above, one by one."""
COLLAPSES = ("mean", "median", "sum", "highest-mean")
KNOWN_COLLAPSES = {
    **dict.fromkeys(("avereps", "average", "avg"), "mean"),
    **dict.fromkeys(("max-mean", "maxmean", "max", "maxrowmeans"), "highest-mean"),
}
"""What other programs call them."""
LABEL_TYPES = ("classes", "ordered", "continuous")
FEWEST_CELLS = 10
"""Cells of a sample of ``--pseudobulk``, by default."""

_WRITING = ("rank", "shard merge")
_TABLES = ("evaluate", "compare", "select")
"""Those that write other tables than a ranking."""
_SHARDS = ("shard run", "shard merge")

_input = partial(option, section="Input", verbs=ON_MATRIX)
_reading = partial(option, section="Input", verbs=READING)
_labels = partial(option, section="Input", verbs=(*RANKING, "compare", "inspect"))
_method = partial(option, section="Method", verbs=RANKING)
_sources = partial(option, section="Knowledge sources", verbs=ON_SOURCE, needs=("source",))
_TWO_GRAPHS = "these are two sample graphs"
_SIMILARITY_SOURCE = f"{_TWO_GRAPHS}; a similarity can be a source, NAME=similarity:FILE"
_graph = partial(option, section="Sample graph", verbs=RANKING, lead=True)
_table = partial(option, section="Output", verbs=("rank", "shard init", "aggregate"))
_output = partial(option, section="Output", in_result=False)
_running = partial(option, section="Running", in_result=False)
_working = partial(_running, verbs=(*ON_MATRIX, "convert", *_SHARDS, "select"))


_named = partial(
    _input, default=(), metavar="LIST or PATTERN", items=str, parse=texts_of, patterns=True
)


@option_fields
class OutputFields(Config):
    """The options of every command that writes a ranking."""

    out: str | None = _output(
        "Write the ranking, its report and the provenance (run.json) to this folder.",
        verbs=(*_WRITING, "aggregate", *_TABLES),
        metavar="DIR",
        path=FILLS,
        first=WRITTEN,
        by_verb={
            verb: {"help": "Write the result and the provenance (run.json) to this folder."}
            for verb in _TABLES
        }
        | {"shard merge": {"default": ...}},
    )
    format: str = _table("Format of the ranking.", default="tsv", words=FORMATS, first=WRITTEN)
    force: bool = _output(
        "Replace the output of another run.",
        verbs=(*ON_MATRIX, "convert", "shard merge", "aggregate", "select", "report"),
        default=False,
        first=WRITTEN,
    )

    def to_stdout(self) -> Self:
        """Return the configuration of a command that has no output folder.

        Options about its files have no effect then. Functions of Python, which write no files,
        take them.
        """
        declared = (o.as_in(self.VERB) for o in options_of(type(self)))
        places = {o.name: o.goes_to for o in declared if o.goes_to}
        idle = [name for name in self.given(*places) if not self.given(*places[name])]
        made = replace(self, **self.unset(*idle))
        needed = {name: either([*map(self.label, places[name])]) for name in idle}
        without = {self.label(name): f"without {needed[name]}" for name in idle}
        known = self.ignored | without
        without |= {written: reason(why, known) for written, why in made.ignored.items()}
        vars(made)["ignored"] = self.ignored | without
        return made


@option_fields
class ResourceFields(Config):
    """The options of every command that reads a matrix: what it may use, and the seed."""

    threads: int | None = _running(
        "Number of threads.",
        verbs=(*ON_MATRIX, *_SHARDS, "select"),
        least=1,
        default_text="all that are allowed",
        first="Running",
    )
    memory: str | None = _working(
        "Memory limit, such as 512M or 4G.",
        metavar="SIZE",
        default_text="half of the free memory",
        first="Running",
    )
    seed: int = option(
        "Random seed.",
        section="Running",
        verbs=(*ON_MATRIX, "select"),
        default=0,
        least=0,
        first="Running",
    )


@dataclass(frozen=True, init=False, eq=False, repr=False)
class CoreFields(MethodFields, GraphFields, WeightingFields, OutputFields, ResourceFields):
    """The options of every ranking; those of its optional parts are in `sfs_cli.options.parts`."""

    matrix: str = _reading(
        "The matrix; one on the command line replaces it.",
        default=...,
        metavar="MATRIX",
        argument=True,
        lead=True,
        path=READS,
    )
    method: str | None = _method(
        f"Ranking method; `sfs methods NAME` has its parameters. One of {', '.join(METHODS)}.",
        metavar="NAME[,KEY=VALUE...]",
        first=ASKED,
        words=tuple(METHODS),
        also=KNOWN_AS,
        default_text="spec on a graph that is asked for; else with --labels f-test (of three "
        "classes or more mrsf-rounds, unless --markers are asked for; with --event cox), without "
        "them mrsf-rounds (where most values are zero spec); options that it does not take, and "
        f"more than {TOGETHER:,} samples, choose another: see the guide Which method?",
    )
    rows: str = _reading("What a row of a text or Parquet file is.", default="auto", words=ROWS)
    decimal: str = _reading(
        "Decimal sign of delimited text, and of numbers that are text in a workbook; auto tells it "
        "from the first rows.",
        default="auto",
        words=("auto", "point", "comma"),
    )
    layer: str | None = _reading(
        "Layer of an h5ad to read instead of X; raw.X is that of raw.", metavar="NAME"
    )
    collapse: str | None = _reading(
        "Make one feature of those of one id: of those that --id-map gives the same id, such as "
        "the probes of a gene, else of rows with the same id. It is their mean, median or sum, or "
        "the one whose mean over all samples is highest.",
        words=COLLAPSES,
        also=KNOWN_COLLAPSES,
    )
    id_map: str | None = _reading(
        "Table of two columns, ids of the matrix and ids of the sources or of --collapse; of a "
        "platform table of GEO the probe and the gene symbol.",
        metavar="FILE[:COLUMN,COLUMN]",
        path=READS,
    )
    pseudobulk: str | None = _reading(
        "Add up the counts of the cells that share these annotations (obs), such as donor,cluster, "
        "to one sample before everything else: cells of a donor are no replicates. Samples keep "
        "the annotations that are the same in all their cells, and n_cells.",
        metavar="COLUMNS",
        items=str,
        excludes={"coordinates": "they are those of cells", "collapse": "features are not cells"},
    )
    min_cells: int | None = _reading(
        "Leave out groups of fewer cells.",
        metavar="N",
        least=1,
        default_text=str(FEWEST_CELLS),
        needs=("pseudobulk",),
    )
    dtype: str | None = _reading(
        "Type of the stored values.",
        words=("float32", "float64"),
        default_text="float32; with --pseudobulk float64",
    )
    transform: str | None = _input(
        "Transformations, in order, such as median,log1p,zscore; those of a repeated option "
        "follow. is-log2 (is-ln, is-log10), first, says that the values are logarithms already, "
        "for log2 fold changes.",
        metavar="STEPS",
        items=str,
        first=READ,
    )
    missing: str = _input(
        "Missing values: refuse them, drop such features, or use the mean of the feature.",
        default="error",
        words=MISSING,
    )
    min_samples: int | None = _input(
        "Leave out features with a value other than zero in fewer samples; missing ones, filled "
        "or not, are none.",
        metavar="K",
        least=1,
    )
    min_count: float | None = _input(
        "Leave out features with too few raw counts (the rule of filterByExpr of edgeR; 10 is "
        "usual). A feature needs about N counts, in proportion to the library size, in as many "
        "samples as the smallest class has.",
        metavar="N",
        above=0,
    )
    include: tuple[str, ...] = _named(
        "Use only the features of this list of ids, or those whose id matches this regular "
        "expression (repeatable: of any).",
    )
    exclude: tuple[str, ...] = _named(
        "Leave out the features of this list of ids, or those whose id matches this regular "
        "expression, such as ^MT- (repeatable).",
    )
    labels: str | None = _reading(
        "Class of each sample, or its number (--label-type).",
        metavar="FILE[:COLUMN] or obs:KEY",
        column=True,
        path=READS,
        first=READ,
    )
    label_type: str = _labels(
        "What labels are: classes, ordered classes (an outcome that is the place of the class), or "
        "a continuous outcome such as age.",
        default="classes",
        words=LABEL_TYPES,
        needs=("labels",),
        first=READ,
    )
    label_order: str | None = _labels(
        "Ordered classes from the lowest to the highest, such as low,mid,high.",
        of="label_type",
        word="order",
        metavar="A,B,...",
        items=str,
        default_text="by their numbers",
        needs=("label_type=ordered",),
    )
    reference: str | None = option(
        "The class that the other is compared with, such as control: differences and fold changes "
        "are those of the other class less this one.",
        section="Input",
        verbs=WHOLE,
        metavar="CLASS",
        default_text="the first by name",
        needs=("labels",),
        excludes=dict.fromkeys(  # times of events are a continuous outcome
            ("event", "censored", "label_type=ordered", "label_type=continuous"),
            "it is for two classes",
        ),
    )
    samples: str = _input(
        "Samples without a label, or absent from a source: refuse them, keep only common samples, "
        "or average over the sources that have them.",
        default="error",
        words=("error", "intersect", "union"),
    )

    select: int | None = _method(
        "Number of features to select.",
        metavar="N",
        least=1,
        default_text="50; mrsf-rounds, greedy-ridge: 200, of few features half of them",
        takers=catalog.takers,
        taken_by="method",
    )
    similarity: str | None = _graph(
        f"Similarity between samples: {', '.join(SIMILARITIES)}, obsp:KEY of an h5ad, or the "
        "matrix in a file; obsm:KEY is knn on its --coordinates.",
        metavar="NAME, obsp:KEY, obsm:KEY or file:PATH",
        words=(*SIMILARITIES, "obsp:KEY", "obsm:KEY", "file:PATH"),
        also={"connectivities": "obsp:connectivities", "x-pca": "obsm:X_pca"},  # of scanpy
        inside=("obsp:", "obsm:"),
        first=ASKED,
        default_text="obsp:connectivities or obsm:X_pca of an h5ad, else knn-correlation; above "
        f"{MOST_PROFILES:,} samples knn in {DEFAULT_COMPONENTS} components; knn below, too, where "
        "most values are zero and no method is asked for",
        excludes={"source": _SIMILARITY_SOURCE},
    )
    similarity_file: str | None = _graph(
        "Read the similarity from this matrix file.",
        of="similarity",
        word="file:",
        metavar="PATH",
        path=READS,
        excludes={"coordinates": _TWO_GRAPHS, "source": _SIMILARITY_SOURCE},
    )
    coordinates: str | None = _graph(
        "Make the similarity from these coordinates of the samples in place of the features: a "
        "table with a row for each sample, or obsm:KEY of an h5ad (X_pca, X_scVI, spatial).",
        metavar="FILE or obsm:KEY",
        path=READS,
        inside=("obsm:",),
        excludes={"source": f"{_TWO_GRAPHS}; coordinates can be a source, NAME=profile:obsm:KEY"},
    )

    source: tuple[SourceSpec, ...] = _sources(
        f"Knowledge source (repeatable); KIND: {', '.join(KINDS)}.",
        default=(),
        metavar="NAME=KIND:PATH[@WEIGHT][,OPTION=VALUE...]",
        parse=parse_sources,
        needs=(),
        first=ASKED,
    )
    weights: str | None = _sources(
        f"How sources are weighted: {', '.join(WEIGHTINGS)}, or one number for each source.",
        metavar="NAME or W1,W2,...",
        words=(*WEIGHTINGS, "NUMBERS"),
        items=float,
        default_text="given if sources have weights, else uniform",
        needs=("source", "members"),
    )
    leave_one_out: bool = _sources(
        "Rank without each source, and on it alone, as well, to show what it changes.",
        verbs=WHOLE,
        default=False,
        needs=("source", "members"),
    )

    write_h5ad: str | None = _output(
        "Copy the input, an h5ad, h5mu or AnnData zarr, to this file or folder, with the scores in "
        "var.",
        verbs=_WRITING,
        metavar="FILE",
        path=REPLACES,
        excludes={"collapse": "its features are not those of the file"},
    )
    top: int | None = _table(
        "Write the N best features of the ranking alone. --write-h5ad writes the scores of all, "
        "and marks these as highly_variable in var.",
        verbs=(*_WRITING, "shard init"),
        metavar="N",
        least=1,
        first=WRITTEN,
    )

    dask: str | None = _running(
        "Compute on the Dask cluster whose scheduler has this address; local starts as many "
        "processes on this machine as --threads says.",
        verbs=("rank",),
        metavar="ADDRESS or local",
        words=("local", "ADDRESS"),
        default_text="threads of this process",
    )
    files: tuple[str, ...] = _reading(
        "More files, with other samples of the same features; obs:file has the name of the file "
        "of each sample.",
        default=(),
        metavar="FILE",
        items=str,
        parse=texts_of,
        argument=True,
        lead=True,
        path=READS,
    )


@dataclass(frozen=True, eq=False, repr=False)
class RankConfig(parts.PartFields, CoreFields):
    """The options of a ranking; None stands for a default that depends on the data."""

    VERB: ClassVar[str] = "rank"

    # options that nobody asked for: their values are defaults of the run of ``--config run.json``
    pinned: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        for name in self.given(*OF_SAMPLES):
            labels = self.labels or ("obs:" if self.files else None)
            if name != "labels" and labels is not None:
                given = texts_of(getattr(self, name))
                own = ("file",) if self.files else ()
                specs = [beside_labels(one, "obs:" if one in own else labels) for one in given]
                repeated = getattr(type(self), name) == ()  # its default
                object.__setattr__(self, name, tuple(specs) if repeated else specs[0])
        if self.events is not None and self.labels is not None and self.label_type == "classes":
            object.__setattr__(self, "label_type", "continuous")  # times are numbers
        vars(self).update(parts.stability_options(self) | testing.spatial_options(self))
        check_names(self.source)
        self.check_values()
        self._ignore_in_parts()

    @property
    def least_cells(self) -> int:
        """The fewest cells of a sample of ``--pseudobulk``."""
        return FEWEST_CELLS if self.min_cells is None else self.min_cells

    def users(self, option: str) -> tuple[str, ...]:
        """Return what takes other options: methods, the sample graph, weights or sources."""
        if option == "method":
            return (self.ranker, *(names_of(self.members) or (self.scorer,)))
        if option == "source":
            return tuple(source.kind for source in self.source)
        if option == "similarity":
            return DEFAULT_GRAPHS if self.graph is None else (self.graph,)
        return (self.weighting,) if option == "weights" else ()

    def using(self, option: str) -> str:
        """Return how messages name what takes other options: a method as it is written."""
        if option != "method":
            return super().using(option)
        if self.method is None:  # the data may choose another one
            return f"the default --method {self.ranker}"
        inner = f",then={self.scorer}" if self.ranker in ON_SOURCES else ""
        inner = f",members={','.join(self.members)}" if self.members else inner
        return f"--method {self.ranker}{inner}"

    def declared(self) -> list[Option]:
        """Return the options, parameters with what their method says of others."""
        own = parameters_of(self.ranker)
        if not self.members:  # which check their own
            own = parameters_of(self.scorer) | own
        found = {o.name: o for o in super().declared()}
        for name, o in own.items():
            if o.of:
                found[name] = found[name]._replace(needs=o.needs, excludes=o.excludes)
        return list(found.values())

    def check_each(self) -> None:
        """Check each value by itself, those of parameters by the method that takes them."""
        super().check_each()
        # the method asked for says first which one scores the features; members check their own
        methods = [self.ranker] if self.members else dict.fromkeys((self.ranker, self.scorer))
        for method in methods:
            for name in self.given(*parameters_of(method)):
                o = parameters_of(method)[name]
                value = typed(o, getattr(self, name))
                value = names_of(value) if o.type is tuple else value
                found = o.problem(value, partial(_of_method, o, method))
                if found is not None:
                    raise self.error(*found, name)

    def _ignore_in_parts(self) -> None:
        """Say which of the rankings that stand beside each other leave out what others take."""
        lacking = dict[str, list[str]]()
        for each in (*member_configs(self, self.members), *others(self)):
            for name in ("sample_weights", "given_"):
                if getattr(self, name) != getattr(each, name):
                    lacking.setdefault(flag(name), []).append(each.ranker)
        for written, methods in lacking.items():
            self.ignored[written] = f"on the ranks by {', '.join(methods)}"
        if self.method in self.also and len(self.also) > 1:
            self.ignored[f"--also {self.method}"] = f"with --method {self.method}"

    # imported late, as help does not need the rules

    def without_effect(self) -> Iterator[Idle]:
        """Yield the options that have no effect with the others, and why."""
        from sfs_cli.options import rules

        yield from super().without_effect()
        yield from rules.without_effect(self)

    def refusals(self) -> Iterator[Refusal]:
        """Yield what is wrong with how the options go together."""
        from sfs_cli.options import rules

        yield from super().refusals()
        yield from rules.refusals(self)

    def chosen(self, name: str) -> Any:
        """Return the value of an option, the default of the method filled in."""
        if name == "method":
            return self.ranker
        value = getattr(self, name)
        return METHODS[self.scorer].options.get(name) if value is None else value

    @property
    def matrix_name(self) -> str:
        """What titles and messages call the matrix."""
        name = self.matrix.rpartition("/")[2]
        return f"{name} and {len(self.files):,} more" if self.files else name

    @property
    def of_raw(self) -> bool:
        """Whether the matrix is that of ``raw`` of AnnData (`sfs_cli.io.matrix.base.RAW`)."""
        return self.layer == "raw.X"

    @property
    def all_files(self) -> tuple[str, ...]:
        """The files of the matrix."""
        return (self.matrix, *self.files)

    @property
    def ranker(self) -> str:
        """The method asked for, else the default of few samples."""
        return self.method or self.default_method(0)

    def default_method(self, n: int, classes: int = 2, sparse: bool = False) -> str:
        """Return the method for n samples where none is asked for: one that takes the options.

        For two classes, numbers and times it is a test of every feature: of two classes its lists
        are as accurate on held-out samples as those of MRSF in rounds, whose ranks stand beside it,
        and it gives p-values, for which it is also taken where they are asked for. For more
        `classes`, and without labels, MRSF in rounds gives the lists that hold up best on labels
        that it has not seen, and those in which planted features are found
        (``tools/benchmarks/lists.py``). Its cost grows with the square of the samples, so that
        features of more samples are ranked one by one, and so are those beside markers of the
        classes, for which nobody waits for a solver, and those of `sparse` values, of which most
        are zero, as in single cells: there the clusters by the lists of SPEC are nearer
        to the types of the cells (``tools/benchmarks/leiden.py``). On a graph that is asked for,
        SPEC stays the default, as before there was another one. Where no method takes all options,
        the first for the labels is taken, and else SPEC.
        """
        names = ["mrsf-rounds", "spec"] if self.graph is None else ["spec"]
        if sparse and not self._from_labels:
            names.insert(0, "spec")
        if self._from_labels:
            one_by_one = classes <= 2 or n > TOGETHER or self.markers is not None
            names.insert(0 if one_by_one else 1, "f-test")
        names = [*filter(None, [parts.default_method(self)]), *names]
        rest = names[0] if self._from_labels else names[-1]
        return next((name for name in names if self._admits(name, n)), rest)

    def _admits(self, name: str, n: int) -> bool:
        """Tell whether a method may be a default one for n samples, and takes all options given."""
        takes_all = all(
            getattr(self, o.name) == o.default or name in o.takers(o.name)
            for o in options_of(RankConfig)
            if o.taken_by == "method" and o.takers is not None
        )
        few = name != "mrsf-rounds" or n <= TOGETHER
        return takes_all and few and can_start(self, name)

    @property
    def _from_labels(self) -> bool:
        """Whether labels are given, and nothing asks for a sample graph."""
        graph = (self.graph, self.response, *self.given(*GRAPH_FIELDS))
        return self.labels is not None and not any(graph)

    @property
    def label_response(self) -> str:
        """The response by which MRSF uses the labels."""
        return "outcome" if self.numeric else "lda"

    @property
    def response_to_labels(self) -> str | None:
        """The response that is made of the labels, where nothing asks for a sample graph."""
        return self.label_response if self._from_labels else None

    def for_samples(self, n: int, classes: int = 2, sparse: bool = False) -> RankConfig:
        """Return the configuration for n samples, the default method filled in.

        `classes` is the number of classes that the labels have, where they are classes, and
        `sparse` tells whether most values are zero.
        """
        if self.method is not None:
            return self
        method = self.default_method(n, classes, sparse)
        changes: dict[str, Any] = {"method": method}
        if sparse and method == "spec" and self.graph is None and n <= MOST_PROFILES:
            changes["similarity"] = "knn"  # of few counts correlations are too rough
        if method == "mrsf-rounds":
            changes["response"] = self.response or self.response_to_labels
        elif method in ("f-test", "cox") and not (self.also or self.batch or self.markers):
            changes["also"] = ("mrsf-rounds",) if self._admits("mrsf-rounds", n) else ()
        return replace(self, **changes)

    @property
    def scorer(self) -> str:
        """The method that scores the features: the one asked for, or the one after the fusion."""
        return (self.then or "spec") if self.ranker in ON_SOURCES else self.ranker

    @property
    def uses_classes(self) -> bool:
        """Whether the graph or the weights of sources are made from the labels."""
        learned = WEIGHTINGS[self.weighting].needs_labels
        return self.graph in LABEL_GRAPHS or learned or any(s.needs_labels for s in self.source)

    @property
    def graph(self) -> str | None:
        """The name of the sample graph; None where the data decide.

        It is one of `SIMILARITIES`, ``obsp``, ``file`` or ``sources``.
        """
        if self.source:
            return "sources"
        if self.similarity_file is not None:
            return "file"
        if self.similarity is not None and self.similarity.startswith("obsp:"):
            return "obsp"
        if self.coordinates_from is not None and self.similarity in (None, self.coordinates_from):
            return "knn"
        if self.similarity is None and self.method == "hsic" and self.labels is not None:
            return "outcome" if self.numeric else "label"
        return self.similarity

    @property
    def coordinates_from(self) -> str | None:
        """Where the coordinates come from that the graph is made of: ``obsm:KEY`` or a file."""
        if self.similarity is not None and self.similarity.startswith("obsm:"):
            return self.similarity
        return self.coordinates

    def graph_options(self, name: str) -> GraphOptions:
        """Return how a similarity of this name is made; coordinates are used as they are."""
        options = super().graph_options(name)
        return options if self.coordinates_from is None else replace(options, components="none")

    @property
    def numeric(self) -> bool:
        """Whether labels are an outcome: numbers, or the places of ordered classes."""
        return self.label_type != "classes"

    @property
    def weighting(self) -> str:
        """How the sources are weighted: as asked, else as given, else uniformly."""
        if self.weights is not None:
            return "given" if numbers_of(self.weights) else self.weights
        return "given" if any(source.weight is not None for source in self.source) else "uniform"

    @property
    def source_weights(self) -> list[float]:
        """The given weights of the sources, or of the members of `kogs`; 1 for one without."""
        default = [1.0 if source.weight is None else source.weight for source in self.source]
        return numbers_of(self.weights) or default or [1.0] * len(self.members)

    def method_options(self) -> dict[str, Any]:
        """Return the options of the method itself, defaults filled in; members have their own."""
        if self.members:
            return {}
        own = parameters_of(self.scorer)
        given = stated({name: getattr(self, name) for name in own})
        defaults = METHODS[self.scorer].options
        return defaults | {name: typed(own[name], value) for name, value in given.items()}

    def result_options(self) -> dict[str, Any]:
        """Return the options that the result depends on, the sources by their names."""
        sources = {source.name: source.plain() for source in self.source}
        return super().result_options() | {"source": sources}

    def each_ranking(self) -> list[RankConfig]:
        """Return the rankings that are aggregated: that of each member, else this one."""
        return member_configs(self, self.members) or [self]


def _of_method(o: Option, method: str, value: object = None) -> str:
    """Return how messages name a parameter of a method."""
    return f"{o.label(value)} {method}" if o.of else o.label(value)


OF_SAMPLES = tuple(o.name for o in options_of(RankConfig) if o.column)
"""The options that name columns of the samples."""
