"""Genes and their groups: lists, gene sets (GMT), annotations (GAF), terms, and maps of ids."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from sfs_cli.errors import InputError, UsageError, counted, listed, nearest
from sfs_cli.io.files.names import BLANKS, check_names
from sfs_cli.io.files.room import FIELD_BYTES, Tally
from sfs_cli.io.files.sniff import refuse_other_than_text
from sfs_cli.io.files.table import NULL_TOKENS, is_id_name, sniff_delimiter, split_fields
from sfs_cli.io.files.text import text_lines, text_suffix
from sfs_cli.io.given import given
from sfs_cli.io.matrix.base import read_sparse_table

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def _records(path: Path, wanted: str) -> Iterator[tuple[int, str]]:
    """Yield number and text of the lines of a file that are not blank and no comments."""
    refuse_other_than_text(path, wanted)
    return ((line, text) for line, text in text_lines(path) if not text.startswith("#"))


def read_gene_list(path: Path) -> list[str]:
    """Read the ids of a list, each once.

    Text (gzip and zstd are decompressed) with an id in the first field of each line; further
    fields, divided by tabs or commas, are ignored. Blank lines and those that begin with ``#`` are
    skipped, and so is a first line that is a usual name of such a column (gene, symbol,
    feature_id, hgnc_symbol).
    """
    if (held := given(path)) is not None:
        return list(dict.fromkeys(map(str, held)))
    genes: dict[str, None] = {}
    held = Tally(str(path))
    for n_before, (line, text) in enumerate(_records(path, "a list of genes")):
        where = f"{path}, line {line}"
        gene = split_fields(text, "\t" if "\t" in text else ",", where)[0]
        if not gene:
            raise InputError(
                "a line has no id in its first field",
                where=where,
                hint="the first column must hold the ids",
            )
        if (n_before or not is_id_name(gene)) and gene not in genes:
            held.add(len(gene) + 2 * FIELD_BYTES)
            genes[gene] = None
    if not genes:
        raise InputError(
            "the list holds no ids", where=str(path), hint="write one gene id in each line"
        )
    check_names(genes, "a gene", str(path))
    return list(genes)


_MAP_HINT = "a map has two columns, divided by tabs, commas or semicolons"
_NO_ID = frozenset((*NULL_TOKENS, "-", "--", "---"))
_SEVERAL = "///"


def read_id_map(path: Path) -> list[tuple[str, str]]:
    """Read pairs of ids, such as probes and gene symbols, each pair once.

    Text of two columns (gzip and zstd are decompressed). A first line with a usual name of such a
    column (probe_id, symbol) holds names. Blank lines and those that begin with ``#`` are skipped,
    and so are rows without an id in one of the columns (empty, NA, ``---``). Several ids in one
    field, as Affymetrix writes them (``A /// B``), each make a pair.
    """
    head = [text for _, text in islice(_records(path, "a map of ids"), 2)]
    delimiter = sniff_delimiter(head[0], head[-1], text_suffix(path)) if head else None
    pairs: dict[tuple[str, str], None] = {}
    held = Tally(str(path))
    for n_before, (line, text) in enumerate(_records(path, "a map of ids")):
        where = f"{path}, line {line}"
        fields = split_fields(text, delimiter or "\t", where)
        if len(fields) != 2:
            raise InputError(
                f"the line has {counted(len(fields), 'field')}, not 2",
                where=where,
                hint=_MAP_HINT,
            )
        if n_before or not any(map(is_id_name, fields)):
            several = ([name.strip(BLANKS) for name in field.split(_SEVERAL)] for field in fields)
            lefts, rights = ([name for name in ids if name not in _NO_ID] for ids in several)
            held.add(len(text) + 3 * FIELD_BYTES * len(lefts) * len(rights))
            pairs.update(((left, right), None) for left in lefts for right in rights)
    if not pairs:
        raise InputError("the map holds no pair of ids", where=str(path), hint=_MAP_HINT)
    check_names((name for pair in pairs for name in pair), "an id", str(path))
    return list(pairs)


_GMT_HINT = "a line of GMT is a name, a description (it may be empty) and genes, divided by tabs"
_SETS_END = re.compile(r"\.(gmt|gaf)(\.gz|\.zst)?", re.IGNORECASE)


def split_set_spec(spec: str) -> tuple[Path, list[str]]:
    """Split ``FILE.gmt[:SET1,SET2]`` (or ``FILE.gaf[:TERM1]``) into the file and the names.

    Names may hold colons (``go.gmt:GO:0000002``); a path that exists is a file alone.
    """
    if Path(spec).exists():
        return Path(spec), []
    for ending in _SETS_END.finditer(spec):
        if spec[ending.end() :].startswith(":"):
            names = spec[ending.end() + 1 :].split(",")
            return Path(spec[: ending.end()]), [name.strip() for name in names if name.strip()]
    return Path(spec), []


def read_gmt(path: Path) -> dict[str, list[str]]:
    """Read gene sets: the name of each to its genes, each once, in the order of the file.

    gzip and zstd are decompressed; blank lines and those that begin with ``#`` are skipped.
    """
    if (held := given(path)) is not None:
        return {str(name): list(dict.fromkeys(map(str, genes))) for name, genes in held.items()}
    sets: dict[str, list[str]] = {}
    lines: dict[str, int] = {}
    held = Tally(str(path))
    for line, text in _records(path, "gene sets (GMT)"):
        where = f"{path}, line {line}"
        name, *fields = [field.strip(BLANKS) for field in text.split("\t")]
        if len(fields) < 2:
            raise InputError(
                f"the line has {counted(1 + len(fields), 'field')}, fewer than 3",
                where=where,
                hint=_GMT_HINT,
            )
        if not name:
            raise InputError("the set has no name", where=where, hint=_GMT_HINT)
        genes = list(dict.fromkeys(filter(None, fields[1:])))
        if not genes:
            raise InputError(
                f"the set {name!r} has no genes", where=where, hint="remove it, or add its genes"
            )
        if name in lines:
            raise InputError(
                f"the set {name!r} occurs twice, in lines {lines[name]} and {line}",
                where=where,
                hint="give each set a different name, or remove one of them",
            )
        held.add(len(text) + FIELD_BYTES * (2 + len(genes)))
        check_names((name, *genes), "a set, or of a gene of it,", where)
        sets[name], lines[name] = genes, line
    if not sets:
        raise InputError("the file holds no gene sets", where=str(path), hint=_GMT_HINT)
    return sets


def choose_sets(
    sets: Mapping[str, list[str]], patterns: Sequence[str], path: Path
) -> dict[str, list[str]]:
    """Return the sets of some names or patterns, in the order of `sets`.

    ``*`` stands for any text and ``?`` for one character; upper and lower case differ. A pattern
    that fits no set of the file (`path`, for the message) is an `InputError`.
    """
    chosen: set[str] = set()
    for pattern in patterns:
        escaped = pattern.replace("[", "[[]")  # a bracket of fnmatch, which names may hold
        found = [pattern] if pattern in sets else [n for n in sets if fnmatchcase(n, escaped)]
        if not found:
            word = pattern.strip("*?").lower()
            lower = {name.lower(): name for name in reversed(list(sets))}
            close = [name for text, name in lower.items() if word and word in text][::-1]
            close = close or [lower[text] for text in get_close_matches(word, lower, 3)]
            raise InputError(
                f"there is no set {pattern!r} among {counted(len(sets), 'set')}",
                where=str(path),
                hint=f"did you mean {listed(close, 3)}?"
                if close
                else f"sets of the file are {listed(list(sets), 3)}",
            )
        chosen.update(found)
    return {name: genes for name, genes in sets.items() if name in chosen}


CODES = (
    *("EXP", "IDA", "IPI", "IMP", "IGI", "IEP"),  # experiments
    *("HTP", "HDA", "HMP", "HGI", "HEP"),  # experiments of high throughput
    *("IBA", "IBD", "IKR", "IRD"),  # phylogeny
    *("ISS", "ISO", "ISA", "ISM", "IGC", "RCA"),  # computation
    *("TAS", "NAS", "IC", "ND", "IEA"),  # statements, and annotation without a curator
)
"""All evidence codes in use (Gene Ontology Consortium, Guide to GO evidence codes)."""

_GAF_COLUMNS = {"id": 1, "symbol": 2}
_QUALIFIER, _TERM, _EVIDENCE = 3, 4, 6
_GAF_HINT = "a line of GAF has 17 columns divided by tabs, of which the last two may be left out"


def kept_codes(evidence: str | Sequence[str] | None) -> frozenset[str] | None:
    """Return the evidence codes of the annotations to keep, None for any.

    `evidence` are codes to keep (``EXP,IDA`` or a sequence of them), or codes to leave out, each
    with ``!`` before it. An unknown code, a mixture of both, or none at all is a `UsageError`.
    """
    if evidence is None:
        return None
    words = evidence.split(",") if isinstance(evidence, str) else list(evidence)
    words = [word.strip() for word in words]
    codes = [word.removeprefix("!").strip() for word in words]
    for code in codes:
        if code not in CODES:
            raise UsageError(
                f"unknown evidence code {code!r}",
                where="evidence",
                hint=nearest(code.upper(), CODES),
                option="evidence",
            )
    left_out = [word.startswith("!") for word in words]
    if any(left_out) != all(left_out) or not words:
        raise UsageError(
            f"evidence {','.join(words)!r} keeps some codes and leaves others out"
            if words
            else "no evidence code is given",
            where="evidence",
            hint="give codes to keep (EXP,IDA) or codes to leave out (!IEA,!ND), not both",
            option="evidence",
        )
    return frozenset(CODES).difference(codes) if all(left_out) else frozenset(codes)


@dataclass(frozen=True)
class GeneAnnotations:
    """Which genes are annotated with which term: term to genes, in the order of the file.

    Terms are those of the lines alone: nothing is carried up to more general terms. ``facts`` says
    how many annotations were kept (``annotations``), left out because their qualifier is NOT
    (``negated_annotations``), and because of their evidence (``other_evidence``).
    """

    genes: dict[str, list[str]]
    facts: dict[str, int] = field(default_factory=dict)


def read_gaf(
    path: Path, evidence: str | Sequence[str] | None = None, ids: Literal["symbol", "id"] = "symbol"
) -> GeneAnnotations:
    """Read annotations in GAF 2.0 to 2.2, with the line of the version or without.

    gzip and zstd are decompressed. `evidence` is as in `kept_codes`; `ids` chooses between the
    symbols of genes (column 3) and the ids of the database (column 2).
    """
    kept = kept_codes(evidence)
    refuse_other_than_text(path, "annotations (GAF)")
    column = _GAF_COLUMNS[ids]
    terms: dict[str, dict[str, None]] = {}
    codes: Counter[str] = Counter()
    negated = n_kept = 0
    held = Tally(str(path))
    for line, text in text_lines(path):
        if text[0] == "!":
            key, _, version = (part.strip() for part in text[1:].partition(":"))
            if key.lower() == "gaf-version" and version[:1] not in ("1", "2"):
                raise InputError(
                    f"version {version} of GAF is not supported",
                    where=f"{path}, line {line}",
                    hint="give GAF 2.1 or 2.2",
                )
            continue
        width = text.count("\t") + 1
        if not 15 <= width <= 17:
            raise InputError(
                f"the line has {counted(width, 'column')}, not 15 to 17",
                where=f"{path}, line {line}",
                hint=_GAF_HINT,
            )
        fields = text.split("\t", _EVIDENCE + 1)
        gene, term, code = (
            fields[column].strip(BLANKS),
            fields[_TERM].strip(BLANKS),
            fields[_EVIDENCE].strip(),
        )
        if not gene or not term:
            what, missing = ("term", _TERM) if gene else (ids, column)
            raise InputError(
                f"the annotation has no {what} (column {missing + 1})",
                where=f"{path}, line {line}",
                hint="remove the line, or download the file again",
            )
        if fields[_QUALIFIER] and "NOT" in fields[_QUALIFIER].upper().split("|"):
            negated += 1
            continue
        codes[code] += 1
        if kept is None or code in kept:
            n_kept += 1
            genes = terms.setdefault(term, {})
            if gene not in genes:
                held.add(len(gene) + 2 * FIELD_BYTES)
                check_names((term, gene), "a term, or of a gene of it,", f"{path}, line {line}")
                genes[gene] = None
    if not terms:
        raise _nothing_left(path, negated, codes)
    facts = {"annotations": n_kept, "negated_annotations": negated}
    facts["other_evidence"] = codes.total() - n_kept
    return GeneAnnotations({term: list(genes) for term, genes in terms.items()}, facts)


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
        what if negated else "the file holds no annotations", where=str(path), hint=_GAF_HINT
    )


@dataclass(frozen=True)
class Terms:
    """Which of l genes has which of t terms.

    ``facts`` counts the ``terms_without_genes``, which were left out, and the annotations of a GAF.
    """

    genes: list[str]  # in the order of the file, as the terms
    terms: list[str]  # those that have a gene
    matrix: csr_array  # float64, (l, t): 1 where a gene has a term
    facts: dict[str, int] = field(default_factory=dict)


def read_terms(
    spec: str, evidence: str | Sequence[str] | None = None, ids: Literal["symbol", "id"] = "symbol"
) -> Terms:
    """Read the terms of genes.

    `spec` is ``FILE.gmt``, or ``FILE.gmt:SET1,SET2`` for some sets (names or patterns, see
    `choose_sets`); ``FILE.gaf``, to which `evidence` and `ids` belong (see `read_gaf`); or a matrix
    of zeros and ones in any matrix format, with genes in rows and terms in columns.
    """
    from scipy.sparse import csr_array

    path, patterns = split_set_spec(spec)
    suffix = text_suffix(path)
    if suffix != ".gaf" and (evidence is not None or ids != "symbol"):
        option = "evidence" if evidence is not None else "ids"
        raise UsageError(
            f"{option} has no effect on this file, which is not a GAF",
            where=str(path),
            hint=f"leave {option} out, or give annotations as .gaf or .gaf.gz",
            option=option,
        )
    if suffix not in (".gaf", ".gmt"):
        return _terms_of_matrix(path)
    found = _annotations(path, patterns, evidence, ids)
    sets, facts = found.genes, found.facts
    codes: dict[str, int] = {}
    rows = [codes.setdefault(gene, len(codes)) for genes in sets.values() for gene in genes]
    columns = np.repeat(np.arange(len(sets)), [len(genes) for genes in sets.values()])
    matrix = csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(codes), len(sets)))
    return Terms(list(codes), list(sets), matrix, facts | {"terms_without_genes": 0})


def read_sets(spec: str) -> dict[str, list[str]]:
    """Read the sets of ``FILE.gmt`` or ``FILE.gaf``, or some: ``FILE.gmt:SET1,SET2``."""
    path, patterns = split_set_spec(spec)
    return _annotations(path, patterns).genes


def _annotations(
    path: Path,
    patterns: Sequence[str],
    evidence: str | Sequence[str] | None = None,
    ids: Literal["symbol", "id"] = "symbol",
) -> GeneAnnotations:
    """Read the sets of a GMT, or the terms of a GAF, that have some names; by default all."""
    if text_suffix(path) == ".gaf":
        found = read_gaf(path, evidence, ids)
    else:
        found = GeneAnnotations(read_gmt(path))
    if not patterns:
        return found
    return GeneAnnotations(choose_sets(found.genes, patterns, path), found.facts)


def _terms_of_matrix(path: Path) -> Terms:
    from scipy.sparse import csr_array

    genes, terms, matrix = read_sparse_table(
        path,
        lambda values: np.isin(values, (0.0, 1.0)),
        lambda value: f"the value {value:g} is not 0 or 1",
        "write 1 where a gene has a term, and 0 elsewhere",
    )
    used = np.flatnonzero(matrix.sum(axis=0) > 0)
    if not used.size:
        raise InputError(
            "no gene has a term", where=str(path), hint="give genes in rows and terms in columns"
        )
    facts = {"terms_without_genes": len(terms) - len(used)}
    return Terms(genes, [terms[i] for i in used], csr_array(matrix[:, used]), facts)
