"""What options declare of each other: what they need and exclude, and what takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest

from sfs_cli.errors import ConflictError
from sfs_cli.features.members import member_configs
from sfs_cli.options import RankConfig
from sfs_cli.options.fields import Config, option


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Example(Config):
    """Options that need and exclude each other."""

    shape: str = option("Shape.", default="round", words=("round", "square"))
    corners: int | None = option("Corners.", metavar="K", needs=("shape=square",))
    color: str | None = option("Color.", metavar="NAME")
    shade: str | None = option("Shade.", needs=("color", "nowhere"), verbs=("rank",))
    plain: bool = option("Plain.", default=False, excludes={"color": "it has none"})
    filled: bool = option("Filled.", default=False, excludes={"shape=square": "it is open"})
    elsewhere: str | None = option("Of another command.", needs=("color",), verbs=("other",))

    def __post_init__(self) -> None:
        self.check_values()


@pytest.mark.parametrize(
    ("given", "said", "options"),
    [
        ({"corners": 4}, "--corners has no effect without --shape square", ("corners", "shape")),
        ({"shade": "x"}, "--shade has no effect without --color", ("shade", "color")),
        (
            {"plain": True, "color": "red"},
            "--plain has no effect with --color: it has none",
            ("plain", "color"),
        ),
        (
            {"filled": True, "shape": "square"},
            "--filled has no effect with --shape square: it is open",
            ("filled", "shape"),
        ),
    ],
)
def test_what_does_not_go_together_is_refused(
    given: dict[str, Any], said: str, options: tuple[str, ...]
) -> None:
    with pytest.raises(ConflictError) as caught:
        Example(**given)
    assert caught.value.what == said
    assert caught.value.options == options


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"shape": "square", "corners": 4},
        {"color": "red", "shade": "x"},
        {"plain": True},
        {"filled": True},
        {"elsewhere": "x"},
    ],
)
def test_what_goes_together_is_taken(given: dict[str, Any]) -> None:
    Example(**given)


def test_members_have_the_graph_that_is_asked_for() -> None:
    names = ("spec", "relieff", "variance")
    asked = RankConfig(
        "x.csv", "kogs", members=names, similarity="knn", neighbors=3, labels="y.tsv"
    )
    made = member_configs(asked, names)
    assert [(each.similarity, each.neighbors) for each in made] == [
        *(("knn", 3), (None, None), (None, None))
    ]
