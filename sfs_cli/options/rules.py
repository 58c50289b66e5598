"""Which options go together: one table, evaluated by one loop.

A row is about one or several options. It is tried for each of them that is given, and refuses the
configuration where its condition holds. Bounds and words of single options are in their own
declarations; here are the rules between options.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from sfs_cli import catalog
from sfs_cli.catalog import METHODS
from sfs_cli.errors import ConflictError, nearest
from sfs_cli.options.fields import flag, matches, numbers_of, options_of, spelled
from sfs_cli.options.graph import GRAPH_FIELDS, LABEL_GRAPHS, taking
from sfs_cli.options.source import KINDS, OPTIONS, kinds_taking
from sfs_cli.options.weightings import WEIGHTINGS, own_name
from sfs_cli.ranking.aggregations import check_list_weights

if TYPE_CHECKING:
    from sfs_cli.options.rank import RankConfig
    from sfs_cli.options.source import SourceSpec


class Given(NamedTuple):
    """An option that a rule is tried for."""

    name: str
    value: Any


Test = Callable[[Any, Given], bool]
Text = str | Callable[[Any, Given], str]


class Rule(NamedTuple):
    """One row of the table.

    Attributes
    ----------
    about : str or tuple of str
        The options that it is tried for, where they are given; ``source.*`` for each source. Empty
        for a rule that is always tried.
    when : callable
        From the configuration and the option to whether it is refused.
    what, hint : str or callable
        The message, a template of `_Words`.
    also : tuple of str
        Other options of the message: a configuration file may hold those alone.
    """

    about: str | tuple[str, ...]
    when: Test
    what: Text
    hint: Text
    also: tuple[str, ...] = ()


class _Words(dict[str, Any]):
    """What a message may name: ``{neighbors}`` is an option and its value as it was given.

    ``{flag}`` is the option that the rule is tried for, ``{value}`` its value, ``{takers}`` those
    that it has an effect with, and ``{similarity}`` the graph.
    """

    def __init__(self, config: Any, given: Given) -> None:
        self.config = config
        known = {o.name: o for o in options_of(type(config))}
        takers = known[given.name].names if given.name in known else ""
        key = flag(given.name)[2:]
        super().__init__(flag=config.label(given.name), key=key, value=given.value, takers=takers)

    def __missing__(self, name: str) -> str:
        value = self.config.graph if name == "similarity" else getattr(self.config, name)
        if value is None:
            value = METHODS[self.config.scorer].options.get(name)
        if isinstance(value, tuple):
            value = ",".join(value)
        return self.config.label(name, f"{value:g}" if isinstance(value, float) else value)


def _tried(rule: Rule, config: Any) -> list[Given]:
    """Return the options that a rule is tried for."""
    if not rule.about:
        return [Given("", None)]
    if rule.about == "source.*":
        return [Given(f"source.{source.name}", source) for source in config.source]
    names = (rule.about,) if isinstance(rule.about, str) else rule.about
    given = [Given(name, getattr(config, name)) for name in names]
    return [o for o in given if o.value is not None and o.value is not False and o.value != ()]


def check_rules(rules: Iterable[Rule], config: Any) -> None:
    """Check how the options of a ranking or a source go together; the first rule refuses them."""
    for rule in rules:
        for given in _tried(rule, config):
            if rule.when(config, given):
                words = _Words(config, given)
                what, hint = (
                    text.format_map(words) if isinstance(text, str) else text(config, given)
                    for text in (rule.what, rule.hint)
                )
                names = (name for name in (given.name, *rule.also) if name)
                raise config.error(what, hint, *names, kind=ConflictError)


def _idle(about: str | tuple[str, ...], beside: str, when: Test, hint: Text = "") -> Rule:
    """Return the rule for options without effect beside the value of another one."""
    what = f"{{flag}} has no effect with {{{beside}}}"
    return Rule(about, when, what, hint or "leave it out", (beside,))


# ---- graphs, of rankings and of sources --------------------------------------------------------

COMMON_GRAPH_RULES = (
    _idle(
        GRAPH_FIELDS,
        "similarity",
        lambda c, o: c.graph is not None and c.graph not in taking(o.name),
        "leave it out; it has an effect with these similarities: {takers}",
    ),
    _idle(
        "bandwidth",
        "edge_weights",
        lambda c, _: c.edge_weights == "binary",
        "leave one of them out: all binary edges have weight 1",
    ),
    _idle(
        "variable_genes",
        "components",
        lambda c, _: c.components == "none",
        "leave one of them out: only principal components are made from variable genes",
    ),
)
"""Rules that rankings and sources share."""

_LABELS_HINT = "give --labels FILE[:COLUMN], or obs:KEY if the matrix is AnnData"

GRAPH_RULES = (
    Rule(
        "resume",
        lambda c, _: c.out is None,
        "--resume needs --out",
        "checkpoints are kept beside --out",
        ("out",),
    ),
    Rule(
        "similarity",
        lambda c, _: c.similarity_file is not None,
        "--similarity and --similarity-file name two sample graphs",
        "give one of them",
        ("similarity_file",),
    ),
    Rule(
        ("similarity", "similarity_file"),
        lambda c, _: bool(c.source),
        "--source and {flag} name two sample graphs",
        "a similarity can be a source: --source NAME=similarity:FILE",
        ("source",),
    ),
    Rule(
        ("beta", "edge_weights"),
        lambda c, _: c.graph is None,
        "{flag} needs --similarity",
        "it has an effect with --similarity {takers}",
    ),
    Rule(
        GRAPH_FIELDS,
        lambda c, _: bool(c.source),
        "{flag} has no effect with --source",
        "give it to a source: --source NAME=KIND:PATH,{key}=VALUE",
        ("source",),
    ),
    *COMMON_GRAPH_RULES,
    Rule(
        "similarity",
        lambda c, _: c.graph in LABEL_GRAPHS and c.labels is None,
        "{similarity} needs --labels",
        _LABELS_HINT,
        ("labels",),
    ),
)

# ---- methods -----------------------------------------------------------------------------------

WITH_POWER = ("power", "ritz", "kernel")  # variants of Q-alpha
_OWN = tuple(name for name in catalog.OPTIONS if name not in GRAPH_FIELDS)
_WITH_WORDS = tuple(name for name in _OWN if any(name in m.choices for m in METHODS.values()))
_TAKERS = "leave it out; it has an effect with --method {takers}"


def _entry(c: RankConfig, name: str) -> catalog.Method:
    """Return the method that takes an option: the one asked for, else the one that scores."""
    asked = METHODS[c.method]
    return asked if name in asked.options else METHODS[c.scorer]


def _needs(c: RankConfig) -> set[Any]:
    return METHODS[c.scorer].needed(c.method_options())


def _needs_labels(c: RankConfig, _: Given) -> str:
    """Name the method that needs labels, with the options that decide about it."""
    options = c.method_options()
    deciding = [f"{flag(name)} {options[name]}" for name in METHODS[c.scorer].needs_by]
    return " ".join([f"--method {c.method}", *deciding, "needs --labels"])


METHOD_RULES = (
    _idle(_OWN, "method", lambda c, o: o.name not in _entry(c, o.name).options, _TAKERS),
    Rule(
        _WITH_WORDS,
        lambda c, o: not matches(str(o.value), _entry(c, o.name).choices[o.name]),
        "unknown value {value!r} of {flag} for {method}",
        lambda c, o: nearest(str(o.value), spelled(_entry(c, o.name).choices[o.name])),
        ("method",),
    ),
    Rule(
        "clusters",
        lambda c, o: c.scorer != "qalpha" and o.value < 2,
        "{clusters} is too small for {method}",
        "give 2 or more",
        ("method",),
    ),
    Rule(
        (),
        lambda c, _: c.method == "l21" and (c.lambda_ is None) == (c.budget is None),
        "--method l21 takes either --lambda or --budget",
        "give the penalty, or the sum of the coefficient norms",
        ("lambda_", "budget", "method"),
    ),
    Rule(
        "lambda_",
        lambda c, o: c.method == "l21" and o.value <= 0,
        "{lambda_} is not a positive number",
        "give a penalty such as 1",
    ),
    Rule(
        "weights_out",
        lambda c, _: c.scorer not in catalog.WITH_COEFFICIENTS,
        "{flag} has no effect: {method} has no coefficients",
        _TAKERS,
        ("method",),
    ),
    _idle(
        "power",
        "variant",
        lambda c, _: c.variant not in WITH_POWER,
        f"leave it out; it has an effect with --variant {', '.join(WITH_POWER)}",
    ),
    _idle(
        "clusters",
        "ranking",
        lambda c, _: c.scorer == "spec" and c.ranking != "phi3",
        "leave it out, or give --ranking phi3",
    ),
    _idle(
        "gamma_power",
        "gamma",
        lambda c, _: c.gamma == "exp",
        "leave it out, or give --gamma power",
    ),
    Rule(
        ("similarity", "similarity_file", "source", *GRAPH_FIELDS),
        lambda c, o: "graph" not in _needs(c) and o.name not in METHODS[c.scorer].options,
        "{flag} has no effect: {method} uses no graph",
        "leave it out, or choose a method that ranks on a graph, such as spec",
        ("method",),
    ),
    Rule(
        (),
        lambda c, _: bool(_needs(c) & {"labels", "some-labels"}) and c.labels is None,
        _needs_labels,
        _LABELS_HINT,
        ("labels", "method"),
    ),
)

MEMBER_RULES = (  # of kogs: the members check the rest, each with the options that it takes
    _idle("members", "method", lambda c, _: c.method != "kogs", _TAKERS),
    _idle(
        _OWN,
        "members",
        lambda c, o: (
            o.name not in ("members", "how", "then")
            and not any(o.name in METHODS[member].options for member in c.members)
        ),
        _TAKERS,
    ),
)

# ---- knowledge sources -------------------------------------------------------------------------

_EXAMPLE = "give one, such as --source mirna=profile:mirna.csv"
_FUSION = ("fusion_lambda", "fusion_neighbors", "fusion_clusters")


def _count(c: RankConfig) -> int:
    return len(c.source) or len(c.members)


SOURCE_RULES = (
    Rule(
        (),
        lambda c, _: c.method == "msfs" and c.graph not in ("sources", "file", "obsp"),
        "no knowledge source is given",
        f"{_EXAMPLE}, or a similarity made by `sfs fuse`: --similarity-file",
        ("source", "method"),
    ),
    # rankings on each source, or by each member
    Rule(
        (),
        lambda c, _: c.method == "kogs" and bool(c.source) == bool(c.members),
        "--method kogs takes either sources or members",
        "give --source for one ranking per source, or --members spec,fisher for one per method",
        ("source", "members", "method"),
    ),
    Rule(
        (),
        lambda c, _: c.method == "kogs" and _count(c) == 1,
        "nothing to aggregate: this is only one ranking",
        "give two or more sources (--source) or methods (--members)",
        ("source", "members"),
    ),
    Rule(
        "weights",
        lambda c, _: (
            (c.method == "kogs" and c.weighting not in ("given", "uniform"))
            or (bool(c.members) and not numbers_of(c.weights))
        ),
        "{weights} has no effect: --method kogs aggregates rankings",
        "rankings have given weights: @WEIGHT after a source, or --weights 2,1,1",
        ("method",),
    ),
    Rule(
        "samples",
        lambda c, o: c.method == "kogs" and bool(c.source) and o.value == "union",
        "{samples} has no effect with {method}: it ranks on each source separately",
        "give --samples intersect, or --method msfs, which averages over the sources",
        ("method",),
    ),
    _idle("then", "members", lambda c, _: bool(c.members), "leave it out: the members rank"),
    # options about sources, without one that they are about
    Rule(
        ("weights", "normalize", *_FUSION, "id_map", "allow_unmatched"),
        lambda c, o: not c.source and not (o.name == "weights" and c.method == "kogs"),
        "{flag} has no effect without --source",
        _EXAMPLE,
    ),
    Rule(
        (),
        lambda c, _: not c.source and not c.leave_one_out and c.method != "kogs",
        "--no-leave-one-out has no effect without --source",
        "leave it out",
        ("leave_one_out",),
    ),
    Rule(
        "samples",
        lambda c, o: not c.source and o.value == "union",
        "{samples} has no effect without --source",
        "it averages over sources; give --samples intersect to keep only common samples",
    ),
    Rule(
        ("id_map", "allow_unmatched"),
        lambda c, _: not any(source.about_genes for source in c.source),
        "{flag} has no effect: no source is about genes",
        "it has an effect with sources of the kinds {takers}",
        ("source",),
    ),
    # weights
    Rule(
        "source.*",
        lambda c, o: (
            o.value.weight is not None and (c.weighting != "given" or bool(numbers_of(c.weights)))
        ),
        lambda c, o: (
            f"the weight of source {o.value.name} has no effect with --weights {c.weights}"
        ),
        "leave one of them out",
        ("weights",),
    ),
    Rule(
        "weights",
        lambda c, _: bool(numbers_of(c.weights)) and len(numbers_of(c.weights)) != _count(c),
        lambda c, _: (
            f"--weights has {len(numbers_of(c.weights))} numbers for {_count(c)} "
            f"{'sources' if c.source else 'members'}"
        ),
        "give one number for each, in their order",
        ("source", "members"),
    ),
    Rule(
        "weights",
        lambda c, _: any(not 0 <= w < float("inf") for w in numbers_of(c.weights)),
        "{weights} has a number below zero, or an infinite one",
        "give numbers such as 2,1,0.5",
    ),
    Rule(
        (),
        lambda c, _: bool(c.source) and c.weighting == "given" and not any(c.source_weights),
        "the weights of the sources sum to zero",
        "give at least one source a weight above zero",
        ("weights", "source"),
    ),
    Rule(
        "weights",
        lambda c, o: o.value == "snf" and c.samples == "union",
        "{weights} needs every sample in every source",
        "give --samples intersect, or other --weights",
        ("samples",),
    ),
    Rule(
        _FUSION,
        lambda c, o: own_name(o.name) not in WEIGHTINGS[c.weighting].options,
        lambda c, o: f"{flag(o.name)} has no effect with --weights {c.weighting}",
        "leave it out; it has an effect with --weights {takers}",
        ("weights",),
    ),
    Rule(
        "weights",
        lambda c, _: WEIGHTINGS[c.weighting].needs_labels and c.labels is None,
        "{weights} needs --labels",
        _LABELS_HINT,
        ("labels",),
    ),
    Rule(
        "source.*",
        lambda c, o: o.value.needs_labels and c.labels is None,
        lambda c, o: f"--source {o.value.name} needs --labels",
        _LABELS_HINT,
        ("labels",),
    ),
)


OF_ONE_SOURCE = (
    Rule(
        OPTIONS,
        lambda s, o: o.name not in KINDS[s.kind].takes,
        lambda s, o: f"{flag(o.name)[2:]} has no effect on sources of the kind {s.kind}",
        lambda s, o: f"leave it out; it has an effect on {', '.join(kinds_taking(o.name))}",
        ("kind",),
    ),
    Rule(
        "similarity",
        lambda s, o: o.value not in KINDS[s.kind].similarities,
        lambda s, o: f"unknown value {o.value!r} of similarity for the kind {s.kind}",
        lambda s, o: nearest(o.value, KINDS[s.kind].similarities),
        ("kind",),
    ),
    *COMMON_GRAPH_RULES,
)


def check_source(source: SourceSpec) -> None:
    """Check how the options of a source go together."""
    check_rules(OF_ONE_SOURCE, source)


def check_rank(config: RankConfig) -> None:
    """Check how the options of a ranking go together."""
    methods = MEMBER_RULES if config.members else METHOD_RULES
    check_rules((*GRAPH_RULES, *methods, *SOURCE_RULES), config)
    if config.method == "kogs":
        check_list_weights(config.how or "borda", config.list_weights, "--weights")
