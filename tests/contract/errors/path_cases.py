"""Every path that a command takes, and a valid command line around each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from sfs_cli.cli.app import app, commands_of, run
from sfs_cli.options.paths import READS
from tests.making_commands import AB, good, h5ad, labels, table, text, values


@dataclass(frozen=True)
class Taken:
    """A path that a command takes."""

    verb: str
    name: str  # the attribute of the option or argument
    flag: str  # empty for an argument
    use: str  # what the path is used for

    @property
    def label(self) -> str:
        return f"{self.verb} {self.flag or self.name.upper()}"


def _parameters() -> Iterator[tuple[str, click.Parameter, str]]:
    """Yield every parameter of every command that names a path, and what it is used for."""
    with click.Context(app) as ctx:
        for verb, command in commands_of(app, ctx):
            declared = getattr(command, "declared", {})
            for parameter in command.params:
                o = declared.get(parameter.name)
                use = getattr(parameter, "path", "") or (o.path if o is not None else "")
                if o is not None and (o.patterns or o.name in ("source", "ranking_of")):
                    use = READS
                if use:
                    yield verb, parameter, use


TAKEN = [
    Taken(
        verb,
        str(parameter.name),
        "" if isinstance(parameter, click.Argument) else max(parameter.opts, key=len),
        use,
    )
    for verb, parameter, use in _parameters()
]
"""All paths of all commands."""

FORMS = {
    "event": "{}:tissue",
    "source": "a=profile:{}",
    "ranking_of": "a=--method spec --source b=profile:{}",
}
"""How a path is written where it is only a part of the value."""
NEEDS = {
    "event": ["--labels", "LABELS"],
    "censored": ["--labels", "LABELS"],
    "module_traits": ["--modules", "--out", "OUT"],
    "given_": ["--method", "mrsf"],
    "donors": ["--labels", "LABELS"],
    "sets": ["--out", "OUT"],
    "id_map": ["--collapse", "mean"],
}
"""What an option needs beside it to have an effect."""


def study(folder: Path) -> dict[str, str]:
    """Make good files of every kind in a folder; return their paths by what they are."""
    m = good(folder, "m.csv")
    found = {
        "matrix": m,
        "h5ad": h5ad(folder),
        "labels": labels(folder, AB),
        "profile": text(folder, table(values(5), [f"p{i}" for i in range(5)]), "profile.csv"),
        "config": text(folder, "matrix: m.csv\nmethod: spec\n", "run.yaml"),
        "store": str(folder / "m.store"),
        "plan": str(folder / "plan"),
        "result": str(folder / "result"),
    }
    assert run(["convert", m, found["store"], "-q"]) == 0
    assert run(["rank", m, "--method", "spec", "--out", found["result"], "-q"]) == 0
    plan = ["shard", "init", found["plan"], m, "--method", "spec", "--shards", "1", "-q"]
    assert run(plan) == 0
    assert run(["shard", "run", found["plan"], "1", "-q"]) == 0
    return found


def command(taken: Taken, path: str, files: dict[str, str], folder: Path) -> list[str]:
    """Return a command line in which one parameter is a path and the others are good."""
    out, m = str(folder / "out"), files["matrix"]
    table_of = f"{files['result']}/ranking.tsv"
    bases: dict[str, list[str]] = {
        "rank": ["rank", m],
        "shard init": ["shard", "init", str(folder / "other-plan"), m, "--shards", "1"],
        "shard run": ["shard", "run", files["plan"], "1"],
        "shard merge": ["shard", "merge", files["plan"]],
        "shard status": ["shard", "status", files["plan"]],
        "aggregate": ["aggregate", table_of, table_of],
        "evaluate": ["evaluate", m],
        "compare": ["compare", m],
        "select": ["select", files["result"], "--top", "2"],
        "report": ["report", files["result"]],
        "fuse": ["fuse", m, "--source", f"x=profile:{files['profile']}"],
        "inspect": ["inspect", m],
        "convert": ["convert", m, str(folder / "other.store")],
    }
    words = list(bases[taken.verb])
    first = 3 if taken.verb == "shard init" else 1  # where the matrix or another input is
    places = {"matrix": first, "store": 2, "plan": 2, "result": 1, "rankings": 1}
    if taken.name == "files":
        words.insert(first + 1, path)
    elif not taken.flag:
        words[places[taken.name]] = path
    else:
        words += [taken.flag, FORMS.get(taken.name, "{}").format(path)]
    # a plan has no output yet: sets are for that of `sfs shard merge`
    needs = [] if (taken.verb, taken.name) == ("shard init", "sets") else NEEDS.get(taken.name, [])
    words += [w.replace("OUT", out).replace("LABELS", files["labels"]) for w in needs]
    if taken.verb == "compare" and taken.name not in ("list_", "ranking_of"):
        words += ["--method", "variance"]
    if taken.verb in ("rank", "shard init") and not {"--method", "--config"} & {*words}:
        words += ["--method", "spec"]
    if taken.name == "write_h5ad" and taken.verb == "rank":
        words[1] = files["h5ad"]
    if taken.name == "write_matrix":
        words += ["--force"]
    if taken.verb == "fuse" and taken.name != "target":
        words += ["--out", str(folder / "fused.npz")]
    if taken.verb == "shard merge" and taken.name != "out":
        words += ["--out", out]
    return words
