"""The section of a ranking in a MultiQC report, for MultiQC's own reader and for our plugin."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

import numpy as np

from sfs_cli.report.charts import downsample
from sfs_cli.report.model import ReportData

ID = "sfs_ranking"
OWN = "sfs"
"""The key of what the plugin alone reads."""
FORMAT = 1
"""Version of what is below that key."""
POINTS = 120
"""Number of points of a score curve."""
SEPARATOR = " | "
"""Between the parts of a row's name, as MultiQC writes folders before names."""
COLUMNS = {
    "method": ("Method", "How the features were ranked"),
    "n_features": ("Features", "Features in the matrix"),
    "n_unscored": ("Unscored", "Features without a score"),
    "top_feature": ("Best feature", "The feature of rank 1"),
    "n_warnings": ("Warnings", "Warnings of the run: the report has their texts"),
}
_TEXT = ("method", "top_feature")
_ENDINGS = re.compile(
    r"[._](?=(?:gz|fastq|fq|bam|cram|sam|sra|vcf|dat|tophat|pbmarkdup|log|stderr|out|spp|fa|fasta|"
    r"png|jpe?g|html|final|star|fastqc|flagstat|hicup|counts|txt|[tc]sv|aligned|merge|dedup|clean|"
    r"sorted|report|geneBody|inner|junction|pos|GC|slamdunk|bismark|conpair|concordance|contam|"
    r"BEST|peaks|relatedness|cnt|[abcefghilmpqrstx]*hist|bincov))"
)


def row_name(out: Path, method: str, prefix: str | None = None, home: Path | None = None) -> str:
    """Return the name of a result's row: its folder or prefix, and its method.

    The folder is `out`, relative to `home` (by default the working directory) where it is below
    that. Rankings of one matrix have rows of their own, for their folders differ.
    """
    if prefix is None:
        absolute = out.absolute()
        home = home or Path.cwd()
        place = absolute.relative_to(home) if absolute.is_relative_to(home) else absolute
        parts = [part for part in place.parts if part != place.anchor] or [absolute.name]
    else:
        parts = [prefix]
    return SEPARATOR.join([*parts, method])


def multiqc(data: ReportData, row: str) -> dict[str, object]:
    """Return the contents of ``sfs_mqc.json``.

    The sections of all rankings have the same id, so MultiQC (1.20 and newer) joins them to one
    table with a row for each, named by `row`. Where the plugin runs it reads what is under
    `OWN` too, and MultiQC's own reader does not see the file.
    """
    values: dict[str, object] = {
        "method": data.method,
        "n_features": data.n_features,
        "n_unscored": data.n_unscored,
        "top_feature": data.top[0].get("feature") if data.top else None,
        "n_warnings": len(data.warnings),
    }
    # MultiQC puts the text of a table, and the names of its rows, into its page as they are
    cells = {
        name: value if isinstance(value, int) else escape(str(value))
        for name, value in values.items()
        if value is not None
    }
    own = {
        "format": FORMAT,
        "row": row,
        "larger_is_better": data.larger_is_better,
        "curve": curve_points(data.scores),
    }
    return {
        "id": ID,
        "section_name": "Feature ranking",
        "description": "Features ranked by sfs: how many there were, and which is the best.",
        "plot_type": "table",
        "pconfig": {"id": "sfs_ranking_table", "title": "sfs: Feature ranking", "namespace": "sfs"},
        "headers": headers(),
        "data": {_kept(row): cells},
        OWN: own,
    }


def headers() -> dict[str, dict[str, object]]:
    """Return the columns of the table."""
    text: dict[str, object] = {"scale": False}
    count: dict[str, object] = {"format": "{:,d}", "min": 0, "scale": "Blues"}
    return {
        name: {"title": title, "description": description, **(text if name in _TEXT else count)}
        for name, (title, description) in COLUMNS.items()
    }


def curve_points(scores: np.ndarray) -> list[list[float]]:
    """Return ranks and scores, best first, of a curve of at most about `POINTS` points.

    `scores` has shape (m,) and is sorted; scores that are not finite have no point.
    """
    ranks = np.flatnonzero(np.isfinite(scores))
    if not len(ranks):
        return []
    chosen = ranks[downsample(scores[ranks], log=True, limit=POINTS)]
    return [[int(rank) + 1, float(f"{scores[rank]:.6g}")] for rank in chosen]


def _kept(row: str) -> str:
    """Write a row's name so that MultiQC's cleaning of sample names leaves it whole.

    MultiQC cuts a name at the endings of the files it knows (``colon.csv``, ``colon_counts``) and
    before its last slash, which would give two results one row. References to characters look the
    same in its page, and no ending matches them.
    """
    text = escape(row).replace("/", "&#47;")
    return _ENDINGS.sub(lambda found: f"&#{ord(found[0])};", text)
