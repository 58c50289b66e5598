"""A further run that an optional part proposes, and what it is proposed from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from sfs_cli.run.guards import Raw

BIAS, REPETITION, OTHER_METHOD, INSIGHT, SECOND_OPINION = range(5)
"""What a run is good for, the most useful first."""


class Proposal(NamedTuple):
    """A run that is worth making, as changes of another one."""

    name: str  # ends the name of the folder of its result
    reason: str  # a sentence
    changes: Mapping[str, Any]  # values of options
    use: int = BIAS  # one of the above


@dataclass(frozen=True)
class Seen:
    """What is known of an input, and of the ranking where there is one.

    Attributes
    ----------
    n, m : int
        Samples and features.
    raw : Raw, optional
        What the values are, if they need a transformation and none was asked for.
    classes, batches : dict
        Columns of the samples that look like classes or like batches, as options name them, with
        the number of different values; what comes first is most likely one.
    followed : dict
        Of the batches those that explain a leading component of the samples, and how much of it.
    labeled : bool
        Whether there are labels that look like classes.
    n_classes : int
        Classes of the labels, 2 where these are numbers or absent.
    unlabeled : int
        Samples without a label, where there are labels.
    missing : int
        Missing values.
    sparse : bool
        Whether most values are zero.
    spatial : bool
        Whether there are coordinates of a tissue, ``obsm:spatial``.
    repeats : float, optional
        Mean absolute correlation of the first features of a ranking, where they repeat each other.
    """

    n: int
    m: int
    raw: Raw | None = None
    classes: Mapping[str, int] = field(default_factory=dict)
    batches: Mapping[str, int] = field(default_factory=dict)
    followed: Mapping[str, float] = field(default_factory=dict)
    labeled: bool = False
    n_classes: int = 2
    unlabeled: int = 0
    missing: int = 0
    sparse: bool = False
    spatial: bool = False
    repeats: float | None = None
