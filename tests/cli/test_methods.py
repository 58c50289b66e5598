"""``sfs methods``: each name with its own parameters, for people and for programs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sfs_cli.catalog import GOING_ON
from sfs_cli.workflow.methods import NAMED, NAMES
from tests.running import run_here


def described(capfd, *words: str) -> list[dict[str, Any]]:
    done = run_here(["methods", *words, "--json"], capfd)
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_parameters_are_those_of_the_name(capfd) -> None:
    (spec,) = described(capfd, "spec")
    assert spec["parameters"]["gamma-power"] == {
        **{"type": "integer", "least": 1, "most": 64, "default": 1},
        "help": "Power of the eigenvalues.",
    }
    (rfs,) = described(capfd, "rfs")
    assert spec["parameters"]["gamma"]["values"] == ["power", "exp"]
    assert rfs["parameters"]["gamma"] == {
        **{"type": "number", "above": 0, "default": 1.0},
        "help": "Weight of the regularization.",
    }
    (rkda,) = described(capfd, "rkda")
    assert rkda["parameters"]["lambda"]["default_text"] == "1 / samples"
    assert {*rkda["parameters"]} == {"lambda", "normalize"}
    assert [each["option"] for each in described(capfd, "relieff")] == ["--method", "--similarity"]
    (mrmr,) = described(capfd, "mrmr")
    assert mrmr["options"]["--select"]["default"] == 50


def test_all_are_described_and_listed_in_a_line_each(capfd) -> None:
    everything = described(capfd)
    assert len(everything) == sum(len(each.table) for each in NAMED.values())
    assert {each["name"] for each in everything} == {*NAMES}
    lines = run_here(["methods"], capfd).out.splitlines()
    assert {*NAMES} <= {line.split()[0] for line in lines if line.startswith("  ")}
    assert len(lines) < 80


def test_the_text_has_bounds_and_defaults(capfd) -> None:
    text = run_here(["methods", "sselect"], capfd).out
    assert "labels have the rest.  [a number from 0 to 1; default: 0.3]" in text
    assert "--select N" in text
    assert "parameters (--weights snf,KEY=VALUE):" in run_here(["methods", "snf"], capfd).out
    assert run_here(["methods", "fischer"], capfd).code == 2


@pytest.mark.parametrize(
    ("name", "needs"),
    [
        ("msfs", "knowledge sources (--source), or a similarity that `sfs fuse` made of them"),
        ("kogs", "knowledge sources (--source), or methods (members=)"),
        ("mrsf", "a sample graph for response=similarity; labels for response=lda, svm, outcome"),
        ("seper", "nothing"),
    ],
)
def test_what_a_method_needs_is_said_once(name: str, needs: str, capfd) -> None:
    assert f"  needs     {needs}\n" in run_here(["methods", name], capfd).out


def test_methods_that_start_from_given_features_say_so(capfd) -> None:
    able = [each["name"] for each in described(capfd) if "--given" in each.get("options", {})]
    assert able == [*GOING_ON]
