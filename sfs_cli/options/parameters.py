"""The parameters of methods as options, made from the catalog.

A configuration has one option for each name. What it means, its values and default, and what goes
together with it, are those of the method that is asked for.
"""

from __future__ import annotations

from dataclasses import make_dataclass
from typing import TYPE_CHECKING, Any

from sfs_cli import catalog
from sfs_cli.catalog import METHODS, Parameter
from sfs_cli.options.fields import RANKING, Config, Option, option, option_fields, split_words


def parameters_of(method: str) -> dict[str, Option]:
    """Return the parameters of a method by their names, `select` with them, as it declares them."""
    found = METHODS[method].parameters
    return {name: Option(name=name, **_facts(each)) for name, each in found.items()}


def _facts(parameter: Parameter) -> dict[str, Any]:
    listed = {"items": str, "parse": split_words} if parameter.type is tuple else {}
    return parameter._asdict() | listed | {"section": "Method", "verbs": RANKING}


def _field(name: str) -> tuple[str, str, Any]:
    """Return a name, its type, and the option for all methods that take it."""
    each = [m.parameters[name] for m in METHODS.values() if name in m.parameters]
    kinds = {one.type for one in each}
    kind = kinds.pop() if len(kinds) == 1 else str  # each method reads the text
    facts = _facts(Parameter("", kind, () if kind is tuple else None, word=each[0].word))
    return name, kind.__name__, option(**facts, takers=catalog.takers, taken_by="method")


if TYPE_CHECKING:

    @option_fields
    class MethodFields(Config):
        """The parameters of all methods; None stands for the default of the method.

        What is below `RankConfig` takes one as this, which has every attribute for type checkers.
        """

        def __getattr__(self, name: str) -> Any:
            """Return the value of a parameter."""

else:
    MethodFields = make_dataclass(
        "MethodFields",
        [_field(name) for name in catalog.OPTIONS if name != "select"],
        bases=(Config,),
        namespace={"__doc__": "The parameters of all methods."},  # without, Python makes a slow one
        frozen=True,
        kw_only=True,
        init=False,
        eq=False,
        repr=False,
    )
