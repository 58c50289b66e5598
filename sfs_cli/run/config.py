"""The files that a configuration names."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path

from sfs_cli.display import shown
from sfs_cli.errors import InputError
from sfs_cli.io.files.sniff import Kind, recognize
from sfs_cli.io.files.text import split_member
from sfs_cli.io.given import given, is_named
from sfs_cli.io.knowledge.gene_sets import split_set_spec
from sfs_cli.io.knowledge.sample_columns import is_inside, split_label_spec
from sfs_cli.io.matrix.base import format_of
from sfs_cli.io.matrix.quantifiers import sample_names
from sfs_cli.options.fields import names_file, options_of, texts_of
from sfs_cli.options.paths import READS, STANDARD_INPUT, is_there, paths_of, split_part
from sfs_cli.options.rank import OF_SAMPLES, RankConfig
from sfs_cli.options.source import INSIDE, SOURCE_PATHS

ANNOTATED = (".h5ad", ".h5mu", ".zarr")
"""Formats with columns of the samples inside."""
ReadFile = tuple[str, Path, dict[str, str | None]]
"""A file that is read: the option that names it, its path, and as facts the part that is read."""


def matrix_files(config: RankConfig) -> list[str]:
    """Return the names of the files of a matrix, as ``obs:file`` has them.

    Raises InputError where one of several is not there, or is given twice.
    """
    found: dict[Path, str] = {}
    for file in config.all_files if config.files else ():
        path, given = Path(file), shown(file)
        if not split_member(path)[0].exists():
            raise InputError(
                "there is no such file or folder",
                where=given,
                hint="further arguments are files with other samples; a result goes to --out DIR, "
                "other features of the samples to --source NAME=profile:FILE",
                option="files",
            )
        place = Path(given).resolve()  # that of an address is the same wherever its copy is
        if place in found:
            raise InputError(
                "it is given twice, so each of its samples would count twice",
                where=f"{found[place]}, {given}",
                hint="give each file once",
                option="files",
            )
        found[place] = given
    return sample_names([*map(Path, config.all_files)])


def input_files(config: RankConfig) -> Iterator[ReadFile]:
    """Yield every file that a run reads: its option, its path, and what part of it is read."""
    refuse_annotation(config)
    for i, (file, name) in enumerate(zip(config.all_files, matrix_files(config))):
        # the names of several files are in the result
        yield f"files.{i}" if i else "matrix", Path(file), {"part": name} if config.files else {}
    for name in OF_SAMPLES:
        value = getattr(config, name)
        for i, text in enumerate(texts_of(value), 1):
            if not is_inside(text):
                path, column = split_label_spec(text)
                role = f"{name}.{i}" if isinstance(value, tuple) else name
                yield role, path, {"column": column}
    for o in options_of(RankConfig):
        if o.path == READS and not o.column and not o.argument:
            for text in texts_of(getattr(config, o.name)):
                if not text.startswith(o.parts):
                    yield o.name.rstrip("_"), *_file_and_part(o.name, text)
    for option in ("include", "exclude"):
        for i, text in enumerate(getattr(config, option), 1):
            if names_file(text):
                yield f"{option}.{i}", Path(text), {}
    for spec in config.source:
        for name in SOURCE_PATHS:
            text = getattr(spec, name)
            if text and not text.startswith(INSIDE):
                what = spec.kind if name == "path" else name
                yield f"source.{spec.name}.{spec.label(name)}", *_file_and_part(what, text)


def refuse_objects(config: RankConfig, takes: Collection[str] | None = None) -> None:
    """Refuse names of objects, which a record of Python has in place of paths.

    `takes` are the options of the command that name a file in place of one; None for all.
    """
    options = options_of(RankConfig)
    for each in paths_of(options, {o.name: getattr(config, o.name, None) for o in options}):
        if given(each.path) is not None or not is_named(each.path) or is_there(each.path):
            continue
        again = takes is not None and each.option not in takes
        name = each.label if takes is None or again else f"--{each.option}"
        raise InputError(
            f"{Path(each.path).name} was an object of Python, not a file",
            where=each.path,
            hint=f"{'rank again, and ' * again}give a file in its place, by {name}",
            option=each.option,
        )


def refuse_annotation(config: RankConfig) -> None:
    """Refuse columns or coordinates that are no file, but perhaps something inside the matrix."""
    refuse_objects(config)
    matrix = config.matrix
    if given(matrix) is not None:
        return
    asked = [
        (name, "obs", value)
        for name in config.given(*OF_SAMPLES)
        for value in texts_of(getattr(config, name))
    ]
    for option, inside, text in [*asked, ("coordinates", "obsm", config.coordinates)]:
        if text is None or given(text) is not None or text.startswith(("obs:", "obsm:")):
            continue
        path = split_part(text)[0]
        if path == STANDARD_INPUT or is_there(path):
            continue
        if Path(matrix).is_dir() and (content := recognize(matrix)).kind is Kind.FOLDER:
            format_of(Path(matrix), content)  # which refuses a folder of files first
        # who reads other columns knows of those beside labels, and of tables
        own = option in ("labels", "coordinates")
        own |= split_member(Path(matrix))[0].suffix in ANNOTATED and config.labels is None
        if not Path(path).suffix and own:  # it is no table
            name = "NAME" if ":" in text else text
            of_several = "; of several files (FOLDER/*.h5ad) file is the name of each"
            raise InputError(
                "there is no such file",
                where=path,
                hint=f"give a file, FILE:COLUMN, FILE.xlsx:SHEET:COLUMN, or {inside}:{name} for "
                "what is inside an h5ad" + of_several * (text == "file"),
                option=option,
            )


def split_sets(text: str) -> tuple[Path, str | None]:
    """Split ``FILE.gmt:SET,...`` into the file and what is read of it, None for all."""
    path, sets = split_set_spec(text)
    return path, sets or None


_SPLIT = {
    **dict.fromkeys(("labels", "hierarchy", "id_map"), split_label_spec),
    **dict.fromkeys(("genes", "terms", "seeds", "sets"), split_sets),
}
"""What tells a file from the part of it that is named, by the option or the kind of source."""


def _file_and_part(what: str, text: str) -> tuple[Path, dict[str, str | None]]:
    """Return the file that a text names, and as facts the part of it that is read."""
    path, part = _SPLIT[what](text) if what in _SPLIT else (Path(text), None)
    return path, {} if part is None else {"part": part}
