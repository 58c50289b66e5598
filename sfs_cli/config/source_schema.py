"""The part of the JSON Schema that is about sources: one form for each kind."""

from __future__ import annotations

from sfs_cli.config.choices import CHOICES
from sfs_cli.config.schema_values import BANDWIDTH, COUNTS, TEXT, Schema, any_of, of_type, words
from sfs_cli.config.typed import SOURCE_TYPES, key_of
from sfs_cli.graph.options import LABEL_GRAPHS, SIMILARITIES
from sfs_cli.sources.spec import FROM_DISTANCES, KINDS, OPTIONS, WITHOUT_PATH

_NAME = "[A-Za-z0-9_.+-]+"
_ANY_KIND = "|".join(KINDS)
_MEANING = {
    "profile": "Samples are alike in another matrix of the same samples.",
    "target": "Samples are alike in the matrix that is ranked.",
    "labels": "Samples of one class are alike; without a path, by the labels of the run.",
    "hierarchy": "Samples are alike by the depth of their common ancestor.",
    "genes": "Samples are alike in the genes of a list, of gene sets or of annotations.",
    "interactions": "Samples are alike in the genes that interact.",
    "feature-similarity": "Samples are alike by a distance that knows which genes are alike.",
    "terms": "Samples are alike by a distance that knows which genes share terms.",
    "similarity": "A similarity of the samples, as it is.",
}
_PATHS = {
    "profile": "The matrix.",
    "labels": "FILE, FILE:COLUMN, or obs:KEY.",
    "hierarchy": "A table of samples and paths (FILE or FILE:COLUMN), or a Newick tree.",
    "genes": "A list, a GMT (FILE.gmt:SET1,SET2 for some of its sets), or a GAF.",
    "interactions": "Edges between genes.",
    "feature-similarity": "Edges or a matrix between genes.",
    "terms": "A matrix of genes and terms, a GMT or a GAF.",
    "similarity": "A matrix, or obsp:KEY.",
}
_HELP = {
    "weight": "How much it counts.",
    "transform": "Steps in order, such as cpm,log1p,zscore, for this source alone.",
    "missing": "Refuse missing values, leave such features out, or fill by their mean.",
    "similarity": "How samples are compared.",
    "bandwidth": "Of the rbf.",
    "neighbors": "Nearest neighbours.",
    "edge_weights": "Of knn edges.",
    "beta": "Time of the diffusion.",
    "components": "Principal components that neighbours are searched in, or none.",
    "variable_genes": "Features, of those that vary most, that components are made of, or all.",
    "rows": "What a row of the file is.",
    "layer": "Layer of an h5ad to read in place of X.",
    "min_score": "Edges with a lower score are left out.",
    "seeds": "A file of genes whose interactions count.",
    "evidence": "Evidence codes of a GAF to keep, or with ! to leave out.",
    "ids": "Which ids of a GAF are those of the features.",
    "id_map": "Two columns: ids of the matrix, ids of this source.",
}


def source_schema() -> Schema:
    """Return the schema of all sources: by name, or as a list of the texts of the flag."""
    by_name = {
        "type": "object",
        "propertyNames": {"pattern": f"^{_NAME}$"},
        "additionalProperties": {"$ref": "#/$defs/source"},
    }
    text = {"type": "string", "pattern": f"^{_NAME}=({_ANY_KIND}):"}
    return {"anyOf": [by_name, {"type": "array", "items": text}]}


def source_definitions() -> dict[str, Schema]:
    """Return the definitions that `source_schema` refers to."""
    text = {"type": "string", "pattern": f"^({_ANY_KIND}):", "description": "As after --source."}
    forms = [{"$ref": f"#/$defs/source-{kind}"} for kind in KINDS]
    return {"source": {"anyOf": [text, *forms]}} | {f"source-{kind}": _of(kind) for kind in KINDS}


def _of(kind: str) -> Schema:
    properties: dict[str, Schema] = {"kind": {"description": "What it is.", "const": kind}}
    if kind in _PATHS:
        properties["path"] = {"description": _PATHS[kind]} | TEXT
    for option in ("weight", *(option for option in OPTIONS if option in KINDS[kind])):
        properties[key_of(option)] = {"description": _HELP[option]} | _option(option, kind)
    return {
        "description": _MEANING[kind],
        "type": "object",
        "properties": properties,
        "required": ["kind"] if kind in WITHOUT_PATH else ["kind", "path"],
        "additionalProperties": False,
    }


def _option(option: str, kind: str) -> Schema:
    if option == "weight":
        return {"type": "number", "minimum": 0}
    if option == "similarity":
        known = FROM_DISTANCES if kind in ("feature-similarity", "terms") else SIMILARITIES
        return {"enum": [name for name in known if name not in LABEL_GRAPHS or name == "relieff"]}
    if option == "ids":
        return {"enum": ["symbol", "id"]}
    if option == "bandwidth":
        return words(BANDWIDTH)
    if option in COUNTS:
        return COUNTS[option]
    if option in CHOICES:
        return any_of({"enum": list(CHOICES[option])})
    return of_type(option, SOURCE_TYPES[option])
