"""``--modules``: groups of the best features that vary together."""

from __future__ import annotations

from functools import partial

from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import Config, option, option_fields, texts_of
from sfs_cli.options.paths import READS

GROUPED, CORRELATION = 200, 0.7
"""The first features that are grouped, and their least mean absolute correlation in a module."""

_modules = partial(option, section="Output", verbs=("rank", "shard init"))
_how = partial(_modules, needs=("modules",))


@option_fields
class ModuleFields(Config):
    """The options of modules."""

    modules: bool = _modules(
        "Group the first features by their correlations, and write the modules, their mean "
        "profiles and an edge list to --out.",
        default=False,
        for_out=True,
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


FEATURE = Feature("modules", lambda config: config.modules, ModuleFields)
