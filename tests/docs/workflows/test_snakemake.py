"""The Snakemake workflow makes the bytes of ``sfs rank``, also after a shard has died."""

from __future__ import annotations

import re

import pytest
import yaml

from tests.docs.workflows.commands import (
    MATRIX,
    WORKFLOWS,
    contents,
    environment,
    ranked,
    run,
    tool,
)

pytestmark = pytest.mark.any_python

FOLDER = WORKFLOWS / "snakemake"
HEADER = "name\tmatrix\toptions\tconfig\tfiles\tshards"
TISSUE = ["--method", "fisher", "--labels", str(MATRIX.parent / "labels.tsv") + ":tissue"]


@pytest.fixture(scope="module")
def snakemake() -> list[str]:
    return [
        tool("snakemake", "SFS_SNAKEMAKE"),
        *("--snakefile", str(FOLDER / "workflow" / "Snakefile")),
        *("--configfile", str(FOLDER / "config" / "config.yaml")),
        *("--profile", str(FOLDER / "profiles" / "local")),
        *("--config", "samples=samples.tsv", "threads=1", "mem_mb=500"),
    ]


def test_shards_and_a_group_give_the_bytes_of_one_run(snakemake, tmp_path):
    """The whole workflow, which is run with Snakemake in CI."""
    rows = [
        f"plain\t{MATRIX}\t\t\t\t2\tboth",
        f"tissue\t{MATRIX}\t{' '.join(TISSUE)}\t\t{MATRIX.parent}/labels.tsv\t1\tboth",
    ]
    (tmp_path / "samples.tsv").write_text("\n".join([f"{HEADER}\tgroup", *rows]) + "\n")
    env = environment(tmp_path / "bin")
    done = run(snakemake, tmp_path, env)
    assert done.returncode == 0, done.stdout + done.stderr
    results = tmp_path / "results"
    assert contents(results / "ranked" / "plain") == ranked(tmp_path / "plain", [], env)
    assert contents(results / "ranked" / "tissue") == ranked(tmp_path / "tissue", TISSUE, env)
    header = (results / "compared/both/ranking.tsv").read_text().split("\n")[0]
    assert {"rank_plain", "rank_tissue"} <= set(header.split("\t"))


def test_meta_data_of_the_catalog_can_be_read():
    catalog = yaml.safe_load((FOLDER / ".snakemake-workflow-catalog.yml").read_text())
    assert catalog["usage"]["report"] is True
    for path in (FOLDER / "workflow").rglob("*.smk"):
        for caption in re.findall(r'caption="\.\./(.*?)"', path.read_text()):
            assert (FOLDER / "workflow" / caption).exists()
    columns = yaml.safe_load((FOLDER / "workflow/schemas/samples.schema.yaml").read_text())
    described = (FOLDER / "config/README.md").read_text()
    assert all(f"| `{name}` |" in described for name in columns["properties"])
