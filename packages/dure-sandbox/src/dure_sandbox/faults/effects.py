"""What a fault does to an answer: pure, from a request and the right response to a delivery."""

import gzip
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

import msgspec

from dure_sandbox.ai.refusals import refusal_of
from dure_sandbox.delivery import Cut, Delivery, Framing, Head, Pause, Step, Steps, head_of
from dure_sandbox.exchange import Request, Response, Site
from dure_sandbox.faults.active import HOP
from dure_sandbox.faults.fault import Fault

PIECE: Final = 1 << 16
ZEROS: Final = 1 << 20
"""How many zeros of a bomb are packed at a time."""

Effect = Callable[[Fault, Request, Response, Site], Delivery]


def strike(fault: Fault, request: Request, response: Response, site: Site) -> Delivery:
    """The answer as the fault leaves it."""
    effect = EFFECTS.get(fault.kind)
    if effect is not None:
        return effect(fault, request, response, site)
    return _late(fault, refusal_of(fault.kind, fault.dialect))


def _late(fault: Fault, response: Response) -> Response:
    """With Retry-After when the fault has one; with whole seconds, as HTTP wants them."""
    if fault.retry_after is None:
        return response
    return response.with_headers(("Retry-After", str(-int(-fault.retry_after // 1))))


def _throttle(fault: Fault, _: Request, __: Response, site: Site) -> Delivery:
    if site.name == "ai" and fault.dialect != "openai":
        return _late(fault, refusal_of("rate_limit", fault.dialect))
    return _late(fault, site.refuse(429))


def _status(fault: Fault, _: Request, __: Response, site: Site) -> Delivery:
    return _late(fault, site.refuse(fault.status))


def _block(_: Fault, __: Request, ___: Response, site: Site) -> Delivery:
    return site.refuse(403)


def _loop(_: Fault, request: Request, __: Response, ___: Site) -> Delivery:
    before, mark, hop = request.target.partition(HOP)
    if not mark:
        before += "&" if "?" in before else "?"
    place = f"{before}{HOP}{int(hop) + 1 if hop.isascii() and hop.isdigit() else 1}"
    return Response(status=302, headers=(("Location", place),))


def _reset(fault: Fault, _: Request, response: Response, __: Site) -> Delivery:
    return _steps(*_half(fault, response), Cut())


def _stall(fault: Fault, _: Request, response: Response, __: Site) -> Delivery:
    return _steps(*_half(fault, response), Pause(fault.seconds), Cut())


def _steps(*steps: Step) -> Steps:
    return iter(steps)


def _half(fault: Fault, response: Response) -> list[Step]:
    if fault.at == "head":
        return []
    return [head_of(response), response.body[: len(response.body) // 2]]


def _slow_start(fault: Fault, _: Request, response: Response, __: Site) -> Delivery:
    return _steps(Pause(fault.seconds), head_of(response), response.body)


def _slow_body(fault: Fault, _: Request, response: Response, __: Site) -> Delivery:
    def steps() -> Iterator[Step]:
        yield head_of(response)
        for start in range(0, len(response.body), fault.rate):
            part = response.body[start : start + fault.rate]
            yield Pause(len(part) / fault.rate)
            yield part

    return steps()


def _cut_body(_: Fault, __: Request, response: Response, ___: Site) -> Delivery:
    half = response.body[: len(response.body) // 2]
    return _steps(head_of(response), half, Cut(is_reset=False))


def _cut_gzip(_: Fault, __: Request, response: Response, ___: Site) -> Delivery:
    packed = gzip.compress(response.body, mtime=0)
    gzipped = response.with_headers(("Content-Encoding", "gzip"))
    return replace(gzipped, body=packed[: len(packed) // 2])


def _wrong_charset(_: Fault, __: Request, response: Response, ___: Site) -> Delivery:
    """UTF-8 pages become CP949 under a header that says UTF-8, and the other way round."""
    said = response.header("content-type") or "text/html"
    kind = said.partition(";")[0]
    try:
        body = response.body.decode("utf-8").encode("cp949", "xmlcharrefreplace")
        charset = "utf-8"
    except UnicodeDecodeError:
        body = response.body.decode("cp949", "replace").encode()
        charset = "euc-kr"
    others = tuple(each for each in response.headers if each[0].lower() != "content-type")
    header = ("Content-Type", f"{kind}; charset={charset}")
    return Response(status=response.status, headers=(header, *others), body=body)


def _bomb(fault: Fault, _: Request, response: Response, __: Site) -> Delivery:
    """Valid gzip, packed once: blocks that start afresh can be repeated."""

    def steps() -> Iterator[Step]:
        kind = response.header("content-type") or "text/html"
        headers = (("Content-Type", kind), ("Content-Encoding", "gzip"))
        yield Head(200, headers, Framing.CHUNKED)
        yield b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
        zeros = bytes(ZEROS)
        packing = zlib.compressobj(9, zlib.DEFLATED, -15)
        block = packing.compress(zeros) + packing.flush(zlib.Z_FULL_FLUSH)
        blocks, rest = divmod(fault.bytes_count, ZEROS)
        checksum = 0
        for _ in range(blocks):
            checksum = zlib.crc32(zeros, checksum)
            yield block
        last = zlib.compressobj(9, zlib.DEFLATED, -15)
        yield last.compress(zeros[:rest]) + last.flush()
        checksum = zlib.crc32(zeros[:rest], checksum)
        yield checksum.to_bytes(4, "little")
        yield (fault.bytes_count & 0xFFFFFFFF).to_bytes(4, "little")

    return steps()


def _endless(fault: Fault, _: Request, response: Response, __: Site) -> Delivery:
    def steps() -> Iterator[Step]:
        yield Head(response.status, response.headers, Framing.CHUNKED)
        piece = (b"<p>" + b"on and on " * (PIECE // 10 - 1) + b"</p>\n").ljust(PIECE)
        left = fault.bytes_count
        while left > 0:
            yield piece[:left]
            left -= PIECE

    return steps()


def _flood(fault: Fault, _: Request, response: Response, __: Site) -> Delivery:
    line = 1000
    flood = [(f"X-Flood-{n}", "x" * line) for n in range(-(-fault.bytes_count // line))]
    return response.with_headers(*flood)


def _completion(response: Response) -> dict[str, Any] | None:
    """The body of a completion, or None when the answer is something else."""
    if response.status != 200:
        return None
    try:
        body = msgspec.json.decode(response.body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
    return body if isinstance(body, dict) and body.get("choices") else None


def _retold(response: Response, change: Callable[[dict[str, Any]], None]) -> Response:
    """A completion whose choice was changed; other answers stay as they are."""
    body = _completion(response)
    if body is None:
        return response
    change(body["choices"][0])
    return replace(response, body=msgspec.json.encode(body))


def _cut_json(_: Fault, __: Request, response: Response, ___: Site) -> Delivery:
    if _completion(response) is None:
        return replace(response, body=response.body[: len(response.body) // 2])
    return _retold(response, _halve)


def _halve(choice: dict[str, Any]) -> None:
    content = choice["message"]["content"]
    choice["message"]["content"] = content[: len(content) // 2]


def _out_of_tokens(_: Fault, __: Request, response: Response, ___: Site) -> Delivery:
    def end(choice: dict[str, Any]) -> None:
        _halve(choice)
        choice["finish_reason"] = "length"

    return _retold(response, end)


def _refuse(_: Fault, __: Request, response: Response, ___: Site) -> Delivery:
    def refuse(choice: dict[str, Any]) -> None:
        sentence = "I'm sorry, but I can't help with that request."
        choice["message"] |= {"content": None, "refusal": sentence}

    return _retold(response, refuse)


def _filter(_: Fault, __: Request, response: Response, ___: Site) -> Delivery:
    def withhold(choice: dict[str, Any]) -> None:
        choice["message"]["content"] = ""
        choice["finish_reason"] = "content_filter"

    return _retold(response, withhold)


def _wrong_schema(_: Fault, __: Request, response: Response, ___: Site) -> Delivery:
    def mistake(choice: dict[str, Any]) -> None:
        choice["message"]["content"] = '{"unexpected": [1, null, "field"]}'

    return _retold(response, mistake)


EFFECTS: Final[Mapping[str, Effect]] = MappingProxyType(
    {
        "throttle": _throttle,
        "status": _status,
        "blocked_agent": _block,
        "redirect_loop": _loop,
        "reset": _reset,
        "stall": _stall,
        "slow_start": _slow_start,
        "slow_body": _slow_body,
        "cut_body": _cut_body,
        "cut_gzip": _cut_gzip,
        "wrong_charset": _wrong_charset,
        "gzip_bomb": _bomb,
        "endless_body": _endless,
        "header_flood": _flood,
        "cut_json": _cut_json,
        "refusal": _refuse,
        "content_filter": _filter,
        "out_of_tokens": _out_of_tokens,
        "wrong_schema": _wrong_schema,
    }
)
"""By kind; the errors of providers need no entry here."""
