"""``--given``: features that are already chosen, from which the ranking starts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sfs_cli import catalog
from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import RANKING, Config, Refusal, option, option_fields
from sfs_cli.options.paths import READS

if TYPE_CHECKING:
    from sfs_cli.options import RankConfig

_ABLE = ", ".join(catalog.GOING_ON)


@option_fields
class GivenFields(Config):
    """The option of the features that are already chosen."""

    given_: str | None = option(
        f"List of features that are already chosen: the methods {_ABLE} and --max-correlation "
        "start from them.",
        section="Method",
        verbs=RANKING,
        metavar="FILE",
        path=READS,
    )


def rules(config: RankConfig) -> Iterator[Refusal]:
    """Yield what is wrong with the option."""
    if config.given_ is None or config.max_correlation is not None:
        return
    unable = [name for name in config.members or (config.scorer,) if name not in catalog.GOING_ON]
    if unable:
        about = "members" if config.members else "method" if config.then is None else "then"
        name = config.ranker if about == "method" else unable[0]
        what = f"--given has no effect with {config.label(about, name)}, which does not start from "
        hint = "give --max-correlation R, which moves features that repeat a given one behind, or "
        hint += f"a method that starts from them: {_ABLE}"
        yield f"{what}features", hint, ("given_", about)


FEATURE = Feature(
    "given",
    lambda config: config.given_ is not None,
    GivenFields,
    rules,
    orders=True,
    suits=lambda config, method: (
        not (
            config.given_ and config.max_correlation is None and method.name not in catalog.GOING_ON
        )
    ),
)
