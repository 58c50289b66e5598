"""Write the simulated multi-source study of this folder: `python make.py [OUTDIR]`.

README.md describes the files and what is planted in them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from knowledge import N_TERMS, make_interactions, make_pathways, make_terms
from simulate import Draws, Floats, Genes, Samples, make_genes, make_mirna, make_samples

TISSUES = ("colon", "pancreas", "kidney", "uterus")
LINEAGE = ("endoderm", "endoderm", "mesoderm", "mesoderm")
STATUSES = ("normal", "tumour")
LABELED_PER_TISSUE = 5
SERIES_SAMPLES, SERIES_NOISE = 24, 90


def write_table(path: Path, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a comma- or tab-separated table, as the name says, with Unix line ends."""
    separator = "," if path.suffix == ".csv" else "\t"
    lines = [separator.join(row) for row in (header, *rows)]
    path.write_bytes(("\n".join(lines) + "\n").encode("ascii"))


def write_matrix(path: Path, corner: str, columns: list[str], ids: list[str], x: Floats) -> None:
    """Write a table of numbers with three decimals, ids in the first column."""
    rows = ([name, *(f"{v:.3f}" for v in row)] for name, row in zip(ids, x, strict=True))
    write_table(path, [corner, *columns], rows)


def write_samples(out: Path, samples: Samples) -> None:
    """Write the labels (all, and a few only) and the hierarchy."""
    tissue = [TISSUES[t] for t in samples.tissue]
    status = [STATUSES[t] for t in samples.tumour]
    batch = ["AB"[b] for b in samples.batch]
    header = ["sample", "tissue", "status", "batch"]
    write_table(out / "labels.tsv", header, zip(samples.ids, tissue, status, batch, strict=True))
    draws = Draws(7)
    groups = [np.flatnonzero(samples.tissue == t) for t in range(len(TISSUES))]
    known = np.sort(np.concatenate([draws.pick(g, LABELED_PER_TISSUE) for g in groups]))
    few = ([samples.ids[i], tissue[i]] for i in known)
    write_table(out / "labels_partial.tsv", ["sample", "tissue"], few)
    paths = [f"{LINEAGE[t]}/{TISSUES[t]}/{s}" for t, s in zip(samples.tissue, status, strict=True)]
    write_table(out / "hierarchy.tsv", ["sample", "path"], zip(samples.ids, paths, strict=True))


def write_knowledge(out: Path, genes: Genes) -> None:
    """Write what is known of the genes: pathways, terms and interactions."""
    sets = [
        [f"SIMPATH{i + 1:02d}", f"simulated pathway {i + 1}", *(genes.ids[g] for g in members)]
        for i, members in enumerate(make_pathways(genes))
    ]
    (out / "pathways.gmt").write_bytes("".join("\t".join(s) + "\n" for s in sets).encode("ascii"))
    annotated, terms = make_terms(genes)
    rows = ([genes.ids[g], *("01"[t] for t in row.astype(int))] for g, row in zip(annotated, terms))
    header = ["gene", *(f"SIM:{i + 1:07d}" for i in range(N_TERMS))]
    write_table(out / "go_terms.csv", header, rows)
    edges = ([genes.ids[a], genes.ids[b], f"{s:.3f}"] for a, b, s in make_interactions(genes))
    write_table(out / "interactions.tsv", ["gene_a", "gene_b", "score"], edges)


def write_series(out: Path, samples: Samples, genes: Genes) -> None:
    """Write two probes of some genes, as GEO has a series of arrays and their platform."""
    draws, used = Draws(8), np.arange(SERIES_SAMPLES)
    known = genes.having("tissue", "tumour")
    chosen = np.sort(np.append(known, draws.pick(genes.having("noise"), SERIES_NOISE)))
    spread = np.tile((0.1, 0.6), len(chosen))[:, None]  # the second probe is the worse one
    values = np.repeat(genes.values[chosen][:, used] + 2, 2, axis=0)
    values = values + spread * draws.normal(values.shape)
    symbols = [genes.ids[g] for g in np.repeat(chosen, 2)]
    symbols[5] += f" /// {genes.ids[0]}"  # a probe of two genes, and two of none
    symbols[8] = symbols[9] = "---"
    probes = [f"{1000 + i}_at" for i in range(len(symbols))]
    rows = [
        ("!Series_title", ["A simulated study"]),
        ("!Sample_title", [f"patient {samples.ids[i]}" for i in used]),
        ("!Sample_geo_accession", accessions := [f"GSM{i + 1}" for i in used]),
        ("!Sample_characteristics_ch1", [f"tissue: {TISSUES[samples.tissue[i]]}" for i in used]),
        ("!Sample_characteristics_ch1", [f"status: {STATUSES[samples.tumour[i]]}" for i in used]),
        ("!Sample_characteristics_ch1", [f"batch: {'AB'[samples.batch[i]]}" for i in used]),
    ]
    lines = ["\t".join([name, *(f'"{field}"' for field in fields)]) for name, fields in rows]
    header = "\t".join(f'"{name}"' for name in ("ID_REF", *accessions))
    lines += ["!series_matrix_table_begin", header]
    lines += ["\t".join([f'"{p}"', *(f"{v:.3f}" for v in row)]) for p, row in zip(probes, values)]
    text = "\n".join([*lines, "!series_matrix_table_end", ""])
    (out / "simulated_series_matrix.txt").write_bytes(text.encode("ascii"))
    table = [f"{probe}\tnone\t{symbol}" for probe, symbol in zip(probes, symbols)]
    lines = ["#ID = the probe", "#Gene Symbol = its gene", "ID\tSpecies\tGene Symbol", *table, ""]
    (out / "simulated_platform.txt").write_bytes("\n".join(lines).encode("ascii"))


def main(out: Path) -> None:
    """Write every file into a folder, which is made if need be."""
    out.mkdir(parents=True, exist_ok=True)
    samples = make_samples()
    genes = make_genes(samples)
    write_matrix(out / "expression.csv", "gene", samples.ids, genes.ids, genes.values)
    ids, values, columns = make_mirna(samples)
    write_matrix(out / "mirna.csv", "mirna", [samples.ids[c] for c in columns], ids, values)
    write_samples(out, samples)
    write_knowledge(out, genes)
    write_series(out, samples, genes)
    strength = [f"{s:.3f}" for s in genes.strength]
    truth = zip(genes.ids, genes.role, strength, genes.block, strict=True)
    write_table(out / "truth.tsv", ["gene", "role", "strength", "block"], truth)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parent)
