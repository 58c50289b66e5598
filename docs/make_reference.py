"""Make the reference: options, methods and files, from where the program declares them.

usage: python docs/make_reference.py [--check]

`--check` writes nothing, and ends with 1 if a page is not up to date.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import click
from option_tables import markdown, reference, value_schema

from sfs_cli import provenance
from sfs_cli.catalog import METHODS
from sfs_cli.cli.app import VERBS, app, commands_of
from sfs_cli.errors import ExitCode
from sfs_cli.io.matrix.base import FORMATS
from sfs_cli.methods.base import Status
from sfs_cli.options.fields import Option, default_of, values_of
from sfs_cli.options.grammar import hosts, parameters
from sfs_cli.options.guards import GUARDS
from sfs_cli.options.rank import RankConfig
from sfs_cli.options.source import KINDS, SOURCE_OPTIONS
from sfs_cli.parts import FACTS
from sfs_cli.ranking.aggregations import AGGREGATIONS
from sfs_cli.tables import FILES, RANKING
from sfs_cli.workflow.methods import NAMED, known_of, taken_options

FOLDER = Path(__file__).resolve().parent / "reference"
NOTE = "% made by docs/make_reference.py: do not edit\n\n"
SHEETS = (
    "../../workflows/nextflow/assets/schema_options.json",
    "../../workflows/snakemake/workflow/schemas/options.json",
)
SHEET_VERBS = ("shard init", "select", "evaluate", "fuse", "report")
GIVEN_BY_WORKFLOWS = {
    *("--memory", "--threads", "--shards", "--out", "--force", "--matrix", "--list"),
    *("--help-all", "--write-matrix", "--figures", "--figure-format"),
}
"""Options that are no part of what a row asks for, or write files that no rule or task hands on."""
CHECKED = ("enum", "type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")


def pages() -> dict[str, str]:
    """Return the pages by the names of their files."""
    made = {"options.md": options(), "methods.md": methods(), "files.md": files()}
    found = {name: f"{NOTE}{text.strip()}\n" for name, text in made.items()}
    return found | dict.fromkeys(SHEETS, sheet_options())


def sheet_options() -> str:
    """Return what a row of a workflow's sheet may say, by command and flag, as JSON.

    Workflows check their sheets with it before any task runs. A flag has what a value of it has to
    be: ``null`` takes none. ``parameters`` are the keys that may follow a name: NAME,KEY=VALUE.
    """
    found: dict[str, dict[str, object]] = {}
    with click.Context(app) as ctx:
        for verb, command in commands_of(app, ctx):
            declared = getattr(command, "declared", {})
            for each in command.params if verb in SHEET_VERBS else ():
                if not isinstance(each, click.Option) or {*each.opts} & GIVEN_BY_WORKFLOWS:
                    continue
                value = value_schema(declared[each.name]) if each.name in declared else {}
                short = {key: value[key] for key in CHECKED if key in value}
                if short.get("type") not in (None, "integer", "number"):
                    short = {}
                if each.name in hosts(RankConfig):
                    keys = [k for k, o in parameters(RankConfig, each.name).items() if not o.begins]
                    short["parameters"] = keys
                for flag_ in each.opts:
                    found.setdefault(verb, {})[flag_] = None if each.is_flag else short
    rows = [
        f'  "{verb}": {{\n'
        + ",\n".join(f'    "{name}": {json.dumps(each)}' for name, each in sorted(flags_.items()))
        + "\n  }"
        for verb, flags_ in found.items()
    ]
    return "{\n" + ",\n".join(rows) + "\n}\n"


def options() -> str:
    """Return the commands and their options."""
    title, rest = reference(further_options()).split("\n", 1)
    commands = markdown(("command", "what it does"), [(f"`sfs {v}`", t) for v, t in VERBS.items()])
    with click.Context(app) as ctx:
        inner = [
            (f"`sfs {verb}`", command.get_short_help_str(200))
            for verb, command in commands_of(app, ctx)
            if " " in verb
        ]
    return "\n\n".join(
        [
            title,
            "`sfs COMMAND --help-all` prints the options of a command.",
            "## Commands",
            commands,
            markdown(("command of a group", "what it does"), inner),
            rest.strip(),
        ]
    )


def further_options() -> dict[str, list[tuple[str, str]]]:
    """Return the options that no configuration declares, by command: flags and help."""
    with click.Context(app) as ctx:
        further = {verb: list(own_options(made)) for verb, made in commands_of(app, ctx)}
    return {verb: own for verb, own in further.items() if own}


def own_options(made: click.Command) -> Iterator[tuple[str, str]]:
    """Yield the options of a command that no configuration declares."""
    known = getattr(made, "declared", ())
    for parameter in made.params:
        if isinstance(parameter, click.Option) and parameter.name not in known:
            text = (parameter.help or "") + (" (required)" if parameter.required else "")
            yield ", ".join(parameter.opts), text


def methods() -> str:
    """Return what there is of methods, graphs, sources, weights and aggregations."""
    parts = [
        "# Methods, graphs and sources",
        "`sfs methods NAME` prints this of a method, a graph or weights. A parameter is written "
        "after the name: `--method spec,ranking=phi3`. n is the number of samples, m of features, "
        "c of classes, k of clusters or eigenvectors, l of selected features, r the power of the "
        "eigenvalues. A pass is one reading of the matrix.",
    ]
    parts += described("method", "##")
    parts += ["## Sample graphs (`--similarity`)", *described("similarity", "### Graph")]
    kinds = []
    for name, kind in KINDS.items():
        keys = listed(SOURCE_OPTIONS[o].key for o in kind.takes)
        kinds.append((f"`{name}`", kind.meaning, kind.path or "none", keys or "none"))
    parts += ["## Kinds of knowledge sources (`--source NAME=KIND:PATH`)"]
    parts += [markdown(("kind", "which samples are similar", "path", "options"), kinds)]
    parts += ["## Weights of sources (`--weights`)", *described("weights", "### Weights")]
    ways = [
        (f"`{name}`", each.title, each.meaning, each.reference)
        for name, each in AGGREGATIONS.items()
    ]
    parts += ["## Aggregations of rankings (`how=` of `kogs`, `--how` of `sfs aggregate`)"]
    return "\n\n".join([*parts, markdown(("how", "name", "its score", "reference"), ways)])


def sentence(text: str) -> str:
    """Return words as a sentence."""
    return f"{text[0].upper()}{text[1:]}."


def described(option: str, heading: str) -> list[str]:
    """Return what `sfs methods` prints of each name of an option, under its heading."""
    parts = []
    for name in NAMED[option].table:
        known = known_of(option, name)
        title, meaning = (known.pop(key, "") for key in ("title", "meaning"))
        both = f"**{title}.** {meaning}" if title and meaning else sentence(title or meaning)
        takes = ", ".join(f"`{o.flag}`" for o in taken_options(option, name) if not o.of)
        rows = [*known.items(), *([("options that it takes", takes)] if takes else [])]
        parts += [f"{heading} `{name}`", both, markdown(("", ""), rows)]
        parts += parameters_table(option, name)
    return parts


def files() -> str:
    """Return the files of results, their columns, statuses, warnings, exit codes and formats."""
    made = [
        (f"`{name}`", each.meaning, ", ".join(each.verbs), each.when or "always")
        for name, each in FILES.items()
    ]
    columns = [(f"`{name}`", each.meaning, each.when or "always") for name, each in RANKING.items()]
    of_methods = [
        (f"`{name}`", f"`{method.name}`", text)
        for method in METHODS.values()
        for name, text in method.columns.items()
    ]
    parts = [
        "# Files, columns and exit codes",
        "Names in capitals stand for something of the run: `mean_CLASS` is `mean_tumour`.",
        "## Files of a result",
        markdown(("file", "what it is", "commands", "written with"), made),
        "## Columns of a ranking",
        markdown(("column", "meaning", "there with"), columns),
        "Columns that a method adds:",
        markdown(("column", "method", "meaning"), of_methods),
        "The column `status` holds one of these:",
        "\n".join(f"- `{status.text}`" for status in Status),
        "## Columns of other tables",
    ]
    for name, each in FILES.items():
        if each.columns:
            rows = [(f"`{column}`", text) for column, text in each.columns.items()]
            parts += [f"### `{name}`", markdown(("column", "meaning"), rows)]
    parts += [
        "## Keys of `run.json`",
        "Those of `sfs compare` are those of `sfs evaluate`, those of `sfs shard merge` those of "
        "`sfs rank`. What a run did not do is null, empty or absent.",
    ]
    for verb, own in provenance.KEYS.items():
        keys = own | (FACTS if verb == "rank" else {})
        rows = [(f"`{key}`", meaning) for key, meaning in keys.items()]
        parts += [f"### Of {'all commands' if verb == 'all' else f'`{verb}`'}"]
        parts += [markdown(("key", "what it is"), rows)]
    parts += [
        "## Warnings",
        "The most important are first: a command shows three at most. The "
        "name is at the end of the warning.",
        markdown(("name", "what it warns of"), [(f"`{n}`", g.meaning) for n, g in GUARDS.items()]),
        "## Exit codes",
        markdown(("code", "name"), [(str(int(code)), CODES[code]) for code in ExitCode]),
        "## Formats of a matrix",
        markdown(
            ("format", "content", "endings of the name"),
            [(f.name, f.title, listed(f.suffixes)) for f in FORMATS],
        ),
    ]
    return "\n\n".join(parts)


CODES = {
    ExitCode.OK: "done, or up to date",
    ExitCode.BUG: "a bug in sfs",
    ExitCode.USAGE: "invalid options",
    ExitCode.BAD_INPUT: "invalid input, or an output that cannot be written",
    ExitCode.OUTPUT_EXISTS: "the output holds another result",
    ExitCode.NOT_CONVERGED: "eigenvalues did not converge",
    ExitCode.MISSING_EXTRA: "an optional extra is missing",
    ExitCode.HUNG_UP: "stopped by SIGHUP (the terminal was closed); `nohup` keeps it away",
    ExitCode.INTERRUPTED: "stopped by SIGINT (Ctrl-C)",
    ExitCode.OUT_OF_MEMORY: "out of memory, or the run does not fit `--memory`",
    ExitCode.TERMINATED: "stopped by SIGTERM",
}


def parameters_table(option: str, name: str) -> list[str]:
    """Return the table of the parameters of a name; nothing where it has none."""
    rows = [
        (f"`{o.parameter}=`", values_of(o), default_shown(o), o.help)
        for o in taken_options(option, name)
        if o.of
    ]
    return [markdown(("parameter", "values", "default", "meaning"), rows)] if rows else []


def default_shown(o: Option) -> str:
    """Return a default, as code where it is a value that may be given."""
    return default_of(o) if o.default_text else listed(filter(None, [default_of(o)]))


def listed(words: Iterable[str]) -> str:
    """Return words as code."""
    return ", ".join(f"`{word}`" for word in words)


def main(words: Sequence[str]) -> int:
    """Write the pages, or compare them; return the exit code."""
    made: Mapping[str, str] = pages()
    stale = [
        name
        for name, text in made.items()
        if not (FOLDER / name).is_file()
        or (FOLDER / name).read_text("utf-8") != text.strip() + "\n"
    ]
    if "--check" in words:
        for name in stale:
            print(
                f"{(FOLDER / name).resolve()} is not up to date: run python docs/make_reference.py"
            )
        return bool(stale)
    for name in stale:
        (FOLDER / name).write_text(made[name], "utf-8")
        print(f"wrote {(FOLDER / name).resolve()}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
