"""Genes and their groups: lists, sets (GMT, GMX), annotations (GAF), terms, and maps of ids."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from sfs_cli.errors import InputError, UsageError, counted, listed, near, nearest
from sfs_cli.io.files.names import BLANKS, check_names, nfc
from sfs_cli.io.files.series import tab_fields
from sfs_cli.io.files.sniff import Kind, examine, refuse_other_than_text
from sfs_cli.io.files.table import (
    NULL_TOKENS,
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
    hint = "write one gene id in each line, before anything else"
    rows = [
        (where, split_fields(text, "\t" if "\t" in text else ",", where))
        for where, text in _records(path)
    ]
    column = int([fields[:2] for _, fields in rows[:1]] == [["rank", "feature"]])
    genes = {"".join(fields[column : column + 1]): where for where, fields in rows}
    if "" in genes:
        raise InputError(f"a line has no id in field {column + 1}", where=genes[""], hint=hint)
    if is_id_name(first := next(iter(genes), "")):
        del genes[first]
    if not genes or len(rows) == 1 < len(rows[0][1]):
        what = f"is a single line of {len(rows[0][1]):,} fields" if genes else "holds no ids"
        raise InputError(f"the list {what}", where=genes.get(first, path), hint=hint)
    check_names(genes, "a gene", path)
    return list(genes)


def _refuse_sets(path: Path) -> None:
    """Refuse gene sets and annotations whose name does not say what they are."""
    rows = [text.split("\t") for text in first_rows(path, 5)[0]]
    widths = {len(row) for row in rows}
    what, suffix = "annotations (GAF)", ".gaf"
    if not any(row[0].lower().startswith("!gaf-version") for row in rows[:1]):
        what, suffix = "gene sets (GMT)", ".gmt"
        links = all(row[1:] and row[1].startswith("http") for row in rows)
        if min(widths, default=0) < 3 or not (links or len(widths) > 1):
            return
        if any(is_number(row[2]) for row in rows):
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


_SETS_HINT = (
    "a set is its name, a description (it may be empty) and genes: in a line of GMT, divided by "
    "tabs, or from top to bottom in a column of GMX"
)
SETS, ANNOTATIONS = (".gmt", ".gmx"), ".gaf"
"""Suffixes of files of gene sets, and of annotations."""
_NEARLY_ALL = 0.9
"""Share of the descriptions of a GMT that are genes where it has none."""
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


class Study(NamedTuple):
    """What readers of sets may know of the run: ids of its features, and what tells the user."""

    features: Iterable[str] = ()
    tell: Callable[[str], None] = lambda _: None


_ALONE = Study()


def read_gmt(path: Path, study: Study = _ALONE) -> dict[str, list[str]]:
    """Read gene sets: the name of each to its genes, each once, in the order of the file.

    The file is GMT, or GMX if its name says so. gzip and zstd are decompressed; blank lines of GMT
    and those that begin with ``#`` are skipped. Where nearly all descriptions are features, or
    genes of other sets, there are none, and they are the first genes; that is told.
    """
    content = refuse_other_than_text(path, "gene sets")
    if content.kind is Kind.OBJECT:
        return {nfc(str(name)): _names(genes) for name, genes in content.held.items()}
    sets: dict[str, list[str]] = {}
    described: dict[str, str] = {}
    for where, row in _rows_of_sets(path):
        name, *fields = (field.strip(BLANKS) for field in row)
        genes = list(dict.fromkeys(filter(None, fields[1:])))
        if not genes:
            raise InputError(f"the set {name!r} has no genes", where=where, hint=_SETS_HINT)
        if name in sets:
            what, hint = f"the set {name!r} occurs twice", "give each set a different name"
            raise InputError(what, where=where, hint=hint)
        check_names((name, *genes), "a set, or of a gene of it,", where)
        sets[name] = genes
        if fields[0] not in NULL_TOKENS:
            described[name] = fields[0]
    if not sets:
        raise InputError("the file holds no gene sets", where=path, hint=_SETS_HINT)
    # a description may be a gene that the set is about, and one word may be that of many sets
    genes_of_file = {*described.values()}.intersection(chain(study.features, *sets.values()))
    found = {
        name: gene
        for name, gene in described.items()
        if gene in genes_of_file and gene not in sets[name] and gene.lower() not in name.lower()
    }
    many = len(found) >= max(2, _NEARLY_ALL * len(described))
    if many and 2 * len({*found.values()}) > len(found):
        for name, gene in found.items():
            sets[name].insert(0, gene)
        study.tell(
            f"{path}: the second field of {counted(len(found), 'set')} is a gene, not a "
            "description: it is taken as one of the set"
        )
    return sets


def _rows_of_sets(path: Path) -> Iterator[tuple[str, Iterable[str]]]:
    """Yield place and fields of each set: of the lines of a GMT, of the columns of a GMX."""
    if text_suffix(path) != ".gmx":
        for where, text in _records(path):
            yield where, text.split("\t")
        return
    rows = [line.split("\t") for line in read_whole(path).split("\n")]
    for number, column in enumerate(zip_longest(*rows, fillvalue=""), 1):
        if "".join(column).strip(BLANKS):
            yield f"{path}, column {number}", column


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
            word = pattern.strip("*?")
            like = [name for name in sets if word.lower() in name.lower()] or list(sets)
            raise InputError(
                f"there is no set {pattern!r} among {counted(len(sets), 'set')}",
                where=path,
                hint=f"{near(word.upper(), like)}there are {listed(like, 3)}",
            )
        chosen.update(found)
    return {name: genes for name, genes in sets.items() if name in chosen}


def _split_names(text: str, known: Collection[str]) -> Iterator[str]:
    """Split at commas, but not in the names of sets; of several names the longest counts."""
    longest_first = sorted(known, key=len, reverse=True)
    text = re.sub(r" +,", ",", text)
    while text := text.strip(" ,"):
        begins = (name for name in longest_first if f"{text},".startswith(f"{name},"))
        name = next(begins, text.split(",")[0])
        yield name
        text = text[len(name) :]


CODES = (
    *("EXP", "IDA", "IPI", "IMP", "IGI", "IEP"),  # experiments
    *("HTP", "HDA", "HMP", "HGI", "HEP"),  # experiments of high throughput
    *("IBA", "IBD", "IKR", "IRD"),  # phylogeny
    *("ISS", "ISO", "ISA", "ISM", "IGC", "RCA"),  # computation
    *("TAS", "NAS", "IC", "ND", "IEA"),  # statements, and annotation without a curator
)
"""All evidence codes in use (Gene Ontology Consortium, Guide to GO evidence codes)."""

_GAF_COLUMNS = {"id": 1, "symbol": 2}
_WIDTHS = frozenset((15, 16, 17))
_QUALIFIER, _TERM, _EVIDENCE = 3, 4, 6
NO_DATA = "ND"
"""Evidence of genes of which nothing is known, which all stand in the root of an ontology."""
_GAF_HINT = "a line of GAF has 17 columns divided by tabs, of which the last two may be left out"


def kept_codes(evidence: str) -> frozenset[str]:
    """Return the evidence codes of the annotations to keep.

    `evidence` are codes to keep (``EXP,IDA``), or codes to leave out, each with ``!`` before it;
    ``ND`` is kept only where it is named. An unknown code, or a mixture of both, is a `UsageError`.
    """
    words = [word.strip() for word in evidence.split(",")]
    codes = {word.removeprefix("!").strip(): word.startswith("!") for word in words}
    what = ""
    for code in {*codes}.difference(CODES):
        what, hint = f"unknown evidence code {code!r}", nearest(code.upper(), CODES)
    if len({word.startswith("!") for word in words}) > 1:
        what = f"evidence {evidence!r} keeps some codes and leaves others out"
        hint = "give codes to keep (EXP,IDA) or codes to leave out (!IEA,!ISS), not both"
    if what:
        raise UsageError(what, where="evidence", hint=hint, option="evidence")
    left_out = all(codes.values())
    return frozenset(CODES).difference(codes, [NO_DATA]) if left_out else frozenset(codes)


_LEFT_OUT = {
    "negated_annotations": "with the qualifier NOT",
    "other_evidence": "with other evidence than is asked for",
    "without_data": f"without data ({NO_DATA})",
}
"""Why annotations are left out."""


class GeneAnnotations(NamedTuple):
    """Which genes are in which set, or annotated with which term, in the order of the file.

    Terms are those of the lines alone: nothing is carried up to more general terms. ``facts`` of a
    GAF say how many annotations were kept (``annotations``), left out because their qualifier is
    NOT (``negated_annotations``), because nothing is known (``without_data``), and because of other
    evidence (``other_evidence``).
    """

    genes: dict[str, list[str]]
    facts: dict[str, int]

    @property
    def ids(self) -> list[str]:
        """The genes, each once."""
        return list(dict.fromkeys(chain.from_iterable(self.genes.values())))


def read_gaf(
    path: Path,
    evidence: str | None = None,
    ids: Literal["symbol", "id"] = "symbol",
    names: str = "",
) -> GeneAnnotations:
    """Read annotations in GAF 2.0 to 2.2, with the line of the version or without.

    gzip and zstd are decompressed. `evidence` is as in `kept_codes`; `ids` chooses between the
    symbols of genes (column 3) and the ids of the database (column 2), and `names` the terms, as in
    `choose_sets`. That all annotations are left out is an `InputError` that says why.
    """
    kept = None if evidence is None else kept_codes(evidence)
    refuse_other_than_text(path, "annotations (GAF)")
    terms: dict[str, dict[str, None]] = {}
    fates: dict[str, Counter[str]] = {}  # of the lines of a term
    codes: dict[str, Counter[str]] = {}
    for line, text in text_lines(path):
        if text.startswith("!"):
            continue
        fields = [field.strip(BLANKS) for field in text.split("\t", _EVIDENCE + 1)]
        width = text.count("\t") + 1
        if width not in _WIDTHS or not fields[_GAF_COLUMNS[ids]] or not fields[_TERM]:
            what = f"the line of {counted(width, 'column')} has no term or no {ids} of a gene"
            raise InputError(what, where=f"{path}, line {line}", hint=_GAF_HINT)
        term, code = fields[_TERM], fields[_EVIDENCE]
        genes = terms.setdefault(term, {})
        if "NOT" in fields[_QUALIFIER].upper().split("|"):
            fate = "negated_annotations"
        elif code != NO_DATA if kept is None else code in kept:
            fate = "annotations"
            genes[fields[_GAF_COLUMNS[ids]]] = None
        else:
            fate = "without_data" if code == NO_DATA else "other_evidence"
        fates.setdefault(term, Counter())[fate] += 1
        codes.setdefault(term, Counter())[code] += 1
    if not terms:
        raise InputError("the file holds no annotations", where=path, hint=_GAF_HINT)
    chosen = {term: list(genes) for term, genes in terms.items()}
    if names:
        chosen = choose_sets(chosen, names, path)
    found = {term: genes for term, genes in chosen.items() if genes}
    facts = {
        fate: sum(fates[term][fate] for term in chosen) for fate in ("annotations", *_LEFT_OUT)
    }
    if not found:
        why = [f"{facts[fate]:,} {what}" for fate, what in _LEFT_OUT.items() if facts[fate]]
        there = sum((codes[term] for term in chosen), Counter[str]()).most_common(10)
        raise InputError(
            f"all annotations{f' of {names}' if names else ''} are left out: {', '.join(why)}",
            where=path,
            hint="choose other terms, or among the evidence of the file: "
            + ", ".join(f"{code} {count:,}" for code, count in there),
        )
    check_names(chain(found, *found.values()), "a gene", path)
    return GeneAnnotations(found, facts)


def read_terms(
    spec: str,
    evidence: str | None = None,
    ids: Literal["symbol", "id"] = "symbol",
    study: Study = _ALONE,
) -> GeneAnnotations:
    """Read the terms of genes: of sets or annotations, as `read_annotations` does.

    Or `spec` is a matrix of zeros and ones in any matrix format, with genes in rows and terms in
    columns. ``facts`` counts the ``terms_without_genes`` of it too, which are left out.
    """
    found = read_annotations(spec, evidence, ids, study)
    if found is None:
        return _terms_of_matrix(Path(spec))
    return found._replace(facts=found.facts | {"terms_without_genes": 0})


def read_sets(specs: Iterable[str], study: Study = _ALONE) -> dict[str, list[str]]:
    """Read the sets of ``FILE.gmt``, ``.gmx`` or ``.gaf``, or some: ``FILE.gmt:SET1,SET2``.

    Those of several files are taken together. Raises InputError where two files have different sets
    of one name.
    """
    found: dict[str, list[str]] = {}
    origin: dict[str, Path] = {}
    for spec in specs:
        path = split_set_spec(spec)[0]
        known = read_annotations(spec, study=study)
        for name, genes in (known.genes if known else read_gmt(path, study)).items():
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
    spec: str,
    evidence: str | None = None,
    ids: Literal["symbol", "id"] = "symbol",
    study: Study = _ALONE,
) -> GeneAnnotations | None:
    """Read gene sets, or annotations, to which `evidence` and `ids` belong (see `read_gaf`).

    `spec` is ``FILE.gmt``, or ``FILE.gmt:SET1,SET2`` for some sets (names or patterns, see
    `choose_sets`), or the same of GMX and GAF. None for other files, where `evidence` and `ids` are
    a `UsageError`.
    """
    path, names = split_set_spec(spec)
    suffix = text_suffix(path)
    if suffix == ANNOTATIONS:
        return read_gaf(path, evidence, ids, names)
    if evidence is not None or ids != "symbol":
        option = "evidence" if evidence is not None else "ids"
        raise UsageError(
            f"{option} has no effect on {path.name}: it is not a GAF file",
            where=path,
            hint=f"leave {option} out, or give annotations as .gaf or .gaf.gz",
            option=option,
        )
    if suffix not in SETS:
        return None
    sets = read_gmt(path, study)
    return GeneAnnotations(choose_sets(sets, names, path) if names else sets, {})


def _terms_of_matrix(path: Path) -> GeneAnnotations:
    from scipy.sparse import csc_array

    if examine(path).is_text:
        _refuse_sets(path)
    genes, terms, matrix = read_sparse_table(
        path,
        lambda values: np.isin(values, (0.0, 1.0)),
        lambda value: f"the value {value:g} is not 0 or 1",
        "write 1 where a gene has a term, and 0 elsewhere",
    )
    columns = csc_array(matrix)
    columns.eliminate_zeros()
    members = np.split(columns.indices, columns.indptr[1:-1])
    found = {
        term: [genes[i] for i in rows.tolist()] for term, rows in zip(terms, members) if len(rows)
    }
    if not found:
        raise InputError(
            "no gene has a term", where=path, hint="give genes in rows and terms in columns"
        )
    return GeneAnnotations(found, {"terms_without_genes": len(terms) - len(found)})
