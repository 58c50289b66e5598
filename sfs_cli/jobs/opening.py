"""From a configuration to work that can begin: everything read, aligned and planned."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfs_cli.compute import memory as memory_of
from sfs_cli.compute.parts import PartFolder
from sfs_cli.config import RankConfig
from sfs_cli.errors import located
from sfs_cli.io.scratch import scratch_folder
from sfs_cli.jobs import inputs
from sfs_cli.jobs.executors import starting
from sfs_cli.jobs.kept_matrix import KeptMatrix
from sfs_cli.jobs.open_sources import known_samples, open_sources
from sfs_cli.jobs.work import Work, put_together
from sfs_cli.logs import Messages
from sfs_cli.sources.spec import KINDS
from sfs_cli.store.transforms import parse as parse_transform

if TYPE_CHECKING:
    from distributed import Client


@dataclass(frozen=True)
class Kept:
    """What outlives a run, so that another one can go on.

    Attributes
    ----------
    parts : PartFolder, optional
        Keeps the parts of passes.
    matrix : KeptMatrix, optional
        Keeps the matrix.
    announce : callable, optional
        Told of the scratch folder, which is to be removed if the run is killed.
    """

    parts: PartFolder | None = None
    matrix: KeptMatrix | None = None
    announce: Callable[[Path], None] | None = None


NOTHING = Kept()
"""Of a run that is done again from the start."""


@contextmanager
def opened_work(
    config: RankConfig,
    messages: Messages,
    kept: Kept = NOTHING,
    client: Client | None = None,
) -> Iterator[tuple[Work, dict[str, Any]]]:
    """Read what a configuration names; give the work, and the facts of what was read.

    What does not stay in memory lies in a scratch folder, which is gone at the end.

    Parameters
    ----------
    config : RankConfig
        What is asked for.
    messages : Messages
        Told of decisions.
    kept : Kept
        What outlives the run.
    client : distributed.Client, optional
        Of a Dask cluster to run on.

    Raises
    ------
    SfsError
        For anything the user can mend.
    """
    memory = memory_budget(config)
    steps = parse_transform(config.transform)
    table = inputs.read_label_table(config)
    with ExitStack() as stack:
        scratch = Path(config.scratch) if config.scratch else None
        folder = stack.enter_context(scratch_folder(scratch, kept.announce))
        start = stack.enter_context(starting(config, client, folder, messages))
        known = known_samples(config, table)
        if kept.matrix is not None:
            opened = kept.matrix.load(config, known, memory, messages)
        else:
            opened = inputs.load(config, known, memory, folder, messages)
        stack.enter_context(located(config.matrix))
        labels = inputs.align_labels(config, opened.matrix.ids, table, messages)
        classes = None if labels is None else labels.of(opened.matrix.ids.samples)
        sources = open_sources(config, opened, classes, memory, folder, messages)
        _tell_of_renamed(config, opened, messages)
        work = put_together(
            config, opened, labels, sources, steps, memory, messages, start, kept.parts
        )
        yield work, opened.facts


def _tell_of_renamed(config: RankConfig, opened: inputs.Opened, messages: Messages) -> None:
    """Say that sources about genes find the first of features that had one id."""
    renamed = opened.facts.get("renamed")
    if renamed and any("id_map" in KINDS[spec.kind] for spec in config.source):
        messages.warn(
            f"sources about genes find the first feature of each id alone, not the {renamed:,} "
            "that were given suffixes; --id-map can name those"
        )


def memory_budget(config: RankConfig) -> int:
    """Return the bytes a run may use."""
    return memory_of.parse_size(config.memory) if config.memory else memory_of.default_memory()
