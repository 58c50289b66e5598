"""Which of two lists is better, by what is measured on held-out samples in the same folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from sfs_cli.errors import listed
from sfs_cli.evaluation.held_out import Task
from sfs_cli.evaluation.verdict import Verdict, holm, verdict
from sfs_cli.io.results.writers import table_bytes
from sfs_cli.options.compare import ALL, RANDOM, VARIABLE
from sfs_cli.tables import header

CONTROLS = (RANDOM, VARIABLE, ALL)


class Compared(NamedTuple):
    """A verdict about the first features of two lists."""

    length: int
    classifier: str
    verdict: Verdict


def verdicts_of(
    found: Mapping[tuple[str, int], np.ndarray], sizes: np.ndarray, task: Task
) -> list[Compared]:
    """Compare each list with each other one, and with each control.

    P-values are adjusted over the pairs of lists of a length and a classifier ("which is the
    best?"), and over the controls of each list ("is it any good?").

    Parameters
    ----------
    found : mapping
        From the name of a list or control and a length to its measures in the J folds, shape (J,
        models, measures). All features are of one length.
    sizes : ndarray, shape (2, J)
        Test and training samples of the folds.
    task : Task
        What is predicted. Lists are compared by its last measure.
    """
    everything = {name: values for (name, _), values in found.items() if name == ALL}
    compared = []
    for k in dict.fromkeys(k for name, k in found if name != ALL):
        here = {name: values for (name, length), values in found.items() if length == k}
        here |= everything
        lists = [name for name in here if name not in CONTROLS]
        controls = [name for name in CONTROLS if name in here]
        families = [[*combinations(lists, 2)], *([(a, b) for b in controls] for a in lists)]
        for c, classifier in enumerate(task.models):
            for pairs in families:
                own = [
                    verdict(a, b, here[a][:, c, -1], here[b][:, c, -1], *sizes, measure=task.words)
                    for a, b in pairs
                ]
                compared += [Compared(k, classifier, each) for each in holm(own)]
    return compared


def sentences(found: Sequence[Compared], length: int, task: Task) -> list[str]:
    """Return the verdicts about the best list of a length, by the last model, in words."""
    own = [v for k, model, v in found if (k, model) == (length, task.models[-1])]
    means = {v.a: v.mean_a for v in own}
    best = max(means, key=lambda name: means[name], default="")
    return [each.sentence() for each in own if best in (each.a, each.b)]


def below_random(found: Sequence[Compared], task: Task) -> list[str]:
    """Name the lists that are below random features by the last measure of the last model."""
    below: dict[str, list[str]] = {}
    for k, classifier, v in found:
        if (v.b, classifier) == (RANDOM, task.models[-1]) and v.mean_a < v.mean_b:
            text = f"{v.mean_a:.3f} against {v.mean_b:.3f} with {k:,} features"
            text += "" if v.better else " (this may be chance)"
            below.setdefault(v.a, []).append(text)
    return [
        f"{name} is below {RANDOM}: {task.best_known} {listed(texts)}"
        for name, texts in below.items()
    ]


def verdict_bytes(found: Sequence[Compared], task: Task) -> bytes:
    """Return the table of verdicts; numbers that are not known are empty."""
    rows = []
    for k, classifier, v in found:
        numbers = (v.mean_a, v.mean_b, *v.difference[:4], v.p_value)
        shown = ("" if np.isnan(x) else x for x in numbers)
        rows.append((v.a, v.b, k, task.measures[-1], classifier, *shown, v.better))
    return table_bytes(header("verdicts.tsv"), rows)
