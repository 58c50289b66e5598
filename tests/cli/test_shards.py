"""A ranking in shares: the numbers of one run, and errors that say which share is missing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from scipy.sparse import csr_matrix

from tests.cli.shard_study import CASES, make_study, sfs
from tests.making import annotated, write_labels, write_table
from tests.results import assert_same_numbers
from tests.running import Finished, run_here


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_study(tmp_path_factory.mktemp("study"))


@pytest.fixture(autouse=True)
def here(study: Path, monkeypatch: pytest.MonkeyPatch, set_blocks: Callable[[int], None]) -> None:
    monkeypatch.chdir(study)
    set_blocks(9)  # so that every shard has some


def planned(folder: Path, shards: int, case: str = "spec rbf") -> Path:
    sfs("shard", "init", folder / "plan", *CASES[case], "--shards", shards)
    return folder / "plan"


def whole(folder: Path) -> Path:
    sfs("rank", *CASES["spec rbf"], "--out", folder / "whole")
    return folder / "whole"


def state(plan: Path, capfd: pytest.CaptureFixture[str]) -> dict[str, object]:
    return json.loads(run_here(["shard", "status", str(plan), "--json"], capfd).out)


def refused(capfd: pytest.CaptureFixture[str], code: int, *words: object) -> Finished:
    done = run_here([*map(str, words)], capfd)
    assert done.code == code, done.err
    assert done.out == ""
    return done


def test_shards_give_the_numbers_of_one_run(tmp_path, capfd):
    shards = 7
    plan = planned(tmp_path, shards)
    for i in (*range(shards, 0, -1), *range(1, shards + 1)):  # a round for each of two passes
        sfs("shard", "run", plan, i)
    assert state(plan, capfd) == {"pass": 2, "missing": [], "done": True}
    sfs("shard", "merge", plan, "--out", tmp_path / "out")
    assert_same_numbers(tmp_path / "out", whole(tmp_path))


def test_a_threshold_that_leaves_nothing_makes_no_plan(tmp_path, capfd):
    words = [*CASES["spec rbf"], "--min-samples", 10_000, "--shards", 2]
    assert "leaves out every" in refused(capfd, 3, "shard", "init", tmp_path / "plan", *words).err
    assert not (tmp_path / "plan").exists()


def test_parts_that_are_missing_are_made_by_the_merge(tmp_path, capfd):
    plan = planned(tmp_path, 4)
    for i in (1, 3):
        sfs("shard", "run", plan, i)
    sfs("shard", "merge", plan, "--out", tmp_path / "out")
    assert_same_numbers(tmp_path / "out", whole(tmp_path))
    assert state(plan, capfd) == {"pass": 2, "missing": [], "done": True}


def test_a_part_that_is_damaged_is_named(tmp_path, capfd):
    plan = planned(tmp_path, 2)
    for i in (1, 2):
        sfs("shard", "run", plan, i)
    (part,) = plan.glob("parts/*/pass-1-shard-2.npz")
    part.write_bytes(part.read_bytes()[:-30])
    done = refused(capfd, 3, "shard", "merge", plan, "--out", tmp_path / "out")
    assert str(part) in done.err
    assert "remove it" in done.err
    assert not (tmp_path / "out").exists()
    part.unlink()
    sfs("shard", "merge", plan, "--out", tmp_path / "out")
    assert_same_numbers(tmp_path / "out", whole(tmp_path))


def test_a_part_of_another_plan_is_refused(tmp_path, capfd):
    two, five = planned(tmp_path / "two", 2), planned(tmp_path / "five", 5)
    sfs("shard", "run", two, 2)
    (part,) = two.glob("parts/*/pass-1-shard-2.npz")
    (own,) = five.glob("parts/*")
    shutil.copy(part, own)
    done = refused(capfd, 3, "shard", "merge", five, "--out", tmp_path / "out")
    assert "of another number of shards" in done.err
    assert own.name != part.parent.name  # nor does a shard of a plan that was replaced write there


def test_a_shard_says_whom_it_waits_for(tmp_path, capfd):
    plan = planned(tmp_path, 3)
    done = run_here(["shard", "run", str(plan), "2-of-3"], capfd)
    assert done.code == 0
    assert "pass 1 waits for shards 1, 3" in done.err
    sfs("shard", "run", plan, 1)
    done = run_here(["shard", "run", str(plan), "3"], capfd)
    assert "made 2 parts; pass 2 waits for shards 1-2" in done.err
    sfs("shard", "run", plan, 1)
    assert "its share is done" in run_here(["shard", "run", str(plan), "2"], capfd).err


def test_status_tells_the_pass_and_the_shards_that_are_missing(tmp_path, capfd):
    plan = planned(tmp_path, 2)
    assert state(plan, capfd) == {"pass": 1, "missing": [1, 2], "done": False}
    sfs("shard", "run", plan, 1)
    assert run_here(["shard", "status", str(plan)], capfd).out == "pass 1: shard 2 missing\n"
    assert state(plan, capfd) == {"pass": 1, "missing": [2], "done": False}
    sfs("shard", "run", plan, 2)  # which goes on, as pass 1 is there
    assert state(plan, capfd) == {"pass": 2, "missing": [1], "done": False}
    sfs("shard", "run", plan, 1)
    assert run_here(["shard", "status", str(plan)], capfd).out == "done: 2 passes by 2 shards\n"


def test_an_input_that_has_changed_is_refused(study, tmp_path, capfd, monkeypatch):
    copy = tmp_path / "study"
    shutil.copytree(study, copy)
    monkeypatch.chdir(copy)
    plan = planned(tmp_path, 2, "msfs")
    with (copy / "mirna.csv").open("a") as file:
        file.write("more,1\n")
    for words in (("run", plan, 1), ("merge", plan, "--out", tmp_path / "out")):
        done = refused(capfd, 3, "shard", *words)
        assert "mirna.csv" in done.err
        assert "has changed" in done.err


def test_the_file_of_the_graph_may_not_change(tmp_path, capfd, monkeypatch):
    rng = np.random.default_rng(0)
    cells = annotated(rng.random((24, 12)))
    linked = rng.random((24, 24)) < 0.3
    cells.obsp["connectivities"] = csr_matrix((linked | linked.T).astype(float))
    monkeypatch.chdir(tmp_path)
    cells.write_h5ad("c.h5ad")
    words = ("c.h5ad", "--method", "spec", "--similarity", "obsp:connectivities")
    sfs("shard", "init", "plan", *words, "--shards", 2)
    with h5py.File("c.h5ad", "r+") as file:
        values = file["obsp/connectivities/data"]
        values[:] = rng.random(len(values))
    sfs("shard", "run", "plan", 1)  # which goes by the size, and does not read the file for that
    done = refused(capfd, 3, "shard", "merge", "plan", "--out", "out")
    assert "c.h5ad has changed" in done.err
    with Path("c.h5ad").open("ab") as file:
        file.write(b"longer")
    assert "c.h5ad has changed" in refused(capfd, 3, "shard", "run", "plan", 2).err


def test_a_plan_of_another_form_is_refused(tmp_path, capfd):
    """As one of version 1.0.0, whose sources were a list."""
    plan = planned(tmp_path, 2)
    content = json.loads((plan / "plan.json").read_text())
    content["config"]["source"] = []
    (plan / "plan.json").write_text(json.dumps(content))
    assert "the plan cannot be read" in refused(capfd, 3, "shard", "status", plan).err


def test_the_matrix_is_not_needed_once_it_is_in_the_plan(study, tmp_path, monkeypatch):
    copy = tmp_path / "study"
    shutil.copytree(study, copy)
    monkeypatch.chdir(copy)
    expected = whole(tmp_path)
    plan = planned(tmp_path, 1)
    (copy / "m.csv").unlink()
    monkeypatch.chdir(tmp_path)
    sfs("shard", "run", plan, 1)
    sfs("shard", "merge", plan, "--out", "out")
    assert_same_numbers(tmp_path / "out", expected)


def test_a_plan_is_made_once_and_replaced_by_force_alone(tmp_path, capfd):
    plan = planned(tmp_path, 2)
    words = ["shard", "init", str(plan), *CASES["spec rbf"], "--shards"]
    assert "up to date" in run_here([*words, "2"], capfd).err
    assert "--force" in refused(capfd, 4, *words, 3).err
    sfs(*words, 3, "--force")
    assert "up to date" in run_here([*words, "3"], capfd).err


def test_the_merge_warns_of_what_has_no_effect(tmp_path):
    words = ("m.csv", "--method", "variance", "--select", 3, "--shards", 1)
    sfs("shard", "init", tmp_path / "plan", *words)
    sfs("shard", "merge", tmp_path / "plan", "--out", tmp_path / "out")
    warnings = json.loads((tmp_path / "out" / "run.json").read_text())["warnings"]
    assert any("--select has no effect" in each for each in warnings)


def test_the_ranking_of_shards_is_up_to_date_for_rank_and_the_other_way_round(tmp_path, capfd):
    plan = planned(tmp_path, 1)
    sfs("shard", "run", plan, 1)
    sfs("shard", "merge", plan, "--out", tmp_path / "out")
    words = ["rank", *CASES["spec rbf"], "--out", str(tmp_path / "out")]
    assert "up to date" in run_here(words, capfd).err
    again = run_here(["shard", "merge", str(plan), "--out", str(tmp_path / "out")], capfd)
    assert "up to date" in again.err


def test_shards_agree_that_theory_does_not_hold(
    tmp_path: Path, study: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(3)
    write_table(tmp_path / "x.csv", rng.lognormal(sigma=1.5, size=(40, 24)))
    labels = write_labels(tmp_path / "y.tsv", ["a"] * 4 + ["b"] * 20)
    words = (tmp_path / "x.csv", "--labels", labels, "--method", "f-test", "--also", "none")
    sfs("rank", *words, "--out", tmp_path / "whole")
    plan = str(tmp_path / "plan")
    for given, told in (
        (("init", plan, *words, "--shards", "2"), True),
        (("run", plan, "1"), False),
        (("run", plan, "2"), False),
        (("merge", plan, "--out", tmp_path / "out"), True),
    ):
        done = run_here(["shard", *map(str, given)], capfd)
        assert done.code == 0, done.err
        assert ("p-values by permutation" in done.err) == told
    assert_same_numbers(tmp_path / "out", tmp_path / "whole")
    assert "permutation" in (tmp_path / "out" / "ranking.tsv").read_text()
