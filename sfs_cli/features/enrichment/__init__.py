"""``--sets`` and ``--enrichment``: gene sets at the top of a ranking; those of sources, too."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import SURE, Config, Refusal, option, option_fields, texts_of
from sfs_cli.options.paths import READS

if TYPE_CHECKING:
    from sfs_cli.options import RankConfig

_sets = partial(
    option,
    section="Evaluation",
    verbs=("rank", "shard init", "evaluate", "compare", "report", "select"),
)


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
        first=SURE,
    )
    enrichment: str = _sets(
        "How sets are tested: whether the first features have more of their members than by chance "
        "(overrepresentation), or where in the whole ranking they are (preranked, as GSEA does). "
        "auto: preranked, with a direction, where two classes give the ranking one (and a set has "
        "15 features or more); sfs evaluate, "
        "compare and select make both tests then.",
        default="auto",
        words=("auto", "overrepresentation", "preranked"),
    )


def rules(config: RankConfig) -> Iterator[Refusal]:
    """Yield what is wrong with the options."""
    if config.enrichment != "auto" and not (config.sets or config.source):
        what = "--enrichment has no effect: there are no sets"
        yield what, "give --sets FILE", ("enrichment", "sets")


FEATURE = Feature(
    "enrichment",
    lambda config: bool(config.sets) or (config.out is not None and bool(config.source)),
    EnrichmentFields,
    rules,
)
