"""Outputs that cannot be written."""

from __future__ import annotations

import shutil
from pathlib import Path

from sfs_cli.cli.app import run
from tests.making_commands import (
    EXISTS,
    USAGE,
    bad,
    built_store,
    folder_of_things,
    good,
    h5ad,
    table,
    text,
    values,
)


def ranked(folder: Path, *options: str) -> list[str]:
    """Rank into ``out``, and return the same command with other options."""
    command = ["rank", good(folder), "--out", str(folder / "out")]
    assert run([*command, "-q"]) == 0
    return [*command, *options]


def ranked_then_changed(folder: Path) -> list[str]:
    command = ranked(folder)
    text(folder, table(values() + 1), "good.csv")
    return command


def ranked_then_deleted(folder: Path) -> list[str]:
    command = ranked(folder)
    (folder / "out" / "report.html").unlink()
    return command


def into(folder: Path, out: str) -> list[str]:
    return ["rank", good(folder), "--out", out]


def copy_onto_existing(folder: Path) -> list[str]:
    path = h5ad(folder)
    shutil.copy(path, folder / "copy.h5ad")
    return ["rank", path, "--write-h5ad", str(folder / "copy.h5ad")]


def copy_onto_itself(folder: Path) -> list[str]:
    path = h5ad(folder)
    return ["rank", path, "--write-h5ad", path, "--force"]


def convert_onto_another_store(folder: Path) -> list[str]:
    path = built_store(folder)
    other = text(folder, table(values() + 1), "other.csv")
    return ["convert", other, str(path)]


def convert_below_file(folder: Path) -> list[str]:
    return ["convert", good(folder), text(folder, "x", "plain") + "/m.store"]


def dangling(folder: Path) -> str:
    path = folder / "link"
    path.symlink_to("nowhere")
    return str(path)


def convert_onto_folder(folder: Path) -> list[str]:
    return ["convert", good(folder), str(folder_of_things(folder))]


OUTPUTS = [
    bad(
        "--out holds another run",
        lambda f: ranked(f, "--ranking", "phi1"),
        "out",
        "another run; ranking.tsv; --force",
        code=EXISTS,
    ),
    bad(
        "--out holds the run of other data",
        ranked_then_changed,
        "out",
        "another run; --force",
        code=EXISTS,
    ),
    bad(
        "--out holds this run without its page",
        ranked_then_deleted,
        "report.html",
        "this result; gone or changed; --force",
        code=EXISTS,
    ),
    bad("--out is a file", lambda f: into(f, text(f, "x", "plain")), "plain", "is a file"),
    bad(
        "--out below a file",
        lambda f: into(f, text(f, "x", "plain") + "/out"),
        "plain/out",
        "--out; not a directory|file",
    ),
    bad("--out in /proc", lambda f: into(f, "/proc/sfs/out"), "/proc/sfs/out", "--out"),
    bad(
        "--scratch below a file",
        lambda f: ["rank", good(f), "--scratch", text(f, "x", "plain") + "/deep"],
        "plain/deep",
        "--scratch",
    ),
    bad(
        "--out is a link that leads nowhere",
        lambda f: into(f, dangling(f)),
        "a link to nowhere",
        "--out; does not exist",
    ),
    bad(
        "convert to a link that leads nowhere",
        lambda f: ["convert", good(f), dangling(f)],
        "a link to nowhere",
        "STORE; does not exist",
    ),
    bad(
        "--log-file in a folder that nobody makes",
        lambda f: ["rank", good(f), "--log-file", str(f / "logs" / "log.txt")],
        "--log-file",
        "logs",
    ),
    bad(
        "--log-file is the record of a result that is not there yet",
        lambda f: [*into(f, str(f / "out")), "--log-file", str(f / "out" / "run.json")],
        "--log-file",
        "out/run.json",
        code=USAGE,
    ),
    bad(
        "--log-file is a folder",
        lambda f: ["rank", good(f), "--log-file", str(f)],
        "--log-file",
        "folder|directory",
    ),
    bad("--write-h5ad onto another file", copy_onto_existing, "copy.h5ad", "--force", code=EXISTS),
    bad("--write-h5ad onto the input", copy_onto_itself, "m.h5ad", "input", code=USAGE),
    bad(
        "convert onto a file",
        lambda f: ["convert", good(f), text(f, "x", "plain")],
        "plain",
        "exists; another name",
        code=EXISTS,
    ),
    bad(
        "convert onto another store",
        convert_onto_another_store,
        "m.store",
        "exists; --force",
        code=EXISTS,
    ),
    bad(
        "convert onto a folder", convert_onto_folder, "things", "exists; another name", code=EXISTS
    ),
    bad("convert below a file", convert_below_file, "plain", "written"),
    bad(
        "convert of a store",
        lambda f: ["convert", str(built_store(f)), str(f / "x")],
        "m.store",
        "store already",
        code=USAGE,
    ),
    bad(
        "convert of no file",
        lambda f: ["convert", str(f / "no.csv"), str(f / "x")],
        "no.csv",
        "no such file",
    ),
]
