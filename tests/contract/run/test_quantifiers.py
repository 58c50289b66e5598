"""Counts that quantifiers write in a file for each sample, and the matrix of featureCounts."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sfs_cli.io.matrix.quantifiers import cleaned, sample_names
from sfs_cli.store.disk import open_store
from tests.running import Sfs, run_here

GENES = [f"ENSG{i:04d}.1" for i in range(20)]
SAMPLES = ["A1", "A2", "B1"]
COUNTS = pd.DataFrame(np.random.default_rng(2).poisson(40, (20, 3)), GENES, SAMPLES)


def tsv(path: Path, columns: dict[str, object], *, header: bool = True) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(columns).to_csv(path, sep="\t", index=False, header=header)
    return path


def salmon(folder: Path, name: str, counts: pd.Series) -> Path:
    lengths = {"Name": counts.index, "Length": 900, "EffectiveLength": 700.25}
    return tsv(
        folder / name / "quant.sf", lengths | {"TPM": counts * 2.5, "NumReads": counts + 0.125}
    )


def kallisto(folder: Path, name: str, counts: pd.Series) -> Path:
    lengths = {"target_id": counts.index, "length": 900, "eff_length": 700.25}
    return tsv(
        folder / name / "abundance.tsv", lengths | {"est_counts": counts + 0.125, "tpm": counts}
    )


def rsem(folder: Path, name: str, counts: pd.Series) -> Path:
    columns = {"gene_id": counts.index, "transcript_id(s)": [f"{i},b" for i in counts.index]}
    columns |= {"length": 900.5, "effective_length": 700.25, "expected_count": counts + 0.125}
    return tsv(folder / f"{name}.genes.results", columns | {"TPM": 1.5, "FPKM": 0.5})


def isoforms(folder: Path, name: str, counts: pd.Series) -> Path:
    columns = {"transcript_id": counts.index, "gene_id": [f"g{i}" for i in counts.index]}
    columns |= {"length": 900, "effective_length": 700.25, "expected_count": counts + 0.125}
    return tsv(folder / f"{name}.isoforms.results", columns | {"TPM": 1, "FPKM": 0, "IsoPct": 50})


def htseq(folder: Path, name: str, counts: pd.Series) -> Path:
    rest = ["__no_feature", "__ambiguous", "__too_low_aQual", "__not_aligned"]
    ids, values = [*counts.index, *rest], [*counts, 5000, 1, 1, 1]
    return tsv(folder / f"{name}.counts.txt", {"a": ids, "b": values}, header=False)


def star(folder: Path, name: str, counts: pd.Series) -> Path:
    rest = ["N_unmapped", "N_multimapping", "N_noFeature", "N_ambiguous"]
    columns = {"a": [*rest, *counts.index], "b": [9, 9, 99_999, 9, *(counts - counts // 9)]}
    columns |= {"c": [9] * 4 + [*(counts // 9)], "d": [9] * 4 + [*counts]}
    return tsv(folder / f"{name}_ReadsPerGene.out.tab", columns, header=False)


def feature_counts(folder: Path, name: str, counts: pd.Series) -> Path:
    places = {"Geneid": counts.index, "Chr": "1;1", "Start": "5;90", "End": "8;99", "Strand": "+;+"}
    return tsv(folder / f"{name}.txt", places | {"Length": 12, f"bam/{name}.bam": counts + 0.125})


WRITERS = (salmon, kallisto, rsem, isoforms, htseq, star, feature_counts)
PROGRAMS = {each.__name__: each for each in WRITERS}


def values(store: Path) -> pd.DataFrame:
    matrix = open_store(store)
    found = np.empty((matrix.n_features, matrix.n_samples), matrix.dtype)
    from sfs_cli.compute.matrix import Span

    matrix.read(Span(0, matrix.n_features), found)
    return pd.DataFrame(found, list(matrix.ids.features), list(matrix.ids.samples))


@pytest.mark.parametrize("program", PROGRAMS)
def test_files_of_samples_become_one_matrix(program: str, sfs: Sfs, tmp_path: Path) -> None:
    written = [COUNTS["A1"], COUNTS["A2"].iloc[::-1], COUNTS["B1"]]  # in an order of its own
    paths = [PROGRAMS[program](tmp_path, str(each.name), each) for each in written]
    done = sfs("convert", *paths, tmp_path / "c.store")
    expected = COUNTS + (0 if program in ("htseq", "star") else 0.125)
    pd.testing.assert_frame_equal(values(tmp_path / "c.store"), expected, check_dtype=False)
    if program == "star":
        assert "column reverse" in done.err
        assert "N_noFeature" in done.err
    if program == "htseq":
        assert "__no_feature" in done.err


LAYOUTS = {
    "salmon": (salmon, "*/quant.sf"),
    "kallisto": (kallisto, "*/abundance.tsv"),
    "rsem": (rsem, "*.genes.results"),
    "star": (star, "*ReadsPerGene.out.tab"),
}
"""What writes the files of a program, and their pattern in a folder."""


@pytest.mark.parametrize("program", LAYOUTS)
def test_a_folder_stands_for_the_files_in_it(program: str, sfs: Sfs, tmp_path: Path) -> None:
    write, pattern = LAYOUTS[program]
    paths = [write(tmp_path / "quant", name, COUNTS[name]) for name in SAMPLES]
    (tmp_path / "quant" / "log.txt").write_text("nothing to see")
    done = sfs("convert", tmp_path / "quant", tmp_path / "c.parquet")
    assert f"3 files, {tmp_path}/quant/{pattern}" in done.err
    sfs("convert", *paths, tmp_path / "listed.parquet")
    whole, listed = (pd.read_parquet(tmp_path / f"{n}.parquet") for n in ("c", "listed"))
    pd.testing.assert_frame_equal(whole, listed)
    assert [*whole] == ["feature", *SAMPLES]
    sfs("convert", tmp_path / "quant", tmp_path / "c.store")
    expected = whole.set_index("feature")
    pd.testing.assert_frame_equal(values(tmp_path / "c.store"), expected, check_names=False)


def test_a_folder_of_one_sample_and_of_two_programs(sfs: Sfs, tmp_path: Path) -> None:
    salmon(tmp_path / "q", "A1", COUNTS["A1"])
    done = sfs("convert", tmp_path / "q", tmp_path / "one.csv", code=3)
    assert "the matrix has 1 sample" in done.err
    star(tmp_path / "q", "B1", COUNTS["B1"])
    done = sfs("convert", tmp_path / "q", tmp_path / "two.parquet", code=3)
    told = " ".join(done.err.split())
    assert "files of several kinds" in told
    assert f"sfs convert {tmp_path}/q/*ReadsPerGene.out.tab OUTPUT" in told  # as many, first
    assert not (tmp_path / "two.parquet").exists()
    (tmp_path / "q").rename(tmp_path / "my runs")
    salmon(tmp_path / "my runs", "A2", COUNTS["A2"])
    done = sfs("convert", tmp_path / "my runs", tmp_path / "two.parquet", code=3)
    named = f"sfs convert {shlex.quote(str(tmp_path / 'my runs'))}/*/quant.sf OUTPUT"
    assert named in " ".join(done.err.split())
    (tmp_path / "empty").mkdir()
    done = sfs("convert", tmp_path / "empty", tmp_path / "x.csv", code=3)
    assert "none that is a matrix" in done.err
    assert "of Salmon, kallisto, RSEM or STAR their FOLDER will do" in " ".join(done.err.split())


def test_a_table_beside_the_folders_is_refused_with_what_to_do(
    sfs: Sfs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in SAMPLES:
        salmon(tmp_path / "q", name, COUNTS[name])
    monkeypatch.chdir(tmp_path / "q")
    assert "give another OUTPUT outside of the folder ." in sfs("convert", ".", "x.csv", code=2).err
    sfs("convert", ".", "../x.csv")


def test_what_does_not_fit_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    paths = [salmon(tmp_path, name, COUNTS[name]) for name in SAMPLES]

    def refused(*words: object) -> str:
        done = run_here(["convert", *map(str, words), str(tmp_path / "c.store")], capfd)
        assert done.code in (2, 3)
        assert not (tmp_path / "c.store").exists()
        return done.err

    few = salmon(tmp_path, "few", COUNTS["A1"].iloc[3:])
    assert "3 are in one of them alone" in refused(*paths, few)
    assert "est_counts" in refused(*paths, kallisto(tmp_path, "k", COUNTS["A1"]))
    assert "no column 'NumRead'" in refused(*paths, "--column", "NumRead")
    assert "--column" in refused(paths[0], "--column", "TPM")
    assert "given twice" in refused(paths[0], paths[0])
    assert "known kind" in refused(paths[0], tsv(tmp_path / "x.tsv", {"a": GENES, "b": 1}))
    assert "--rows features" in refused(*paths, "--rows", "features")
    turned = star(tmp_path, "t", COUNTS["A1"])
    table = pd.read_csv(turned, sep="\t", header=None)
    table[[0, 1, 3, 2]].to_csv(turned, sep="\t", header=False, index=False)
    assert "--column" in refused(*(star(tmp_path, n, COUNTS[n]) for n in SAMPLES), turned)


def test_one_of_them_is_no_matrix(sfs: Sfs, tmp_path: Path) -> None:
    done = sfs("rank", salmon(tmp_path, "A1", COUNTS["A1"]), code=3)
    assert "sfs convert FILE... OUTPUT" in done.err


@pytest.mark.parametrize(
    "words",
    ["--method spearman --label-type continuous --labels", "--method variance --sample-weights"],
)
@pytest.mark.parametrize("ending", ["", "Aligned.sortedByCoord.out.bam"])
def test_samples_of_feature_counts_are_found_by_the_names_in_the_file(
    words: str, ending: str, sfs: Sfs, tmp_path: Path
) -> None:
    own = [f"bam/{name}Aligned.sortedByCoord.out.bam" for name in SAMPLES]
    table = COUNTS.set_axis(own, axis=1)
    for at, name in enumerate(("Chr", "Start", "End", "Strand", "Length")):
        table.insert(at, name, "1")
    path = tmp_path / "counts.txt"
    table.to_csv(path, sep="\t", index_label="Geneid")
    ids = [f"bam/{name}{ending}" if ending else name for name in SAMPLES]
    given = tsv(tmp_path / "y.tsv", {"sample": ids, "y": [1, 2, 4]})
    done = sfs("rank", path, *words.split(), f"{given}:y")
    assert ("samples are named without folders" in done.err) == (not ending)


def test_names_of_samples() -> None:
    def names(*paths: str) -> list[str]:
        return sample_names([Path(path) for path in paths])

    assert names("q/a/quant.sf", "q/b/quant.sf") == ["a", "b"]
    assert names("a/quant/quant.sf", "b/quant/quant.sf") == ["a", "b"]
    assert names("q/a/quant.sf") == ["a"]
    assert names("a.genes.results", "b.genes.results.gz") == ["a", "b"]
    assert names("x/a_ReadsPerGene.out.tab", "x/bReadsPerGene.out.tab") == ["a", "b"]
    assert names("s.1.counts.txt", "s.2.tsv.gz") == ["s.1", "s.2"]
    assert names("a.htseq.txt", "b_htseq.counts.gz", "c_counts.tsv", "d.csv") == [*"abcd"]


def test_the_matrix_of_feature_counts(sfs: Sfs, tmp_path: Path) -> None:
    table = COUNTS.set_axis([f"../bam/{name}.bam" for name in SAMPLES], axis=1)
    for at, (name, value) in enumerate(
        {"Chr": "1;1", "Start": "5;90", "End": "8;99", "Strand": "+;+", "Length": 12}.items()
    ):
        table.insert(at, name, value)
    text = table.to_csv(sep="\t", index_label="Geneid")
    path = tmp_path / "counts.txt"
    path.write_text(f'# Program:featureCounts v2.0.3; Command:"featureCounts"\n{text}')
    done = sfs("convert", path, tmp_path / "c.store")
    pd.testing.assert_frame_equal(values(tmp_path / "c.store"), COUNTS, check_dtype=False)
    for said in ("# Program:featureCounts", "A1 for ../bam/A1.bam", "Length (name)"):
        assert said in done.err
    lead = ["Geneid", "Chr", "Start", "End", "Strand", "Length"]
    for own in (["a/x.bam", "b/x.bam"], ["x", "y"]):
        assert cleaned([*lead, *own], []) == ([*lead, *own], [])
    in_r = ["GeneID", *lead[1:]]
    own = [f"X.home.me.bam.{name}.sorted.bam" for name in SAMPLES]
    assert cleaned([*in_r, *own], [])[0] == [*in_r, *SAMPLES]
    points = ["mouse.WT", "mouse.KO"]  # no folders
    assert cleaned([*lead, *(f"{name}.bam" for name in points)], [])[0] == [*lead, *points]
