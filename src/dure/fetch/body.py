"""Reading a body: decompressed as it arrives, in small steps, and never more than is allowed.

Six kilobytes can stand for four gigabytes. So the decompressor is asked for a bounded piece
at a time, and the sizes are looked at between the pieces, not after them.
"""

import sys
import zlib
from collections.abc import Iterator
from typing import Final, Protocol

import brotli

from dure.fetch.failure import BodyBroken, BodyTooLarge, ConnectionLost
from dure.fetch.policy import MIB, FetchPolicy
from dure.fetch.wire import Reply

if sys.version_info >= (3, 14):
    from compression.zstd import DecompressionParameter, ZstdDecompressor, ZstdError
else:
    from backports.zstd import DecompressionParameter, ZstdDecompressor, ZstdError

ENCODINGS: Final = "gzip, deflate, br, zstd"
"""What is offered to servers, as Accept-Encoding."""
_STEP: Final = 256 * 1024
_WINDOW_LOG_MAX: Final = 23
"""zstd windows up to 8 MiB, which RFC 9659 makes the most that a web server may use."""
_RAW: Final = frozenset({"", "identity"})


class Inflater(Protocol):
    """Decompresses a stream, piece by piece."""

    is_whole: bool
    """Whether the stream has reached its own end."""

    def feed(self, chunk: bytes) -> Iterator[bytes]: ...


class _Zlib:
    def __init__(self, encoding: str) -> None:
        self._windows = 31 if encoding != "deflate" else 15
        self._inner = zlib.decompressobj(self._windows)
        self._begun = False
        self.is_whole = True

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        while chunk:
            if self._inner.eof:
                if chunk.strip(b"\0") == b"":
                    return  # padding after the end
                self._inner = zlib.decompressobj(self._windows)
            try:
                piece = self._inner.decompress(chunk, _STEP)
            except zlib.error:
                if self._begun or self._windows != 15:
                    raise
                # "deflate" is zlib's format by the standard, but bare by many servers.
                self._windows = -15
                self._inner = zlib.decompressobj(self._windows)
                piece = self._inner.decompress(chunk, _STEP)
            self._begun = True
            self.is_whole = self._inner.eof
            chunk = self._inner.unused_data if self._inner.eof else self._inner.unconsumed_tail
            if piece:
                yield piece
            while not self._inner.eof and not chunk and len(piece) == _STEP:
                piece = self._inner.decompress(b"", _STEP)
                if piece:
                    yield piece


class _Brotli:
    def __init__(self) -> None:
        self._inner = brotli.Decompressor()
        self.is_whole = True

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        piece = self._inner.process(chunk, output_buffer_limit=_STEP)
        while True:
            self.is_whole = self._inner.is_finished()
            if piece:
                yield piece
            if self.is_whole or (not piece and self._inner.can_accept_more_data()):
                return
            piece = self._inner.process(b"", output_buffer_limit=_STEP)


class _Zstd:
    def __init__(self) -> None:
        self._inner = self._new()
        self.is_whole = True

    @staticmethod
    def _new() -> ZstdDecompressor:
        return ZstdDecompressor(options={DecompressionParameter.window_log_max: _WINDOW_LOG_MAX})

    def feed(self, chunk: bytes) -> Iterator[bytes]:
        while True:
            if self._inner.eof:
                self._inner = self._new()
            piece = self._inner.decompress(chunk, _STEP)
            self.is_whole = self._inner.eof
            if piece:
                yield piece
            chunk = self._inner.unused_data if self._inner.eof else b""
            if not chunk and (self._inner.eof or self._inner.needs_input):
                return


def inflater(encoding: str) -> Inflater | None:
    """What decompresses this Content-Encoding; None when there is nothing to do."""
    encoding = encoding.strip().lower()
    if encoding in _RAW:
        return None
    if encoding in {"gzip", "x-gzip", "deflate"}:
        return _Zlib(encoding)
    if encoding == "br":
        return _Brotli()
    if encoding == "zstd":
        return _Zstd()
    raise BodyBroken(f"A Content-Encoding that nobody asked for: {encoding[:60]!r}")


async def read(reply: Reply, policy: FetchPolicy, *, cut: int | None = None) -> bytes:
    """The body, decompressed. With `cut` only its first bytes; whatever follows is not read."""
    declared = reply.headers.get("Content-Length", "")
    if cut is None and declared.isascii() and declared.isdigit():
        _check_raw(int(declared[:20]), policy)
    encoding = reply.headers.get("Content-Encoding")
    if encoding is not None:
        inner = inflater(encoding)
        if inner is not None:
            return await _inflated(reply, inner, policy, cut)
    parts: list[bytes] = []
    size = 0
    async for chunk in reply.chunks():
        size += len(chunk)
        parts.append(chunk)
        if cut is not None and size >= cut:
            return b"".join(parts)[:cut]
        if size > policy.body_max:
            _check_raw(size, policy)
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def _inflated(reply: Reply, inner: Inflater, policy: FetchPolicy, cut: int | None) -> bytes:
    parts: list[bytes] = []
    raw = size = 0
    try:
        async for chunk in reply.chunks():
            raw += len(chunk)
            _check_raw(raw, policy)
            for piece in inner.feed(chunk):
                size += len(piece)
                parts.append(piece)
                if cut is not None and size >= cut:
                    return b"".join(parts)[:cut]
                _check_decoded(raw, size, policy)
    except (zlib.error, brotli.error, ZstdError) as error:
        raise BodyBroken(f"The body is not in the encoding its header names: {error}") from error
    if not inner.is_whole:
        raise ConnectionLost("The compressed body ends too early")
    return b"".join(parts)


def _check_raw(size: int, policy: FetchPolicy) -> None:
    if size > policy.body_max:
        raise BodyTooLarge(
            f"The body is over {policy.body_max} bytes",
            hint="Raise body_max if such pages are meant to be fetched.",
        )


def _check_decoded(raw: int, size: int, policy: FetchPolicy) -> None:
    if size > policy.decoded_max:
        raise BodyTooLarge(f"The decompressed body is over {policy.decoded_max} bytes")
    if size > MIB and size > raw * policy.ratio_max:
        raise BodyTooLarge(f"The body grows more than {policy.ratio_max:g} times: a bomb")
