"""Knowledge sources out of text, ``NAME=KIND:PATH[@WEIGHT][,OPTION=VALUE...]``, and mappings.

No numeric library is loaded here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfs_cli.errors import UsageError, nearest
from sfs_cli.sources.spec import FORM, KINDS, OPTIONS, SourceSpec

_NUMBERS = {"neighbors": int, "beta": float, "min_score": float}


def parse_source(text: str) -> SourceSpec:
    """Parse a source in the form of the command line.

    What follows a comma without ``=`` belongs to the value before it, so that ``transform=cpm,
    log1p`` and ``genes:sets.gmt:SET1,SET2`` are what they look like.

    Raises
    ------
    UsageError
        When it has another form.
    """
    name, equals, rest = text.partition("=")
    kind, colon, rest = rest.partition(":")
    if not equals or not colon:
        raise UsageError(f"--source {text!r} is not understood", hint=FORM)
    head, given = _split(rest, text)
    path, weight = _weight_of(head)
    return source_from(name, {"kind": kind, "path": path, "weight": weight} | given)


def source_from(name: str, given: Mapping[str, Any]) -> SourceSpec:
    """Return the source that a mapping describes, as a configuration file has it.

    Raises
    ------
    UsageError
        For an option that is not known, or a value of another type.
    """
    known = ("kind", "path", "weight", *(o.replace("_", "-") for o in OPTIONS))
    values: dict[str, Any] = {}
    for key, value in given.items():
        option = key.replace("-", "_")
        if option not in ("kind", "path", "weight", *OPTIONS):
            raise UsageError(
                f"the option {key!r} is not known",
                where=f"--source {name}",
                hint=nearest(key, known),
            )
        if value is not None:
            values[option] = _typed(name, key, value)
    if "kind" not in values:
        raise UsageError(
            "the kind is missing", where=f"--source {name}", hint=f"give one of {', '.join(KINDS)}"
        )
    return SourceSpec(name, **values)


def _split(rest: str, text: str) -> tuple[str, dict[str, str]]:
    """Split at the commas that begin an option."""
    head, *words = rest.split(",")
    given: dict[str, str] = {}
    last = ""
    for word in words:
        key, equals, value = word.partition("=")
        if equals and key.replace("-", "_") in OPTIONS:
            if key in given:
                raise UsageError(
                    f"{key} is given twice", where=f"--source {text}", hint="leave one out"
                )
            given[key], last = value, key
        elif equals and "/" not in key and "." not in key:
            name = text.partition("=")[0]
            source_from(name, {"kind": "target", key: value})  # says which options there are
        elif last:
            given[last] += f",{word}"
        else:
            head += f",{word}"
    return head, given


def _weight_of(text: str) -> tuple[str, float | None]:
    """Split ``PATH@WEIGHT``; an ``@`` that no number follows belongs to the path."""
    path, at, number = text.rpartition("@")
    if not at:
        return text, None
    try:
        return path, float(number)
    except ValueError:
        return text, None


def _typed(name: str, key: str, value: Any) -> Any:
    kind = float if key == "weight" else _NUMBERS.get(key.replace("-", "_"), str)
    if isinstance(value, list) and kind is str:
        value = ",".join(str(v) for v in value)
    try:
        if isinstance(value, bool | dict | list) or (kind is int and float(value) % 1):
            raise ValueError
        return kind(float(value)) if kind is int else kind(value)
    except (ValueError, OverflowError):
        wanted = {int: "a whole number", float: "a number", str: "text"}[kind]
        late = kind is not str and "@" in str(value)
        raise UsageError(
            f"{key}={value!r} is not {wanted}",
            where=f"--source {name}",
            hint="a weight follows the path: PATH@WEIGHT,OPTION=VALUE" if late else "correct it",
        ) from None
