"""How an optional part of a ranking is declared, without its work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from sfs_cli.options.fields import Config, Refusal

if TYPE_CHECKING:
    from sfs_cli.features.proposal import Proposal, Seen
    from sfs_cli.features.step import Step


class Feature(NamedTuple):
    """An optional part of a ranking."""

    name: str  # of its room, and of its facts in run.json
    asked: Callable[[Any], bool]  # whether a configuration (`RankConfig`) asks for it
    fields: type[Config] | None = None  # its options
    rules: Callable[[Any], Iterator[Refusal]] = lambda _: iter(())  # which of them go together
    orders: bool = False  # whether it changes the order of the features
    # the run with it that is worth making: for what was asked for, and with the default method
    propose: Callable[[Any, Any, Seen], Proposal | None] = lambda *_: None

    @property
    def step(self) -> type[Step]:
        """Its work: ``STEP`` of the module ``step`` of its room."""
        step: type[Step] = import_module(f"sfs_cli.features.{self.name}.step").STEP
        return step
