"""The values that options take, and the reference of all options, from their declarations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sfs_cli import catalog
from sfs_cli.options.aggregate import AggregateConfig
from sfs_cli.options.compare import CompareConfig
from sfs_cli.options.evaluate import EvaluateConfig
from sfs_cli.options.fields import (
    FORMS,
    SECTIONS,
    Option,
    Schema,
    default_of,
    options_of,
    split_word,
    stated,
    values_of,
)
from sfs_cli.options.graph import GRAPHS
from sfs_cli.options.rank import RankConfig
from sfs_cli.options.report import ReportConfig
from sfs_cli.options.select import SelectConfig
from sfs_cli.options.source import KINDS, SOURCE_OPTIONS

_OF_SOURCES = (
    "Written as `,OPTION=VALUE` after the path of `--source`, and as keys of a mapping in a file. "
    "The weight alone is written as `@WEIGHT` right after the path; its key in a file is `weight`."
)
_TEXT: Schema = {"type": ["string", "number"], "pattern": r"\S"}  # a number is taken as written


def value_schema(option: Option) -> Schema:
    """Return the schema of the value of an option."""
    known = option.words
    if option.type is int and known:
        return {"enum": [int(word) for word in known]}
    if option.type is tuple and not known:
        return _any_of(_TEXT, _list_of(_TEXT))
    if option.type is tuple:
        member = rf"\s*({'|'.join(known)})\s*"
        text = {"type": "string", "pattern": f"^{member}(,{member})*$"}
        return _any_of(_list_of({"enum": list(known)}), text)
    if known:
        found = _words_schema(known)
        if option.items is float:
            found["anyOf"].append(_list_of({"type": "number", "minimum": 0}))
        return found
    if option.type is bool:
        return {"type": "boolean"}
    if option.type is str:
        return _TEXT if option.items is None else _any_of(_TEXT, _list_of(_TEXT))
    bounds = {
        "minimum": option.least,
        "maximum": option.most,
        "exclusiveMinimum": option.above,
        "exclusiveMaximum": option.below,
    }
    kind = "integer" if option.type is int else "number"
    return {"type": kind} | stated(bounds)


def _words_schema(words: Iterable[str]) -> Schema:
    """Return the schema of some words and forms."""
    split = [split_word(word) for word in words]
    plain = [start for start, form in split if form is None]
    parts: list[Schema] = [{"enum": plain}] if plain else []
    for start, form in split:
        if form is not None:
            parts += [form.numbers] if form.numbers and not start else []
            end = "" if form is FORMS["KEY"] else "$"
            parts.append({"type": "string", "pattern": f"^{start}{form.pattern}{end}"})
    return _any_of(*parts)


def _any_of(*parts: Schema) -> Schema:
    return parts[0] if len(parts) == 1 else {"anyOf": list(parts)}


def _list_of(item: Schema) -> Schema:
    return {"type": "array", "items": item, "minItems": 1}


# ---- the reference -------------------------------------------------------------------------------


def reference(further: Mapping[str, Sequence[tuple[str, str]]]) -> str:
    """Return the reference of all options, as Markdown tables.

    Parameters
    ----------
    further : mapping
        For each command, the options that only the command line has: flag and help.
    """
    parts = [
        "# Options of sfs",
        "Keys of configuration files are the flags without `--`. An option with the values yes and "
        "no is a flag without a value on the command line (`--force`), and `true` or `false` in a "
        "file. `KEY= of --OPTION` is a parameter, and is written with the name that it belongs to: "
        "`--method spec,ranking=phi3`, or `method: {name: spec, ranking: phi3}` in a file. Those "
        "of methods are at each [method](methods.md).",
    ]
    for section in SECTIONS:
        declared = (o for o in options_of(RankConfig) if o.section == section)
        if options := [o for o in declared if o.of != "method"]:
            parts += [f"## {section}", _table(options)]
    parts += ["## Options of a source", _OF_SOURCES]
    kinds = [(f"`{name}`", kind.meaning, kind.path or "none") for name, kind in KINDS.items()]
    parts += [markdown(("kind", "similar samples", "path"), kinds)]
    parts += [_table(SOURCE_OPTIONS.values(), of_source=True)]
    graphs = [(f"`{name}`", graph.meaning) for name, graph in GRAPHS.items()]
    parts += ["## Similarities", markdown(("similarity", "meaning"), graphs)]
    methods = [(f"`{m.name}`", m.title, m.when) for m in catalog.METHODS.values()]
    parts += ["## Methods", markdown(("method", "title", "when to use it"), methods)]
    parts += ["## sfs aggregate", _table(options_of(AggregateConfig))]
    evaluation = [o for o in options_of(EvaluateConfig) if o.section == "Evaluation"]
    parts += ["## sfs evaluate", _table(evaluation)]
    for config in (CompareConfig, ReportConfig):
        alone = [o for o in options_of(config) if o.verbs == (config.VERB,)]
        parts += [f"## sfs {config.VERB}", _table(alone)]
    own = [o for o in options_of(SelectConfig) if "select" in o.verbs and o not in evaluation]
    parts += ["## sfs select", _table(own)]
    rows = [
        (f"`{verb}`", f"`{flag}`", text) for verb, left in further.items() for flag, text in left
    ]
    parts += ["## Other options", markdown(("command", "option", "meaning"), rows)]
    return "\n\n".join(parts) + "\n"


def _table(options: Iterable[Option], of_source: bool = False) -> str:
    rows = []
    for o in options:
        name = o.key if of_source else o.metavar if o.argument else o.flag
        verbs = ", ".join(o.verbs) + ("" if o.in_result else " (no effect on the result)")
        row = (f"`{name}`", values_of(o), default_of(o), o.names, o.help)
        rows.append(row if of_source else (*row, verbs))
    head = ("option", "values", "default", "taken by", "meaning")
    return markdown(head if of_source else (*head, "commands"), rows)


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(c.replace('|', chr(92) + '|') for c in r)} |" for r in lines)
