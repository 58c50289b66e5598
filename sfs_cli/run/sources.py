"""The knowledge sources of a run: their files, opening them, and the samples that they share."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np

from sfs_cli.compute.context import Labels
from sfs_cli.compute.matrix import Ids
from sfs_cli.errors import InputError, listed
from sfs_cli.io.files.likeness import likely_change
from sfs_cli.io.files.sniff import is_store
from sfs_cli.io.files.text import repeated
from sfs_cli.io.knowledge.coordinates import open_coordinates
from sfs_cli.io.knowledge.hierarchy import read_hierarchy
from sfs_cli.io.knowledge.sample_columns import CLASSES, Column, is_inside, read_column
from sfs_cli.io.matrix.base import BY_CONVENTION, CARRY_SAMPLES, ReadOptions, open_matrix
from sfs_cli.knowledge.base import Source, SourceInputs, open_source, prepared
from sfs_cli.knowledge.samples import Profile
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.options.parts import MATRIX, ranked_sources
from sfs_cli.options.source import SourceSpec
from sfs_cli.run import inputs
from sfs_cli.run.sample_ids import without_common_ids
from sfs_cli.store.ids import FeatureIds
from sfs_cli.store.joined import ALIKE, JoinedMatrix, Member
from sfs_cli.store.matrix import HeldMatrix, Matrix
from sfs_cli.store.prepared import MissingPolicy
from sfs_cli.store.transforms import parse


def known_samples(config: RankConfig, table: Column[inputs.Label] | None) -> list[str]:
    """Return sample ids from labels (`table`) and sources, which may show what a matrix row is.

    A profile counts only if it is certain what its rows are: else its columns may as well be
    genes of the matrix.
    """
    known = [] if table is None else table.possible_ids
    if config.rows != "auto":
        return known
    for spec in config.source:
        if spec.kind == "labels" and spec.path and not is_inside(spec.path):
            known += read_column(spec.path, CLASSES).possible_ids
        elif spec.kind == "hierarchy":
            known += read_hierarchy(spec.path).paths
        elif spec.kind == "profile" and not spec.has_coordinates and not is_store(Path(spec.path)):
            options = ReadOptions(layer=spec.layer, decimal="auto")
            reader = open_matrix(Path(spec.path), options)
            if "features" in (reader.fixed_rows, spec.rows):
                known += reader.column_ids
            reader.close()
    return known


def open_sources(
    config: RankConfig,
    opened: inputs.Opened,
    labels: Labels | None,
    memory: int,
    folder: Path,
    messages: Messages,
) -> list[Source]:
    """Open the sources of a configuration, in its order; profiles too large for memory in `folder`.

    Raises InputError when one cannot be read, or the matrix may lie the other way round.
    """
    if not config.source:
        return []  # no ids are needed, which may be read later
    ids = opened.matrix.ids

    def load_profile(spec: SourceSpec) -> Matrix:
        if spec.has_coordinates:
            found = open_coordinates(spec.path, config.matrix)
            values = np.ascontiguousarray(found.aligned(found.samples).T)
            return HeldMatrix(values, Ids(found.names, found.samples))
        asked = config_of(spec, config)
        room = folder / f"source-{spec.name}"
        profile = inputs.load(asked, list(ids.samples), memory, room, messages)
        guessed = opened.facts.get("orientation") == BY_CONVENTION
        turned = profile.facts.get("orientation") == CARRY_SAMPLES
        # both have the same ids, and nothing shows which of the two is transposed
        if guessed and turned and not set(ids.features).isdisjoint(profile.matrix.ids.features):
            raise InputError(
                f"the matrix and source {spec.name} look transposed relative to each other",
                where=f"{config.matrix} and {spec.path}",
                hint="give --rows features or --rows samples",
                option=("rows", f"source.{spec.name}"),
            )
        return profile.matrix

    classes = None if labels is None else labels.of(ids.samples)
    given = SourceInputs(config.matrix, ids, classes, messages.note_once, load_profile)
    return [open_source(spec, given) for spec in config.source]


def config_of(spec: SourceSpec, config: RankConfig) -> RankConfig:
    """Return the configuration that reads the matrix of a profile."""
    return RankConfig(spec.path, rows=spec.rows or "auto", layer=spec.layer, dtype=config.dtype)


def joined_with(
    config: RankConfig, matrix: Matrix, sources: Sequence[Source], messages: Messages
) -> Matrix:
    """Return the matrix, joined with the sources whose features are ranked, where some are.

    An id that is in the matrix, or in a source before, gets the name of its source before it.
    Raises InputError for missing values that a source refuses, and ids that are not unique then.
    """
    wanted = ranked_sources(config)
    ranked = [each for each in sources if isinstance(each, Profile) and each.spec in wanted]
    if not ranked:
        return matrix
    own = next((source.name for source in config.source if source.kind == "target"), MATRIX)
    missing, steps = cast(MissingPolicy, config.missing), (*parse(config.transform), ALIKE)
    members = [Member(own, matrix.n_features, steps, missing, config.matrix)]
    ids, renamed = list(matrix.ids.features), list[str]()
    for each in ranked:
        name, view = each.spec.name, prepared(each.spec, each.prepared(), config.matrix)
        steps = (*view.steps, ALIKE)
        members.append(Member(name, view.n_features, steps, view.missing, view.where))
        names, known = each.matrix.ids.features, set(ids)
        renamed += known.intersection(names)
        ids += [f"{name}:{id}" if id in known else id for id in names]
    if twice := repeated(ids) or repeated([each.name for each in members]):
        raise InputError(
            f"features or sources have the same name: {listed(sorted(twice))}",
            where=f"--rank-sources {config.rank_sources}",
            hint="give the source another name",
            option="rank_sources",
        )
    if renamed:
        messages.note(
            f"ids that another feature has got the name of their source before them: "
            f"{len(renamed):,} ({listed(sorted(renamed), 3)})"
        )
    samples, matrices = matrix.ids.samples, [matrix, *(each.matrix for each in ranked)]
    places = [np.arange(len(samples)), *(each.places(samples) for each in ranked)]
    return JoinedMatrix(matrices, places, tuple(members), FeatureIds.of(ids))


@dataclass(frozen=True)
class Coverage:
    """Which samples of the matrix the labels, a source or a similarity file have.

    Messages say ``samples that have a {noun}`` and ``5 samples have no {noun}``; its file is
    `where`, and `option` names it. With ``--samples union``, pairs that a source lacks are averaged
    over the other sources.
    """

    has: np.ndarray  # of bool, shape (n,)
    noun: str
    where: str
    option: str
    is_source: bool = False
    change: str | None = None  # of the ids, which would find most of the others
    mend: str | None = None  # what to do where it is not to leave samples out


def coverage_of(
    known: Collection[str],
    samples: Sequence[str],
    noun: str,
    where: str,
    option: str,
    rows: str = "--rows",
) -> Coverage:
    """Return which samples are among those that are known of a file; none is an `InputError`.

    `rows` says what else to check then, such as --rows.
    """
    known = dict.fromkeys(known)  # errors name the first of the file
    has = np.array([sample in known for sample in samples])
    if not has.any():
        raise without_common_ids(f"a {noun}", where, list(known), samples, option, rows)
    change = None if has.all() else likely_change(samples, list(known))
    return Coverage(has, noun, where, option, change=change)


def coverage_of_source(source: Source, samples: Sequence[str]) -> Coverage:
    """Return which samples a source has."""
    spec, rows = source.spec, "--rows"
    if spec.kind == "profile" and spec.rows == "samples":
        rows = "remove rows=samples if its rows are features"
    elif spec.kind == "profile":
        rows = "give rows=samples if its rows are samples, or --rows samples if those of the "
        rows += "matrix are"
    known = samples if source.samples is None else source.samples
    what = (f"place in source {spec.name}", spec.path or spec.kind, f"source.{spec.name}")
    return replace(coverage_of(known, samples, *what, rows), is_source=True)


def choose_samples(
    config: RankConfig, samples: Sequence[str], coverages: Sequence[Coverage]
) -> np.ndarray:
    """Return the indices of the samples to use, as ``--samples`` decides.

    Raises InputError when samples are lacking, under ``--samples error``; when labels lack some, or
    no source has a sample, under ``union``; when fewer than two are left.
    """
    n, union = len(samples), config.samples == "union"
    sources = [each for each in coverages if each.is_source]
    for each in coverages if config.samples != "intersect" else ():
        without = [samples[int(i)] for i in np.flatnonzero(~each.has)]
        if without and not (union and each.is_source):
            hint = "leave them out with --samples intersect"
            if each.is_source:
                hint += ", or average over the sources that have them with --samples union"
            else:
                hint = f"give them a {each.noun}, or {hint}"
            hint = f"{each.change}, else {hint}" if each.change else each.mend or hint
            raise InputError(
                f"{len(without):,} of {n:,} samples have no {each.noun}",
                where=f"{each.where}: {listed(without)}",
                hint=hint,
                option=("samples", each.option),
            )
    everyone = np.ones(n, bool)
    if union:
        known = np.logical_or.reduce([each.has for each in sources])
        without = [samples[int(i)] for i in np.flatnonzero(~(known & everyone))]
        if without:
            raise InputError(
                f"{len(without):,} of {n:,} samples are in no source",
                where=listed(without),
                hint="add --source expression=target:, which has all samples, or leave them out "
                "with --samples intersect",
                option="samples",
            )
        return np.arange(n)
    common = np.logical_and.reduce([everyone, *(each.has for each in coverages)])
    if common.sum() < min(2, n):
        raise InputError(
            f"{int(common.sum())} of the {n:,} samples can be used: too few",
            where="samples that have " + " and ".join(f"a {each.noun}" for each in coverages),
            hint="check the sample ids of each, or remove one of them",
            option=tuple(each.option for each in coverages),
        )
    return np.flatnonzero(common)
