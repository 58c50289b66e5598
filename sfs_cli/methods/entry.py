"""What the catalogue says of a method. No numeric library is loaded here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Literal

Need = Literal["graph", "labels", "some-labels"]


@dataclass(frozen=True)
class Method:
    """A ranking method, as the catalogue lists it.

    Attributes
    ----------
    name : str
        The value of ``--method``.
    title : str
        What people call it.
    module : str
        Where it lives: it has ``prepare`` (separable: features are scored block by block) or
        ``solve`` (iterative).
    meaning : mapping
        How to read its score; by the value of ``--ranking`` where that decides (else under "").
    needs : tuple of str
        ``graph``, ``labels`` (of all samples) or ``some-labels``, whatever its options.
    needs_by : mapping
        For an option that decides: from its values to what else is needed.
    options : mapping
        Its own options and their defaults.
    choices : mapping
        The values of those options that are words.
    cost : str
        Order of its arithmetic in n samples, m features, c classes, k eigenvectors, l selected.
    passes : str
        Passes over the matrix, besides that for the graph.
    when : str
        When to use it.
    reference : str
        Where it comes from.
    extra : str
        Optional dependencies that it needs.
    kernel : bool
        Whether it takes the similarity for a kernel, so that degrees may be zero or negative.
    """

    name: str
    title: str
    module: str
    meaning: Mapping[str, str]
    cost: str
    passes: str
    when: str
    needs: tuple[Need, ...] = ()
    needs_by: Mapping[str, Mapping[str, tuple[Need, ...]]] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    reference: str = ""
    extra: str = ""
    kernel: bool = False

    def how(self, options: Mapping[str, Any]) -> str:
        """Return how to read a score under the given options, as one sentence."""
        return self.meaning.get(options.get("ranking", ""), "") or self.meaning[""]

    def needed(self, options: Mapping[str, Any]) -> set[Need]:
        """Return what is needed under the given options, defaults filled in."""
        found = set(self.needs)
        for option, by_value in self.needs_by.items():
            found.update(by_value.get(options[option], ()))
        return found

    def load(self, function: Literal["prepare", "solve"]) -> Callable[..., Any] | None:
        """Import the method; return its function of that name, or None where it has the other."""
        return getattr(import_module(self.module), function, None)
