"""Cases: files, a command, and how the end is judged; those made by mutations of seeds."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

from tests.fuzz.mutations import mutate
from tests.fuzz.oracle import BAD, EXISTS, OK, REFUSED
from tests.fuzz.runner import MEMORY
from tests.fuzz.seeds import REFUSED_FORMAT, Files, Seed

OFTEN = ("h5ad", "h5ad", "h5mu", "10x", "store", "similarity")
"""Formats that get further turns: their libraries check little of what they read."""
WITH_MEMORY = (
    *("rank", "fuse", "plan", "convert", "evaluate", "compare", "robustness", "select"),
    "report",
)
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
        How a result is judged, and how other programs read the matrix (see `tests.fuzz.oracle`).
    codes : frozenset of int
        The exit codes that are allowed.
    undamaged : callable or None
        Writes the files as they were, for the clean result.
    """

    name: str
    format: str
    command: str
    prepare: Callable[[Path], None]
    is_right: str = "valid"
    table: str = ""
    codes: frozenset[int] = REFUSED
    undamaged: Callable[[Path], None] | None = None
    apart: bool = (
        False  # whether making the files takes so long, or so much, that it is done before
    )
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
            frozenset({BAD if seed.format == REFUSED_FORMAT else OK}),
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
        undamaged=None if chosen.format == REFUSED_FORMAT else partial(write_files, chosen.files),
    )


def _write_damaged(
    files: Files, target: str, seed: str, others: Sequence[bytes], folder: Path
) -> None:
    changed, done = mutate(target, files[target], Random(seed), others)
    write_files(files | {target: changed}, folder)
    (folder.parent / "done").write_text(done)
