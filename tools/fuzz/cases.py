"""Cases: files, a command, and how the end is judged; those made by mutations of seeds."""

from __future__ import annotations

import resource
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

from tools.fuzz.mutations import mutate
from tools.fuzz.oracle import EXISTS, OK, REFUSED
from tools.fuzz.runner import MEMORY, ChildDiedError, in_child
from tools.fuzz.seeds import Files, Seed

OFTEN = ("h5ad", "h5ad", "h5mu", "10x", "store", "similarity")
"""Formats that get further turns: their libraries check little of what they read."""
WITH_MEMORY = (
    *("rank", "fuse", "plan", "convert", "evaluate", "compare", "robustness", "select"),
    "report",
)
DRAWS = 5
"""How often another damage is drawn where one cannot be made."""
EDITING = 10.0
"""Seconds for damaging a file."""
EDITING_BYTES = 6 << 30
"""Address space of the process that damages a file."""
WITH_THREADS = tuple(verb for verb in WITH_MEMORY if verb != "convert")


@dataclass(frozen=True)
class Case:
    """A command on files that are damaged or hostile.

    Attributes
    ----------
    name, format : str
        The case, and the group of formats that it is counted in.
    command : str
        Commands joined by ``&&``, without the options that `steps` adds.
    prepare : callable
        Writes the files into a folder.
    is_right, table : str
        How a result is judged, and how other programs read the matrix (see `tools.fuzz.oracle`).
    codes : frozenset of int
        The exit codes that are allowed.
    undamaged : callable or None
        Writes the files as they were, for the clean result.
    apart : bool
        Whether `prepare` runs in a process of its own, outside of the limits on the commands: it
        may take long, or much memory. What it starts does not live on beside the commands.
    """

    name: str
    format: str
    command: str
    prepare: Callable[[Path], None]
    is_right: str = "valid"
    table: str = ""
    codes: frozenset[int] = REFUSED
    undamaged: Callable[[Path], None] | None = None
    apart: bool = False
    stdin: bytes = b""
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def steps(self) -> list[list[str]]:
        """The arguments of each command, with limits on memory and threads."""
        found = []
        for command in self.command.split(" && "):
            words = shlex.split(command)
            if words[0] in WITH_MEMORY and "--memory" not in words:
                words += ["--memory", MEMORY]
            if words[0] in WITH_THREADS and "--threads" not in words:
                words += ["--threads", "1"]
            found.append(words)
        return found


def write_files(files: Files, folder: Path) -> None:
    """Write files by their paths."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


def undamaged(seeds: Sequence[Seed]) -> list[Case]:
    """Return every command on the files as they are; all must end with 0."""
    return [
        Case(
            f"{seed.name}, undamaged",
            seed.format,
            command,
            partial(write_files, seed.files),
            "valid" if is_right == "same" else is_right,
            seed.table,
            frozenset({OK}),
        )
        for seed in seeds
        for command, is_right, _ in seed.commands
    ]


def mutated(seeds: Sequence[Seed], others: Sequence[bytes], seed: int, index: int) -> Case:
    """Return case `index` of a series: a seed, one of its files damaged, and one of its commands.

    Formats take turns; everything else is drawn from `seed` and `index` alone.
    """
    rng = Random(f"{seed} {index}")
    formats = sorted({s.format for s in seeds})
    turns = [*formats, *(name for name in OFTEN if name in formats)]
    chosen = rng.choice([s for s in seeds if s.format == turns[index % len(turns)]])
    commands = chosen.commands
    command, is_right, _ = rng.choices(commands, [weight for *_, weight in commands])[0]
    target = rng.choice(chosen.targets)
    return Case(
        f"{chosen.name}, {target}",
        chosen.format,
        command,
        partial(_write_damaged, chosen.files, target, f"{seed} {index} files", others),
        is_right,
        chosen.table,
        # results that are damaged are those of another run
        REFUSED | {EXISTS} if chosen.format == "results" else REFUSED,
        apart=True,
        undamaged=partial(write_files, chosen.files),
    )


def _write_damaged(
    files: Files, target: str, seed: str, others: Sequence[bytes], folder: Path
) -> None:
    changed, done = _damage(target, files[target], seed, others)
    write_files(files | {target: changed}, folder)
    (folder.parent / "done").write_text(done)


def _damage(target: str, content: bytes, seed: str, others: Sequence[bytes]) -> tuple[bytes, str]:
    """Return what `mutate` does, or the first of its further turns that comes to an end.

    It edits some files by HDF5, which may crash on what an earlier edit has damaged, or never end.
    """
    for turn in range(DRAWS):
        rng = Random(f"{seed} again {turn}" if turn else seed)
        try:
            return in_child(partial(_within_memory, target, content, rng, others), EDITING)
        except ChildDiedError:
            continue
    raise RuntimeError(f"none of {DRAWS} ways to damage {target} came to an end")


def _within_memory(
    target: str, content: bytes, rng: Random, others: Sequence[bytes]
) -> tuple[bytes, str]:
    resource.setrlimit(resource.RLIMIT_AS, (EDITING_BYTES, EDITING_BYTES))
    return mutate(target, content, rng, others)
