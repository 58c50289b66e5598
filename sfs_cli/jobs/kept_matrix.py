"""The matrix of a run, kept as a store together with all that was said of it when it was read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from sfs_cli.compute.parts import replace_file
from sfs_cli.config import RankConfig
from sfs_cli.errors import InputError
from sfs_cli.io.atomic import replacing
from sfs_cli.jobs import inputs
from sfs_cli.jobs.inputs import Opened
from sfs_cli.logs import Messages
from sfs_cli.store.disk import open_store
from sfs_cli.store.manifest import is_store

STORE = "store"
READING = "reading.json"


class KeptMatrix:
    """A matrix that is read once, and from its store from then on.

    Parameters
    ----------
    folder : Path
        Where the store is kept; it exists.
    fixed : bool
        Whether others read it too, so that it may not be made again.
    """

    def __init__(self, folder: Path, *, fixed: bool = False) -> None:
        self.fixed = fixed
        self.store = folder / STORE
        self.reading = folder / READING

    def load(
        self, config: RankConfig, known_samples: list[str], memory: int, messages: Messages
    ) -> Opened:
        """Return the matrix of a configuration, which is read only if it has not been before.

        Warnings are given again, so that a report has them.

        Raises
        ------
        InputError
            For anything that cannot be read.
        """
        if is_store(Path(config.matrix)):
            return inputs.load(config, known_samples, memory, self.store, messages)
        kept = self._again(messages)
        if kept is not None:
            return kept
        if self.fixed:
            raise InputError(
                "the matrix of the plan is damaged",
                where=str(self.store),
                hint="make the plan again: sfs shard init --force",
            )
        self.remove()
        said = len(messages.warnings)
        with replacing(self.store) as partial:
            partial.mkdir()
            opened = inputs.load(config, known_samples, memory, partial, messages, keep=True)
        facts = {
            "facts": opened.facts,
            "graphs": list(opened.graphs),
            "warnings": messages.warnings[said:],
        }
        text = json.dumps(facts, indent=1)
        replace_file(self.reading, lambda file: file.write(text.encode()))
        return Opened(open_store(self.store), opened.facts, opened.graphs)

    def is_whole(self) -> bool:
        """Tell whether there is a matrix to go on with."""
        return self.reading.exists() and is_store(self.store)

    def remove(self) -> None:
        """Remove what is kept, whole or not."""
        self.reading.unlink(missing_ok=True)
        for folder in self.store.parent.glob(f"*{STORE}*"):
            shutil.rmtree(folder, ignore_errors=True)

    def _again(self, messages: Messages) -> Opened | None:
        """Return the matrix that was read before; None where it is not whole."""
        try:
            known: dict[str, Any] = json.loads(self.reading.read_text(encoding="utf-8"))
            opened = Opened(open_store(self.store), known["facts"], tuple(known["graphs"]))
            warnings = [str(text) for text in known["warnings"]]
        except (OSError, ValueError, KeyError, TypeError, InputError):
            return None
        messages.detail(f"the matrix is read from {self.store}")
        for warning in warnings:
            messages.warn(warning)
        return opened
