"""``--adjust``: covariates of the samples become a design, which is taken out of the features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfs_cli.compute.context import Labels
from sfs_cli.compute.matrix import Ids, Span
from sfs_cli.compute.memory import check_memory
from sfs_cli.compute.passes import PassList
from sfs_cli.errors import InputError, UsageError, counted, listed
from sfs_cli.io.files.text import repeated
from sfs_cli.io.knowledge.sample_columns import Covariate, is_inside, read_covariates
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.provenance import ExplainedFacts
from sfs_cli.ranking.table import Ranking
from sfs_cli.run.sources import Coverage, coverage_of
from sfs_cli.store.adjust import Adjustment, orthonormal, r_squared
from sfs_cli.store.prepared import PreparedMatrix

TOP = 50
"""Features at the top whose variance the covariates are asked about."""
LEAST_LEFT = 3
"""Directions of the samples that have to be left beside the design, its intercept included."""
ALL, MUCH = 1 - 1e-8, 0.5
"""Parts of the differences between classes that covariates explain: as good as all of them, and so
much that it is told."""
SHOWN = 6
"""Levels of a categorical covariate that are shown."""


@dataclass(frozen=True)
class SampleColumns:
    """The columns that ``--adjust``, ``--batch`` and ``--donors`` name."""

    adjust: tuple[Covariate, ...] = ()
    batch: Covariate | None = None
    donors: Covariate | None = None

    @property
    def all(self) -> tuple[Covariate, ...]:
        """All of them."""
        groups = [each for each in (self.batch, self.donors) if each is not None]
        return (*self.adjust, *groups)

    def coverages(self, samples: Sequence[str]) -> list[Coverage]:
        """Return which samples have a value of each column; a column without is an InputError."""
        return [
            coverage_of(each.values, samples, f"value of {each.name}", each.where, each.option)
            for each in self.all
        ]


FileColumns = dict[tuple[str, str], list[Covariate]]
"""The columns that come from files, by the option and its text."""


def _named(config: RankConfig) -> list[tuple[str, str]]:
    """Return the option and the text of everything that names columns."""
    groups = (("batch", config.batch), ("donors", config.donors))
    return [
        *(("adjust", spec) for spec in config.adjust),
        *((option, spec) for option, spec in groups if spec is not None),
    ]


def read_files(config: RankConfig) -> FileColumns:
    """Read the columns that come from files, before the matrix is read."""
    return {
        (option, spec): read_covariates(spec, option)
        for option, spec in _named(config)
        if not is_inside(spec)
    }


def known_samples(files: FileColumns) -> list[str]:
    """Return the sample ids of the files."""
    return list(dict.fromkeys(s for found in files.values() for each in found for s in each.values))


def columns_of(config: RankConfig, files: FileColumns, ids: Ids) -> SampleColumns:
    """Return the columns that a configuration names, those of the matrix included.

    Raises InputError for an annotation that is not there, UsageError for columns that are named
    twice or too many.
    """
    found: dict[str, list[Covariate]] = {"adjust": [], "batch": [], "donors": []}
    for option, spec in _named(config):
        columns = files.get((option, spec)) or read_covariates(spec, option, config.matrix, ids)
        if option != "adjust" and len(columns) > 1:
            raise UsageError(
                f"--{option} {spec} names {len(columns)} columns",
                hint="name one" + "; others can be taken out with --adjust" * (option == "batch"),
                option=option,
            )
        found[option] += columns
    if twice := repeated([each.where for each in found["adjust"]]):
        raise UsageError(
            f"--adjust names {listed(twice)} twice", hint="name it once", option="adjust"
        )
    groups = (next(iter(found[option]), None) for option in ("batch", "donors"))
    return SampleColumns(tuple(found["adjust"]), *groups)


@dataclass(frozen=True)
class Design:
    """What covariates say of some samples, beside the mean."""

    basis: np.ndarray  # (r, n): orthonormal, in the order of the samples
    columns: list[dict[str, Any]] = field(default_factory=list)  # facts of each covariate

    @property
    def rank(self) -> int:
        """The rank of the design matrix, its intercept included."""
        return len(self.basis) + 1

    @property
    def adjustment(self) -> Adjustment | None:
        """What is taken out of the features."""
        return Adjustment(self.basis) if len(self.basis) else None


def design_of(
    covariates: Sequence[Covariate],
    samples: Sequence[str],
    memory: int,
    log: Messages,
    *,
    within_batch: bool = False,
) -> Design:
    """Return the design of covariates for some samples, which all have values.

    A covariate is a column of numbers, or a column for each level but the first. A column that is
    constant, or a combination of those before it, is left out with a warning; within a batch that
    is usual, and may be so of all of them.

    Raises
    ------
    InputError
        When nothing is left of the covariates, or of the samples beside them.
    OutOfMemoryError
        When the design does not fit `memory` bytes.
    """
    n = len(samples)
    coded = [_coded(each, samples) for each in covariates]
    widths = [1 if levels is None else len(levels) - 1 for levels, _ in coded]
    check_memory(
        f"a design of {counted(sum(widths), 'column')} for {n:,} samples needs",
        3 * 8 * n * sum(widths),
        memory,
        "raise --memory, or take columns of numbers as such: COLUMN=numeric",
        "adjust",
    )
    basis, added = orthonormal(np.concatenate([_columns(*pair) for pair in coded]))
    if not len(basis) and not within_batch:
        raise InputError(
            f"the covariates ({listed([each.name for each in covariates])}) are the same in all "
            f"{n:,} samples",
            where=covariates[0].where,
            hint="leave --adjust out: there is nothing to take out of the features",
            option="adjust",
        )
    if n - len(basis) - 1 < LEAST_LEFT:
        widest = covariates[int(np.argmax(widths))]
        raise InputError(
            f"the design has rank {len(basis) + 1} for {n:,} samples: hardly anything is left of "
            "the features",
            where=f"{widest.where}, which makes {counted(max(widths), 'column')} of it",
            hint="name fewer covariates, join rare levels, or take a column of numbers as such: "
            + (".astype(float)" if widest.held else f"{widest.name}=numeric"),
            option="adjust",
        )
    columns, at = [], 0
    for each, (levels, codes), width in zip(covariates, coded, widths):
        used = int(added[at : at + width].sum())
        at += width
        if used < width or not width:
            told = log.detail if within_batch else log.warn
            told(_dropped(each, width, used, constant=len(np.unique(codes)) == 1))
        if levels is not None and (single := _single(levels, codes)):
            log.warn(
                f"{each.name}: {counted(len(single), 'level')} ({listed(single, 3)}) with one "
                "sample, of which nothing is left: it lies at the mean of every feature"
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
                "levels": levels,
                "columns": width,
                "used": used,
            }
        )
    return Design(basis, columns)


def log_design(design: Design, log: Messages) -> None:
    """Log how each covariate was taken."""
    words = []
    for column in design.columns:
        text = str(column["taken_as"])
        if column["levels"] is not None:
            count, shown = len(column["levels"]), listed(column["levels"], SHOWN)
            text = f"categorical, {counted(count, 'level')}: {shown}"
        words.append(f"{column['name']} ({text})")
    log.note(
        f"adjusting for {', '.join(words)}: a design of rank {design.rank}, with the intercept"
    )


def _coded(each: Covariate, samples: Sequence[str]) -> tuple[list[str] | None, np.ndarray]:
    """Return the levels of a covariate (None: numeric), and its codes or numbers, shape (n,)."""
    values = [each.values[sample] for sample in samples]
    if each.kind == "numeric":
        return None, np.array(values, np.float64)
    levels = sorted({str(value) for value in values})
    code = {level: i for i, level in enumerate(levels)}
    return levels, np.array([code[str(value)] for value in values])


def _columns(levels: list[str] | None, values: np.ndarray) -> np.ndarray:
    """Return the columns of a design for one covariate, as rows: (p, n)."""
    if levels is None:
        return values[None, :]
    return (np.arange(1, len(levels))[:, None] == values).astype(np.float64)


def _single(levels: list[str], codes: np.ndarray) -> list[str]:
    """Return the levels of one sample."""
    sizes = np.bincount(codes, minlength=len(levels))
    return [levels[i] for i in np.flatnonzero(sizes == 1)]


def _dropped(each: Covariate, width: int, used: int, *, constant: bool) -> str:
    """Return what is said of a covariate of which only some columns are used."""
    if used:
        return (
            f"{each.name}: {width - used} of {counted(width, 'column')} of the design follow from "
            "the covariates before it (they are collinear), and change nothing"
        )
    if constant:
        return f"{each.name} is the same in all samples: it changes nothing"
    return f"{each.name} follows from the covariates before it (collinear): it changes nothing"


def check_labels(labels: Labels, design: Design, where: str, log: Messages) -> None:
    """Refuse covariates that explain the classes completely; warn of those that explain much.

    An outcome takes the place of the classes. Raises InputError when nothing of the differences
    between the classes is left.
    """
    known, kind = labels.known, "classes" if labels.values is None else "labels"
    codes = labels.codes[known]
    present = np.unique(codes)
    classes = (present[:, None] == codes).astype(np.float64)
    if labels.values is not None:
        present, classes = present[:0], labels.values[known][None, :]
    left = classes - classes.mean(axis=1, keepdims=True)
    total = (left**2).sum(axis=1)
    D = np.column_stack([np.ones(len(codes)), design.basis[:, known].T])
    left = left - (D @ np.linalg.lstsq(D, left.T, rcond=None)[0]).T
    rest = (left**2).sum(axis=1)
    names = listed([column["name"] for column in design.columns])
    share = 1 - float(rest.sum() / total.sum())
    if share > ALL:
        raise InputError(
            f"the covariates ({names}) explain the {kind} completely: adjusting leaves nothing of "
            "them",
            where=where,
            hint=f"leave out the covariate that tells the {kind} apart; where each batch has one "
            "class only, batch and class cannot be separated by any method",
            option=("adjust", "labels"),
        )
    gone = [labels.classes[i] for i, part in zip(present, 1 - rest / total) if part > ALL]
    if gone:
        log.warn(
            f"the covariates ({names}) explain {'class' if len(gone) == 1 else 'the classes'} "
            f"{listed(gone)} completely: no feature can tell {'it' if len(gone) == 1 else 'them'} "
            "from the others after adjusting"
        )
    elif share > MUCH:
        log.warn(
            f"the covariates ({names}) explain {share:.0%} of the differences between the {kind} "
            f"(are {kind} and batches confounded?): adjusting takes that out of the features too"
        )


def explained_part(
    ranking: Ranking,
    basis: np.ndarray,
    before: PreparedMatrix,
    after: PreparedMatrix | None,
    passes: PassList,
) -> ExplainedFacts:
    """Return how much of the variance of the best features a basis (r, n) explains.

    `before` and `after` are the matrix without and with what is taken out of it; None where
    nothing is.
    """
    best = ranking.order[: min(TOP, ranking.n_scored)]

    def mean_of(matrix: PreparedMatrix) -> float:
        double = np.dtype(np.float64)
        rows = [matrix.read(Span(i, i + 1), double).values[0].copy() for i in best.tolist()]
        passes.look(len(rows))
        parts = r_squared(np.stack(rows), basis)
        return float(parts[~np.isnan(parts)].mean()) if not np.isnan(parts).all() else 0.0

    found = ExplainedFacts(
        features=len(best),
        before=mean_of(before),
        by_chance=len(basis) / (before.n_samples - 1),
    )
    if after is not None:
        found["after"] = mean_of(after)
    return found
