"""A guard for Zarr's chunks of texts: a damaged number of texts must not fill the memory.

Such a chunk begins with the number of its texts, for which numcodecs makes room before it reads
the first: up to 32 GiB where a bit is flipped. The guarded codecs take the place of the usual ones
and refuse a number that the chunk cannot hold. In another process they are the usual ones.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from sfs_cli.errors import InputError
from sfs_cli.io.files.room import check_room

_OBJECT_TIMES = 5  # a chunk, its texts as objects, and copies of them in tables
_NUMBER = np.dtype("<u4")
"""Of the texts in a chunk, and before each text of its bytes."""


@cache
def guard_texts() -> None:
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
        raise ValueError(error.what) from None
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
