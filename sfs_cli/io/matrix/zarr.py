"""Zarr folders, opened so that nothing in them is executed and no damaged number fills the memory.

Codecs that may execute what a file says are refused. A chunk of texts begins with the number of its
texts, for which numcodecs makes room before it reads the first: up to 32 GiB where a bit is
flipped. Guarded codecs take the place of the usual ones and refuse a number that the chunk cannot
hold. In another process they are the usual ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from sfs_cli.errors import InputError
from sfs_cli.io.files.read_limits import check_room
from sfs_cli.io.matrix.base import read_errors
from sfs_cli.io.matrix.stored import parts_of

_CODECS = frozenset(
    (
        *("adler32", "astype", "base64", "bitround", "blosc", "bytes", "bz2", "categorize"),
        *("crc32", "crc32c", "delta", "fixedscaleoffset", "fletcher32", "gzip", "json2"),
        *("jenkins_lookup3", "lz4", "lzma", "msgpack2", "packbits", "pcodec", "quantize"),
        *("sharding_indexed", "shuffle", "transpose", "vlen-array", "vlen-bytes", "vlen-utf8"),
        *("zfpy", "zlib", "zstd"),
    )
)
"""Codecs of Zarr that hold data. That called pickle executes what a file says."""
_OBJECT_TIMES = 5  # a chunk, its texts as objects, and copies of them in tables
_NUMBER = np.dtype("<u4")
"""Of the texts in a chunk, and before each text of its bytes."""


def open_zarr_group(path: Path) -> Any:
    """Open a Zarr folder for reading."""
    import zarr

    _guard_texts()
    with read_errors(path, "Zarr"):
        group = zarr.open_group(str(path), mode="r")
        _check_codecs(group, path)
        return group


def _check_codecs(group: Any, path: Path) -> None:
    """Refuse a folder with an array that names any codec but those that hold data."""
    for element in parts_of(group, path):
        if not hasattr(element, "keys") and (unknown := set(_codecs(element)) - _CODECS):
            raise InputError(
                f"the codec {min(unknown)!r} is not read: a codec may execute what a file says",
                where=f"{path}, {element.path}",
                hint="if you trust it, read it with anndata and write it again",
            )


def _codecs(array: Any) -> Iterator[str]:
    """Yield the names of the codecs of an array, those within others too."""
    if hasattr(array, "metadata"):
        yield from _names_of_codecs(array.metadata.to_dict())
    else:  # the package zarr before version 3
        for codec in (*(array.filters or ()), array.compressor):
            if codec is not None:
                yield codec.codec_id


def _names_of_codecs(metadata: Any) -> Iterator[str]:
    found = [metadata.get("compressor"), *(metadata.get("filters") or ())]  # format 2
    for key in ("codecs", "index_codecs"):  # format 3
        found += metadata.get(key) or ()
    for codec in filter(None, found):
        yield str(codec.get("id") or codec.get("name")).removeprefix("numcodecs.")
        yield from _names_of_codecs(codec.get("configuration") or {})


@cache
def _guard_texts() -> None:
    """Put the guarded codecs in place, for both formats of Zarr."""
    import zarr
    from numcodecs import registry, vlen

    for codec in (vlen.VLenArray, vlen.VLenBytes, vlen.VLenUTF8):
        registry.register_codec(_guarded(codec))
    if not zarr.__version__.startswith("2."):
        from zarr.codecs import VLenBytesCodec, VLenUTF8Codec
        from zarr.registry import register_codec

        for name, codec in (("vlen-bytes", VLenBytesCodec), ("vlen-utf8", VLenUTF8Codec)):
            guarded = _guarded_of_format_3(codec)
            register_codec(name, guarded, qualname=f"sfs.{name}")
            zarr.config.set({f"codecs.{name}": f"sfs.{name}"})


def _check_number(chunk: Any) -> None:
    held = np.frombuffer(chunk, np.uint8)
    if held.size < _NUMBER.itemsize:
        return  # the codec says that the number itself is cut off
    number = int(held[: _NUMBER.itemsize].view(_NUMBER)[0])
    try:
        check_room("the texts of a chunk take", _OBJECT_TIMES * held.size, "")
    except InputError as error:  # of whatever Zarr reads; who reads it adds the file
        raise ValueError(f"{error.what}; if it is right, raise --memory") from None
    if number > held.size // _NUMBER.itemsize - 1:
        raise ValueError(f"a chunk of {held.size:,} bytes says that it holds {number:,} texts")


def _guarded(codec: Any) -> Any:
    def decode(self: Any, buf: Any, out: Any = None) -> Any:
        _check_number(buf)
        return codec.decode(self, buf, out)

    def reduce(self: Any) -> tuple[Any, ...]:
        from numcodecs import registry

        return registry.get_codec, (self.get_config(),)

    return type(codec.__name__, (codec,), {"decode": decode, "__reduce__": reduce})


def _guarded_of_format_3(codec: Any) -> Any:
    async def decode(self: Any, chunk_bytes: Any, chunk_spec: Any) -> Any:
        _check_number(chunk_bytes.as_array_like())
        return await codec._decode_single(self, chunk_bytes, chunk_spec)

    def reduce(self: Any) -> tuple[Any, ...]:
        return codec, ()

    # the package zarr takes the codec of an array of texts by the name of its class only
    return type(codec.__name__, (codec,), {"_decode_single": decode, "__reduce__": reduce})
