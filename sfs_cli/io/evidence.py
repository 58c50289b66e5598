"""Evidence codes of Gene Ontology annotations, and choosing annotations by them."""

from __future__ import annotations

from collections.abc import Sequence

from sfs_cli.errors import UsageError, nearest

_EXPERIMENT = ("EXP", "IDA", "IPI", "IMP", "IGI", "IEP")
_HIGH_THROUGHPUT = ("HTP", "HDA", "HMP", "HGI", "HEP")
_PHYLOGENY = ("IBA", "IBD", "IKR", "IRD")
_COMPUTATION = ("ISS", "ISO", "ISA", "ISM", "IGC", "RCA")
_STATEMENTS = ("TAS", "NAS", "IC", "ND")
CODES = (*_EXPERIMENT, *_HIGH_THROUGHPUT, *_PHYLOGENY, *_COMPUTATION, *_STATEMENTS, "IEA")
"""All codes in use (Gene Ontology Consortium, Guide to GO evidence codes)."""


def kept_codes(evidence: str | Sequence[str] | None) -> frozenset[str] | None:
    """Return the codes of the annotations to keep, None for any.

    Parameters
    ----------
    evidence : str or sequence of str, optional
        Codes to keep (``EXP,IDA`` or a sequence of them), or codes to leave out, each with ``!``
        before it.

    Raises
    ------
    UsageError
        If a code is not known, some are to be kept and others left out, or none is given.
    """
    if evidence is None:
        return None
    words = evidence.split(",") if isinstance(evidence, str) else list(evidence)
    words = [word.strip() for word in words]
    codes = [word.removeprefix("!").strip() for word in words]
    for code in codes:
        if code not in CODES:
            raise UsageError(
                f"the evidence code {code!r} is not known",
                where="evidence",
                hint=nearest(code.upper(), CODES),
            )
    left_out = [word.startswith("!") for word in words]
    if any(left_out) != all(left_out) or not words:
        raise UsageError(
            f"evidence {','.join(words)!r} keeps some codes and leaves others out"
            if words
            else "no evidence code is given",
            where="evidence",
            hint="give codes to keep (EXP,IDA) or codes to leave out (!IEA,!ND), not both",
        )
    return frozenset(CODES).difference(codes) if all(left_out) else frozenset(codes)
