"""``--sets``: gene sets at the top of a ranking; those of sources, too."""

from __future__ import annotations

from functools import partial

from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import SURE, Config, option, option_fields, texts_of
from sfs_cli.options.paths import READS

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
        by_verb={verb: {"for_out": False} for verb in ("report", "select")},
        first=SURE,
    )


FEATURE = Feature(
    "enrichment",
    lambda config: bool(config.sets) or (config.out is not None and bool(config.source)),
    EnrichmentFields,
)
