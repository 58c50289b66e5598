"""What options declare of each other: what they need and exclude, and what takes them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pytest

from sfs_cli.catalog import METHODS, ON_SOURCES
from sfs_cli.errors import ConflictError
from sfs_cli.options import RankConfig
from sfs_cli.options.compare import CompareConfig, parse_rankings
from sfs_cli.options.fields import Config, option
from sfs_cli.options.parts import member_configs
from sfs_cli.options.source import parse_sources

_option = partial(option, verbs=("rank",))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Example(Config):
    """Options that need and exclude each other."""

    shape: str = _option("Shape.", default="round", words=("round", "square"), needs=("color",))
    corners: int | None = _option("Corners.", of="shape", needs=("shape=square",))
    color: str | None = _option("Color.", metavar="NAME")
    shade: str | None = _option("Shade.", needs=("color", "nowhere"))
    tint: str | None = _option("Tint.", needs=("shade",))
    plain: bool = _option("Plain.", default=False, excludes={"color": "it has none"})
    filled: bool = _option("Filled.", default=False, excludes={"shape=square": "it is open"})
    elsewhere: str | None = option("Of another command.", needs=("color",), verbs=("other",))

    def __post_init__(self) -> None:
        self.check_values()


@pytest.mark.parametrize(
    ("given", "said", "options"),
    [
        (
            {"corners": 4, "shape": "round", "color": "red"},
            "corners= of --shape has no effect without --shape square",
            ("corners", "shape"),
        ),
        (
            {"plain": True, "color": "red"},
            "--plain does not go with --color: it has none",
            ("plain", "color"),
        ),
        (
            {"filled": True, "shape": "square", "color": "red"},
            "--filled does not go with --shape square: it is open",
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
        {"shape": "square", "corners": 4, "color": "red"},
        {"color": "red", "shade": "x", "tint": "y"},
        {"plain": True},
        {"filled": True},
        {"elsewhere": "x"},
    ],
)
def test_what_goes_together_is_taken(given: dict[str, Any]) -> None:
    assert not Example(**given).left_out


@pytest.mark.parametrize(
    ("given", "left_out"),
    [
        ({"shade": "x"}, "--shade has no effect without --color: it is left out"),
        (
            {"shade": "x", "tint": "y", "shape": "square", "corners": 4},
            "--shape square, --shade and --tint have no effect without --color: they are left out",
        ),
    ],
)
def test_what_has_no_effect_is_left_out(given: dict[str, Any], left_out: str) -> None:
    made = Example(**given)
    assert made == Example()
    assert made.left_out == left_out


SOURCES = parse_sources(["x=target:", "y=profile:y.csv"])
PLACES = {"coordinates": "z.csv", "pvalues": "moments"}


@pytest.mark.parametrize(
    ("asked", "left", "why"),
    [
        ({"min_cells": 3}, "min_cells", "without --pseudobulk"),
        ({"label_type": "ordered", "label_order": "a,b"}, "label_type label_order", "--labels"),
        ({"module_traits": ("t.csv",)}, "module_traits", "without --modules"),
        ({"id_map": "map.tsv"}, "id_map", "without --collapse or sources about genes"),
        ({"samples": "union"}, "samples", "--samples union has no effect without --source"),
        ({"weights": "snf", "fusion_neighbors": 3}, "weights fusion_neighbors", "without --source"),
        ({"method": "variance", "select": 3}, "select", "with --method variance"),
        ({"method": "mrmr", "sample_weights": "w.csv"}, "sample_weights", "with --method mrmr"),
        ({"method": "welch", "moderate": "yes"}, "moderate", "--moderate yes has no effect with"),
        ({"method": "variance", "given_": "g.txt"}, "given_", "--given has no effect with"),
        ({"method": "mutual-info", "pvalues": "moments"}, "pvalues", "with --method mutual-info"),
        (
            {
                "method": "variance",
                "pvalues": "permutation",
                "permutation_draws": 99,
                "split": "features",
            },
            "pvalues permutation_draws split",
            "with --method variance",
        ),
        (
            {"method": "spec", "pvalues": "moments", "split": "features", "similarity": "label"},
            "split",
            "not built from the features",
        ),
        (
            {"method": "spec", "pvalues": "moments", "batch": "b.csv:b"},
            "pvalues",
            "with --batch",
        ),
        (
            {"method": "f-test", "similarity": "knn", "neighbors": 3},
            "similarity neighbors",
            "with --method f-test",
        ),
        ({"method": "f-test", "similarity_file": "S.csv"}, "similarity_file", "--similarity has"),
        ({"method": "f-test", "coordinates": "z.csv"}, "coordinates", "with --method f-test"),
        (
            {"method": "spec", "similarity": "label", "coordinates": "z.csv"},
            "coordinates",
            "with --similarity label",
        ),
        (
            {"method": "f-test", "source": SOURCES, "weights": "snf", "leave_one_out": True},
            "source weights leave_one_out",
            "--source, --weights and --leave-one-out have no effect with --method f-test: they are "
            "left out",
        ),
        (
            {"method": "mrsf", "response": "lda", "similarity": "knn"},
            "similarity",
            "with --method mrsf,response=lda",
        ),
        (
            {"method": "trace-ratio", "coordinates": "z.csv"},
            "coordinates",
            "with --method trace-ratio,variant=fisher",
        ),
        ({"method": "qalpha", "similarity": "knn"}, "similarity", "with --method qalpha:"),
        ({"scales": ("2",)}, "scales", "without --coordinates"),
        ({"scales": ("2",), "coordinates": "z.csv"}, "scales", "without --pvalues"),
        (PLACES | {"scales": ("2",), "method": "spec"}, "scales", "with --method spec"),
        (PLACES | {"scales": ("2",), "similarity": "rbf"}, "scales", "with a sample graph"),
        ({"method": "variance", "reference": "a"}, "reference", "with --method variance"),
        ({"reference": "a"}, "reference", "without --labels"),
        ({"samples": "intersect"}, "samples", "without --labels or --source"),
        (
            {"method": "msfs", "source": SOURCES, "select": 3},
            "select",
            "with --method msfs,then=spec",
        ),
        ({"method": "f-test", "also": ("f-test",)}, "also", "with --method f-test"),
        (
            {"method": "f-test", "event": "l.csv:dead", "sample_weights": "l.csv:w"},
            "sample_weights",
            "with --event or --censored",
        ),
        (
            {"method": "kogs", "members": ("f-test", "fisher"), "similarity": "knn"},
            "similarity",
            "with --method kogs,members=f-test,fisher",
        ),
        (
            {
                "method": "kogs",
                "source": SOURCES,
                "weights": "statis",
            },
            "weights",
            "with --method kogs",
        ),
    ],
)
def test_what_a_ranking_leaves_out(asked: dict[str, Any], left: str, why: str) -> None:
    known = {"labels": "l.csv"} if "method" in asked else {}
    made = RankConfig("x.csv", **known, **asked)
    rest = {name: value for name, value in asked.items() if name not in left.split()}
    assert made == RankConfig("x.csv", **known, **rest)
    assert why in made.left_out


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (
            {"method": "kogs", "members": ("f-test", "t-test"), "sample_weights": "w.tsv:w"},
            "--sample-weights has no effect on the ranks by t-test: it is left out",
        ),
        (
            {"method": "f-test", "also": ("t-test", "relieff"), "sample_weights": "w.tsv:w"},
            "--sample-weights has no effect on the ranks by t-test, relieff: it is left out",
        ),
        (
            {"method": "kogs", "members": ("mrmr", "fisher"), "given_": "g.txt"},
            "--given has no effect on the ranks by fisher: it is left out",
        ),
        (
            {"method": "f-test", "also": ("f-test", "relieff")},
            "--also f-test has no effect with --method f-test: it is left out",
        ),
        ({"moderate": "yes", "select": 5}, "--select has no effect with the default --method"),
    ],
)
def test_what_some_of_the_rankings_leave_out_is_kept_for_the_others(
    asked: dict[str, Any], why: str
) -> None:
    assert why in RankConfig("x.csv", labels="l.csv", **asked).left_out


@pytest.mark.parametrize("given", ["event", "censored"])
def test_events_without_times_are_refused(given: str) -> None:
    with pytest.raises(ConflictError, match=f"--{given} needs the times"):
        RankConfig("x.csv", **{given: "l.csv:event"})


@pytest.mark.parametrize("given", ["event", "censored"])
def test_times_have_no_class_of_reference(given: str) -> None:
    made = RankConfig("x.csv", labels="l.csv:time", reference="a", **{given: "l.csv:event"})
    assert made.reference is None
    assert "--reference has no effect" in made.left_out


@pytest.mark.parametrize("graph", ["--source x=target:", "--coordinates z.csv"])
def test_rankings_that_are_compared_can_lack_samples(graph: str) -> None:
    asked = [f"a=--method spec {graph}", "b=--method variance"]
    made = CompareConfig("x.csv", samples="intersect", ranking_of=parse_rankings(asked))
    assert (made.samples, made.left_out) == ("intersect", "")
    alone = CompareConfig("x.csv", samples="intersect", ranking_of=parse_rankings(asked[1:]))
    assert alone.samples == "error"


@pytest.mark.parametrize("method", ["msfs", "kogs"])
def test_sources_are_not_left_out_of_what_ranks_on_them(method: str) -> None:
    asked = {"method": method, "then": "mrsf", "response": "lda", "labels": "l.csv"}
    with pytest.raises(ConflictError, match="then=mrsf ranks on no graph"):
        RankConfig("x.csv", source=SOURCES, **asked)


@pytest.mark.parametrize("method", METHODS)
def test_options_go_through_a_loop_over_methods(method: str) -> None:
    asked: dict[str, Any] = {"pvalues": "moments", "select": 50, "moderate": "yes"}
    asked |= {"cox": {"event": "e"}, "spearman": {"label_type": "ordered"}}.get(method, {})
    if method in ON_SOURCES:
        asked |= {"source": SOURCES, "weights": "uniform"}
    else:
        asked |= {"similarity": "knn", "given_": "g.csv", "split": "features"}
    budget = {"budget": 2.0} if method == "l21" else {}
    made = RankConfig("x.csv", method=method, labels="l.csv", **asked, **budget)
    assert made.method == method
    assert not replace(made).left_out  # nothing is without effect in what is left


def test_members_have_the_graph_that_is_asked_for() -> None:
    names = ("spec", "relieff", "variance")
    asked = RankConfig(
        "x.csv", "kogs", members=names, similarity="knn", neighbors=3, labels="y.tsv"
    )
    made = member_configs(asked, names)
    assert [(each.similarity, each.neighbors) for each in made] == [
        *(("knn", 3), (None, None), (None, None))
    ]
