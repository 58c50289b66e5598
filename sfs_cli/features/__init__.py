"""The optional parts of a ranking: a room for each, and their order.

A room is a folder. Its ``__init__.py`` declares the options and is light, so that help starts
without NumPy. Its ``step.py`` has the work, a `sfs_cli.features.step.Step` of the name ``STEP``:
what passes and memory it takes, what it finds, and what the report says of that. A run, its plan
and its report ask the list below; they know none of the rooms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from sfs_cli import catalog
from sfs_cli.features.direction import DirectionFields
from sfs_cli.features.modules import ModuleFields
from sfs_cli.features.pruning import PruningFields
from sfs_cli.features.stability import StabilityFields

if TYPE_CHECKING:
    from sfs_cli.features.step import Step


class Feature(NamedTuple):
    """An optional part of a ranking."""

    name: str  # of its room, and of its facts in run.json
    asked: Callable[[Any], bool]  # whether a configuration (`RankConfig`) asks for it

    @property
    def step(self) -> type[Step]:
        """Its work."""
        step: type[Step] = import_module(f"sfs_cli.features.{self.name}.step").STEP
        return step


FEATURES = (
    Feature(
        "direction",
        lambda config: config.format == "rnk" and config.signed and config.method in catalog.SIGNED,
    ),
    Feature("pruning", lambda config: config.max_correlation is not None),
    Feature("modules", lambda config: config.modules),
    Feature("stability", lambda config: config.stability is not None),
    Feature("enrichment", lambda config: config.out is not None and bool(config.source)),
)
"""In the order in which a run makes them, once the features have scores."""


@dataclass(frozen=True, kw_only=True, init=False, eq=False, repr=False)
class FeatureFields(DirectionFields, ModuleFields, StabilityFields, PruningFields):
    """The options of the optional parts."""


def steps_of(config: Any) -> list[Step]:
    """Return the steps that a configuration (`RankConfig`) asks for, in their order."""
    return [feature.step(config) for feature in FEATURES if feature.asked(config)]


def ordering_steps(config: Any) -> list[Step]:
    """Return those that change the order of the features, which rankings of subsets have, too."""
    return [step for step in steps_of(config) if step.orders]
