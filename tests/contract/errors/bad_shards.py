"""Plans of shards that cannot be made or used."""

from __future__ import annotations

import json
from pathlib import Path

from sfs_cli.cli.app import run
from tests.making_commands import AB, EXISTS, USAGE, bad, folder_of_things, good, labels, text

SPEC = ("--method", "spec", "--similarity", "rbf")


def planned(folder: Path, *words: str) -> list[str]:
    """Make a good plan of two shards, and return a command on it."""
    plan = str(folder / "plan")
    assert run(["shard", "init", plan, good(folder), *SPEC, "--shards", "2", "-q"]) == 0
    return ["shard", *(plan if word == "PLAN" else word for word in words)]


def broken(folder: Path, content: object) -> list[str]:
    command = planned(folder, "run", "PLAN", "1")
    text(folder / "plan", content if isinstance(content, str) else json.dumps(content), "plan.json")
    return command


def changed(folder: Path, name: str = "plan.json", **facts: object) -> list[str]:
    command = planned(folder, "run", "PLAN", "1")
    path = folder / "plan" / name
    path.write_text(json.dumps(json.loads(path.read_text()) | facts))
    return command


def without_parts(folder: Path) -> list[str]:
    command = planned(folder, "status", "PLAN")
    for path in (folder / "plan" / "parts").rglob("*.json"):
        path.unlink()
    return command


def merged_below_nothing(folder: Path) -> list[str]:
    return planned(folder, "merge", "PLAN", "--out", str(folder / "out"))


def init(folder: Path, *words: str) -> list[str]:
    return ["shard", "init", str(folder / "plan"), good(folder), *words]


def solver(folder: Path) -> list[str]:
    return init(
        folder,
        *("--method", "mrsf", "--similarity", "label"),
        *("--labels", labels(folder, AB), "--shards", "2"),
    )


def onto_folder(folder: Path) -> list[str]:
    return ["shard", "init", str(folder_of_things(folder)), good(folder), "--shards", "2"]


SHARDS = [
    bad("init without shards", lambda f: init(f), "--shards", "missing option", code=USAGE),
    bad("init of no shard", lambda f: init(f, "--shards", "0"), "--shards", "1 to", code=USAGE),
    bad(
        "init of too many shards",
        lambda f: init(f, "--shards", "99999"),
        "--shards",
        "10,000",
        code=USAGE,
    ),
    bad(
        "init without a matrix",
        lambda f: ["shard", "init", str(f / "plan"), "--shards", "2"],
        "MATRIX",
        "--config",
        code=USAGE,
    ),
    bad(
        "init of a method without shared passes",
        solver,
        "--method mrsf",
        "sfs rank",
        code=USAGE,
    ),
    bad("init onto a folder", onto_folder, "things", "not the plan; another name", code=EXISTS),
    bad(
        "init below a file",
        lambda f: ["shard", "init", text(f, "x", "plain") + "/p", good(f), "--shards", "2"],
        "plain/p",
        "plan; not a directory|file",
    ),
    bad(
        "init with labels that do not fit",
        lambda f: init(
            *(f, "--method", "fisher", "--labels"),
            *(labels(f, AB, [f"x{i}" for i in range(6)]), "--shards", "2"),
        ),
        "labels.tsv",
        "none of the 6 samples",
    ),
    bad("run of no plan", lambda f: ["shard", "run", str(f), "1"], "plan", "shard init"),
    bad("run of a broken plan", lambda f: broken(f, "{"), "plan.json", "cannot be read; init"),
    bad("run of another file", lambda f: broken(f, []), "plan.json", "cannot be read; init"),
    bad(
        "run of a plan of the future",
        lambda f: changed(f, version=9),
        "plan.json",
        "sfs-shards 9; init",
    ),
    bad(
        "run of a plan with a wrong option",
        lambda f: changed(f, config={"matrix": "m", "source": [], "members": [], "method": "no"}),
        "plan.json",
        "changed or damaged; init",
    ),
    bad(
        "run of a plan whose matrix was read otherwise",
        lambda f: changed(f, "reading.json", graphs=["other"]),
        "store",
        "matrix of the plan is damaged; init",
    ),
    bad(
        "run of shard 0",
        lambda f: planned(f, "run", "PLAN", "0"),
        "shard 0",
        "2 shards; 1 to 2",
        code=USAGE,
    ),
    bad(
        "run of shard 3 of 2",
        lambda f: planned(f, "run", "PLAN", "3"),
        "shard 3",
        "2 shards; 1 to 2",
        code=USAGE,
    ),
    bad(
        "run of another number of shards",
        lambda f: planned(f, "run", "PLAN", "1-of-3"),
        "1-of-3",
        "2 shards; 2-of-2",
        code=USAGE,
    ),
    bad(
        "run of a shard that is no number",
        lambda f: planned(f, "run", "PLAN", "first"),
        "first",
        "1 to 2",
        code=USAGE,
    ),
    bad(
        "run of pass 0",
        lambda f: planned(f, "run", "PLAN", "1", "--pass", "0"),
        "--pass",
        "from 1",
        code=USAGE,
    ),
    bad(
        "run for no time",
        lambda f: planned(f, "run", "PLAN", "1", "--time-limit", "soon"),
        "--time-limit",
        "soon; 90m",
        code=USAGE,
    ),
    bad("status of a plan without parts", without_parts, "parts", "missing or damaged; init"),
    bad(
        "merge of missing parts",
        merged_below_nothing,
        "plan",
        "shard 2 of pass 1; all of pass 2; --finish",
    ),
    bad(
        "merge with coefficients of none",
        lambda f: planned(
            *(f, "merge", "PLAN", "--out", str(f / "out"), "--weights-out", str(f / "w.parquet"))
        ),
        "--weights-out",
        "no effect; mrsf",
        code=USAGE,
    ),
    bad(
        "merge without an output",
        lambda f: planned(f, "merge", "PLAN"),
        "--out",
        "missing option",
        code=USAGE,
    ),
    bad(
        "--time-limit of no time",
        lambda f: ["rank", good(f), "--time-limit", "1:30"],
        "--time-limit",
        "1:30; hours, minutes, seconds",
        code=USAGE,
    ),
]
