"""Run several hundred commands with two versions of ``sfs`` and compare all that they do.

::

    python -m tools.compare --record DIR --run SFS
    python -m tools.compare --before SFS-or-DIR --after SFS-or-DIR --out table.md

A version is the path of its ``sfs``, or a command such as ``"python -m sfs_cli"``, or a folder that
``--record`` has made, with the inputs: later calls add what is not in it, so it has to be made anew
where the inputs change. Ends with 1 where anything differs.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from tools.compare.commands import Command, read_commands
from tools.compare.comparing import compare
from tools.compare.making import make_inputs
from tools.compare.options import documented, not_taken
from tools.compare.report import write_report
from tools.compare.running import Place, Program, run_all

HELP = "options.json"


def main(arguments: list[str] | None = None) -> int:
    """Run the command line of the comparison."""
    given = parser().parse_args(arguments)
    commands = read_commands(given.only, given.every)
    if not commands:
        raise SystemExit(f"no command fits {given.only!r}")
    data = given.data.resolve() if given.data else None
    if given.list:
        print("\n".join(f"{c.group}: sfs {c.line}" for c in commands))
        return 0
    if given.record:
        record(Program.of(given.run), given.record, commands, data, given.jobs)
        return 0
    if given.work:
        given.work.mkdir(parents=True, exist_ok=True)
        return compare_sides(given, commands, data, given.work)
    with tempfile.TemporaryDirectory() as work:
        return compare_sides(given, commands, data, Path(work))


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(
        prog="python -m tools.compare", description=(__doc__ or "").splitlines()[0]
    )
    made.add_argument("--before", metavar="SFS", help="the old version, or what was recorded of it")
    made.add_argument("--after", metavar="SFS", help="the new version, or what was recorded of it")
    made.add_argument("--record", metavar="DIR", type=Path, help="run one version, and keep it all")
    made.add_argument("--run", metavar="SFS", help="with --record: the version")
    made.add_argument("--data", metavar="DIR", type=Path, help="real data sets")
    made.add_argument("--work", metavar="DIR", type=Path, help="keep what is run here")
    made.add_argument("--only", metavar="PATTERN", help="commands or groups that fit")
    made.add_argument("--every", metavar="N", type=int, default=1, help="one of N of each group")
    made.add_argument("--jobs", metavar="N", type=int, default=2, help="commands at a time")
    made.add_argument("--out", metavar="FILE", type=Path, help="where the report goes, not stdout")
    made.add_argument("--list", action="store_true", help="list the commands and stop")
    return made


def record(
    program: Program, folder: Path, commands: list[Command], data: Path | None, jobs: int
) -> Place:
    """Run one version; what is recorded in the folder already is not run again."""
    make_inputs(folder / "inputs")
    place = Place(folder / "inputs", data, folder / "runs")
    run_all(program, [c for c in commands if place.has(c)], place, jobs)
    (folder / HELP).write_text(json.dumps(documented(program), indent=1))
    return place


def compare_sides(
    given: argparse.Namespace, commands: list[Command], data: Path | None, work: Path
) -> int:
    """Run what is not recorded, compare, and write the report."""
    if not (given.before and given.after):
        raise SystemExit("give --before and --after, or --record and --run")
    texts = {"before": given.before, "after": given.after}
    kept = {side: Path(text) for side, text in texts.items() if Path(text).is_dir()}
    inputs = next((folder / "inputs" for folder in kept.values()), work / "inputs")
    make_inputs(inputs)
    places = {}
    for side, text in texts.items():
        place = Place(inputs, data, kept.get(side, work / side) / "runs")
        if side not in kept:
            wanted = [c for c in commands if place.has(c)]
            run_all(Program.of(text), wanted, place, given.jobs)
        places[side] = place
    both = [compare(c, places["before"], places["after"]) for c in commands]
    compared = [c for c in both if c is not None]
    lost = lost_options(texts, kept)
    sides = (given.before, given.after)
    report = write_report(compared, lost, len(both) - len(compared), sides)
    if given.out:
        given.out.write_text(report, encoding="utf-8")
        print(report.splitlines()[-1])
    else:
        print(report, end="")
    return int(bool(lost) or any(c.found.differences for c in compared))


def lost_options(texts: dict[str, str], kept: dict[str, Path]) -> list[str]:
    """Return the verbs and options of before that after does not take."""
    if "after" in kept and not all((folder / HELP).exists() for folder in kept.values()):
        return []  # what --work has kept holds runs alone
    helps = {
        side: json.loads((kept[side] / HELP).read_text())
        if side in kept
        else documented(Program.of(text))
        for side, text in texts.items()
    }
    if "after" not in kept:
        return not_taken(Program.of(texts["after"]), helps["before"])
    return [
        f"sfs {verb} {option} (is not in the help)"
        for verb, options in helps["before"].items()
        for option in options
        if option not in helps["after"].get(verb, ())
    ]


if __name__ == "__main__":
    sys.exit(main())
