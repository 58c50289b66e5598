"""The optional parts of a ranking: a room for each, and their order.

A room is a folder. Its ``__init__.py`` declares the part (`Feature`) and its options, and is light,
so that help starts without NumPy. Its ``step.py`` has the work, a `sfs_cli.features.step.Step` of
the name ``STEP``: what passes and memory it takes, what it finds, and what the report says of that.
A run, its plan and its report ask the list below; they know none of the rooms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from sfs_cli.features import (
    also,
    batches,
    classes,
    covariates,
    direction,
    donors,
    enrichment,
    given,
    joint,
    knowledge,
    markers,
    members,
    moderation,
    modules,
    precision,
    pruning,
    sample_weights,
    scales,
    significance,
    stability,
    survival,
)
from sfs_cli.options.fields import flag, option_fields, options_of

if TYPE_CHECKING:
    from sfs_cli.features.step import Doubt, Step

FEATURES = (
    given.FEATURE,
    knowledge.FEATURE,
    sample_weights.FEATURE,
    donors.FEATURE,
    precision.FEATURE,
    moderation.FEATURE,
    significance.FEATURE,
    members.FEATURE,
    classes.FEATURE,
    markers.FEATURE,
    direction.FEATURE,
    also.FEATURE,
    pruning.FEATURE,
    joint.FEATURE,
    modules.FEATURE,
    stability.FEATURE,
    batches.FEATURE,
    scales.FEATURE,
    survival.FEATURE,
    covariates.FEATURE,
    enrichment.FEATURE,
)
"""In the order in which a run makes them, once the features have scores."""


@option_fields
class FeatureFields(
    enrichment.EnrichmentFields,
    modules.ModuleFields,
    joint.JointFields,
    stability.StabilityFields,
    pruning.PruningFields,
    given.GivenFields,
    donors.DonorFields,
    sample_weights.WeightFields,
    precision.PrecisionFields,
    moderation.ModerationFields,
    scales.ScaleFields,
    significance.SignificanceFields,
    batches.BatchFields,
    survival.SurvivalFields,
    covariates.CovariateFields,
    also.AlsoFields,
    markers.MarkerFields,
):
    """The options of the optional parts; help lists those of the last one first."""


def steps_of(config: Any) -> list[Step]:
    """Return the steps that a configuration (`RankConfig`) asks for, in their order."""
    return [feature.step(config) for feature in FEATURES if feature.asked(config)]


def ordering_steps(config: Any) -> list[Step]:
    """Return those that change the order of the features, which rankings of subsets have, too."""
    return [each.step(config) for each in FEATURES if each.orders and each.asked(config)]


def untested(config: Any) -> str | None:
    """Return why tests of class means have no p-values here; None where nothing keeps them."""
    for each in FEATURES:
        if each.untested and each.asked(config):
            return f"with {flag(each.option)}, because {each.untested}"
    return None


def untestable(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the options of a ranking with which there are no p-values, by its run.json."""
    return (each.option for each in FEATURES if each.untested and each.found(record))


def doubts_about_samples(record: Mapping[str, Any]) -> Iterator[Doubt]:
    """Yield why samples violate the assumptions of tests, by run.json."""
    for each in FEATURES:
        if each.found(record) and (doubt := each.step.doubt(record)):
            yield doubt


def without_effect_on_order() -> dict[str, Any]:
    """Return the options that do not change the order of the features, with their defaults."""
    kinds = [each.fields for each in FEATURES if each.fields and not each.orders]
    return {option.name: option.default for kind in kinds for option in options_of(kind)}


def not_in_folds(config: Any) -> dict[str, str]:
    """Return what is wrong with `sfs select --cv` of such a ranking, by the option that asks."""
    found = {}
    for each in FEATURES:
        if each.not_in_folds and each.fields is not None and each.asked(config):
            given = config.given(*(option.name for option in options_of(each.fields)))
            found[next(iter(given), each.option)] = each.not_in_folds
    return found
