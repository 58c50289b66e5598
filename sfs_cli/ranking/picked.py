"""Strings picked from others by their places, made when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol, overload, runtime_checkable

import numpy as np

CHUNK = 65_536
"""Strings that are made at a time by what goes through all."""


@runtime_checkable
class Taking(Protocol):
    """Names that give many at a time."""

    def take(self, places: np.ndarray) -> list[str]:
        """Return the names at some places."""


class Picked(Sequence[str]):
    """The strings ``names[places[0]], names[places[1]], ...``.

    Parameters
    ----------
    names : sequence of str
        What is picked from.
    places : ndarray of int, shape (m,)
        Which of them.
    """

    def __init__(self, names: Sequence[str], places: np.ndarray) -> None:
        self.names = names
        self.places = places

    def __len__(self) -> int:
        return len(self.places)

    @overload
    def __getitem__(self, at: int) -> str: ...

    @overload
    def __getitem__(self, at: slice) -> list[str]: ...

    def __getitem__(self, at: int | slice) -> str | list[str]:
        """Return a string, or a list of them."""
        if isinstance(at, slice):
            return self._taken(self.places[at])
        return self.names[int(self.places[at])]

    def __iter__(self) -> Iterator[str]:
        for lo in range(0, len(self), CHUNK):
            yield from self[lo : lo + CHUNK]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other))

    __hash__ = None  # type: ignore[assignment]

    def _taken(self, places: np.ndarray) -> list[str]:
        if isinstance(self.names, Taking):
            return self.names.take(places)
        names = self.names
        return [names[i] for i in places.tolist()]
