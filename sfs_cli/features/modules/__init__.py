"""``--modules``: groups of the best features that vary together."""

from __future__ import annotations

from functools import partial

from sfs_cli.features.feature import Feature
from sfs_cli.options.fields import Config, option, option_fields, texts_of
from sfs_cli.options.paths import READS

MOST_FEATURES = 5000
DEFAULT_FEATURES, DEFAULT_CORRELATION = 200, 0.7
"""Defaults and limits: the features that are grouped, and their correlation in a module."""

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
    module_features: int | None = _how(
        "Number of features that --modules groups.",
        metavar="N",
        least=2,
        most=MOST_FEATURES,
        default_text=str(DEFAULT_FEATURES),
    )
    module_correlation: float | None = _how(
        "Least mean absolute correlation in a module, and absolute correlation of an edge.",
        metavar="R",
        above=0,
        below=1,
        default_text=str(DEFAULT_CORRELATION),
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

    @property
    def modules_of(self) -> int:
        """Largest number of features that are grouped."""
        return DEFAULT_FEATURES if self.module_features is None else self.module_features

    @property
    def least_module_correlation(self) -> float:
        """Least mean absolute correlation of a module."""
        given = self.module_correlation
        return DEFAULT_CORRELATION if given is None else given


FEATURE = Feature("modules", lambda config: config.modules, ModuleFields)
