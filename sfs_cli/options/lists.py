"""The options of what is done with a ranking, and of what stands beside it.

Given features, pruning, modules, features of sources, sets, ranks by other methods.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from sfs_cli import catalog
from sfs_cli.catalog import METHODS, ON_SOURCES
from sfs_cli.errors import UsageError
from sfs_cli.options.fields import (
    RANKING,
    SURE,
    WHOLE,
    Config,
    Refusal,
    option,
    option_fields,
    options_of,
    split_words,
    texts_of,
)
from sfs_cli.options.grammar import names_of, read
from sfs_cli.options.parameters import MethodFields
from sfs_cli.options.paths import READS

if TYPE_CHECKING:
    from sfs_cli.options.source import SourceSpec

T = TypeVar("T", bound=MethodFields)
_pruning = partial(option, section="Method", verbs=RANKING)
GROUPED, CORRELATION = 200, 0.7
"""The first features that are grouped, and their least mean absolute correlation in a module."""
_of_list = partial(option, section="Output", verbs=WHOLE)
_how = partial(_of_list, needs=("modules",))
MATRIX = "matrix"
"""What the features of the matrix are of, where no source is the matrix."""
_ONE_MATRIX = "it is about the values of one matrix"
_sets = partial(
    option,
    section="Evaluation",
    verbs=("rank", "shard init", "evaluate", "compare", "report", "select"),
)
NONE = "none"


@option_fields
class EnrichmentFields(Config):
    """The options of every command that tests sets of features."""

    sets: tuple[str, ...] = _sets(
        "Feature sets (GMT, GMX or GAF) that are tested for enrichment (repeatable: all).",
        default=(),
        items=str,
        parse=texts_of,
        metavar="FILE[:SET,...]",
        path=READS,
        for_out=True,
        by_verb={verb: {"for_out": False} for verb in ("report", "select")},
        first=SURE,
    )


@option_fields
class ListFields(EnrichmentFields):
    """The options of a ranking once it is there, and of others beside it."""

    also: tuple[str, ...] = option(
        "Rank by these methods too, with their defaults (of which l21 has none), and add their "
        "ranks as columns, such as rank_relieff; none for no other.",
        section="Method",
        verbs=WHOLE,
        default=(),
        default_text="mrsf-rounds beside the f-test or cox that --labels alone choose",
        metavar="METHODS",
        words=(*(name for name in METHODS if name not in (*ON_SOURCES, "l21")), NONE),
        also={"l21": "mrsf"},  # which ranks by all penalties
        items=str,
        parse=split_words,
        excludes={
            "batch": "batches are ranked by one method",
            "source": "other methods would rank on a sample graph of the matrix alone",
        },
    )
    given_: str | None = option(
        "List of features that are already chosen, from which the ranking starts; "
        "--max-correlation starts from them with every method.",
        section="Method",
        verbs=RANKING,
        metavar="FILE",
        path=READS,
        takers=lambda _: catalog.GOING_ON,  # `can_start` says when it has no effect
    )
    max_correlation: float | None = _pruning(
        "Prune the ranking: a feature whose absolute Pearson correlation with a better one is "
        "above R moves behind those that are kept.",
        metavar="R",
        above=0,
        below=1,
    )
    rank_sources: str | None = option(
        "Rank the features of these profile sources (or of all) together with those of the matrix, "
        "on the same sample graph: each transformed as its source, and then standardized.",
        section="Knowledge sources",
        verbs=RANKING,
        metavar="all or NAME,...",
        items=str,
        needs=("source",),
        excludes={
            "samples=union": "a source has no values for the samples that it lacks",
            "voom": _ONE_MATRIX,
            "min_count": _ONE_MATRIX,
            "write_h5ad": "the file has no place for features of sources",
        },
    )
    modules: bool = _of_list(
        "Group the first features by their correlations, and write the modules, their mean "
        "profiles and an edge list to --out.",
        default=False,
        for_out=True,
    )
    module_traits: tuple[str, ...] = _how(
        "Test the eigengenes of the modules against these columns of the samples, all of a table "
        "or of the annotations (obs:) if none is named: correlations with numbers, and the "
        "variance between classes. Columns are taken as by --adjust.",
        metavar="FILE[:COLUMNS] or obs:[KEYS]",
        default=(),
        column=True,
        items=str,
        parse=texts_of,
        path=READS,
    )


def can_start(config: MethodFields, method: str) -> bool:
    """Tell whether a method starts from the given features, or pruning does, if there are some."""
    pruning = config.max_correlation is not None
    return config.given_ is None or pruning or method in catalog.GOING_ON


def ranked_sources(config: MethodFields) -> list[SourceSpec]:
    """Return the sources whose features are ranked, in their order."""
    names = split_words(config.rank_sources)
    able = (s for s in config.source if s.kind == "profile" and not s.has_coordinates)
    return [each for each in able if each.name in names or names == ("all",)]


def joint_rules(config: MethodFields) -> Iterator[Refusal]:
    """Yield what is wrong with ``--rank-sources``."""
    found = [each.name for each in ranked_sources(config)]
    unknown = {*split_words(config.rank_sources)}.difference(found, ("all",) if found else ())
    if unknown:
        what = f"--rank-sources: {', '.join(sorted(unknown))} is no profile source with features"
        hint = "give the names of sources such as mirna=profile:mirna.csv, or all: for all of these"
        yield what, hint, ("rank_sources", "source")
    if config.rank_sources and any(each.name == "in_source" for each in config.source):
        what = "a source cannot have the name in_source beside --rank-sources"
        hint = "give it another one: rank_in_source is the rank among the features of a source"
        yield what, hint, ("source", "rank_sources")


def member_configs(config: T, methods: Sequence[str], **without: Any) -> list[T]:
    """Return the configuration of each of several methods: with the options that it takes.

    A method is a text with its own parameters. `without` are options that none of them has, with
    their defaults.
    """
    configs = []
    for method in methods:
        name, own = read(type(config), "method", method)
        others = {*catalog.OPTIONS} - {*METHODS[name].options}
        changes: dict[str, Any] = dict.fromkeys(others)
        changes |= {"members": (), "also": (), "source": ()}  # and what has no effect without them
        changes |= {"method": name} | without | own  # members are ranked by their scores
        try:
            configs.append(replace(config, **changes))
        except UsageError as error:
            error.options += ("members",) if own else ()  # where a file has them
            raise
    return configs


def member_names(members: Sequence[str]) -> list[str]:
    """Return what members are called: their methods, with parameters where others have the same."""
    names = names_of(members)
    return [name if names.count(name) == 1 else text for name, text in zip(names, members)]


def member_rules(config: MethodFields) -> Iterator[Refusal]:
    """Yield what is wrong with the members; each checks the options that it takes."""
    made = [(each.ranker, each.method_options()) for each in member_configs(config, config.members)]
    if twice := [text for text, each in zip(config.members, made) if made.count(each) > 1]:
        what = f"members= of --method kogs rank twice in the same way: {', '.join(twice)}"
        hint = "leave one out, or give it other parameters: members: [{name: spec, ranking: phi1}]"
        yield what, f"{hint} in a file of options", ("members", "method")


def others(config: T) -> list[T]:
    """Return the configuration of each other method: with the options that it takes."""
    names = tuple(name for name in config.also if name not in (NONE, config.method))
    if not names:
        return []
    made = member_configs(
        config,
        names,
        # what is of tests alone; the values are those of --voom
        scales=(),
        spatial=False,
        moderate="auto",
        voom=False,
        **config.unset("pvalues", "split"),
        # parameters are of the method that they stand with
        **{o.name: o.default for o in options_of(type(config)) if o.of == "method"},
    )
    found = []
    for each in made:
        own: dict[str, Any] = {"response": each.response_to_labels}
        takes_it = "response" in METHODS[each.ranker].parameters
        found.append(replace(each, **own) if takes_it else each)
    return found


def also_rules(config: MethodFields) -> Iterator[Refusal]:
    """Yield what is wrong with ``--also``; each method checks the options that it takes."""
    if NONE in config.also and len(config.also) > 1:
        yield "--also names methods beside none", "leave one of them out", ("also",)
    others(config)
