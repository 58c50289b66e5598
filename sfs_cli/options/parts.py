"""The options of the optional parts of a ranking, all together; the work is in `sfs_cli.parts`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sfs_cli.options import lists, samples, testing
from sfs_cli.options.fields import Refusal, option_fields, options_of
from sfs_cli.options.parameters import MethodFields


@option_fields
class PartFields(samples.SampleFields, lists.ListFields, testing.TestingFields):
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
    yield from lists.member_rules(config)
    yield from testing.marker_rules(config)
    yield from lists.also_rules(config)
    yield from lists.joint_rules(config)
    yield from samples.stability_rules(config)
    yield from testing.scale_rules(config)
    yield from testing.event_rules(config)
    yield from testing.covariate_rules(config)


def implied(config: MethodFields) -> dict[str, Any]:
    """Return the options that others stand for."""
    return samples.stability_options(config) | testing.spatial_options(config)


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
