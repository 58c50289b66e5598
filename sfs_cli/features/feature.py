"""How an optional part of a ranking is declared, without its work."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from sfs_cli.options.fields import Config, Refusal, options_of

if TYPE_CHECKING:
    from sfs_cli.features.step import Step
    from sfs_cli.run.cohort import Cohort
    from sfs_cli.store.matrix import Matrix


class Feature(NamedTuple):
    """An optional part of a ranking."""

    name: str  # of its room, and of its facts in run.json
    asked: Callable[[Any], bool]  # whether a configuration (`RankConfig`) asks for it
    fields: type[Config] | None = None  # its options
    rules: Callable[[Any], Iterator[Refusal]] = lambda _: iter(())  # which of them go together
    orders: bool = False  # whether it changes the order of the features
    one_by_one: bool = False  # whether subsets of the samples can be ranked one by one only
    method: Callable[[Any], str] = lambda _: ""  # that it asks for, where none is given; or none
    # what it stands for: values of options, with those of them that are given
    implies: Callable[[Any], Mapping[str, Any]] = lambda _: {}
    # the configuration with what it chooses by the matrix
    settle: Callable[[Any, Matrix], Any] = lambda config, _: config
    # the configuration with what it chooses by the samples, once these are known
    resolve: Callable[[Any, Cohort], Any] = lambda config, _: config
    adjusts: bool = False  # whether it changes the values that features are scored by
    not_in_folds: str = ""  # what is wrong with `sfs select --cv` of a ranking with it
    untested: str = ""  # why methods that test by classes have no p-values with it

    @property
    def option(self) -> str:
        """The option that asks for it: the first of its own."""
        assert self.fields is not None
        return options_of(self.fields)[0].name

    def found(self, record: Mapping[str, Any]) -> Any:
        """Return its facts in run.json; None where it was not asked for."""
        parts = (record, *(record.get(name, {}) for name in ("input", "knowledge")))
        return next((part[self.name] for part in parts if part.get(self.name)), None)

    @property
    def step(self) -> type[Step]:
        """Its work: ``STEP`` of the module ``step`` of its room."""
        step: type[Step] = import_module(f"sfs_cli.features.{self.name}.step").STEP
        return step
