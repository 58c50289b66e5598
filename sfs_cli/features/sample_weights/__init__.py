"""``--sample-weights``: samples that count more or less than others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfs_cli import catalog
from sfs_cli.catalog import METHODS
from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import WHOLE, Config, Refusal, flag, option
from sfs_cli.options.paths import READS

if TYPE_CHECKING:
    from sfs_cli.options import RankConfig

ALIKE = "treats all samples alike"


@dataclass(frozen=True, kw_only=True, init=False, eq=False, repr=False)
class WeightFields(Config):
    """The option of weights."""

    sample_weights: str | None = option(
        "Weight of each sample, 0 or more: it counts as so many samples. Graph and transformations "
        "are made without weights.",
        section="Input",
        verbs=WHOLE,
        metavar="FILE[:COLUMN] or obs:KEY",
        column=True,
        path=READS,
        takers=lambda _: catalog.WITH_WEIGHTS,
    )


def rules(config: RankConfig) -> Iterator[Refusal]:
    """Yield what is wrong with the option."""
    from sfs_cli.features import against

    if config.sample_weights is None:
        return
    if not config.members and not METHODS[config.scorer].weighted:
        method = f"--method {config.method}" + (f" --then {config.then}" if config.then else "")
        hint = f"leave it out; it has an effect with --method {', '.join(catalog.WITH_WEIGHTS)}"
        what = f"--sample-weights has no meaning for {method}"
        yield what, hint, ("sample_weights", "method")
    if config.scorer == "spec" and config.ranking == "phi3":
        what = "--sample-weights has no meaning for --ranking phi3, which counts clusters"
        yield what, "leave it out, or give --ranking phi2", ("sample_weights", "ranking")
    for name in config.given("pvalues", "max_correlation", *against("sample_weights")):
        what = f"{flag(name)} {ALIKE}, and --sample-weights does not"
        yield what, "leave one of them out", (name, "sample_weights")


FEATURE = Feature(
    "sample_weights",
    lambda config: config.sample_weights is not None,
    WeightFields,
    rules,
    orders=True,
    suits=lambda config, method: config.sample_weights is None or method.weighted,
    against=dict.fromkeys(("pvalues", "artificial", "cv", "min_redundancy"), ALIKE),
    untested="a sample of weight 10 is not 10 independent samples; for p-values, rank without "
    "weights",
)
