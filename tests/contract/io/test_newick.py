"""Trees: any of them is read back, and what does not parse is refused by its place."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfs_cli.errors import InputError
from sfs_cli.io.knowledge.hierarchy import read_newick

labels = st.text("ab _-.'\"|é(),:;[]", min_size=1, max_size=6).filter(
    lambda text: text.strip() == text
)
trees = st.recursive(
    st.just(None), lambda inner: st.lists(inner, min_size=1, max_size=4), max_leaves=20
)


def shape(paths):
    """Return the number of common leading nodes of all pairs, and the depth of each leaf."""
    names = list(paths)

    def common(a, b):
        return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))

    return {(x, y): common(paths[x], paths[y]) for x in names for y in names}


@settings(max_examples=30)
@given(trees.filter(bool), st.data())
def test_any_tree_is_read_back(tree, data):
    expected = {}

    def decorate():
        return data.draw(st.sampled_from(["", " ", "\n\t", "[note (,; [in] )]"]))

    def written(node, path):
        if node is None:
            label = data.draw(labels.filter(lambda text: text not in expected))
            expected[label] = path
            text = label
            if any(c in label for c in " ()[]'\",:;"):
                quote = data.draw(st.sampled_from("'\""))
                text = quote + label.replace(quote, quote * 2) + quote
        else:
            inner = (written(child, (*path, i)) for i, child in enumerate(node))
            text = "(" + ",".join(decorate() + child + decorate() for child in inner) + ")"
            text += data.draw(st.sampled_from(["", "95", "'a name'"]))
        return text + data.draw(st.sampled_from(["", ":1", ": 0.5e-3", ":-1"]))

    text = written(tree, ())
    found = read_newick(decorate() + text + decorate() + ";\n", "t.nwk")
    assert list(found) == list(expected)
    assert shape(found) == shape(expected)


def test_deep_trees_need_no_recursion():
    n = 5_000
    found = read_newick("(" * n + "a,b" + ")" * n + ";", "t.nwk")
    assert len(found["a"]) == n
    assert found["a"][:-1] == found["b"][:-1]


@pytest.mark.parametrize(
    ("text", "what", "at"),
    [
        ("((a,b)),c);", "',' does not go", ", character 8"),
        ("(a,,b);", "',' does not go", ", character 4"),
        ("(a,'');", "an empty name", ", character 4"),
        ("(a,(b,a));", "'a' occurs twice", ", character 7"),
        ("a;", "'a' does not go", ", character 1"),
        ("((a,b),(c,d)", "parentheses are not closed", ""),
        ("(a,b)", "no semicolon", ""),
    ],
)
def test_what_does_not_parse_is_named(text, what, at):
    with pytest.raises(InputError) as caught:
        read_newick(text, "t.nwk")
    assert what in caught.value.what
    assert caught.value.where == f"t.nwk{at}"
    assert caught.value.hint
