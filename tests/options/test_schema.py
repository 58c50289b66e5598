"""The schema and the reader say the same of a file."""

from __future__ import annotations

import json
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfs_cli import catalog
from sfs_cli.cli.app import app
from sfs_cli.errors import ConflictError, SfsError
from sfs_cli.methods.l21.rounds import SELECT
from sfs_cli.options import RankConfig, parse_source
from sfs_cli.options.fields import default_of, flag
from sfs_cli.options.files import RANK_KEYS, load, resolved
from sfs_cli.options.source import KINDS, OPTIONS, SourceSpec
from tests.options.making import DEFAULTS, written
from tests.options.test_places import CONFIGS


def key_of(name: str) -> str:
    """Return the key of an option: its flag without dashes."""
    return flag(name)[2:]


@cache
def schema() -> dict[str, Any]:
    return json.loads(CliRunner().invoke(app, ["config", "schema"]).output)


def test_the_default_of_select_is_that_of_the_methods() -> None:
    of_methods = {
        m.name: m.options["select"] for m in catalog.METHODS.values() if "select" in m.options
    }
    assert of_methods.pop("mrsf-rounds") is None
    (common,) = set(of_methods.values())
    text = default_of(RANK_KEYS["select"])
    assert text == f"{common}; mrsf-rounds: {SELECT}, of few features half of them"


def admits(content: Any) -> bool:
    return jsonschema.Draft202012Validator(schema()).is_valid(content)


def test_it_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(schema())
    assert schema()["$schema"] == jsonschema.Draft202012Validator.META_SCHEMA["$schema"]
    assert schema()["title"]
    assert "$id" not in schema()


def test_it_has_every_option_and_no_other():
    options = [f.name for f in fields(RankConfig)]
    assert sorted(schema()["properties"]) == sorted(key_of(option) for option in options)
    assert schema()["additionalProperties"] is False
    for key, part in schema()["properties"].items():
        assert part["description"], key


def test_descriptions_are_the_help_of_the_flags():
    from sfs_cli.cli.rank import command

    helps = {p.name: p.help for p in command.params if hasattr(p, "help")}
    for key, part in schema()["properties"].items():
        assert key in ("matrix", "files") or part["description"] == helps[RANK_KEYS[key].name]


def test_defaults_are_those_of_the_configuration():
    defaults = {
        RANK_KEYS[k].name: p["default"] for k, p in schema()["properties"].items() if "default" in p
    }
    assert defaults == {k: v for k, v in DEFAULTS.items() if v is not None and v != ()}
    assert admits({key_of(k): v for k, v in defaults.items()})


def test_kinds_of_sources_have_their_options_and_no_other():
    forms = [ref["$ref"] for ref in schema()["$defs"]["source"]["anyOf"] if "$ref" in ref]
    assert forms == [f"#/$defs/source-{kind}" for kind in KINDS]
    for kind, entry in KINDS.items():
        form = schema()["$defs"][f"source-{kind}"]
        path = {"path"} - ({"path"} if kind == "target" else set())
        assert set(form["properties"]) == {"kind", "weight", *path, *map(key_of, entry.takes)}
        assert form["additionalProperties"] is False
        assert all(part["description"] for part in form["properties"].values())


def test_the_sample_file_is_admitted(sample_data):
    content = yaml.safe_load((sample_data / "run.yaml").read_text())
    assert admits(content)
    assert load(sample_data / "run.yaml").config(DEFAULTS).method == "msfs"


@pytest.mark.parametrize("config", CONFIGS, ids=range(len(CONFIGS)))
def test_the_configuration_of_run_json_is_admitted(config):
    assert admits(json.loads(json.dumps(resolved(config, "."))))


@pytest.mark.parametrize(
    "content",
    [
        {"matrixx": "x"},
        {"gamma_power": 2},
        {"method": "fischer"},
        {"method": None},
        {"digits": 18},
        {"digits": "3"},
        {"neighbors": 2.5},
        {"leave-one-out": "no"},
        {"layer": " "},
        {"bandwidth": 0},
        {"bandwidth": "0.0"},
        {"bandwidth": "-1"},
        {"components": 0},
        {"components": 2.5},
        {"components": "all"},
        {"components": "-3"},
        {"variable-genes": "none"},
        {"variable-genes": "0.0"},
        {"gamma": "heat:"},
        {"similarity": "knnn"},
        {"similarity": 3},
        {"weights": []},
        {"weights": "2,x"},
        {"members": ["msfs"]},
        {"source": {"m": {"kind": "profile"}}},
        {"source": {"m": {"kind": "target", "path": "x"}}},
        {"source": {"m": {"kind": "labels", "rows": "samples"}}},
        {"source": {"m": {"kind": "terms", "path": "x", "similarity": "linear"}}},
        {"source": {"m": {"kind": "terms", "path": "x", "components": 3}}},
        {"source": {"a b": "target:"}},
        {"source": {"m": "profil:x"}},
        {"source": ["target:"]},
        [],
    ],
    ids=json.dumps,
)
def test_bad_files_are_admitted_by_neither(content, tmp_path):
    assert not admits(content)
    with pytest.raises(SfsError):
        load(written(tmp_path, content, "run.json")).config(DEFAULTS | {"matrix": "x"})


