"""Gene Ontology annotations in GAF 2."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from sfs_cli.errors import InputError, counted
from sfs_cli.io.evidence import kept_codes
from sfs_cli.io.plain_text import refuse_other_than_text, text_lines

_FEWEST, _MOST = 15, 17
_COLUMNS = {"id": 1, "symbol": 2}
_QUALIFIER, _TERM, _EVIDENCE = 3, 4, 6
_HINT = "a line of GAF has 17 columns divided by tabs, of which the last two may be left out"
_VERSIONS = ("1", "2")


@dataclass(frozen=True)
class GeneAnnotations:
    """Which genes are annotated with which term.

    Attributes
    ----------
    genes : dict of str to list of str
        Term to its genes, each once, both in the order of the file. Terms are those of the lines
        alone: nothing is carried up to more general terms.
    facts : dict of str to int
        How many annotations were kept (``annotations``), left out because their qualifier is NOT
        (``negated_annotations``), and because of their evidence (``other_evidence``).
    """

    genes: dict[str, list[str]]
    facts: dict[str, int] = field(default_factory=dict)


def read_gaf(
    path: Path,
    evidence: str | Sequence[str] | None = None,
    ids: Literal["symbol", "id"] = "symbol",
) -> GeneAnnotations:
    """Read annotations.

    Parameters
    ----------
    path : Path
        GAF 2.0 to 2.2, with its line of version or without; gzip and zstd are decompressed. Of the
        17 columns the last two may be left out.
    evidence : str or sequence of str, optional
        Evidence codes to keep, or with ``!`` to leave out; see `kept_codes`.
    ids : {"symbol", "id"}
        Whether genes go by their symbols (column 3) or the ids of the database (column 2).

    Raises
    ------
    InputError
        If the file cannot be read, a line has another number of columns, or lacks the gene or
        the term, or no annotation is left.
    UsageError
        See `kept_codes`.
    """
    path = Path(path)
    kept = kept_codes(evidence)
    refuse_other_than_text(path, "annotations (GAF)")
    column = _COLUMNS[ids]
    terms: dict[str, dict[str, None]] = {}
    codes: Counter[str] = Counter()
    negated = n_kept = 0
    for line, text in text_lines(path):
        if text[0] == "!":
            _check_version(text, path, line)
            continue
        if not _FEWEST <= text.count("\t") + 1 <= _MOST:
            raise _wrong_width(text, path, line)
        fields = text.split("\t", _EVIDENCE + 1)
        gene, term, code = fields[column].strip(), fields[_TERM].strip(), fields[_EVIDENCE].strip()
        if not gene or not term:
            raise _without(ids if not gene else "term", path, line)
        if fields[_QUALIFIER] and "NOT" in fields[_QUALIFIER].upper().split("|"):
            negated += 1
            continue
        codes[code] += 1
        if kept is None or code in kept:
            n_kept += 1
            terms.setdefault(term, {})[gene] = None
    if not terms:
        raise _nothing_left(path, negated, codes)
    facts = {"annotations": n_kept, "negated_annotations": negated}
    facts["other_evidence"] = codes.total() - n_kept
    return GeneAnnotations({term: list(genes) for term, genes in terms.items()}, facts)


def _check_version(text: str, path: Path, line: int) -> None:
    name, _, version = text[1:].partition(":")
    if name.strip().lower() == "gaf-version" and version.strip()[:1] not in _VERSIONS:
        raise InputError(
            f"this is version {version.strip()} of GAF, which is not read",
            where=f"{path}, line {line}",
            hint="give GAF 2.1 or 2.2",
        )


def _wrong_width(text: str, path: Path, line: int) -> InputError:
    return InputError(
        f"the line has {counted(text.count(chr(9)) + 1, 'column')}, not {_FEWEST} to {_MOST}",
        where=f"{path}, line {line}",
        hint=_HINT,
    )


def _without(what: str, path: Path, line: int) -> InputError:
    column = _TERM + 1 if what == "term" else _COLUMNS[what] + 1
    return InputError(
        f"the annotation has no {what} (column {column})",
        where=f"{path}, line {line}",
        hint="remove the line, or download the file again",
    )


def _nothing_left(path: Path, negated: int, codes: Counter[str]) -> InputError:
    if codes:
        found = ", ".join(f"{code} {count:,}" for code, count in codes.most_common(10))
        return InputError(
            f"none of {counted(codes.total(), 'annotation')} has the evidence asked for",
            where=str(path),
            hint=f"choose among the evidence of the file: {found}",
        )
    what = f"the file holds {counted(negated, 'annotation')}, each with the qualifier NOT"
    return InputError(
        what if negated else "the file holds no annotations", where=str(path), hint=_HINT
    )
