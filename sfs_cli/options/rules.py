"""Which options go together.

Each rule is an ``if`` that yields a `Refusal`; the first one refuses the configuration. Bounds and
words of single options are in their own declarations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from sfs_cli import catalog
from sfs_cli.catalog import METHODS, ON_SOURCES
from sfs_cli.errors import nearest
from sfs_cli.features import FEATURES
from sfs_cli.options import weightings
from sfs_cli.options.fields import (
    Refusal,
    flag,
    matches,
    names_file,
    numbers_of,
    spelled,
    split_words,
)
from sfs_cli.options.graph import GRAPH_FIELDS, GRAPHS, LABEL_GRAPHS, LABELS_ALONE, taking
from sfs_cli.options.source import kinds_taking
from sfs_cli.options.weightings import WEIGHTINGS, own_name
from sfs_cli.ranking.aggregations import LARGEST_WEIGHT, check_list_weights

if TYPE_CHECKING:
    from sfs_cli.options.rank import RankConfig

FEWEST_PERMUTATIONS, MOST_PERMUTATIONS = 10, 1_000_000
WITH_POWER = ("power", "ritz", "kernel")  # variants of Q-alpha
_METHOD_OPTIONS = tuple(name for name in catalog.OPTIONS if name not in GRAPH_FIELDS)
_FUSION = ("fusion_lambda", "fusion_neighbors", "fusion_clusters")
_LABELS_HINT = "give --labels FILE[:COLUMN], or obs:KEY if the matrix is AnnData"
_SOURCE_HINT = "give one, such as --source mirna=profile:mirna.csv"


def check_rank(config: RankConfig) -> None:
    """Check how the options of a ranking go together."""
    config.refuse(_feature_rules(config))
    config.refuse(_label_rules(config))
    config.refuse(_sample_weight_rules(config))
    config.refuse(_graph_rules(config))
    if not config.members:
        config.refuse(_method_rules(config))
    config.refuse(_source_rules(config))
    config.refuse(_weight_rules(config))
    config.refuse(_batch_rules(config))
    config.refuse(_pvalue_rules(config))
    config.refuse(_donor_rules(config))
    for feature in FEATURES:
        config.refuse(feature.rules(config))
    if config.top is not None and config.write_h5ad is None:
        what = "--top has no effect without --write-h5ad"
        hint = "give --write-h5ad FILE, whose var it marks; `sfs select --top N` cuts a ranking"
        config.refuse([(what, hint, ("top", "write_h5ad"))])
    if config.method == "kogs":
        check_list_weights(config.how or "borda", config.source_weights, "--weights")


def _leave_out(name: str, takers: Iterable[str]) -> str:
    return f"leave it out; it has an effect with {flag(name)} {', '.join(takers)}"


def _feature_rules(c: RankConfig) -> Iterator[Refusal]:
    for name in ("include", "exclude"):
        for text in getattr(c, name):
            try:
                if not names_file(text):
                    re.compile(text)
            except re.error as error:
                what = f"{flag(name)} {text!r} is neither a file nor a regular expression: {error}"
                yield what, "check the path, or write \\ before signs such as ( [ * +", (name,)


def _label_rules(c: RankConfig) -> Iterator[Refusal]:
    kind = f"--label-type {c.label_type}"
    if c.numeric and c.labels is None:
        yield f"{kind} has no effect without --labels", _LABELS_HINT, ("label_type", "labels")
    if c.label_order is not None:
        order = split_words(c.label_order)
        if c.label_type != "ordered":
            what, hint = f"--label-order has no effect with {kind}", "give --label-type ordered"
            yield what, hint, ("label_order", "label_type")
        if len(order) < 2 or len(set(order)) < len(order):
            what = f"--label-order {c.label_order} does not name two or more different classes"
            yield what, "give all classes from the lowest to the highest", ("label_order",)
    if c.similarity in LABEL_GRAPHS and GRAPHS[c.similarity].numeric != c.numeric:
        alike = [n for n in LABEL_GRAPHS if GRAPHS[n].numeric == c.numeric]
        types = "--label-type classes" if c.numeric else "--label-type continuous or ordered"
        what = f"--similarity {c.similarity} has no meaning with {kind}"
        hint = f"give --similarity {' or '.join(alike)}, or {types}"
        yield what, hint, ("similarity", "label_type")
    if c.numeric and WEIGHTINGS[c.weighting].needs_labels:
        what = f"--weights {c.weights} learns from classes, and {kind} gives numbers"
        yield what, "leave out --label-type, or give other --weights", ("weights", "label_type")
    for source in c.source if c.numeric else ():
        if source.needs_labels:
            what = f"--source {source.name} is made of classes, and {kind} gives numbers"
            hint = "leave out --label-type, or give the source a file of classes"
            yield what, hint, (f"source.{source.name}", "label_type")


def _sample_weight_rules(c: RankConfig) -> Iterator[Refusal]:
    if c.sample_weights is None:
        return
    if not c.members and not METHODS[c.scorer].weighted:
        method = f"--method {c.method}" + (f" --then {c.then}" if c.then else "")
        what = f"--sample-weights has no meaning for {method}"
        yield what, _leave_out("method", catalog.WITH_WEIGHTS), ("sample_weights", "method")
    if c.scorer == "spec" and c.ranking == "phi3":
        what = "--sample-weights has no meaning for --ranking phi3, which counts clusters"
        yield what, "leave it out, or give --ranking phi2", ("sample_weights", "ranking")
    for name in c.given("adjust", "batch"):
        what = f"{flag(name)} treats all samples alike, and --sample-weights does not"
        yield what, "leave one of them out", (name, "sample_weights")
    if c.max_correlation is not None:
        what = "--max-correlation takes correlations over all samples alike, without weights"
        hint = "leave out --max-correlation or --sample-weights"
        yield what, hint, ("max_correlation", "sample_weights")


def _graph_rules(c: RankConfig) -> Iterator[Refusal]:
    if c.resume and c.out is None:
        yield "--resume needs --out", "checkpoints are kept beside --out", ("resume", "out")
    two = "name two sample graphs"
    if c.similarity is not None and c.similarity_file is not None:
        names = ("similarity", "similarity_file")
        yield f"--similarity and --similarity-file {two}", "give one of them", names
    for name in c.given("similarity", "similarity_file", "coordinates") if c.source else ():
        hint = "a similarity can be a source: --source NAME=similarity:FILE"
        if name == "coordinates" or str(c.similarity).startswith("obsm:"):
            hint = "coordinates can be a source: --source NAME=profile:obsm:KEY"
        yield f"--source and {flag(name)} {two}", hint, (name, "source")
    yield from _coordinate_rules(c)
    for name in c.given("beta", "edge_weights", "rho") if c.graph is None else ():
        hint = f"it has an effect with --similarity {', '.join(taking(name))}"
        yield f"{flag(name)} needs --similarity", hint, (name,)
    for name in c.given(*GRAPH_FIELDS) if c.source else ():
        hint = f"give it to a source: --source NAME=KIND:PATH,{flag(name)[2:]}=VALUE"
        yield f"{flag(name)} has no effect with --source", hint, (name, "source")
    yield from c.graph_rules(c.graph)
    if c.similarity in LABEL_GRAPHS and c.labels is None:
        yield f"--similarity {c.similarity} needs --labels", _LABELS_HINT, ("similarity", "labels")


def _coordinate_rules(c: RankConfig) -> Iterator[Refusal]:
    """Yield what is wrong with coordinates of the samples."""
    given = [name for name in c.given("similarity", "coordinates") if c.coordinates_from]
    if c.coordinates is not None and c.coordinates_from != c.coordinates:
        what = f"--similarity {c.similarity} and --coordinates name two sets of coordinates"
        yield what, "give the name of a graph to --similarity, such as knn", ("similarity", *given)
    if c.coordinates is not None and c.graph in (*LABELS_ALONE, "obsp", "file"):
        graph = {"file": "--similarity-file"}.get(str(c.graph), f"--similarity {c.similarity}")
        what = f"--coordinates has no effect with {graph}"
        yield what, "leave one of them out", ("coordinates", "similarity")
    for name in c.given("components", "variable_genes") if given else ():
        what = f"{flag(name)} has no effect with coordinates of the samples"
        hint = "leave it out: neighbors are searched among the coordinates as they are"
        yield what, hint, (name, *given)


def _method_rules(c: RankConfig) -> Iterator[Refusal]:
    method = f"--method {c.ranker}"
    scorer = METHODS[c.scorer]
    for name in c.given(*_METHOD_OPTIONS):
        if name == "how" and c.batch is not None:
            continue
        # an option is about the method that is asked for, else about the one that scores after it
        entry = METHODS[c.ranker] if name in METHODS[c.ranker].options else scorer
        if name not in entry.options:
            hint = _leave_out("method", catalog.takers(name))
            yield f"{flag(name)} has no effect with {method}", hint, (name, "method")
    for name in c.given(*_METHOD_OPTIONS):
        entry = METHODS[c.ranker] if name in METHODS[c.ranker].options else scorer
        value, known = str(getattr(c, name)), entry.choices.get(name)
        if known and not matches(value, known):
            what = f"unknown value {value!r} of {flag(name)} for {method}"
            yield what, nearest(value, spelled(known)), (name, "method")
    if c.clusters is not None and c.clusters < 2 and c.scorer != "qalpha":
        what = f"--clusters {c.clusters} is too small for {method}"
        yield what, "give 2 or more", ("clusters", "method")
    if c.method == "l21" and (c.lambda_ is None) == (c.budget is None):
        what = "--method l21 takes either --lambda or --budget"
        hint = "give the penalty, or the sum of the coefficient norms"
        yield what, hint, ("lambda_", "budget", "method")
    if c.method == "l21" and c.lambda_ is not None and c.lambda_ <= 0:
        what = f"--lambda {c.lambda_:g} is not a positive number"
        yield what, "give a penalty such as 1", ("lambda_",)
    if c.variant == "cut-value" and c.lambda_ is not None:
        what = "--lambda has no effect with --variant cut-value"
        yield what, "leave one of them out: the cut value chooses it", ("lambda_", "variant")
    if c.weights_out is not None and c.scorer not in catalog.WITH_COEFFICIENTS:
        what = f"--weights-out has no effect: {method} has no coefficients"
        yield what, _leave_out("method", catalog.WITH_COEFFICIENTS), ("weights_out", "method")
    options = c.method_options()
    if c.power is not None and c.variant not in WITH_POWER:
        what = f"--power has no effect with --variant {options['variant']}"
        yield what, _leave_out("variant", WITH_POWER), ("power", "variant")
    if c.clusters is not None and c.scorer == "spec" and c.ranking != "phi3":
        what = f"--clusters has no effect with --ranking {options['ranking']}"
        yield what, "leave it out, or give --ranking phi3", ("clusters", "ranking")
    if c.gamma_power is not None and c.gamma == "exp":
        what = "--gamma-power has no effect with --gamma exp"
        yield what, "leave it out, or give --gamma power", ("gamma_power", "gamma")
    needed = scorer.needed(options)
    for name in c.given("similarity", "similarity_file", "coordinates", "source", *GRAPH_FIELDS):
        if "graph" not in needed and name not in scorer.options:
            what = f"{flag(name)} has no effect: {method} uses no graph"
            hint = "leave it out, or choose a method that ranks on a graph, such as spec"
            yield what, hint, (name, "method")
    response = options.get("response")
    if c.numeric and response in ("lda", "svm"):
        what = f"--response {response} is made of classes, and --label-type {c.label_type} gives "
        hint = "give --response outcome, or leave out --label-type"
        yield f"{what}numbers", hint, ("response", "label_type")
    if response == "outcome" and c.labels is not None and not c.numeric:
        hint = "give --label-type continuous or ordered; --response lda is made of classes"
        yield "--response outcome needs numeric labels", hint, ("response", "label_type")
    if c.numeric and needed & {"labels", "some-labels"} and not scorer.numeric:
        able = [m.name for m in METHODS.values() if m.numeric]
        what = f"{method} needs classes, and --label-type {c.label_type} gives numbers"
        hint = f"leave out --label-type, or choose one of {', '.join(able)}"
        yield what, hint, ("method", "label_type")
    if needed & {"labels", "some-labels"} and c.labels is None:
        deciding = "".join(f"{flag(name)} {options[name]} " for name in scorer.needs_by)
        yield f"{method} {deciding}needs --labels", _LABELS_HINT, ("labels", "method")


def _pvalue_rules(c: RankConfig) -> Iterator[Refusal]:
    if c.split is not None:
        yield from _split_rules(c)
    if c.pvalues is None:
        return
    if c.ranker in catalog.PERMUTED:
        if not c.pvalues.startswith("permutation"):
            what = f"--pvalues {c.pvalues} has no formula for --method {c.ranker}"
            yield what, "give --pvalues permutation", ("pvalues", "method")
    elif c.ranker not in catalog.WITH_PVALUES:
        what = f"--pvalues has no effect with --method {c.ranker}"
        hint = _leave_out("method", (*catalog.WITH_PVALUES, *catalog.PERMUTED))
        if c.ranker in ("f-test", "t-test"):
            hint = f"leave it out: --method {c.ranker} has p-values of its own"
        elif c.source:
            hint = (
                "`sfs fuse` makes one graph of the sources, which --method spec takes as "
                "--similarity-file"
            )
        yield what, hint, ("pvalues", "method")
    alike = {
        "source": "takes one sample graph; `sfs fuse` makes one of sources, for --similarity-file",
        "batch": "has no meaning for an aggregate of rankings",
        "adjust": "compares features with noise, which adjusted ones are not",
        "sample_weights": "treats all samples alike",
    }
    for name in c.given(*alike):
        what = f"--pvalues {alike[name].partition(';')[0]}"
        hint = alike[name].partition("; ")[2] or f"leave out --pvalues or {flag(name)}"
        yield f"{what}: not with {flag(name)}", hint, ("pvalues", name)
    count = float(c.pvalues.partition(":")[2] or FEWEST_PERMUTATIONS)
    if not FEWEST_PERMUTATIONS <= count <= MOST_PERMUTATIONS:
        what = f"--pvalues {c.pvalues} asks for {count:.0f} permutations"
        hint = f"give {FEWEST_PERMUTATIONS} to {MOST_PERMUTATIONS:,}, such as permutation:1000"
        yield what, hint, ("pvalues",)


def _split_rules(c: RankConfig) -> Iterator[Refusal]:
    if c.pvalues is None:
        hint = "give --pvalues moments too: --split is what makes p-values valid"
        yield "--split has no effect without --pvalues", hint, ("split", "pvalues")
    elif c.ranker in (*catalog.WITH_PVALUES, *catalog.PERMUTED) and c.ranker not in catalog.SPLIT:
        what = f"--split has no effect with --method {c.ranker}, which makes no sample graph"
        yield what, _leave_out("method", catalog.SPLIT), ("split", "method")
    own = c.graph in ("file", "obsp", *LABELS_ALONE) or c.coordinates_from is not None
    if c.stability is not None:
        what = "--stability ranks subsets by scores, and --split by p-values"
        yield what, "make them in two runs", ("split", "stability")
    if own:
        what = "--split has no effect on a sample graph that is not made of the features"
        hint = "leave out --split"
        yield what, hint, ("split", "similarity")


def _donor_rules(c: RankConfig) -> Iterator[Refusal]:
    if c.donors is not None and c.stability is None and c.pvalues is None and c.labels is None:
        what = "--donors has no effect without --stability, --pvalues or --labels"
        what = what if c.VERB == "rank" else "--donors has no effect without --labels"
        yield what, "leave it out, or give --labels", ("donors", "labels")


def _source_rules(c: RankConfig) -> Iterator[Refusal]:
    method = f"--method {c.ranker}"
    if c.method == "msfs" and c.graph not in ("sources", "file", "obsp"):
        hint = f"{_SOURCE_HINT}, or a similarity made by `sfs fuse`: --similarity-file"
        yield "no knowledge source is given", hint, ("source", "method")
    if c.method == "kogs":
        if bool(c.source) == bool(c.members):
            what = "--method kogs takes either sources or members"
            hint = "give --source for one ranking per source, "
            hint += "or --members spec,fisher for one per method"
            yield what, hint, ("source", "members", "method")
        if len(c.source) + len(c.members) == 1:
            what = "nothing to aggregate: this is only one ranking"
            hint = "give two or more sources (--source) or methods (--members)"
            yield what, hint, ("source", "members")
    unable = c.method == "kogs" and c.weighting not in ("given", "uniform")
    if c.weights is not None and (unable or (c.members and not numbers_of(c.weights))):
        what = f"--weights {c.weights} has no effect: --method kogs aggregates rankings"
        hint = "rankings have given weights: @WEIGHT after a source, or --weights 2,1,1"
        yield what, hint, ("weights", "method")
    if c.method == "kogs" and c.source and c.samples == "union":
        what = f"--samples union has no effect with {method}: it ranks on each source separately"
        hint = "give --samples intersect, or --method msfs, which averages over the sources"
        yield what, hint, ("samples", "method")
    about_sources = ("weights", "normalize", *_FUSION, "id_map", "allow_unmatched")
    for name in c.given(*about_sources) if not c.source else ():
        if not (name == "weights" and c.method == "kogs"):
            yield f"{flag(name)} has no effect without --source", _SOURCE_HINT, (name,)
    if not c.source and not c.leave_one_out and c.method != "kogs":
        what = "--no-leave-one-out has no effect without --source"
        yield what, "leave it out", ("leave_one_out",)
    if not c.source and c.samples == "union":
        what = "--samples union has no effect without --source"
        hint = "it averages over sources; give --samples intersect to keep only common samples"
        yield what, hint, ("samples",)
    if not any(source.about_genes for source in c.source):
        for name in c.given("id_map", "allow_unmatched"):
            hint = f"it has an effect with sources of the kinds {', '.join(kinds_taking('id_map'))}"
            yield f"{flag(name)} has no effect: no source is about genes", hint, (name, "source")


def _batch_rules(c: RankConfig) -> Iterator[Refusal]:
    if c.batch is None:
        if c.min_batch_size is not None:
            what = "--min-batch-size has no effect without --batch"
            yield what, "leave it out, or give --batch FILE:COLUMN", ("min_batch_size",)
        return
    together = "--adjust takes the batch out of the features, which goes with all sources"
    for name in c.given("source", "members"):
        what = f"{flag(name)} has no effect within batches: --batch aggregates one ranking of each"
        yield what, f"leave one of them out; {together}", ("batch", name)
    if c.method in ON_SOURCES:
        what = f"--method {c.method} cannot rank within batches"
        yield what, f"give --method {c.scorer}; {together}", ("batch", "method")
    if c.weights_out is not None:
        what = "--weights-out has no effect with --batch: each batch has its own coefficients"
        yield what, "leave one of them out", ("weights_out", "batch")


def _weight_rules(c: RankConfig) -> Iterator[Refusal]:
    numbers, count = numbers_of(c.weights), len(c.source) or len(c.members)
    for source in c.source:
        if source.weight is not None and (numbers or c.weighting != "given"):
            what = f"the weight of source {source.name} has no effect with --weights {c.weights}"
            yield what, "leave one of them out", (f"source.{source.name}", "weights")
    if numbers and len(numbers) != count:
        of = "sources" if c.source else "members"
        what = f"--weights has {len(numbers)} numbers for {count} {of}"
        yield what, "give one number for each, in their order", ("weights", "source", "members")
    if not all(0 <= weight <= LARGEST_WEIGHT for weight in numbers):
        what = f"--weights {c.weights} has a number below zero, or above {LARGEST_WEIGHT:g}"
        yield what, "give numbers such as 2,1,0.5", ("weights",)
    if c.source and c.weighting == "given" and not any(c.source_weights):
        hint = "give at least one source a weight above zero"
        yield "the weights of the sources sum to zero", hint, ("weights", "source")
    if c.weights == "snf" and c.samples == "union":
        what = "--weights snf needs every sample in every source"
        yield what, "give --samples intersect, or other --weights", ("weights", "samples")
    for name in c.given(*_FUSION):
        if own_name(name) not in WEIGHTINGS[c.weighting].options:
            what = f"{flag(name)} has no effect with --weights {c.weighting}"
            yield what, _leave_out("weights", weightings.taking(name)), (name, "weights")
    if c.weights is not None and WEIGHTINGS[c.weighting].needs_labels and c.labels is None:
        yield f"--weights {c.weights} needs --labels", _LABELS_HINT, ("weights", "labels")
    for source in c.source:
        if source.needs_labels and c.labels is None:
            names = (f"source.{source.name}", "labels")
            yield f"--source {source.name} needs --labels", _LABELS_HINT, names
