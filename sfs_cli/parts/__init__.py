"""The optional parts of a ranking, a file each: what a part finds, and what the page says of it.

A part is imported when it is asked for: most rankings have few, and some take slow modules.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfs_cli.parts import (
        also as also,
    )
    from sfs_cli.parts import (
        batches as batches,
    )
    from sfs_cli.parts import (
        classes as classes,
    )
    from sfs_cli.parts import (
        covariates as covariates,
    )
    from sfs_cli.parts import (
        direction as direction,
    )
    from sfs_cli.parts import (
        donors as donors,
    )
    from sfs_cli.parts import (
        given as given,
    )
    from sfs_cli.parts import (
        joint as joint,
    )
    from sfs_cli.parts import (
        knowledge as knowledge,
    )
    from sfs_cli.parts import (
        markers as markers,
    )
    from sfs_cli.parts import (
        members as members,
    )
    from sfs_cli.parts import (
        moderation as moderation,
    )
    from sfs_cli.parts import (
        modules as modules,
    )
    from sfs_cli.parts import (
        pruning as pruning,
    )
    from sfs_cli.parts import (
        scales as scales,
    )
    from sfs_cli.parts import (
        sets as sets,
    )
    from sfs_cli.parts import (
        significance as significance,
    )
    from sfs_cli.parts import (
        stability as stability,
    )
    from sfs_cli.parts import (
        subsets as subsets,
    )
    from sfs_cli.parts import (
        survival as survival,
    )
    from sfs_cli.parts import (
        voom as voom,
    )
    from sfs_cli.parts import (
        weights as weights,
    )


def __getattr__(name: str) -> ModuleType:
    """Import a part."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
