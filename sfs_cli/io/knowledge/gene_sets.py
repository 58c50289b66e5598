"""Genes and their groups: lists, sets (GMT, GMX), annotations (GAF), terms, and maps of ids."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from fnmatch import fnmatchcase
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from sfs_cli.errors import InputError, UsageError, counted, listed, nearest
from sfs_cli.io.files.names import BLANKS, check_names, nfc
from sfs_cli.io.files.series import tab_fields
from sfs_cli.io.files.sniff import Kind, examine, refuse_other_than_text
from sfs_cli.io.files.table import (
    TextTable,
    first_rows,
    is_id_name,
    is_number,
    sniff_delimiter,
    split_fields,
)
from sfs_cli.io.files.text import read_whole, text_lines, text_suffix
from sfs_cli.io.knowledge.sample_columns import choose, find_columns
from sfs_cli.io.matrix.base import read_sparse_table

if TYPE_CHECKING:
    from scipy.sparse import csr_array


def _names(held: Iterable[Any]) -> list[str]:
    """Return the names that an object of Python holds, each once."""
    return list(dict.fromkeys(nfc(str(name)) for name in held))


def _records(path: Path) -> Iterator[tuple[str, str]]:
    """Yield place and text of the lines of a file that are not blank and no comments."""
    for line, text in text_lines(path):
        if not text.startswith("#"):
            yield f"{path}, line {line}", text


def read_gene_list(path: Path) -> list[str]:
    """Read the ids of a list, each once.

    Text (gzip and zstd are decompressed) with an id in the first field of each line; further
    fields, divided by tabs or commas, are ignored, but a single line of several fields is an
    `InputError`, and so are gene sets and annotations. Blank lines and those that begin with ``#``
    are skipped, and so is a first line that is a usual name of such a column (gene, symbol,
    feature_id, hgnc_symbol). Of tables that `sfs` has written, which begin with a column ``rank``,
    the column ``feature`` is read.
    """
    content = refuse_other_than_text(path, "a list of genes")
    if content.kind is Kind.OBJECT:
        return _names(content.held)
    _refuse_sets(path)
    genes: dict[str, None] = {}
    n_lines, column, fields, where = 0, 0, [""], str(path)
    for where, text in _records(path):
        n_lines += 1
        fields = split_fields(text, "\t" if "\t" in text else ",", where)
        if n_lines == 1 and fields[:2] == ["rank", "feature"]:
            column = 1
        gene = "".join(fields[column : column + 1])
        if not gene:
            raise InputError(
                f"a line has no id in its {'second' if column else 'first'} field",
                where=where,
                hint="write one gene id in each line, before anything else",
            )
        if n_lines > 1 or not is_id_name(gene):
            genes[gene] = None
    if not genes or (n_lines == 1 and len(fields) > 1):
        what = f"is a single line of {len(fields):,} fields" if genes else "holds no ids"
        raise InputError(f"the list {what}", where=where, hint="write one gene id in each line")
    check_names(genes, "a gene", path)
    return list(genes)


def _refuse_sets(path: Path) -> None:
    """Refuse gene sets and annotations whose name does not say what they are."""
    lines = first_rows(path, 5)[0]
    rows = [text.split("\t") for text in lines]
    if not rows:
        return
    widths = {len(row) for row in rows}
    if lines[0].lower().startswith("!gaf-version") or (
        widths.issubset(_WIDTHS) and all(":" in row[_TERM] for row in rows)
    ):
        what, suffix = "annotations (GAF)", ".gaf"
    elif (
        min(widths) >= 3
        and (len(widths) > 1 or all(row[1].startswith("http") for row in rows))
        and not any(is_number(row[2]) for row in rows[1:])
    ):
        what, suffix = "gene sets (GMT)", ".gmt"
    else:
        return
    raise InputError(
        f"the file looks like {what}, but its name does not end in {suffix}",
        where=path,
        hint=f"give it a name that ends in {suffix}",
    )


_MAP_HINT = "a map has two columns, divided by tabs, commas or semicolons"
_NO_ID = frozenset(("", "NA", "N/A", "n/a", "#N/A", "-", "--", "---"))
"""Fields without an id; nan and na are genes of Drosophila, and None or null may be names."""
_SEVERAL, _PART = "///", " // "
_SYMBOLS = (
    *("gene symbol", "gene_symbol", "symbol", "hgnc_symbol", "ilmn_gene", "gene_assignment"),
    *("genename", "gene_name", "gene", "ucsc_refgene_name"),
)
"""Usual names of a column of gene symbols, the first of which is taken."""
_NOT_OF_MAP = ("#", "!", "^")
"""How lines begin that are no rows: comments, and what tables of GEO have around them."""


def read_id_map(spec: str | Path) -> list[tuple[str, str]]:
    """Read pairs of ids, such as probes and gene symbols, each pair once.

    `spec` is ``FILE``, ``FILE:COLUMN,COLUMN``, or ``FILE:COLUMN`` for that and the first. Text of
    two columns (gzip and zstd are decompressed) needs no names of them: a first line with a usual
    name (probe_id, symbol) holds names. Of more columns, as in the tables of platforms of GEO,
    the first and that of the gene symbols are taken where none is named. Blank lines, those that
    begin with ``#``, ``!`` or ``^``, and rows without an id in one of the columns (empty, NA,
    ``---``) are skipped. Several ids in one field, as Affymetrix writes them (``A /// B``), each
    make a pair, and so do those of the second column between semicolons, as Illumina writes them
    (``A;A;B``); of ``NM_1 // A // its name`` it is the second.
    """
    path, columns = find_columns(str(spec))
    refuse_other_than_text(path, "a map of ids")
    pairs: dict[tuple[str, str], None] = {}
    names, at, delimiter = list[str](), (0, 1), ""
    for line, text in text_lines(path):
        if text.startswith(_NOT_OF_MAP):
            continue
        where = f"{path}, line {line}"
        delimiter = delimiter or sniff_delimiter(text, text, text_suffix(path)) or "\t"
        fields = tab_fields(text) if delimiter == "\t" else split_fields(text, delimiter, where)
        if not names:
            names = fields
            if columns is not None or len(names) > 2:
                at = _columns_of_map(names, columns, path)
                continue
            if any(map(is_id_name, names)):
                continue
        if len(fields) != max(len(names), 2):
            found, expected = counted(len(fields), "field"), max(len(names), 2)
            what = f"a row has {found}, but {expected:,} are expected"
            raise InputError(what, where=where, hint=_MAP_HINT)
        lefts, rights = _ids_in(fields[at[0]]), _ids_in(fields[at[1]], ";")
        pairs.update(((left, right), None) for left in lefts for right in rights)
    if not pairs:
        raise InputError("the map holds no pair of ids", where=path, hint=_MAP_HINT)
    check_names((name for pair in pairs for name in pair), "an id", path)
    return list(pairs)


def _columns_of_map(names: list[str], asked: str | None, path: Path) -> tuple[int, int]:
    """Return which two columns of a table are a map: those asked for, else by their names."""
    table = TextTable(path, {name: [] for name in ("", *names)}, (), "line")
    wanted = [names[0], *(asked.split(",", 1) if asked else [None])][-2:]
    left, right = (choose(table, each, "id-map", "gene symbols", _SYMBOLS) for each in wanted)
    return names.index(left), names.index(right)


def _ids_in(field: str, divider: str = _SEVERAL) -> list[str]:
    names = [each.split(_PART)[:2][-1] for each in field.split(_SEVERAL)]
    parts = (part.strip(BLANKS) for name in names for part in name.split(divider))
    return [part for part in parts if part not in _NO_ID]


_GMT_HINT = "a line of GMT is a name, a description (it may be empty) and genes, divided by tabs"
_GMX_HINT = (
    "GMX has a set in each column: its name in line 1, a description in line 2, and genes below, "
    "divided by tabs"
)
SETS, ANNOTATIONS = (".gmt", ".gmx"), ".gaf"
"""Suffixes of files of gene sets, and of annotations."""
_SETS_END = re.compile(r"\.(gmt|gmx|gaf)(\.gz|\.zst)?", re.IGNORECASE)


def split_set_spec(spec: str) -> tuple[Path, str]:
    """Split ``FILE.gmt[:SET1,SET2]`` (or ``FILE.gaf[:TERM1]``) into the file and the names.

    Names may hold colons (``go.gmt:GO:0000002``) and commas, which `choose_sets` tells from those
    between names; a path that exists is a file alone.
    """
    if Path(spec).exists():
        return Path(spec), ""
    for ending in _SETS_END.finditer(spec):
        if spec[ending.end() :].startswith(":"):
            return Path(spec[: ending.end()]), nfc(spec[ending.end() + 1 :].strip(" ,"))
    return Path(spec), ""


def read_gmt(path: Path) -> dict[str, list[str]]:
    """Read gene sets: the name of each to its genes, each once, in the order of the file.

    The file is GMT, or GMX if its name says so. gzip and zstd are decompressed; blank lines of GMT
    and those that begin with ``#`` are skipped.
    """
    content = refuse_other_than_text(path, "gene sets")
    if content.kind is Kind.OBJECT:
        return {nfc(str(name)): _names(genes) for name, genes in content.held.items()}
    sets: dict[str, list[str]] = {}
    places: dict[str, str] = {}
    of_file, hint = (_columns, _GMX_HINT) if text_suffix(path) == ".gmx" else (_lines, _GMT_HINT)
    for where, (name, *fields) in of_file(path):
        genes = list(dict.fromkeys(filter(None, fields[1:])))
        what = None
        if len(fields) < 2:
            what = f"it has {counted(1 + len(fields), 'field')}, fewer than 3"
        elif not name:
            what = "the set has no name"
        elif not genes:
            what, hint = f"the set {name!r} has no genes", "remove it, or add its genes"
        elif name in places:
            what = f"the set {name!r} occurs twice, in {places[name]} too"
            hint = "give each set a different name, or remove one of them"
        if what is not None:
            raise InputError(what, where=where, hint=hint)
        check_names((name, *genes), "a set, or of a gene of it,", where)
        sets[name], places[name] = genes, where
    if not sets:
        raise InputError("the file holds no gene sets", where=path, hint=hint)
    return sets


def _lines(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield place and fields of the lines of a GMT."""
    for where, text in _records(path):
        yield where, [field.strip(BLANKS) for field in text.split("\t")]


def _columns(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield place and fields of the columns of a GMX that are not empty from top to bottom."""
    lines = read_whole(path).rstrip("\r\n").split("\n")
    rows = [line.removesuffix("\r").split("\t") for line in lines]
    for number, column in enumerate(zip_longest(*rows, fillvalue=""), 1):
        fields = [field.strip(BLANKS) for field in column]
        if any(fields):
            yield f"{path}, column {number}", fields


def choose_sets(sets: Mapping[str, list[str]], names: str, path: Path) -> dict[str, list[str]]:
    """Return the sets of some names or patterns, divided by commas, in the order of `sets`.

    Names may hold commas themselves. In patterns ``*`` stands for any text and ``?`` for one
    character; upper and lower case differ. A pattern that fits no set of the file (`path`, for the
    message) is an `InputError`.
    """
    chosen: set[str] = set()
    for pattern in _split_names(names, sets):
        escaped = pattern.replace("[", "[[]")  # a bracket of fnmatch, which names may hold
        found = [pattern] if pattern in sets else [n for n in sets if fnmatchcase(n, escaped)]
        if not found:
            word = pattern.strip("*?").lower()
            lower = {name.lower(): name for name in reversed(list(sets))}
            close = [name for text, name in lower.items() if word and word in text][::-1]
            close = close or [lower[text] for text in get_close_matches(word, lower, 3)]
            hint = f"sets of the file are {listed(list(sets), 3)}"
            if close:
                hint = f"did you mean {listed(close, 3)}?"
            if any(name.startswith(f"{pattern}@") for name in close):
                hint += (
                    " (what follows @ is taken as a weight: give the weight too, as in NAME@5@1)"
                )
            raise InputError(
                f"there is no set {pattern!r} among {counted(len(sets), 'set')}",
                where=path,
                hint=hint,
            )
        chosen.update(found)
    return {name: genes for name, genes in sets.items() if name in chosen}


def _split_names(text: str, known: Collection[str]) -> Iterator[str]:
    """Split at commas, but not in the names of sets; of several names the longest counts."""
    parts = text.split(",")
    longest = 1 + max((name.count(",") for name in known), default=0)
    at = 0
    while at < len(parts):
        for end in range(min(at + longest, len(parts)), at, -1):  # down to the part alone
            name = ",".join(parts[at:end]).strip()
            if name in known:
                break
        if name:
            yield name
        at = end


CODES = (
    *("EXP", "IDA", "IPI", "IMP", "IGI", "IEP"),  # experiments
    *("HTP", "HDA", "HMP", "HGI", "HEP"),  # experiments of high throughput
    *("IBA", "IBD", "IKR", "IRD"),  # phylogeny
    *("ISS", "ISO", "ISA", "ISM", "IGC", "RCA"),  # computation
    *("TAS", "NAS", "IC", "ND", "IEA"),  # statements, and annotation without a curator
)
"""All evidence codes in use (Gene Ontology Consortium, Guide to GO evidence codes)."""

_GAF_COLUMNS = {"id": 1, "symbol": 2}
_WIDTHS = (15, 16, 17)
_QUALIFIER, _TERM, _EVIDENCE = 3, 4, 6
NO_DATA = "ND"
"""Evidence of genes of which nothing is known, which all stand in the root of an ontology."""
_GAF_HINT = "a line of GAF has 17 columns divided by tabs, of which the last two may be left out"


def kept_codes(evidence: str | None) -> frozenset[str] | None:
    """Return the evidence codes of the annotations to keep, None for any but `NO_DATA`.

    `evidence` are codes to keep (``EXP,IDA``), or codes to leave out, each with ``!`` before it;
    ``ND`` is kept only where it is named. An unknown code, or a mixture of both, is a `UsageError`.
    """
    if evidence is None:
        return None
    words = [word.strip() for word in evidence.split(",")]
    codes = [word.removeprefix("!").strip() for word in words]
    left_out = [word.startswith("!") for word in words]
    unknown = next((code for code in codes if code not in CODES), None)
    if unknown is not None or any(left_out) != all(left_out):
        what, hint = f"unknown evidence code {unknown!r}", nearest(str(unknown).upper(), CODES)
        if unknown is None:
            what = f"evidence {evidence!r} keeps some codes and leaves others out"
            hint = "give codes to keep (EXP,IDA) or codes to leave out (!IEA,!ISS), not both"
        raise UsageError(what, where="evidence", hint=hint, option="evidence")
    return frozenset(CODES).difference(codes, [NO_DATA]) if all(left_out) else frozenset(codes)


_LEFT_OUT = {
    "negated_annotations": "with the qualifier NOT",
    "other_evidence": "with other evidence than is asked for",
    "without_data": f"without data ({NO_DATA})",
}
"""Why annotations are left out."""


@dataclass(frozen=True)
class GeneAnnotations:
    """Which genes are annotated with which term: term to genes, in the order of the file.

    Terms are those of the lines alone: nothing is carried up to more general terms. ``facts`` says
    how many annotations were kept (``annotations``), left out because their qualifier is NOT
    (``negated_annotations``), because nothing is known (``without_data``), and because of other
    evidence (``other_evidence``).
    """

    genes: dict[str, list[str]]
    # of each term with a line of a GAF, the number of its annotations of each kind
    counts: Mapping[str, Counter[str]] = field(default_factory=dict)

    @property
    def facts(self) -> dict[str, int]:
        """What was kept and left out; empty for a GMT."""
        if not self.counts:
            return {}
        total = sum(self.counts.values(), Counter())
        return {kind: total[kind] for kind in ("annotations", *_LEFT_OUT)}

    def some(self, names: str, path: Path) -> GeneAnnotations:
        """Return the sets or terms of some names; see `choose_sets`.

        A term of the file whose annotations were all left out is an `InputError` that says why.
        """
        for term in _split_names(names, self.counts):
            if term in self.counts and term not in self.genes:
                hint = f"choose other terms, or ask for other evidence (evidence={NO_DATA} too)"
                raise _none_kept(f" of {term!r}", self.counts[term], path, hint)
        genes = choose_sets(self.genes, names, path)
        return GeneAnnotations(genes, {t: self.counts[t] for t in genes if t in self.counts})


def _none_kept(of: str, counts: Counter[str], path: Path, hint: str) -> InputError:
    """Return what says why no annotation is kept, as the counts of each kind tell."""
    found = [f"{counts[kind]:,} {why}" for kind, why in _LEFT_OUT.items() if counts[kind]]
    return InputError(
        f"all annotations{of} are left out: {', '.join(found)}", where=path, hint=hint
    )


def read_gaf(
    path: Path, evidence: str | None = None, ids: Literal["symbol", "id"] = "symbol"
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
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for line, text in text_lines(path):
        where = f"{path}, line {line}"
        if text[0] == "!":
            key, _, version = (part.strip() for part in text[1:].partition(":"))
            if key.lower() == "gaf-version" and version[:1] not in ("1", "2"):
                what, hint = f"version {version} of GAF is not supported", "give GAF 2.1 or 2.2"
                raise InputError(what, where=where, hint=hint)
            continue
        width = text.count("\t") + 1
        if width not in _WIDTHS:
            what = f"the line has {counted(width, 'column')}, not 15 to 17"
            raise InputError(what, where=where, hint=_GAF_HINT)
        fields = [field.strip(BLANKS) for field in text.split("\t", _EVIDENCE + 1)]
        gene, term, code = fields[column], fields[_TERM], fields[_EVIDENCE]
        if not gene or not term:
            missing, at = ("term", _TERM) if gene else (ids, column)
            what = f"the annotation has no {missing} (column {at + 1})"
            hint = "remove the line, or download the file again"
            raise InputError(what, where=where, hint=hint)
        if "NOT" in fields[_QUALIFIER].upper().split("|"):
            kind = "negated_annotations"
        elif code != NO_DATA if kept is None else code in kept:
            kind = "annotations"
            if gene not in (genes := terms.setdefault(term, {})):
                check_names((term, gene), "a term, or of a gene of it,", where)
                genes[gene] = None
        else:
            kind = "without_data" if code == NO_DATA else "other_evidence"
        counts[term][kind] += 1
        codes[code] += kind != "negated_annotations"
    if not counts:
        raise InputError("the file holds no annotations", where=path, hint=_GAF_HINT)
    if not terms:
        found = ", ".join(f"{code} {count:,}" for code, count in codes.most_common(10))
        hint = f"choose among the evidence of the file: {found or 'there is none'}"
        raise _none_kept("", sum(counts.values(), Counter()), path, hint)
    return GeneAnnotations({term: list(genes) for term, genes in terms.items()}, counts)


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
    spec: str, evidence: str | None = None, ids: Literal["symbol", "id"] = "symbol"
) -> Terms:
    """Read the terms of genes: of sets or annotations, as `read_annotations` does.

    Or `spec` is a matrix of zeros and ones in any matrix format, with genes in rows and terms in
    columns.
    """
    from scipy.sparse import csr_array

    found = read_annotations(spec, evidence, ids)
    if found is None:
        return _terms_of_matrix(Path(spec))
    sets = found.genes
    codes: dict[str, int] = {}
    rows = [codes.setdefault(gene, len(codes)) for genes in sets.values() for gene in genes]
    columns = np.repeat(np.arange(len(sets)), [len(genes) for genes in sets.values()])
    matrix = csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(codes), len(sets)))
    return Terms(list(codes), list(sets), matrix, found.facts | {"terms_without_genes": 0})


def read_sets(specs: Iterable[str]) -> dict[str, list[str]]:
    """Read the sets of ``FILE.gmt``, ``.gmx`` or ``.gaf``, or some: ``FILE.gmt:SET1,SET2``.

    Those of several files are taken together. Raises InputError where two files have different
    sets of one name.
    """
    found: dict[str, list[str]] = {}
    origin: dict[str, Path] = {}
    for spec in specs:
        path = split_set_spec(spec)[0]
        sets = read_annotations(spec) or GeneAnnotations(read_gmt(path))
        for name, genes in sets.genes.items():
            if set(found.setdefault(name, genes)) != set(genes):
                raise InputError(
                    f"the set {name!r} has other features than in {origin[name]}",
                    where=path,
                    hint="give one of the files, or rename the set",
                    option="sets",
                )
            origin.setdefault(name, path)
    return found


def read_annotations(
    spec: str, evidence: str | None = None, ids: Literal["symbol", "id"] = "symbol"
) -> GeneAnnotations | None:
    """Read gene sets, or annotations, to which `evidence` and `ids` belong (see `read_gaf`).

    `spec` is ``FILE.gmt``, or ``FILE.gmt:SET1,SET2`` for some sets (names or patterns, see
    `choose_sets`), or the same of GMX and GAF. None for other files, where `evidence` and `ids` are
    a `UsageError`.
    """
    path, names = split_set_spec(spec)
    suffix = text_suffix(path)
    if suffix != ANNOTATIONS and (evidence is not None or ids != "symbol"):
        option = "evidence" if evidence is not None else "ids"
        raise UsageError(
            f"{option} has no effect on {path.name}: it is not a GAF file",
            where=path,
            hint=f"leave {option} out, or give annotations as .gaf or .gaf.gz",
            option=option,
        )
    if suffix == ANNOTATIONS:
        found = read_gaf(path, evidence, ids)
    elif suffix in SETS:
        found = GeneAnnotations(read_gmt(path))
    else:
        return None
    return found.some(names, path) if names else found


def _terms_of_matrix(path: Path) -> Terms:
    from scipy.sparse import csr_array

    if examine(path).is_text:
        _refuse_sets(path)
    genes, terms, matrix = read_sparse_table(
        path,
        lambda values: np.isin(values, (0.0, 1.0)),
        lambda value: f"the value {value:g} is not 0 or 1",
        "write 1 where a gene has a term, and 0 elsewhere",
    )
    used = np.flatnonzero(matrix.sum(axis=0) > 0)
    if not used.size:
        raise InputError(
            "no gene has a term", where=path, hint="give genes in rows and terms in columns"
        )
    facts = {"terms_without_genes": len(terms) - len(used)}
    return Terms(genes, [terms[i] for i in used], csr_array(matrix[:, used]), facts)
