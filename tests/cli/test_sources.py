"""Knowledge sources as a user meets them: what is said, written and kept."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sfs_cli.io.knowledge.similarity import open_similarity, write_similarity
from tests.making import annotated
from tests.making_commands import (
    AB,
    FEATURES,
    SAMPLES,
    good,
    labels,
    table,
    text,
    values,
)
from tests.running import Finished, run_here, snapshot

EDGES = """gene_a\tgene_b\tscore
gene1\tgene2\t0.9
gene2\tgene1\t0.5
gene3\tgene3\t0.9
gene3\tgene4\t0.8
gene5\tgene6\t0.1
"""


def source_words(folder: Path) -> list[str]:
    """A profile of other samples too, interactions with loops, and a target."""
    samples = [*SAMPLES[::-1], "s7", "s8"]
    profile = text(folder, table(values(4, 8), samples=samples), "p.csv")
    edges = text(folder, EDGES, "e.tsv")
    return [
        *("--source", f"mirna=profile:{profile}"),
        *("--source", f"ppi=interactions:{edges},min-score=0.2"),
        *("--source", "expression=target:"),
    ]


def msfs(folder: Path, *more: str) -> list[str]:
    out = ["--out", str(folder / "out")]
    return ["rank", good(folder), "--method", "msfs", *source_words(folder), *out, *more]


def done(arguments: list[str], capfd: pytest.CaptureFixture[str]) -> Finished:
    ended = run_here(arguments, capfd)
    assert ended.code == 0, ended.err
    return ended


def test_what_became_of_each_source_is_said(tmp_path, capfd):
    said = done(msfs(tmp_path), capfd).err
    assert "edges by columns 'gene_a' and 'gene_b'" in said
    assert "source mirna (profile): rbf on 4 features (2 other samples ignored)" in said
    assert "source ppi (interactions): rbf on 4 features, 4 of 4 genes found" in said
    assert "ignored self-loops: 1, repeated edges: 1, edges below min-score: 1" in said
    assert "weights (uniform): mirna 0.3333, ppi 0.3333, expression 0.3333" in said
    assert "warning" not in said


def test_a_statement_of_logarithms_is_of_the_matrix_alone(tmp_path, capfd):
    # it changes no value of a source, and would be left out without a word
    ended = run_here(msfs(tmp_path, "--source", "more=target:,transform=is-log2"), capfd)
    assert ended.code == 2
    assert "is-log2 has no effect on a source" in ended.err


def test_sets_that_are_not_chosen_are_taken_together_and_that_is_said(tmp_path, capfd):
    sets = text(tmp_path, "A\tx\tgene1\tgene2\nB\tx\tgene2\tgene3\n", "s.gmt")
    matrix = ["rank", good(tmp_path), "--method", "msfs"]
    for names, together in (("", True), (":A,B", False), (":A", False)):
        said = done([*matrix, "--source", f"s=genes:{sets}{names}"], capfd).err
        assert ("all 2 sets together" in said) == together
        assert ("s.gmt:SET" in said) == together


def test_samples_that_a_source_lacks_are_said(tmp_path, capfd):
    some = labels(tmp_path, AB[:4], SAMPLES[:4])
    words = [*msfs(tmp_path), "--source", f"t=labels:{some}"]
    said = done([*words, "--samples", "union"], capfd).err
    assert "source t (labels): label, 4 of 6 samples" in said
    said = done([*words, "--samples", "intersect", "--force"], capfd).err
    assert "ranked 9 of 9 features on 4 samples by MSFS" in said
    assert "source t (labels): label\n" in said


def test_the_record_of_a_run_is_complete(tmp_path, capfd):
    words = msfs(tmp_path, "--weights", "statis", "--leave-one-out")
    done(words, capfd)
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert [entry["role"] for entry in record["inputs"]] == [
        "matrix",
        "source.mirna.path",
        "source.ppi.path",
    ]
    knowledge = record["knowledge"]
    assert [s["name"] for s in knowledge["sources"]] == ["mirna", "ppi", "expression"]
    assert sum(s["weight"] for s in knowledge["sources"]) == pytest.approx(1)
    assert (
        knowledge["sources"][1] | {"self_loops": 1, "below_min_score": 1}
        == (knowledge["sources"][1])
    )
    assert knowledge["fusion"]["weights"] == "statis"
    assert knowledge["fusion"]["objective"] > 1
    assert len(knowledge["leave_one_out"]) == 3
    assert "up to date" in done(words, capfd).err


def fuse(folder: Path, out: str, *more: str) -> list[str]:
    target = str(folder / out)
    return ["fuse", good(folder), *source_words(folder), "--out", target, *more]


def test_fuse_is_up_to_date_until_something_changes(tmp_path, capfd):
    words = fuse(tmp_path, "new/fused.npz")
    done(words, capfd)
    first = snapshot(tmp_path)
    assert "up to date" in done(words, capfd).err
    assert snapshot(tmp_path) == first
    changed = [*words, "--weights", "uniform,normalize=frobenius"]
    refused = run_here(changed, capfd)
    assert refused.code == 4
    assert snapshot(tmp_path) == first
    done([*changed, "--force"], capfd)
    assert snapshot(tmp_path) != first


ODD = ["sample", "sample_id", "a,b", 'say "x"', " led", "É", "x" * 300]


@pytest.mark.parametrize("suffix", [".npz", ".parquet", ".tsv", ".v2.csv"])
def test_a_similarity_is_read_back_as_it_was_whatever_the_ids(tmp_path, suffix):
    S = np.random.default_rng(1).normal(size=(len(ODD),) * 2) ** 9
    path = tmp_path / f"S{suffix}"
    ids = [name.strip() for name in ODD]
    write_similarity(path, S + S.T, ids)
    np.testing.assert_array_equal(open_similarity(str(path)).aligned(ids), S + S.T)
    turned = ids[::-1]
    np.testing.assert_array_equal(open_similarity(str(path)).aligned(turned), (S + S.T)[::-1, ::-1])


@pytest.mark.parametrize("as_source", [True, False])
def test_distances_and_a_lack_of_ids_are_told(tmp_path, capfd, as_source):
    path = str(tmp_path / "d.npy")
    np.save(path, np.abs(np.subtract.outer(np.arange(6.0), np.arange(6.0))))
    given = ["--similarity", f"file:{path}"]
    if as_source:
        given = ["--method", "msfs", "--source", f"d=similarity:{path}"]
    said = done(["rank", good(tmp_path), *given], capfd).err
    assert "looks like distances" in said
    assert "in the order of the samples" in said


def test_a_least_score_in_other_units_is_told(tmp_path, capfd):
    edges = text(tmp_path, EDGES.replace("0.", "90"), "e.tsv")
    words = ["rank", good(tmp_path), "--method", "msfs", "--source"]
    said = done([*words, f"e=interactions:{edges},min-score=0.7"], capfd).err
    assert "min-score=0.7 of source e leaves nothing out" in said
    said = done([*words, f"e=interactions:{edges},min-score=902"], capfd).err
    assert "leaves nothing out" not in said


def test_seeds_that_do_not_interact_are_told(tmp_path, capfd):
    edges = text(tmp_path, EDGES, "e.tsv")
    words = ["rank", good(tmp_path), "--method", "msfs", "--source"]
    for names, warned in (("gene1\ngene3\nx\n", False), ("gene1\nx\ny\nz\nw\n", True)):
        seeds = text(tmp_path, names, "seeds.txt")
        said = done([*words, f"e=interactions:{edges},seeds={seeds}"], capfd).err
        assert "not among the genes that interact (x" in said
        assert ("warning: seeds of source e" in said) == warned


def test_ids_of_string_match_with_their_species_in_matrix_and_seeds(tmp_path, capfd):
    ids = [f"9606.{name}" for name in FEATURES]
    matrix = text(tmp_path, table(values(), ids), "x.csv")
    edges = text(
        tmp_path, EDGES.replace("gene", "9606.gene").replace("9606.gene_", "gene_"), "e.tsv"
    )
    seeds = text(tmp_path, "9606.gene1\n", "seeds.txt")
    words = ["rank", matrix, "--method", "msfs", "--source"]
    said = done([*words, f"e=interactions:{edges},seeds={seeds}"], capfd).err
    assert "2 of 2 genes found" in said


def test_included_ids_that_are_not_there_are_told(tmp_path, capfd):
    words = ["rank", good(tmp_path), "--exclude"]
    some = text(tmp_path, "gene1\ngene2\nx\n", "some.txt")
    said = done([*words, some], capfd).err
    assert "1 of 3 ids not in the matrix (x)" in said
    assert "warning: --exclude" not in said
    most = text(tmp_path, "gene1\nw\nx\ny\nz\n", "most.txt")
    assert "warning: --exclude" in done([*words, most], capfd).err


def test_missing_text_of_annotations_is_no_class(tmp_path, capfd):
    data = annotated(values().T, FEATURES, SAMPLES)
    data.obs["state"] = ["a", "a", "b", "b", "", "NA"]
    data.obs["age"] = ["31", "[Not Available]", "52", "47", "29", "60"]
    data.obs["none"] = ["", "NA", "nan", "", "", ""]
    path = str(tmp_path / "m.h5ad")
    data.write_h5ad(path)
    words = ["rank", path, "--samples", "intersect"]
    said = done([*words, "--method", "fisher", "--labels", "obs:state"], capfd).err
    assert "left out by --samples intersect: 2 samples (s5, s6)" in said
    said = done([*words, "--method", "variance", "--adjust", "obs:age=numeric"], capfd).err
    assert "1 sample (s2)" in said
    ended = run_here([*words, "--method", "fisher", "--labels", "obs:none"], capfd)
    assert ended.code == 3
    assert "no sample has a label" in ended.err