def enumerated(part: Any) -> set[str]:
    """Return every word that a schema lists."""
    if isinstance(part, list):
        return set().union(*map(enumerated, part))
    if not isinstance(part, dict):
        return set()
    own = {word for word in part.get("enum", ()) if isinstance(word, str)}
    return own.union(*map(enumerated, part.values()))


TEXTS = st.one_of(
    st.sampled_from(
        ["x.csv", "a:b", " ", "2,1", "0", "1e-3", "-1", "heat:2", "obsp:S", "word", "2."]
    ),
    st.deferred(lambda: st.sampled_from(sorted(enumerated(schema())))),
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 100),
    st.floats(-2, 5, allow_nan=False).map(lambda x: round(x, 2)),
    TEXTS,
)
VALUES = st.one_of(
    SCALARS, st.lists(SCALARS, max_size=3), st.dictionaries(TEXTS, SCALARS, max_size=1)
)


def reads(folder: Path, content: dict[str, Any]) -> bool | None:
    """Tell whether the reader admits a file; None where other options decide."""
    try:
        load(written(folder, content, "run.json")).config(DEFAULTS | {"matrix": "x"})
    except ConflictError:
        return None
    except SfsError:
        return False
    return True


SOURCES = {"source": ["a=genes:g.txt", "b=target:"]}
CONTEXTS = [
    {},
    {"similarity": "diffusion"},
    SOURCES,
    *(SOURCES | {"weights": name} for name in ("snf", "naml", "rkda")),
]


def reads_somewhere(folder: Path, key: str, value: Any) -> bool | None:
    """Tell whether the reader admits an option among some others that it may need."""
    methods = catalog.takers(RANK_KEYS[key].name) or ["spec"]
    found = {
        reads(folder, {"labels": "y.tsv", "method": method} | context | {key: value})
        for method in methods
        for context in CONTEXTS
    }
    return True if True in found else False if False in found else None


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(key=st.sampled_from([k for k in schema()["properties"] if k != "source"]), value=VALUES)
def test_one_option_is_admitted_by_both_or_neither(tmp_path, key, value):
    read = reads_somewhere(tmp_path, key, value)
    if read is not None:
        assert admits({key: value}) == read


@pytest.mark.slow
@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    kind=st.sampled_from(sorted(KINDS)),
    path=st.sampled_from([None, "x", 3, True]),
    option=st.sampled_from(sorted({key_of(option) for option in ("weight", *OPTIONS)})),
    value=VALUES,
)
def test_one_option_of_a_source_is_admitted_by_both_or_neither(tmp_path, kind, path, option, value):
    source = {"kind": kind, option: value} | ({} if path is None else {"path": path})
    content = {"source": {"m": source}}
    own = {key_of(name) for name in ("weight", *KINDS[kind].takes)}
    read = reads(tmp_path, content)
    if read is not None:
        assert admits(content) == read
    elif option not in own:
        assert not admits(content)


def test_words_of_sources_are_those_of_the_reader():
    def form(kind: str, option: str) -> list[str]:
        return schema()["$defs"][f"source-{kind}"]["properties"][option]["enum"]

    for kind, entry in KINDS.items():
        for option in set(entry.takes) & {"missing", "rows", "ids", "similarity", "edge_weights"}:
            for word in form(kind, key_of(option)):
                graph = {"similarity": "knn"} if option == "edge_weights" else {}
                SourceSpec("m", kind, "" if kind == "target" else "x", **graph | {option: word})


def test_the_text_of_every_source_is_admitted():
    for config in CONFIGS:
        texts = [str(source) for source in config.source]
        assert admits({"source": texts})
        assert admits({"source": {s.name: str(s).partition("=")[2] for s in config.source}})
        assert tuple(map(parse_source, texts)) == config.source
