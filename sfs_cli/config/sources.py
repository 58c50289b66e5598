"""Checks of the options about knowledge sources, and how they go with the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfs_cli.errors import UsageError, nearest
from sfs_cli.fusion.catalog import WEIGHTINGS
from sfs_cli.ranking.hows import check_list_weights
from sfs_cli.sources.spec import KINDS, check_names

if TYPE_CHECKING:
    from sfs_cli.config.rank import RankConfig

_ABOUT_SOURCES = ("weights", "normalize", "fusion_lambda", "fusion_neighbors", "fusion_clusters")
_FUSION_OPTIONS = {
    "fusion_lambda": "lambda",
    "fusion_neighbors": "neighbors",
    "fusion_clusters": "clusters",
}
"""Options of the learners of weights, by what the learners call them."""
_SOURCE_HINT = "give one, such as --source mirna=profile:mirna.csv"


def check_sources(config: RankConfig) -> None:
    """Check the sources of a configuration and all that is said of them.

    Raises
    ------
    UsageError
        For options that contradict each other or lack a partner.
    """
    check_names(config.source)
    if config.method == "msfs":
        _check_msfs(config)
    if config.method == "kogs":
        _check_kogs(config)
    if not config.source:
        _check_without(config)
        return
    if config.similarity is not None or config.similarity_file is not None:
        raise UsageError(
            "--source and --similarity name two sample graphs",
            hint="a similarity can be a source: --source NAME=similarity:FILE",
        )
    _check_gene_options(config)
    _check_weights(config)
    if config.uses_classes and config.labels is None:
        raise UsageError(
            f"{_asking_for_labels(config)} needs --labels",
            hint="give --labels FILE[:COLUMN], or obs:KEY where the matrix is AnnData",
        )


def weighting(config: RankConfig) -> str:
    """Return how the sources are weighed: as asked, else as given, else all alike."""
    if config.weights is not None:
        return "given" if _numbers(config.weights) is not None else config.weights
    weighed = any(source.weight is not None for source in config.source)
    return "given" if weighed else "uniform"


def given_weights(config: RankConfig) -> list[float]:
    """Return the weights as given, 1 for a source without one."""
    numbers = _numbers(config.weights or "")
    if numbers is not None:
        return numbers
    return [1.0 if source.weight is None else source.weight for source in config.source]


def fusion_options(config: RankConfig) -> dict[str, float | int]:
    """Return the options of the learner of the weights that are given, by its own names."""
    given = {name: getattr(config, option) for option, name in _FUSION_OPTIONS.items()}
    return {name: value for name, value in given.items() if value is not None}


def _check_msfs(config: RankConfig) -> None:
    given = config.similarity_file is not None or (config.similarity or "").startswith("obsp:")
    if not config.source and not given:
        raise UsageError(
            "no source of knowledge is given",
            hint=f"{_SOURCE_HINT}, or a similarity that `sfs fuse` has made: --similarity-file",
        )


def _check_kogs(config: RankConfig) -> None:
    if bool(config.source) == bool(config.members):
        raise UsageError(
            "--method kogs takes either sources or members",
            hint="give --source for one ranking per source, or --members spec,fisher for one per "
            "method",
        )
    if config.members and config.weights is not None and _numbers(config.weights) is None:
        raise UsageError(
            f"--weights {config.weights} has no effect on --members",
            hint="rankings are weighed by given weights, one for each member, such as 2,1,1",
        )
    check_list_weights(config.how or "borda", list_weights(config), "--weights")
    if len(config.source) == 1 or len(config.members) == 1:
        raise UsageError(
            "there is nothing to aggregate in one ranking",
            hint="give two sources (--source) or methods (--members) or more",
        )
    if config.source and config.samples == "union":
        raise UsageError(
            "--samples union has no effect on --method kogs: every source ranks alone",
            hint="give --samples intersect, or --method msfs, which averages over the sources",
        )
    if config.members and config.then is not None:
        raise UsageError("--then has no effect on --members", hint="leave it out: the members rank")


def list_weights(config: RankConfig) -> list[float]:
    """Return the weights of the rankings of `kogs`, 1 for those without one."""
    if config.members and config.weights is None:
        return [1.0] * len(config.members)
    return given_weights(config)


def _check_without(config: RankConfig) -> None:
    """Refuse options about sources where there is none."""
    if not config.leave_one_out and config.method != "kogs":
        raise UsageError("--no-leave-one-out has no effect without --source", hint="leave it out")
    asked = [name for name in _ABOUT_SOURCES if getattr(config, name) is not None]
    asked += ["id_map"] if config.id_map is not None else []
    asked += ["allow_unmatched"] if config.allow_unmatched else []
    if config.method == "kogs" and "weights" in asked and _numbers(config.weights or ""):
        asked.remove("weights")
        _check_number(config, len(config.members), "members")
    if asked:
        name = asked[0].replace("_", "-")
        raise UsageError(f"--{name} has no effect without --source", hint=_SOURCE_HINT)
    if config.samples == "union":
        raise UsageError(
            "--samples union has no effect without --source",
            hint="it averages over the sources that have a pair of samples; give --samples "
            "intersect to leave samples out",
        )


def _check_gene_options(config: RankConfig) -> None:
    if any("id_map" in KINDS[source.kind] for source in config.source):
        return
    for option, given in (("id-map", config.id_map), ("allow-unmatched", config.allow_unmatched)):
        if given:
            raise UsageError(
                f"--{option} has no effect: no source is about genes",
                hint="it goes with sources of the kinds genes, interactions, feature-similarity "
                "and terms",
            )


def _check_weights(config: RankConfig) -> None:
    name = weighting(config)
    if name not in WEIGHTINGS:
        raise UsageError(
            f"--weights {name!r} is not known",
            hint=nearest(name, (*WEIGHTINGS, "numbers such as 2,1,1")),
        )
    if config.method == "kogs" and name not in ("given", "uniform"):
        raise UsageError(
            f"--weights {name} has no effect on --method kogs",
            hint="rankings are weighed by given weights: @WEIGHT after a source, or --weights 2,1",
        )
    weighed = [source.name for source in config.source if source.weight is not None]
    if weighed and (name != "given" or _numbers(config.weights or "") is not None):
        raise UsageError(
            f"the weight of source {weighed[0]} has no effect on --weights {config.weights}",
            hint="leave one of them out",
        )
    if name == "given":
        _check_number(config, len(config.source), "sources")
    if name == "snf" and config.samples == "union":
        raise UsageError(
            "--weights snf needs every sample in every source",
            hint="give --samples intersect, or other --weights",
        )
    for option, own in _FUSION_OPTIONS.items():
        if getattr(config, option) is not None and own not in WEIGHTINGS[name].options:
            takers = [k for k, entry in WEIGHTINGS.items() if own in entry.options]
            raise UsageError(
                f"--{option.replace('_', '-')} has no effect on --weights {name}",
                hint=f"leave it out; it goes with --weights {', '.join(takers)}",
            )


def _check_number(config: RankConfig, count: int, what: str) -> None:
    weights = _numbers(config.weights or "")
    if weights is None:
        weights = given_weights(config)
    if len(weights) != count:
        raise UsageError(
            f"--weights has {len(weights)} numbers for {count} {what}",
            hint=f"give one for each, in the order of the {what}",
        )
    negative = [w for w in weights if not 0 <= w < float("inf")]
    if negative:
        raise UsageError(
            f"the weight {negative[0]:g} is not zero or more", hint="give numbers such as 2,1,0.5"
        )
    if not any(weights):
        raise UsageError("the weights sum to zero", hint="give at least one source a weight")


def _numbers(text: str) -> list[float] | None:
    """Return the numbers of a list, None where it is something else."""
    try:
        return [float(word) for word in text.split(",")] if text else None
    except ValueError:
        return None


def _asking_for_labels(config: RankConfig) -> str:
    if config.weights in ("alignf", "rkda"):
        return f"--weights {config.weights}"
    from sfs_cli.sources.spec import needs_labels

    name = next(source.name for source in config.source if needs_labels(source))
    return f"--source {name}"
