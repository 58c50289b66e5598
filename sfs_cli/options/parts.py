"""The options of the optional parts of a ranking; the work is in `sfs_cli.parts`.

`SampleFields` are about parts of the samples that are ranked by themselves, and what samples count:
subsets whose rankings show how stable a list is, batches, donors, weights. `ListFields` are about
what is done with a ranking, and what stands beside it: given features, pruning, modules, features
of sources, sets, ranks by other methods. Those of tests are in `sfs_cli.options.testing`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from sfs_cli import catalog
from sfs_cli.catalog import METHODS, ON_SOURCES
from sfs_cli.errors import UsageError
from sfs_cli.options import testing
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
from sfs_cli.options.grammar import MethodFields, names_of, read
from sfs_cli.options.paths import READS

if TYPE_CHECKING:
    from sfs_cli.options.source import SourceSpec


DEFAULT_TOP = 50
"""Features of the list whose stability is measured, where there are many."""
SUBSETS = {"half": "half-samples", "bootstrap": "bootstrap samples"}
"""The kinds of subsets of the samples, and what the page and messages call them."""
DEFAULT_SUBSETS = 100
"""Subsets that are drawn where no number is given."""
_stability = partial(option, section="Method", verbs=WHOLE)
_own = partial(_stability, of="stability", needs=("stability",))
_EACH = (
    "one ranking of each batch is aggregated; --adjust takes the batch out of the features instead"
)
_batches = partial(option, section="Input", verbs=WHOLE)


@option_fields
class SampleFields(Config):
    """The options of parts and weights of the samples."""

    batch: str | None = _batches(
        "Rank within each batch, and aggregate the rankings; with --spatial or --scales the "
        "p-values of the batches, which are slides there, are combined (Fisher).",
        metavar="FILE:COLUMN, obs:KEY or COLUMN",
        column=True,
        groups="batch",
        excludes={
            **dict.fromkeys(("source", *(f"method={name}" for name in ON_SOURCES)), _EACH),
            "sample_weights": "all samples count alike",
        },
        path=READS,
    )
    sample_weights: str | None = option(
        "Weight of each sample, 0 or more: it counts as so many samples. The graph and "
        "transformations ignore weights.",
        section="Input",
        verbs=WHOLE,
        metavar="FILE[:COLUMN], obs:KEY or COLUMN",
        column=True,
        path=READS,
        takers=lambda _: catalog.WITH_WEIGHTS,
        taken_by="method",
        excludes={
            "max_correlation": "it takes correlations over all samples alike",
            "pvalues": "all samples count alike",
            "ranking=phi3": "it counts clusters; phi2 takes weights",
        },
    )
    donors: str | None = option(
        "Column of the donor of each sample. Subsets and folds take whole donors; a warning says "
        "where p-values count several samples of a donor as independent (pseudoreplication).",
        section="Input",
        first=SURE,
        verbs=(*RANKING, "compare"),
        metavar="FILE:COLUMN, obs:KEY or COLUMN",
        column=True,
        groups="donor",
        needs=("labels", "stability", "pvalues"),
        path=READS,
    )
    stability: str | None = _stability(
        "Rank on subsets of the samples too, and count how often each feature is among the first: "
        "complementary halves of the samples, or bootstrap samples (as many draws as samples, with "
        "replacement), each drawn sample used once. A number alone is that of halves.",
        metavar="half, bootstrap or B",
        words=(*SUBSETS, "COUNT"),
        first=SURE,
    )
    stability_subsets: int | None = _own(
        "Number of subsets.",
        word="subsets",
        metavar="B",
        least=2,
        most=10_000,
        default_text=str(DEFAULT_SUBSETS),
    )
    stability_top: int | None = _own(
        "Number of first features that are counted.",
        word="top",
        metavar="K",
        least=1,
        default_text=f"{DEFAULT_TOP}, of few features a quarter",
    )

    @property
    def subset_kind(self) -> str:
        """What the subsets of the samples are, one of `SUBSETS`."""
        return self.stability if self.stability in SUBSETS else "half"

    @property
    def subsets_asked(self) -> int:
        """Number of subsets of the samples that is asked for."""
        return DEFAULT_SUBSETS if self.stability_subsets is None else self.stability_subsets

    @property
    def subset_count(self) -> int:
        """Number of subsets of the samples: halves come in pairs."""
        count = self.subsets_asked
        return count + count % 2 if self.subset_kind == "half" else count


def stability_options(config: MethodFields) -> dict[str, Any]:
    """Return what a number alone stands for."""
    if config.stability is None or config.stability in SUBSETS:
        return {}
    try:
        count = float(config.stability)
    except ValueError:  # which is refused as an unknown value
        return {}
    if config.stability_subsets is not None:
        what = f"--stability {config.stability},subsets={config.stability_subsets} has two numbers"
        raise config.error(what, "leave one out", "stability")
    if not count.is_integer():
        what = f"--stability {config.stability} is not a whole number"
        raise config.error(what, "give the number of subsets, such as 100", "stability")
    return {"stability": "half", "stability_subsets": int(count)}


def stability_rules(config: MethodFields) -> Iterator[Refusal]:
    """Yield what is wrong with the options."""
    selected = config.method_options().get("select")
    if selected is not None and (config.stability_top or 0) > selected:
        top = config.label("stability_top", config.stability_top)
        method = f"--method {config.scorer}"
        hint = f"give {selected} or fewer, or let it select more with --select"
        yield f"{top}: {method} selects {selected} features", hint, ("stability_top", "select")


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
        goes_to=("out",),
        by_verb={verb: {"goes_to": ()} for verb in ("report", "select")},
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
        goes_to=("out",),
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


@option_fields
class PartFields(SampleFields, ListFields, testing.TestingFields):
    """The options of the optional parts; help lists those of the last one first."""


NOT_OF_ORDER = (
    *("sets", "modules", "module_traits", "also", "markers", "donors"),
    *("stability", "stability_subsets", "stability_top"),
    *("pvalues", "permutation_draws", "split", "spatial", "scales"),
)
"""Options that do not change the order of the features."""
NOT_IN_FOLDS = {
    "sample_weights": "treats all samples alike",
    "batch": "has no folds within batches",
    "scales": "tests on several scales at once",
    "event": "has no classes to tell apart",
    "censored": "has no classes to tell apart",
    "adjust": "cannot take the effect of covariates or blocks out in each fold",
    "block": "cannot take the effect of covariates or blocks out in each fold",
}
"""What is wrong with `sfs select --cv` of a ranking with these options."""
UNTESTED = "a sample of weight 10 is not 10 independent samples; for p-values, rank without weights"
"""Why methods that test by classes have no p-values with ``--sample-weights``."""


def rules(config: MethodFields) -> Iterator[Refusal]:
    """Yield what is wrong with how the options of the parts go together."""
    yield from testing.voom_rules(config)
    yield from member_rules(config)
    yield from testing.marker_rules(config)
    yield from also_rules(config)
    yield from joint_rules(config)
    yield from stability_rules(config)
    yield from testing.scale_rules(config)
    yield from testing.event_rules(config)
    yield from testing.covariate_rules(config)


def default_method(config: MethodFields) -> str:
    """Return the method that an option of a part asks for, where none is given; or none."""
    if testing.can_have_scales(config):
        return "hsic"
    # those who ask for another response or a sample graph ask for another method
    return "cox" if config.events and config.response_to_labels else ""


def without_effect_on_order() -> dict[str, Any]:
    """Return the options that do not change the order of the features, with their defaults."""
    return {o.name: o.default for o in options_of(PartFields) if o.name in NOT_OF_ORDER}


def not_in_folds(config: MethodFields) -> dict[str, str]:
    """Return what is wrong with `sfs select --cv` of such a ranking, by the option that asks."""
    wrong = {name: NOT_IN_FOLDS[name] for name in config.given(*NOT_IN_FOLDS)}
    if testing.on_scales(config):
        wrong[next(iter(config.given("spatial", "scales")), "spatial")] = NOT_IN_FOLDS["scales"]
    return wrong
