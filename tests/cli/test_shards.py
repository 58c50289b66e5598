"""A ranking in shares: the bytes of one run, and errors that say which share is missing."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from tests.cli.shard_study import CASES, make_study, sfs
from tests.making import annotated
from tests.results import result
from tests.running import Finished, run_here

SHARED = (
    *("default", "components", "sparse fisher", "gdcov", "permutations", "split counts"),
    *("msfs", "kogs", "pruned"),
)
BLOCK = ("--block-size", "9")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_study(tmp_path_factory.mktemp("study"))


@pytest.fixture(autouse=True)
def here(study: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(study)


def planned(folder: Path, shards: int, case: str = "spec rbf") -> Path:
    sfs("shard", "init", folder / "plan", *CASES[case], *BLOCK, "--shards", shards)
    return folder / "plan"


def whole(folder: Path, case: str = "spec rbf") -> dict[str, bytes]:
    sfs("rank", *CASES[case], *BLOCK, "--out", folder / "whole")
    return result(folder / "whole")


def shares(plan: Path, shards: int, *options: object) -> None:
    for i in range(shards, 0, -1):
        sfs("shard", "run", plan, i, *options)


def refused(capfd: pytest.CaptureFixture[str], code: int, *words: object) -> Finished:
    done = run_here([*map(str, words)], capfd)
    assert done.code == code, done.err
    assert done.out == ""
    assert "to do:" in done.err
    return done


@pytest.mark.parametrize("shards", [1, 7])
def test_any_number_of_shards_gives_the_bytes_of_one_run(shards, tmp_path):
    plan = planned(tmp_path, shards)
    for number in (1, 2):
        shares(plan, shards, "--pass", number)
    sfs("shard", "merge", plan, "--out", tmp_path / "out")
    assert result(tmp_path / "out") == whole(tmp_path)


@pytest.mark.parametrize("case", SHARED)
def test_every_kind_of_ranking_may_be_shared(case, tmp_path):
    plan = planned(tmp_path, 3, case)
    expected = json.loads((plan / "plan.json").read_text())["passes"]
    for _ in range(expected or 6):
        shares(plan, 3)
    sfs("shard", "merge", plan, "--out", tmp_path / "out")
    assert result(tmp_path / "out") == whole(tmp_path, case)


def test_parts_that_are_missing_are_named_and_can_be_made_by_the_merge(tmp_path, capfd):
    plan = planned(tmp_path, 4)
    for i in (1, 3):
        sfs("shard", "run", plan, i)
    merge = ("shard", "merge", plan, "--out", tmp_path / "out")
    done = refused(capfd, 3, *merge)
    assert "shards 2, 4 of pass 1" in done.err
    assert "all of pass 2" in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plan"]
    sfs(*merge, "--finish")
    assert result(tmp_path / "out") == whole(tmp_path)


def test_a_shard_says_whom_it_waits_for(tmp_path, capfd):
    plan = planned(tmp_path, 3)
    done = run_here(["shard", "run", str(plan), "2-of-3"], capfd)
    assert done.code == 0
    assert "pass 1 waits for shards 1, 3" in done.err
    sfs("shard", "run", plan, 1)
    done = run_here(["shard", "run", str(plan), "3"], capfd)
    assert "waits" not in done.err  # others are behind, but nothing is left for this one
    assert "its share is done" in done.err
    for i in (1, 2):
        done = run_here(["shard", "run", str(plan), str(i)], capfd)
        assert "its share is done" in done.err


@pytest.mark.parametrize(
    ("case", "again"), [("sparse fisher", ""), ("spec rbf", ", again for each pass")]
)
def test_init_says_what_comes_next(case, again, tmp_path, capfd):
    plan = tmp_path / "plan"
    done = run_here(
        ["shard", "init", str(plan), *CASES[case], *map(str, BLOCK), "--shards", "2"], capfd
    )
    said = "".join(done.err.split())  # long lines are folded
    runs, merge = f"shard run {plan} I for I = 1 to 2{again};", f"shard merge {plan} --out DIR"
    assert "".join(runs.split()) in said
    assert "".join(merge.split()) in said


def test_a_pass_that_needs_another_one_is_refused(tmp_path, capfd):
    plan = planned(tmp_path, 3)
    sfs("shard", "run", plan, 1, "--pass", 1)
    done = refused(capfd, 3, "shard", "run", plan, 1, "--pass", 2)
    assert "shards 2-3 of pass 1" in done.err
    shares(plan, 3)
    shares(plan, 3)
    done = refused(capfd, 2, "shard", "run", plan, 1, "--pass", 3)
    assert "2 passes can be shared" in done.err


def test_more_shards_than_parts_are_idle(tmp_path, capfd):
    plan = planned(tmp_path, 30)
    done = [run_here(["shard", "run", str(plan), str(i)], capfd) for i in range(1, 31)]
    assert {one.code for one in done} == {0}
    idle = [one for one in done if "nothing to do: there are more shards than parts" in one.err]
    assert len(idle) == 30 - 17


def test_status_tells_the_shards_that_are_done(tmp_path, capfd):
    plan = planned(tmp_path, 2)
    sfs("shard", "run", plan, 1)
    done = run_here(["shard", "status", str(plan)], capfd)
    assert [line.split() for line in done.out.splitlines()[1:]] == [
        ["1", "1", "of", "2", "8/17", "shard", "2"],
        ["2", "0", "of", "2", "-", "not", "begun"],
    ]
    facts = json.loads(run_here(["shard", "status", str(plan), "--json"], capfd).out)
    assert facts["passes"] == [{"pass": 1, "done": [1], "missing": [2], "parts": 8, "total": 17}]


@pytest.mark.parametrize("name", ["mirna.csv", "labels.tsv"])
def test_an_input_that_has_changed_is_refused(name, study, tmp_path, capfd, monkeypatch):
    copy = tmp_path / "study"
    shutil.copytree(study, copy)
    monkeypatch.chdir(copy)
    plan = planned(tmp_path, 2, "msfs")
    with (copy / name).open("a") as file:
        file.write("more,1\n")
    for words in (("run", plan, 1), ("merge", plan, "--out", tmp_path / "out")):
        done = refused(capfd, 3, "shard", *words)
        assert name in done.err
        assert "has changed" in done.err


@pytest.mark.parametrize("name", ["c.h5ad", "C.H5AD", "c.h5mu"])
def test_a_file_of_which_the_graph_is_read_may_not_change(name, tmp_path, capfd, monkeypatch):
    import h5py
    from anndata.io import write_elem

    rng = np.random.default_rng(0)
    cells = annotated(rng.random((24, 12)))
    linked = rng.random((24, 24)) < 0.3
    cells.obsp["connectivities"] = csr_matrix((linked | linked.T).astype(float))
    monkeypatch.chdir(tmp_path)
    with h5py.File(name, "w") as file:
        if name.endswith("mu"):
            file.attrs["encoding-type"] = "MuData"
            write_elem(file.create_group("mod"), "rna", cells)
        else:
            write_elem(file, "/", cells)
    matrix = f"{name}:rna" if name.endswith("mu") else name
    words = (matrix, "--method", "spec", "--similarity", "obsp:connectivities")
    sfs("shard", "init", "plan", *words, "--shards", 2)
    with h5py.File(name, "r+") as file:
        graph = file["mod/rna/obsp" if name.endswith("mu") else "obsp"]
        graph["connectivities/data"][:] = rng.random(len(graph["connectivities/data"]))
    for more in (("run", "plan", 1), ("merge", "plan", "--out", "out")):
        assert f"{matrix} has changed" in refused(capfd, 3, "shard", *more).err


def test_the_matrix_is_not_needed_once_it_is_in_the_plan_but_a_store_may_not_change(
    study, tmp_path, monkeypatch, capfd
):
    copy = tmp_path / "study"
    shutil.copytree(study, copy)
    monkeypatch.chdir(copy)
    expected = whole(tmp_path)
    plan = planned(tmp_path, 1)
    sfs("convert", "m.csv", "m.store")
    sfs("shard", "init", "of-store", "m.store", *BLOCK, "--shards", 1)
    assert not (copy / "of-store" / "store").exists()
    (copy / "m.csv").unlink()
    monkeypatch.chdir(tmp_path)
    sfs("shard", "run", plan, 1)
    sfs("shard", "merge", plan, "--out", "out")
    assert result(tmp_path / "out") == expected
    manifest = copy / "m.store" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"rows"', '"Rows"'))
    done = refused(capfd, 3, "shard", "run", copy / "of-store", 1)
    assert "m.store has changed" in done.err


def test_a_plan_is_made_once_and_replaced_by_force_alone(tmp_path, capfd):
    plan = planned(tmp_path, 2)
    words = ["shard", "init", str(plan), *CASES["spec rbf"], *BLOCK, "--shards"]
    assert "up to date" in run_here([*words, "2"], capfd).err
    assert "--force" in refused(capfd, 4, *words, 3).err
    sfs(*words, 3, "--force")
    assert json.loads((plan / "plan.json").read_text())["shards"] == 3


def test_a_plan_of_other_versions_is_refused(tmp_path, capfd):
    plan = planned(tmp_path, 2)
    content = json.loads((plan / "plan.json").read_text())
    content["versions"]["numpy"] = "1.0"
    (plan / "plan.json").write_text(json.dumps(content))
    done = refused(capfd, 3, "shard", "run", plan, 1)
    assert "the plan was made with numpy 1.0" in done.err


def test_the_ranking_of_shards_is_up_to_date_for_rank_and_the_other_way_round(tmp_path, capfd):
    plan = planned(tmp_path, 1)
    sfs("shard", "run", plan, 1)
    sfs("shard", "merge", plan, "--out", tmp_path / "out")
    words = ["rank", *CASES["spec rbf"], *BLOCK, "--out", str(tmp_path / "out")]
    assert "up to date" in run_here(words, capfd).err
    again = run_here(["shard", "merge", str(plan), "--out", str(tmp_path / "out")], capfd)
    assert "up to date" in again.err


def test_a_file_of_options_makes_a_plan(tmp_path):
    (tmp_path / "run.json").write_text(
        json.dumps({"matrix": str(Path("m.csv").absolute()), "method": "variance"})
    )
    sfs("shard", "init", tmp_path / "plan", "--config", tmp_path / "run.json", "--shards", 2)
    shares(tmp_path / "plan", 2)
    sfs("shard", "merge", tmp_path / "plan", "--out", tmp_path / "out")
    sfs("rank", "--config", tmp_path / "run.json", "--out", tmp_path / "whole")
    assert result(tmp_path / "out") == result(tmp_path / "whole")
