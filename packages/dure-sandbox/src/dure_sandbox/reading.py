"""Reading HTTP/1.1 requests from bytes, as far as clients of an API or a crawler write them."""

from dataclasses import dataclass
from typing import Final

from dure_sandbox.exchange import Request

HEAD_BYTES_MAX: Final = 64 * 1024
BODY_BYTES_MAX: Final = 32 * 1024 * 1024


class Unreadable(Exception):
    """What arrived is not a request; the status says how it is wrong."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass(frozen=True, slots=True)
class Read:
    request: Request
    length: int
    """How many bytes of the buffer the request took."""
    keeps_alive: bool


def read(buffer: bytes | bytearray) -> Read | None:
    """The first request in the buffer, or None while it is not complete."""
    end = buffer.find(b"\r\n\r\n", 0, HEAD_BYTES_MAX + 4)
    if end < 0:
        if len(buffer) > HEAD_BYTES_MAX:
            raise Unreadable(431, "The head of the request is too long.")
        return None
    first, *lines = bytes(buffer[:end]).decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise Unreadable(400, "The first line is not that of an HTTP/1.1 request.")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise Unreadable(400, "A header has no colon.")
        headers[name.strip().lower()] = value.strip()
    body = _body(buffer, end + 4, headers)
    if body is None:
        return None
    content, length = body
    host = headers.get("host", "localhost")
    target = words[1]
    if not target.startswith("/"):
        target = "/" + target.partition("://")[2].partition("/")[2]
    request = Request(method=words[0], host=host, target=target, headers=headers, body=content)
    asked = headers.get("connection", "").lower()
    keeps = asked != "close" and (words[2] != "HTTP/1.0" or asked == "keep-alive")
    return Read(request, length, keeps)


def _body(
    buffer: bytes | bytearray, start: int, headers: dict[str, str]
) -> tuple[bytes, int] | None:
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return _chunks(buffer, start)
    length = headers.get("content-length", "0")
    if not length.isdigit():
        raise Unreadable(400, "Content-Length is not a number.")
    if int(length) > BODY_BYTES_MAX:
        raise Unreadable(413, "The body is too long.")
    end = start + int(length)
    return (bytes(buffer[start:end]), end) if len(buffer) >= end else None


def _chunks(buffer: bytes | bytearray, start: int) -> tuple[bytes, int] | None:
    parts: list[bytes] = []
    place = start
    while (line_end := buffer.find(b"\r\n", place)) >= 0:
        try:
            size = int(bytes(buffer[place:line_end]).partition(b";")[0], 16)
        except ValueError:
            raise Unreadable(400, "The length of a chunk is not a number.") from None
        if place - start + size > BODY_BYTES_MAX:
            raise Unreadable(413, "The body is too long.")
        begin, place = line_end + 2, line_end + 2 + size + 2
        if len(buffer) < place:
            return None
        if size == 0:
            return b"".join(parts), place
        parts.append(bytes(buffer[begin : begin + size]))
    return None
