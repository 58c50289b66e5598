"""What is wrong with how the options of a ranking go together, beyond what they declare.

What an option needs and excludes, and the methods and graphs that take it, stand in its declaration
(`sfs_cli.options.fields.Config`). The rules here are about more than that. Each is an ``if`` that
yields an `Idle`, an option that is left out with a warning, or a `Refusal`, the first of which
refuses the configuration.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sfs_cli.catalog import METHODS, ON_SOURCES
from sfs_cli.errors import either
from sfs_cli.options import parts
from sfs_cli.options.fields import (
    Idle,
    Refusal,
    flag,
    names_file,
    numbers_of,
    options_of,
    split_words,
)
from sfs_cli.options.grammar import MethodFields, names_of
from sfs_cli.options.graph import GRAPH_FIELDS, GRAPHS, LABEL_GRAPHS, LABELS_ALONE
from sfs_cli.options.parts import can_start, others
from sfs_cli.options.source import WEIGHTINGS
from sfs_cli.options.testing import on_scales, why_no_scales
from sfs_cli.ranking.aggregations import check_list_weights

_OF_SAMPLES = ("source", "similarity_file", "coordinates")
"""What may lack samples, beside columns such as labels."""
_SOURCE_HINT = "give one, such as --source mirna=profile:mirna.csv"


def without_effect(c: MethodFields) -> Iterator[Idle]:
    """Yield the options that have no effect with the others, and why."""
    method = f"with --method {c.ranker}"
    ranked = (*c.each_ranking(), *others(c))
    fusing = c.ranker in ON_SOURCES and not c.members  # which is refused without sources
    if not (fusing or any(map(_on_graph, ranked))):
        why = f"with {c.using('method')}"
        for name, by_value in METHODS[c.scorer].needs_by.items() if not c.members else ():
            if any("graph" in needs for needs in by_value.values()):
                why += f",{name}={c.chosen(name)}"
        if c.given("similarity", "similarity_file", *GRAPH_FIELDS):
            yield "similarity", why
        for name in c.given("coordinates", "source"):
            yield name, why
    if c.coordinates is not None and c.graph in LABELS_ALONE:
        yield "coordinates", f"with --similarity {c.graph}"
    if c.also == (c.method,):
        yield "also", method
    if not any(can_start(c, each) for each in names_of(c.members) or (c.scorer,)):
        yield "given_", f"with {c.using('method')}"
    if c.pvalues is not None and c.ranker == "kogs":
        yield "pvalues", method
    if c.pvalues is not None and c.batch is not None and not on_scales(c):
        yield "pvalues", "with --batch, whose rankings are aggregated"
    if why := why_no_scales(c):
        yield "scales", why
    own_graph = c.graph in ("file", "obsp", *LABELS_ALONE) or c.coordinates_from is not None
    if c.split is not None and own_graph:
        yield "split", "on a sample graph that is not built from the features"
    if c.id_map and c.collapse is None and not any(source.about_genes for source in c.source):
        yield "id_map", "without --collapse or sources about genes"
    listed = c.weighting not in ("given", "uniform") or (c.members and c.weights == "given")
    if c.method == "kogs" and listed:
        yield "weights", f"{method}, which takes one number for each ranking"
    compares = any(METHODS[name].by_class for name in names_of(c.members) or (c.scorer,))
    if c.reference is not None and not compares and c.markers is None:
        yield "reference", f"with {c.using('method')}"
    if c.events is not None and c.sample_weights is not None:
        yield "sample_weights", "with --event or --censored, in whose tests all samples count alike"
    columns = (o.name for o in options_of(type(c)) if o.column)
    if c.samples == "intersect" and not c.given(*_OF_SAMPLES, *columns):
        yield "samples", "without --labels or --source"
    if c.samples == "union" and not c.source:
        yield "samples", "without --source"
    if c.samples == "union" and c.method == "kogs":
        yield "samples", f"{method}, which ranks on each source by itself"


def _on_graph(c: MethodFields) -> bool:
    return "graph" in METHODS[c.scorer].needed(c.method_options())


def refusals(config: MethodFields) -> Iterator[Refusal]:
    """Yield what is wrong with how the options of a ranking go together."""
    yield from _file_rules(config)
    yield from _feature_rules(config)
    yield from _graph_rules(config)
    if not config.members:  # those check the options that they take
        yield from _method_rules(config)
    yield from _label_rules(config)
    yield from _source_rules(config)
    yield from _weight_rules(config)
    yield from parts.rules(config)


def _feature_rules(c: MethodFields) -> Iterator[Refusal]:
    for name in ("include", "exclude"):
        for text in getattr(c, name):
            try:
                if not names_file(text):
                    re.compile(text)
            except re.error as error:
                what = f"{flag(name)} {text!r} is neither a file nor a regular expression: {error}"
                yield what, "check the path, or write \\ before signs such as ( [ * +", (name,)


def _file_rules(c: MethodFields) -> Iterator[Refusal]:
    parts = (c.similarity, c.coordinates, *(each.path for each in c.source))
    asked = [text for text in map(str, parts) if text.startswith(("obsp:", "obsm:"))]
    asked += ["--write-h5ad"] * (c.write_h5ad is not None)
    asked += ["--collapse highest-mean"] * (c.collapse == "highest-mean")
    for text in asked if c.files else ():
        what = f"{text} is for one file, and {1 + len(c.files):,} are given"
        yield what, "give the file that anndata.concat makes of them, or leave it out", ("files",)


def _graph_rules(c: MethodFields) -> Iterator[Refusal]:
    asked = f"--similarity {c.similarity}"
    inside = (c.similarity or "").startswith(("obsm:", "obsp:"))
    if c.coordinates is not None and inside and c.similarity != c.coordinates:
        what = f"{asked} and --coordinates are two sample graphs"
        hint = "give the name of a graph to --similarity, such as knn"
        yield what, hint, ("similarity", "coordinates")
    for name in c.given("components", "variable_genes") if c.coordinates_from else ():
        what = f"{c.label(name)} has no effect with {asked}"
        hint = "leave it out: neighbors are searched among the coordinates as they are"
        yield what, hint, (name, "similarity")


def _method_rules(c: MethodFields) -> Iterator[Refusal]:
    if c.method == "l21" and not c.given("lambda_", "budget"):
        what = "--method l21 needs one of lambda= and budget="
        hint = "give the penalty, or the sum of the coefficient norms"
        yield what, hint, ("lambda_", "budget", "method")


class _Use(NamedTuple):
    """What is made from the labels of the samples."""

    what: str  # as messages name it
    option: str
    types: tuple[str, ...]  # the values of --label-type that it can use
    others: Sequence[str] = ()  # what can use others in its place


def _uses_of_labels(c: MethodFields) -> Iterator[_Use]:
    classes, numbers = ("classes",), ("ordered", "continuous")
    if c.similarity in LABEL_GRAPHS:
        alike = [f"--similarity {n}" for n in LABEL_GRAPHS if GRAPHS[n].numeric == c.numeric]
        types = numbers if GRAPHS[c.similarity].numeric else classes
        yield _Use(f"--similarity {c.similarity}", "similarity", types, alike)
    if c.weights is not None and WEIGHTINGS[c.weighting].needs_labels:
        yield _Use(f"--weights {c.weights}", "weights", classes, ["other --weights"])
    for source in c.source:
        if source.needs_labels:
            own = ["a file of classes to the source"]
            yield _Use(f"--source {source.name}", f"source.{source.name}", classes, own)
    if c.members:
        return
    options, scorer = c.method_options(), METHODS[c.scorer]
    response = options.get("response")
    if response in ("lda", "svm", "outcome"):
        types = numbers if response == "outcome" else classes
        alike = [f"response={c.label_response}"]
        yield _Use(f"response={response}", "response", types, alike)
    if c.events is None and "event" in scorer.needs:
        return  # which is said first
    if scorer.needed(options) & {"labels", "some-labels"}:
        deciding = "".join(f",{name}={options[name]}" for name in scorer.needs_by)
        takers = (m.name for m in METHODS.values() if (m.numeric if c.numeric else m.by_class))
        able = [f"--method {', '.join(takers)}"]
        yield _Use(f"--method {c.ranker}{deciding}", "method", scorer.label_types, able)


def _label_rules(c: MethodFields) -> Iterator[Refusal]:
    if c.label_order is not None:
        order = split_words(c.label_order)
        if len(order) < 2 or len(set(order)) < len(order):
            asked = c.label("label_order", c.label_order)
            what = f"{asked} does not name two or more different classes"
            yield what, "give all classes from the lowest to the highest", ("label_order",)
    for use in _uses_of_labels(c):
        if c.labels is None:
            hint = "give --labels FILE[:COLUMN], or obs:KEY if the matrix is AnnData"
            yield f"{use.what} needs --labels", hint, (use.option, "labels")
        if c.label_type not in use.types:
            needed, given = ("classes", "numbers") if c.numeric else ("numeric labels", "classes")
            what = f"{use.what} needs {needed}, and --label-type {c.label_type} gives {given}"
            hint = f"give --label-type {either(use.types)}, or {either(use.others)}"
            if c.events is not None:
                given = "--event" if c.event is not None else "--censored"
                what = f"{use.what} needs classes, and {given} makes times of the labels"
                hint = f"leave out {given}, or give {either(use.others)}"
            yield what, hint, (use.option, "label_type")


def _source_rules(c: MethodFields) -> Iterator[Refusal]:
    if c.method in ON_SOURCES and not c.members and not _on_graph(c):
        what = f"then={c.scorer} ranks on no graph with these parameters, and so on no source"
        hint = f"leave them out, or give --method {c.scorer} without sources"
        yield what, hint, ("method", "source")
    if c.method == "msfs" and c.graph not in ("sources", "file", "obsp"):
        hint = f"{_SOURCE_HINT}, or a similarity made by `sfs fuse`: --similarity file:PATH"
        yield "no knowledge source is given", hint, ("source", "method")
    if c.method == "kogs":
        if bool(c.source) == bool(c.members):
            what = "--method kogs takes either sources or members"
            hint = "give --source for one ranking per source, "
            hint += "or members=spec,fisher for one per method"
            yield what, hint, ("source", "members", "method")
        if len(c.source) + len(c.members) == 1:
            what = "nothing to aggregate: this is only one ranking"
            hint = "give two or more sources (--source) or methods (members=)"
            yield what, hint, ("source", "members")
    if c.samples == "union" and c.weights == "snf":
        hint = "give --samples intersect to keep only common samples, or other --weights"
        yield "--weights snf needs every sample in every source", hint, ("weights", "samples")


def _weight_rules(c: MethodFields) -> Iterator[Refusal]:
    numbers, count = numbers_of(c.weights), len(c.source) or len(c.members)
    for source in c.source:
        if source.weight is not None and (numbers or c.weighting != "given"):
            what = f"source {source.name} has a weight, and --weights {c.weights} gives another"
            yield what, "leave one of them out", (f"source.{source.name}", "weights")
    if numbers and len(numbers) != count:
        of = "sources" if c.source else "members"
        what = f"--weights has {len(numbers)} numbers for {count} {of}"
        yield what, "give one number for each, in their order", ("weights", "source", "members")
    if count and (c.method == "kogs" or c.weighting == "given"):
        check_list_weights(c.how or "borda", c.source_weights, "--weights")
