"""Telling a line of column names from ids, where a file may or may not begin with one."""

from __future__ import annotations

import re

_THINGS = ("gene", "genes", "feature", "features", "protein", "proteins", "transcript", "mirna")
_PROBES = ("probe", "probes", "probeset", "probesets", "target")
_DATABASES = ("ensembl", "entrez", "entrezgene", "hgnc", "ncbi", "refseq", "uniprot", "uniprotkb")
_IDS = ("id", "ids", "identifier", "identifiers", "accession", "symbol", "symbols", "name", "names")
_WORDS = frozenset((*_THINGS, *_PROBES, *_DATABASES, *_IDS))
_QUALIFIERS = ("approved", "common", "external", "hugo", "human", "official", "set", "stable")
_JOINED = re.compile(r"(id|ids|name|symbol)$")
_PARTS = re.compile(r"[^a-z0-9]+")


def name_parts(text: str) -> list[str]:
    """Split a name into its words, in lower case: ``Gene-Symbol`` is gene and symbol."""
    return [part for part in _PARTS.split(text.lower()) if part]


def is_id_name(text: str) -> bool:
    """Tell whether a text is what people call a column of ids, such as ``hgnc_symbol``.

    All its words must be such words, so that no id of a gene is taken for one.
    """
    parts = name_parts(text)
    known = [_is_word(part) for part in parts]
    return any(known) and all(k or part in _QUALIFIERS for k, part in zip(known, parts))


def _is_word(part: str) -> bool:
    return part in _WORDS or _JOINED.sub("", part) in _WORDS  # geneid, genesymbol
