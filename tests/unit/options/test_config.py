"""Configurations as values: equality, and their text."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sfs_cli import RankConfig
from sfs_cli.options.evaluate import EvaluateConfig
from sfs_cli.options.source import SourceSpec, parse_source


@pytest.mark.parametrize("config", [RankConfig, EvaluateConfig])
def test_equal_where_every_option_is(config: type[RankConfig]) -> None:
    one, same = (config(matrix="x.csv", seed=3) for _ in range(2))
    assert one == same
    assert hash(one) == hash(same)
    assert one != replace(one, seed=4)
    assert one != "x.csv"


def test_other_classes_are_not_equal() -> None:
    assert RankConfig("x.csv") != EvaluateConfig("x.csv")


def test_text_names_what_is_not_as_by_default() -> None:
    assert repr(RankConfig("x.csv", "spec")) == "RankConfig(matrix='x.csv', method='spec')"


def test_text_makes_the_same_again() -> None:
    source = parse_source("a=profile:m.csv@2,similarity=knn,neighbors=4")
    config = RankConfig("x.csv", source=(source,), threads=2)
    names = {"RankConfig": RankConfig, "SourceSpec": SourceSpec}
    assert eval(repr(config), names) == config
