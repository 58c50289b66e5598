"""The files that a configuration names, and ``sfs config check``, which looks for them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from sfs_cli.errors import CHECK_PATH, InputError
from sfs_cli.io.files.sniff import split_modality
from sfs_cli.io.given import given
from sfs_cli.io.knowledge.gene_sets import split_set_spec
from sfs_cli.io.knowledge.sample_columns import is_inside, split_label_spec
from sfs_cli.options.fields import names_file, options_of
from sfs_cli.options.files import ConfigFile
from sfs_cli.options.paths import READS, is_there, split_part
from sfs_cli.options.rank import OF_SAMPLES, RankConfig
from sfs_cli.run.complete import names_inside

NO_MATRIX = "MATRIX"
"""The matrix of a file that names none: the command line has to."""


def configured(file: ConfigFile) -> RankConfig:
    """Return the configuration of a file alone."""
    options = options_of(RankConfig)
    return file.config({o.name: o.default for o in options} | {"matrix": NO_MATRIX})


def describe(file: ConfigFile) -> str:
    """Check a configuration as a run would before it reads anything, and return a summary.

    Raises UsageError for options that contradict each other or need another, InputError when a file
    that it names does not exist.
    """
    options, config = options_of(RankConfig), configured(file)
    for name, path, _ in input_files(config):
        if name == "matrix":
            path = split_modality(path)[0]
            if "matrix" not in file.options:
                continue
        if not path.exists():
            raise InputError(
                f"{name.replace('_', '-')} {path} does not exist",
                where=file.where(name.replace("-", "_")),
                hint=f"{CHECK_PATH}; paths are relative to the folder of the configuration",
                option=name.replace("-", "_"),
            )
    matrix = config.matrix if "matrix" in file.options else "to be given"
    lines = [("matrix", matrix), ("method", config.ranker)]
    for o in options:
        value = getattr(config, o.name)
        if o.name in ("matrix", "method") or value == o.default:
            continue
        if o.name == "source":
            for source in value:
                known = source.plain()
                words = [known.pop("kind"), known.pop("path", "")]
                words += [f"{name}={text}" for name, text in known.items()]
                lines.append((f"source {source.name}", " ".join(filter(None, words))))
        elif isinstance(value, bool):
            lines.append((o.key, str(value).lower()))
        else:
            lines.append((o.key, ",".join(value) if isinstance(value, tuple) else str(value)))
    width = max(len(name) for name, _ in lines) + 2
    return "".join(f"{name:<{width}}{text}\n" for name, text in lines)


def input_files(config: RankConfig) -> Iterator[tuple[str, Path, dict[str, str | None]]]:
    """Yield every file that a run reads: its option, its path, and what part of it is read."""
    yield "matrix", Path(config.matrix), {}
    for name in OF_SAMPLES:
        value = getattr(config, name)
        several = isinstance(value, tuple)
        for i, text in enumerate(value if several else (value,), 1):
            if text is None or is_inside(text):
                continue
            if name == "labels":
                refuse_annotation(config)
            path, column = split_label_spec(text)
            yield f"{name}.{i}" if several else name, path, {"column": column}
    for o in options_of(RankConfig):
        if o.path == READS and not o.column and not o.argument:
            value = getattr(config, o.name)
            for text in value if o.repeated else (value,):
                if text is not None and not text.startswith(o.parts):
                    path, part = split_sets(text) if o.repeated else (Path(text), None)
                    yield o.name.rstrip("_"), path, {} if part is None else {"part": part}
    for option in ("include", "exclude"):
        for i, text in enumerate(getattr(config, option), 1):
            if names_file(text):
                yield f"{option}.{i}", Path(text), {}
    for spec in config.source:
        role, part = f"source.{spec.name}", None
        if spec.path and not spec.path.startswith(("obs:", "obsp:", "obsm:")):
            path = Path(spec.path)
            if spec.kind in ("labels", "hierarchy"):
                path, part = split_label_spec(spec.path)
            elif spec.kind in ("genes", "terms"):
                path, part = split_sets(spec.path)
            yield f"{role}.path", path, {} if part is None else {"part": part}
        if spec.seeds is not None:
            path, part = split_sets(spec.seeds)
            yield f"{role}.seeds", path, {} if part is None else {"part": part}
        if spec.id_map is not None:
            yield f"{role}.id-map", Path(spec.id_map), {}


def refuse_annotation(config: RankConfig) -> None:
    """Refuse labels that are no file, but an annotation of the samples in an AnnData file."""
    labels, matrix = str(config.labels), config.matrix
    if given(labels) is not None or given(matrix) is not None or is_there(split_part(labels)[0]):
        return
    names: list[str] = []
    # what is wrong with the matrix is for its reader to say
    with suppress(InputError, OSError, ValueError, KeyError):
        names = names_inside(matrix, "obs")
    if labels in names:
        raise InputError(
            "there is no such file, but the samples have an annotation of this name",
            where=labels,
            hint=f"did you mean obs:{labels}?",
            option="labels",
        )


def split_sets(text: str) -> tuple[Path, str | None]:
    """Split ``FILE.gmt:SET,...`` into the file and what is read of it, None for all."""
    path, sets = split_set_spec(text)
    return path, sets or None
