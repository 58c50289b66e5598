"""YAML, TOML and JSON become one tree; what does not parse is refused with its place."""

from __future__ import annotations

import pytest

from sfs_cli.errors import InputError
from sfs_cli.options.documents import Node, parse

PLAIN = {
    "no": "no",
    "true": True,
    "False": False,
    "~": None,
    "": None,
    "null": None,
    "2.50": "2.50",
    "2024-01-31": "2024-01-31",
    "'true'": "true",
}


def plain(node: Node):
    """Return the data without places."""
    if isinstance(node.value, dict):
        return {key: plain(inner) for key, inner in node.value.items()}
    if isinstance(node.value, list):
        return [plain(inner) for inner in node.value]
    return node.value


def parsed(folder, content, name="run.yaml"):
    (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return parse(folder / name)


@pytest.mark.parametrize(("text", "value"), PLAIN.items())
def test_scalars_are_words_but_for_a_few(tmp_path, text, value):
    found = parsed(tmp_path, f"key: {text}\n").value["key"].value
    assert found == value
    assert type(found) is type(value)


def test_numbers_are_as_they_are_written(tmp_path):
    files = {"a.yaml": "a: 2.50\nb: 1e3\nc: 7\n", "a.json": '{"a": 2.50, "b": 1e3, "c": 7}'}
    files["a.toml"] = "a = 2.50\nb = 1e3\nc = 7\n"
    for name, content in files.items():
        assert plain(parsed(tmp_path, content, name)) == {"a": "2.50", "b": "1e3", "c": "7"}


def test_the_formats_agree(tmp_path):
    data = {"matrix": "x.csv", "members": ["a", "b"], "source": {"m": {"kind": "target"}}}
    content = {
        "a.yaml": "matrix: x.csv\nmembers: [a, b]\nsource:\n  m:\n    kind: target\n",
        "a.YML": "{matrix: x.csv, members: [a, b], source: {m: {kind: target}}}",
        "a.json": '{"matrix": "x.csv", "members": ["a", "b"], "source": {"m": {"kind": "target"}}}',
        "a.toml": 'matrix = "x.csv"\nmembers = ["a", "b"]\n[source.m]\nkind = "target"\n',
    }
    for name, text in content.items():
        root = parsed(tmp_path, text, name)
        assert plain(root) == data, name
        assert list(root.value) == list(data)


def test_lines_are_those_of_the_keys(tmp_path):
    root = parsed(tmp_path, "a: 1\n\nb:\n  c:\n    [1,\n     2]\n")
    assert [root.value[key].line for key in "ab"] == [1, 3]
    assert root.value["b"].value["c"].line == 4
    assert [item.line for item in root.value["b"].value["c"].value] == [5, 6]


def test_aliases_are_followed(tmp_path):
    assert plain(parsed(tmp_path, "a: &x [1, 2]\nb: *x\n")) == {"a": ["1", "2"], "b": ["1", "2"]}


@pytest.mark.parametrize(
    ("name", "content", "place", "word"),
    [
        ("a.yaml", "a: 1\nb: [1\nc: 2\n", "line 3, column 2", "parsed"),
        ("a.yaml", "a: x\x01y\n", "line 1, column 5", "parsed"),
        ("a.yaml", "? [a]\n: 1\n", "line 1, column 3", "key"),
        ("a.yaml", "a: 1\n---\nb: 2\n", "line 2, column 1", "document"),
        ("a.yaml", "a: *x\n", "line 1, column 4", "alias"),
        ("a.yaml", "a: 1\nb: 2\na: 3\n", "lines 1 and 3", "twice"),
        ("a.yaml", "# nothing\n", "a.yaml", "empty"),
        ("a.yaml", "- a\n", "a.yaml", "list"),
        ("a.yaml", b"a: 1\nb: \xff\n", "line 2", "UTF-8"),
        ("a.toml", "a = 1\nb = \n", "line 2, column 5", "parsed"),
        ("a.toml", "a = 1\na = 2\n", "line 2", "overwrite"),
        ("a.json", '{"a": 1,\n "b": }', "line 2, column 7", "parsed"),
        ("a.json", '{"a": {"b": 1, "b": 2}}', "a.json", "twice"),
        ("a.json", "[1]", "a.json", "list"),
        ("a", "a: 1", "a", "suffix"),
    ],
)
def test_what_does_not_parse_is_refused_with_its_place(tmp_path, name, content, place, word):
    with pytest.raises(InputError) as caught:
        parsed(tmp_path, content, name)
    assert str(tmp_path / name) in caught.value.where
    assert place in caught.value.where
    assert word in caught.value.what
    assert caught.value.hint


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.mkdir()])
def test_what_cannot_be_read_is_refused(tmp_path, make):
    make(tmp_path / "a.yaml")
    with pytest.raises(InputError, match=r"a.yaml cannot be read"):
        parse(tmp_path / "a.yaml")
