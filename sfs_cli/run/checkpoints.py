"""Checkpoints of a run: the matrix as it was read, and the sums of its passes.

With ``--resume`` they lie beside the output until the run is done; shards keep theirs in their
plan. Both are known by an identity: the work, and everything that decides how it is rounded.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sfs_cli import provenance
from sfs_cli.compute.checkpoints import Checkpoints, replace_file
from sfs_cli.errors import InputError
from sfs_cli.io.files.atomic import beside, replacing
from sfs_cli.io.files.lock import Lock
from sfs_cli.logs import Messages
from sfs_cli.options import RankConfig
from sfs_cli.run import inputs
from sfs_cli.run.inputs import Opened
from sfs_cli.run.memory import thread_count
from sfs_cli.store.checksums import text_sum
from sfs_cli.store.disk import is_store, open_store

SUFFIX = "sfs-resume"
LAYOUT = 4
"""What checkpoints hold, and in which order sums are added; others are not used."""
STORE = "store"
READING = "reading.json"


def identity_of(fingerprint: str) -> str:
    """Return what identifies checkpoints: the work, and the versions that decide its rounding."""
    versions = provenance.deciding_versions()
    return hashlib.sha256(json.dumps([fingerprint, versions, LAYOUT]).encode()).hexdigest()


class MatrixCheckpoint:
    """A matrix that is read once, and from its store in `folder` from then on.

    Where it is `fixed`, others read it too, so that it may not be made again.
    """

    def __init__(self, folder: Path, *, fixed: bool = False) -> None:
        self.fixed = fixed
        self.store = folder / STORE
        self._hint = (
            "make the plan again: sfs shard init --force"
            if fixed
            else "run it again without --resume, which reads the matrix anew"
        )
        self.reading = folder / READING

    def load(
        self,
        config: RankConfig,
        known_samples: list[str],
        memory: int,
        _folder: Path,
        messages: Messages,
    ) -> Opened:
        """Do what `inputs.load` does, reading the matrix only if it was not read before.

        Warnings are given again, so that the report has them.
        """
        if is_store(Path(config.matrix)):
            return inputs.load(config, known_samples, memory, self.store, messages)
        if (opened := self._load_again(messages, thread_count(config.threads))) is not None:
            return opened
        if self.fixed:
            raise InputError(
                "the matrix of the plan is damaged",
                where=str(self.store),
                hint=self._hint,
            )
        self.remove()
        n_before = len(messages.warnings)
        with replacing(self.store) as partial:
            partial.mkdir()
            opened = inputs.load(config, known_samples, memory, partial, messages, kept={})
        facts = {
            "facts": opened.facts,
            "graphs": list(opened.graphs),
            "warnings": messages.warnings[n_before:],
        }
        text = json.dumps({**facts, "checksum": _checksum(facts)}, indent=1)
        replace_file(self.reading, lambda file: file.write(text.encode()))
        return replace(opened, matrix=open_store(self.store, hint=self._hint))

    def exists(self) -> bool:
        """Tell whether the matrix was read before."""
        return self.reading.exists() and is_store(self.store)

    def remove(self) -> None:
        """Remove what is kept, complete or not."""
        self.reading.unlink(missing_ok=True)
        for folder in self.store.parent.glob(f"*{STORE}*"):
            shutil.rmtree(folder, ignore_errors=True)

    def _load_again(self, messages: Messages, threads: int) -> Opened | None:
        """Return the matrix that was read before; None where it is incomplete or damaged.

        One that is not fixed can be made again, so all of it is checked; of one that is, each shard
        checks what it reads.
        """
        try:
            known: dict[str, Any] = json.loads(self.reading.read_text(encoding="utf-8"))
            if known.pop("checksum") != _checksum(known):
                return None
            store = open_store(self.store, hint=self._hint)
            if not self.fixed and store.damage(threads):
                return None
            opened = Opened(store, known["facts"], tuple(known["graphs"]))
            warnings = [str(text) for text in known["warnings"]]
        except (OSError, ValueError, KeyError, TypeError, RecursionError, InputError):
            return None
        messages.detail(f"the matrix is read from {self.store}")
        for warning in warnings:
            messages.warn(warning)
        return opened


def _checksum(facts: dict[str, Any]) -> str:
    return text_sum(json.dumps(facts))


@dataclass(frozen=True)
class RunCheckpoints:
    """What outlives a run, so that another one can continue."""

    passes: Checkpoints | None = None
    matrix: MatrixCheckpoint | None = None
    announce: Callable[[Path], None] | None = None  # receives the scratch folder


NO_CHECKPOINTS = RunCheckpoints()
"""For a run that starts from the beginning, and leaves nothing."""


def remove_checkpoints(output: Path) -> None:
    """Remove the checkpoints beside an output."""
    shutil.rmtree(beside(output, SUFFIX), ignore_errors=True)


@contextmanager
def checkpoints_beside(
    output: Path, fingerprint: str, lock: Lock, messages: Messages, *, resume: bool
) -> Iterator[RunCheckpoints]:
    """Give the checkpoints of a run; they are removed when the block ends without an error.

    Without `resume` nothing is kept, and checkpoints that are there are removed.
    """
    if not resume:
        remove_checkpoints(output)
        yield RunCheckpoints(announce=lock.leaves)
        return
    passes = Checkpoints(beside(output, SUFFIX))
    matrix = MatrixCheckpoint(passes.folder)
    if passes.claim(identity_of(fingerprint)):
        messages.note(f"{output}: continuing an interrupted run")
    try:
        yield RunCheckpoints(passes, matrix, lock.leaves)
    except BaseException:
        if not any(passes.folder.glob("pass-*")) and not matrix.exists():
            remove_checkpoints(output)
        raise
    remove_checkpoints(output)
