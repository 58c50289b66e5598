"""Opening the knowledge sources of a run, and the sample ids that they tell."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from sfs_cli.config import RankConfig
from sfs_cli.errors import InputError
from sfs_cli.io.base import ReadOptions
from sfs_cli.io.orientation import BY_CONVENTION, CARRY_SAMPLES
from sfs_cli.io.registry import open_matrix
from sfs_cli.io.table import read_labels
from sfs_cli.jobs import inputs
from sfs_cli.logs import Messages
from sfs_cli.sources.base import Opening, Source
from sfs_cli.sources.kinds import open_source
from sfs_cli.sources.spec import SourceSpec
from sfs_cli.store.manifest import is_store
from sfs_cli.store.matrix import Matrix


def known_samples(config: RankConfig, table: Mapping[str, str] | None) -> list[str]:
    """Return sample ids from labels and sources, which may tell what a row of the matrix is.

    A profile of which it is not certain what a row is says nothing: its columns may be genes of
    the matrix as well as samples.

    Parameters
    ----------
    config : RankConfig
        Names the sources.
    table : mapping of str to str, optional
        Sample id to class.
    """
    known = list(table or ())
    if config.rows != "auto":
        return known
    for spec in config.source:
        if spec.kind == "labels" and spec.path and not spec.path.startswith("obs:"):
            known += read_labels(spec.path)
        elif spec.kind == "hierarchy":
            from sfs_cli.io.hierarchy import read_hierarchy

            known += read_hierarchy(spec.path).paths
        elif spec.kind == "profile" and not is_store(Path(spec.path)):
            reader = open_matrix(Path(spec.path), ReadOptions(layer=spec.layer))
            if "features" in (reader.fixed_rows, spec.rows):
                known += reader.column_ids
            reader.close()
    return known


def open_sources(
    config: RankConfig,
    opened: inputs.Opened,
    labels: Mapping[str, str] | None,
    memory: int,
    folder: Path,
    messages: Messages,
) -> list[Source]:
    """Open the sources of a configuration, in its order.

    Parameters
    ----------
    config : RankConfig
        Names them.
    opened : Opened
        The matrix.
    labels : mapping of str to str, optional
        Sample id to class, of the run.
    memory : int
        Bytes that may be used.
    folder : Path
        For profiles that do not stay in memory.
    messages : Messages
        Told of what was decided.

    Raises
    ------
    InputError
        When one cannot be read, or could tell that the matrix lies the other way round.
    """
    ids = opened.matrix.ids

    def load(spec: SourceSpec) -> Matrix:
        asked = RankConfig(
            spec.path, rows=spec.rows or "auto", layer=spec.layer, dtype=config.dtype
        )
        room = folder / f"source-{spec.name}"
        room.mkdir()
        profile = inputs.load(asked, list(ids.samples), memory, room, messages)
        _refuse_two_ways(config, opened, spec, profile)
        return profile.matrix

    opening = Opening(config.matrix, ids, labels, load)
    return [open_source(spec, opening) for spec in config.source]


def _refuse_two_ways(
    config: RankConfig, opened: inputs.Opened, spec: SourceSpec, profile: inputs.Opened
) -> None:
    """Refuse a profile with the ids of the matrix the other way round, where nothing tells which.

    Raises
    ------
    InputError
        When features and samples could as well be taken for one another in both.
    """
    guessed = opened.facts.get("orientation") == BY_CONVENTION
    turned = profile.facts.get("orientation") == CARRY_SAMPLES
    if not (guessed and turned):
        return
    features = set(opened.matrix.ids.features)
    if any(name in features for name in profile.matrix.ids.features):
        raise InputError(
            f"a row of the matrix is a column of source {spec.name}, and a column a row: it cannot "
            "be told which of the two has features in rows",
            where=f"{config.matrix} and {spec.path}",
            hint="say what a row of the matrix is, with --rows features or --rows samples",
        )
