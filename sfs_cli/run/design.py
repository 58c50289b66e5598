"""Covariates of the samples become a design, which is taken out of the features."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from sfs_cli.compute.context import Labels
from sfs_cli.compute.memory import check_memory
from sfs_cli.errors import InputError, counted, listed
from sfs_cli.io.knowledge.sample_columns import Covariate
from sfs_cli.logs import Messages
from sfs_cli.options.fields import flag
from sfs_cli.run.cohort import Design
from sfs_cli.store.adjust import orthonormal, r_squared

OTHERWISE = 1e-6
"""A column is not what those before it say where it differs from that by this part of its size."""
LEAST_LEFT = 3
"""Least residual degrees of freedom beside the design, its intercept included."""
ALL, MUCH = 1 - 1e-8, 0.5
"""Parts of the differences between classes that covariates explain: nearly all, which is an error,
and so much that a warning says it."""


def design_of(
    covariates: Sequence[Covariate],
    samples: Sequence[str],
    memory: int,
    log: Messages,
    *,
    lenient: bool = False,
) -> Design:
    """Return the design of covariates for some samples, which all have values.

    A covariate is a column of numbers, or a column for each level but the first. A column that is
    constant, or a combination of those before it, is left out with a warning; within a part of the
    samples (`lenient`) that is usual, and may be so of all of them.

    Raises
    ------
    InputError
        When nothing is left of the covariates, or of the samples beside them.
    OutOfMemoryError
        When the design does not fit `memory` bytes.
    """
    n, option = len(samples), covariates[0].option
    values = [[each.values[sample] for sample in samples] for each in covariates]
    levels = [
        None if each.kind == "numeric" else sorted(set(own))
        for each, own in zip(covariates, values)
    ]
    widths = [1 if own is None else len(own) - 1 for own in levels]
    check_memory(
        f"a design of {counted(sum(widths), 'column')} for {n:,} samples needs",
        3 * 8 * n * sum(widths),
        memory,
        "raise --memory, or declare columns of numbers as numeric: COLUMN=numeric",
        "adjust",
    )
    basis, added = orthonormal(np.concatenate([columns_of(*pair) for pair in zip(values, levels)]))
    if not len(basis) and not lenient:
        raise InputError(
            f"{_called([each.name for each in covariates], option)} "
            f"{'is' if option == 'block' else 'are'} the same in all {n:,} samples",
            where=covariates[0].where,
            hint=f"leave {flag(option)} out: there is nothing to take out of the features",
            option=option,
        )
    if n - len(basis) - 1 < LEAST_LEFT:
        widest = covariates[int(np.argmax(widths))]
        if widest.option == "block":
            raise InputError(
                f"{counted(max(widths) + 1, 'block')} of {n:,} samples leave hardly anything to "
                "compare within them",
                where=widest.where,
                hint="name the column that says which samples belong together, such as the patient "
                "of a pair, or leave --block out",
                option="block",
            )
        raise InputError(
            f"the design has rank {len(basis) + 1} for {n:,} samples: adjusting leaves hardly "
            "anything of the features",
            where=f"{widest.where}, which makes {counted(max(widths), 'column')} of it",
            hint="name fewer covariates, join rare levels, or declare a column of numbers numeric: "
            + (".astype(float)" if widest.held else f"{widest.name}=numeric"),
            option="adjust",
        )
    columns = []
    parts = np.split(added, np.cumsum(widths)[:-1])
    for each, own, found, part in zip(covariates, values, levels, parts):
        width, used, sizes = len(part), int(part.sum()), Counter(own)
        if used < width or not width:
            told = log.detail if lenient else log.warn
            told(_dropped(each.name, width, used, constant=len(sizes) == 1))
        single = [level for level in found or () if sizes[level] == 1]
        if single:
            log.warn(
                f"{each.name}: {counted(len(single), 'level')} ({listed(single, 3)}) with one "
                "sample: adjusting sets this sample to the mean of every feature"
            )
        if each.codes and used:
            ways = f"write {each.name}=categorical if they are codes, {each.name}=numeric if they "
            ways += "are not"
            if each.held:
                ways = 'give it as categories, .astype("category"), if they are codes'
            log.warn(
                f"{each.name} is taken as numeric, but has only {each.codes} whole numbers: {ways}"
            )
        columns.append(
            {
                "name": each.name,
                "from": each.where,
                "taken_as": each.kind,
                "levels": found,
                "columns": width,
                "used": used,
            }
        )
    return Design(basis, columns)


def _called(names: list[str], option: str) -> str:
    """Name covariates, or the blocks if these are all."""
    return f"the {'block' if option == 'block' else 'covariates'} ({listed(names)})"


def basis_by(
    covariates: Sequence[Covariate], samples: Sequence[str], train: np.ndarray
) -> tuple[np.ndarray, list[tuple[Covariate, list[str]]]]:
    """Return the basis of the design of training samples, with the other samples in it.

    Parameters
    ----------
    covariates : sequence of Covariate
        They have values of all samples.
    samples : sequence of str, length n
        Ids.
    train : ndarray of int
        Which of them are training samples.

    Returns
    -------
    basis : ndarray, shape (r, n)
        Of the training samples that of `design_of`: the residuals of a feature f are ``f - (f_t
        Q_t') Q``, so that the others' are by the coefficients of the training samples.
    unseen : list of pairs
        Covariates, and their levels of other samples that no training sample has, or numbers where
        those of all training samples are equal. Nothing is known of their effect: these samples are
        at the mean of the covariate. Without levels: covariates that follow from those before them
        among the training samples, but not among the others.
    """
    rows, unseen = [np.empty((0, len(samples)))], list[tuple[Covariate, list[str]]]()
    for each in covariates:
        values, numeric = [each.values[sample] for sample in samples], each.kind == "numeric"
        known = sorted({values[i] for i in train.tolist()})
        own = columns_of(values, None if numeric else known)
        new = sorted(set(values).difference(known)) if not numeric or len(known) == 1 else []
        if new:
            unseen.append((each, [f"{x:g}" if numeric else x for x in new]))
            own[:, [value in new for value in values]] = own[:, train].mean(axis=1, keepdims=True)
        rows.append(own)
    columns = np.concatenate(rows)
    basis, added = orthonormal(columns, train)
    if added.all():
        return basis, unseen
    rest = columns - columns[:, train].mean(axis=1, keepdims=True)
    rest -= (rest[:, train] @ basis[:, train].T) @ basis
    size = np.abs(columns).max(axis=1, initial=0)
    other = ~added & (np.abs(rest).max(axis=1, initial=0) > OTHERWISE * size)
    of_each = np.split(other, np.cumsum([len(own) for own in rows[1:]])[:-1])
    return basis, unseen + [(each, []) for each, odd in zip(covariates, of_each) if odd.any()]


def columns_of(values: list[Any], levels: list[str] | None) -> np.ndarray:
    """Return the columns of a design for one covariate, as rows: (p, n)."""
    if levels is None:
        return np.array([values], np.float64)
    return (np.array(levels[1:], object)[:, None] == np.array(values, object)).astype(np.float64)


def _dropped(name: str, width: int, used: int, *, constant: bool) -> str:
    """Return what is said of a covariate of which only some columns are used."""
    if used:
        return (
            f"{name}: {width - used} of {counted(width, 'column')} of the design follow from "
            "the covariates before it (they are collinear), and change nothing"
        )
    if constant:
        return f"{name} is the same in all samples: it changes nothing"
    return f"{name} follows from the covariates before it (collinear): it changes nothing"


def check_labels(
    labels: Labels, design: Design, where: str, log: Messages, option: str = "adjust"
) -> None:
    """Refuse covariates that explain the classes completely; warn of those that explain much.

    An outcome takes the place of the classes; `option` named the first covariate. Raises
    InputError when nothing of the differences between the classes is left.
    """
    known, kind = labels.known, "classes" if labels.values is None else "labels"
    codes = labels.codes[known]
    present = np.unique(codes)
    classes = (present[:, None] == codes).astype(np.float64)
    if labels.values is not None:
        present, classes = present[:0], labels.values[known][None, :]
    explained = r_squared(classes, orthonormal(design.basis[:, known])[0])
    total = classes.var(axis=1)
    share = float((explained * total).sum() / total.sum())
    names = _called([column["name"] for column in design.columns], option)
    explain = "explains" if option == "block" else "explain"
    if share > ALL:
        raise InputError(
            f"{names} {explain} the {kind} completely: adjusting leaves nothing of them",
            where=where,
            hint="name the column of the samples that belong together, such as the patient of a "
            "pair: each block needs samples of two classes"
            if option == "block"
            else f"leave out the covariate that tells the {kind} apart; where each batch has one "
            "class only, batch and class cannot be separated by any method",
            option=(option, "labels"),
        )
    gone = [labels.classes[i] for i, part in zip(present, explained) if part > ALL]
    if gone:
        log.warn(
            f"{names} {explain} {'class' if len(gone) == 1 else 'the classes'} "
            f"{listed(gone)} completely: no feature can tell {'it' if len(gone) == 1 else 'them'} "
            "from the others after adjusting"
        )
    elif share > MUCH:
        log.warn(
            f"{names} {explain} {share:.0%} of the differences between the {kind} "
            f"(are {kind} and batches confounded?): adjusting takes that out of the features too"
        )
