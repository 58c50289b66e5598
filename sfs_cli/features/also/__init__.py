"""``--also``: the ranks by other methods beside the ranking."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sfs_cli.catalog import METHODS, ON_SOURCES
from sfs_cli.features.feature import Feature
from sfs_cli.features.members import member_configs
from sfs_cli.options.fields import (
    WHOLE,
    Config,
    Refusal,
    option,
    option_fields,
    options_of,
    split_words,
)

if TYPE_CHECKING:
    from sfs_cli.options import RankConfig

NONE = "none"


@option_fields
class AlsoFields(Config):
    """The option of other methods."""

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


def others(config: RankConfig) -> list[RankConfig]:
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


def rules(config: RankConfig) -> Iterator[Refusal]:
    """Yield what is wrong with the option; each method checks the options that it takes."""
    if NONE in config.also and len(config.also) > 1:
        yield "--also names methods beside none", "leave one of them out", ("also",)
    others(config)


FEATURE = Feature("also", lambda config: bool(others(config)), AlsoFields, rules)
