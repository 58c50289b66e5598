"""The section of a ranking in a MultiQC report."""

from __future__ import annotations

from html import escape

from sfs_cli.report.model import ReportData

COLUMNS = {
    "method": ("Method", "How the features were ranked"),
    "n_features": ("Features", "Features in the matrix"),
    "n_unscored": ("Unscored", "Features without a score"),
    "top_feature": ("Best feature", "The feature of rank 1"),
}


def multiqc(data: ReportData, sample: str) -> dict[str, object]:
    """Return the contents of ``sfs_mqc.json``.

    The sections of all rankings have the same id, so MultiQC (1.20 and newer) joins them to one
    table with a row for each, named by `sample`.
    """
    values: dict[str, object] = {
        "method": data.method,
        "n_features": data.n_features,
        "n_unscored": data.n_unscored,
        "top_feature": data.top[0].get("feature") if data.top else None,
    }
    text, count = {"scale": False}, {"format": "{:,d}", "min": 0, "scale": "Blues"}
    headers = {
        name: {"title": title, "description": description}
        | (text if name in ("method", "top_feature") else count)
        for name, (title, description) in COLUMNS.items()
    }
    # MultiQC puts the text of a table, and the names of its rows, into its page as they are
    row = {
        name: value if isinstance(value, int) else escape(str(value))
        for name, value in values.items()
        if value is not None
    }
    return {
        "id": "sfs_ranking",
        "section_name": "Feature ranking",
        "description": "Features ranked by sfs: how many there were, and which is the best.",
        "plot_type": "table",
        "pconfig": {"id": "sfs_ranking_table", "title": "sfs: Feature ranking", "namespace": "sfs"},
        "headers": headers,
        "data": {escape(sample): row},
    }
