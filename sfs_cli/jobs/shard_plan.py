"""The folder that shards share: what is ranked and how, the matrix, and the parts they make.

``plan.json`` holds the configuration and what it was made from, ``store/`` the matrix where it was
no store already, and ``parts/`` what the shards have made.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sfs_cli import provenance
from sfs_cli.config import RankConfig, parse_source
from sfs_cli.errors import InputError, SfsError
from sfs_cli.jobs.resume import identity_of
from sfs_cli.store.manifest import is_store

NAME = "plan.json"
FORMAT = "sfs-shards"
VERSION = 1
_AGAIN = "make the plan again: sfs shard init --force"


@dataclass(frozen=True)
class ShardPlan:
    """What shards work on.

    Attributes
    ----------
    folder : Path
        The plan; absolute.
    config : RankConfig
        What is asked for, as it was given.
    shards : int
        How many there are.
    inputs : list of dict
        What is read, with digests.
    fingerprint : str
        Of the work.
    home : str
        The folder that paths are relative to.
    passes : int, optional
        Passes that are made in parts, where that is known beforehand.
    """

    folder: Path
    config: RankConfig
    shards: int
    inputs: list[dict[str, Any]]
    fingerprint: str
    home: str
    passes: int | None

    @property
    def identity(self) -> str:
        """What the parts are known by."""
        return identity_of(self.fingerprint)

    @property
    def parts(self) -> Path:
        """Where the parts are: those of another plan of the same name were elsewhere."""
        return self.folder / "parts" / self.identity[:12]

    def write(self, folder: Path) -> None:
        """Write ``plan.json``."""
        content = {
            "format": FORMAT,
            "version": VERSION,
            "config": _plain(self.config),
            "shards": self.shards,
            "passes": self.passes,
            "inputs": self.inputs,
            "fingerprint": self.fingerprint,
            "home": self.home,
            "versions": provenance.versions(),
        }
        (folder / NAME).write_text(provenance.dumps(content), encoding="utf-8")

    @contextmanager
    def at_home(self) -> Iterator[None]:
        """Work where the plan was made, so that paths mean the same, in reports too."""
        if not Path(self.home).is_dir():
            yield  # on another machine paths are taken from the current folder
            return
        with contextlib.chdir(self.home):
            yield

    def check_inputs(self) -> None:
        """Refuse inputs that have changed since the plan was made.

        Raises
        ------
        InputError
            Which names the first.
        """
        for known in self.inputs:
            path = Path(known["path"])
            if known["role"] == "matrix" and not is_store(path) and not self._reads_graph():
                continue  # the plan has its own copy
            try:
                same = provenance.describe_input(path)["sha256"] == known["sha256"]
            except OSError as error:
                reason = (error.strerror or str(error)).lower()
                raise InputError(
                    f"{path} cannot be read: {reason}",
                    where=f"{self.folder}, from {self.home}",
                    hint="paths are from the folder in which the plan was made: give absolute "
                    "ones to `sfs shard init` where that is not on every machine",
                ) from None
            if not same:
                raise InputError(
                    f"{path} has changed since the plan was made",
                    where=str(self.folder / NAME),
                    hint=f"put it back as it was, or {_AGAIN}",
                )

    def _reads_graph(self) -> bool:
        """Tell whether a sample graph may be read from the file of the matrix."""
        held = Path(str(self.config.matrix)).suffix in (".h5ad", ".h5mu", ".zarr")
        inside = any(source.path.startswith("obsp:") for source in self.config.source)
        graph = self.config.graph
        return held and (inside or graph is None or graph.startswith("obsp:"))


def passes(count: int) -> str:
    """Write a number of passes."""
    return f"{count} pass{'' if count == 1 else 'es'}"


def read_plan(path: str | Path) -> ShardPlan:
    """Read a plan.

    Raises
    ------
    InputError
        When it is none, damaged, or made by another version.
    """
    folder = Path(path).absolute()
    file = folder / NAME
    if not file.exists():
        raise InputError(
            f"{path} is not a plan of shards",
            where=f"there is no {file}",
            hint="make one first: sfs shard init PLAN MATRIX --shards N",
        )
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        kind, version = content["format"], content["version"]
        known = content["versions"]
        plan = ShardPlan(
            folder,
            _config(content["config"]),
            int(content["shards"]),
            list(content["inputs"]),
            str(content["fingerprint"]),
            str(content["home"]),
            content["passes"],
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, SfsError) as error:
        raise InputError("the plan cannot be read", where=f"{file}: {error}", hint=_AGAIN) from None
    _check_versions(file, (kind, version), known)
    return plan


def _check_versions(file: Path, made: tuple[Any, Any], known: dict[str, str]) -> None:
    if made != (FORMAT, VERSION):
        raise InputError(
            f"the plan is of format {made[0]} {made[1]}; this version reads {FORMAT} {VERSION}",
            where=str(file),
            hint=_AGAIN,
        )
    here = provenance.versions()
    for name in sorted({*here, *known} - {"pyarrow"}):
        if known.get(name) != here.get(name):
            raise InputError(
                f"the plan was made with {name} {known.get(name, 'not installed')}; here it is "
                f"{here.get(name, 'not installed')}",
                where=str(file),
                hint=f"the last digits of parts would differ: use one environment, or {_AGAIN}",
            )


def _plain(config: RankConfig) -> dict[str, Any]:
    sources = [source.text() for source in config.source]
    return asdict(config) | {"source": sources, "members": list(config.members)}


def _config(plain: dict[str, Any]) -> RankConfig:
    sources = tuple(parse_source(text) for text in plain["source"])
    return RankConfig(**{**plain, "source": sources, "members": tuple(plain["members"])})
