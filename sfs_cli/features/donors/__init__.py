"""``--donors``: samples of one donor are not independent (pseudoreplication)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import RANKING, Config, Refusal, flag, option
from sfs_cli.options.paths import READS

if TYPE_CHECKING:
    from sfs_cli.options import RankConfig


@dataclass(frozen=True, kw_only=True, init=False, eq=False, repr=False)
class DonorFields(Config):
    """The option of donors."""

    donors: str | None = option(
        "Column of the donor of each sample: subsets and folds take whole donors, and p-values of "
        "donors with several samples are warned of.",
        section="Input",
        verbs=(*RANKING, "compare"),
        metavar="FILE:COLUMN or obs:KEY",
        column=True,
        groups="donor",
        path=READS,
    )


def rules(config: RankConfig) -> Iterator[Refusal]:
    """Yield what is wrong with the option."""
    users = ("stability", "pvalues", "labels") if config.VERB == "rank" else ("labels",)
    if config.donors is not None and not config.given("stability", "pvalues", "labels"):
        what = f"--donors has no effect without {' or '.join(map(flag, users))}"
        yield what, "leave it out, or give --labels", ("donors", "labels")


FEATURE = Feature("donors", lambda config: config.donors is not None, DonorFields, rules)
