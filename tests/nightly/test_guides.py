"""Guides that take long, engines that they name, and numbers that they state."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import pytest

from tests.docs.pages import DOCS, ENGINES, PAGES, ROOT, Reader, text_of
from tests.docs.test_commands import LONG, commands_of, follow
from tests.docs.workflows.commands import tool, write_script
from tests.docs.workflows.test_slurm_scripts import SBATCH

CLUSTER, STORIES = DOCS / "guides" / "cluster.md", DOCS / "guides" / "stories.md"


@pytest.mark.parametrize("page", [CLUSTER, STORIES], ids=lambda page: page.stem)
def test_arrays_of_slurm(page: Path, tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    shutil.copytree(ROOT / "workflows", reader.folder / "workflows")
    write_script(tmp_path / "bin" / "sbatch", SBATCH, log=str(tmp_path / "jobs"))
    (command,) = (c for c in commands_of(page) if c.startswith("workflows/"))
    done = reader.run(command)
    assert done.returncode == 0, done.stderr
    assert (reader.folder / command.split()[1] / "ranking.tsv").is_file()


@pytest.mark.parametrize("name", ENGINES)
def test_engines(name: str, tmp_path: Path) -> None:
    program = tool(name, f"SFS_{name.upper()}")
    reader = Reader(tmp_path)
    shutil.copytree(ROOT / "workflows", reader.folder / "workflows")
    write_script(tmp_path / "bin" / name, '#!/bin/sh\nexec "{program}" "$@"\n', program=program)
    config = reader.folder / "workflows" / "snakemake" / "config" / "config.yaml"
    assert "\nshards: 8\n" in config.read_text()
    config.write_text(config.read_text().replace("\nshards: 8\n", "\nshards: 2\n"))
    (command,) = (c for c in commands_of(CLUSTER) if f"&& {name}" in c)
    done = reader.run(command)
    assert done.returncode == 0, done.stdout + done.stderr
    assert any(reader.folder.joinpath("workflows").rglob("ranking.tsv"))


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page.stem in LONG and page != STORIES],
    ids=lambda page: page.stem,
)
def test_a_reader_can_follow_the_page(
    page: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    follow(page, tmp_path, capfd)


def statements(results: Path) -> Iterator[str]:
    """What the commands of the stories have found, in the words of the page."""
    ranked = {
        path.parent.name: pd.read_csv(path, sep="\t") for path in results.glob("*/ranking.tsv")
    }
    facts = {name: json.loads((results / name / "run.json").read_text()) for name in ranked}

    def significant(name: str, limit: float) -> str:
        return f"{(ranked[name]['q_value'] <= limit).sum()} genes"

    yield f"`select` prints {significant('export', 0.05)} with a q-value of 0.05 or less"
    made = facts["geo"]["input"]["collapse"]
    yield f"{made['features_made']} genes of {made['features_in_the_file']} probes"
    yield f"{significant('geo', 0.01)} have a q-value of 0.01 or less"
    yield f"{significant('pairs', 0.05)} have a q-value of 0.05 or less"
    weight = {each["name"]: each["weight"] for each in facts["omics"]["knowledge"]["sources"]}
    yield f"{weight['mirna']:.2f} for miRNAs, {weight['protein']:.2f} for proteins"
    yield f"{weight['genes']:.2f} for genes"
    first = ranked["omics"]["source"].head(50).value_counts()
    yield f"{first['genes']} genes, {first['mirna']} miRNAs and {first['protein']} protein"
    events = facts["times"]["survival"]["events"]
    yield f"{events} events in {facts['times']['input']['n_samples']} samples"
    yield f"the smallest q-value is {ranked['times']['q_value'].min():.2f}"
    judged = pd.read_csv(results / "judged" / "evaluation.tsv", sep="\t")
    asked = "features == 50 and measure == 'balanced_accuracy' and classifier == 'linear SVM'"
    value = judged.query(asked).set_index("list")["value"]
    yield f"{value['f-test']:.3f} with the test, {value['deseq2']:.3f} with the list of DESeq2"
    yield f"{value['random genes']:.3f} with random genes"
    verdicts = pd.read_csv(results / "judged" / "verdicts.tsv", sep="\t")
    better = verdicts.query("list == 'f-test' and other == 'deseq2'")["better"].dropna()
    yield f"{'a' if len(better) else 'no'} difference between the first two is shown"
    truth = anndata.read_h5ad(results.parent / "files" / "donors.h5ad").var["planted"]
    markers = pd.read_csv(results / "markers" / "markers.tsv", sep="\t")
    planted = truth.index[truth == "cluster"]
    assert {*markers[markers["class"] == "T"]["feature"].head(len(planted))} == {*planted}
    yield f"The {len(planted)} best markers of cluster T"
    of_cells, of_donors = (
        truth[ranked[name].query("q_value <= 0.05")["feature"]] for name in ("cells", "donors")
    )
    wrong = (of_cells != "condition").sum()
    yield f"the cells give {len(of_cells)} genes with a q-value of 0.05 or less, and {wrong} of"
    assert (of_donors == "condition").all()
    true = ranked["donors"][ranked["donors"]["feature"].map(truth) == "condition"]
    low, larger = (true["status"] == "counts too low").sum(), (true["q_value"] > 0.05).sum()
    found = f"give {len(of_donors)} genes, all of them true; {low} more have too few counts"
    yield f"The sums of the donors {found}, and {larger} have larger q-values"
    assert {*ranked["tissue"]["feature"][:10]} == {*range(10)}
    yield f"`select` prints {significant('tissue', 0.05)}: the ten"
    score = pd.read_csv(results / "search.csv")["mean_test_score"]
    yield "{:.2f} with 2 genes, {:.2f} with 5 and {:.2f} with 10".format(*score)
    whole, sharded = (ranked[name].dropna(subset="score") for name in ("whole", "sharded"))
    assert whole["feature"].tolist() == sharded["feature"].tolist()
    np.testing.assert_allclose(sharded["score"], whole["score"], rtol=1e-9)
    yield f"the same {len(whole):,} genes with a score in the same order"


def test_the_stories_state_what_their_commands_find(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    follow(STORIES, tmp_path, capfd)
    page = text_of(STORIES)
    found = [*statements(tmp_path / "here" / "studies")]
    assert [statement for statement in found if statement not in page] == []
