"""The optional parts of a ranking, a file each: what a part finds, and what the page says of it.

A part is imported when it is asked for: most rankings have few, and some take slow modules.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    # isort: off
    from sfs_cli.parts import (
        also as also,
        batches as batches,
        classes as classes,
        covariates as covariates,
        direction as direction,
        donors as donors,
        given as given,
        joint as joint,
        knowledge as knowledge,
        markers as markers,
        members as members,
        moderation as moderation,
        modules as modules,
        pruning as pruning,
        scales as scales,
        sets as sets,
        significance as significance,
        split as split,
        stability as stability,
        subsets as subsets,
        survival as survival,
        theory as theory,
        voom as voom,
        weights as weights,
    )
    # isort: on

FACTS = {
    "survival": "of a Cox model, by `--event`",
    "precision": "weights of the values, by `--voom`",
    "moderation": "moderated variances, by `--moderate`",
    "scales": "tests on several scales, by `--scales`",
    "pruning": "of correlated features, by `--max-correlation`",
    "joint": "features of several sources, by `--rank-sources`",
    "modules": "of correlated features, by `--modules`",
    "stability": "of the list when samples are left out, by `--stability`",
    "significance": "p-values and q-values, by `--pvalues`",
    "markers": "of each class, by `--markers`",
    "covariates": "what is taken out of the features, by `--adjust`",
    "batches": "of samples, by `--batch`",
}
"""What `run.json` has of them, by their keys."""


def __getattr__(name: str) -> ModuleType:
    """Import a part."""
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")
