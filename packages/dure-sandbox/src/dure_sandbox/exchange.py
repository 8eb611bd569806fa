"""What is asked and what is answered: plain values, the same over a socket and in memory."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol
from urllib.parse import parse_qsl

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    method: str = "GET"
    host: str = "localhost"
    """As the client wrote it, with the port if there was one."""
    target: str = "/"
    """Path and query."""
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes = b""
    scheme: str = "http"

    @property
    def path(self) -> str:
        return self.target.partition("?")[0]

    @property
    def query(self) -> dict[str, str]:
        """The last value of each name."""
        return dict(parse_qsl(self.target.partition("?")[2], keep_blank_values=True))

    @property
    def hostname(self) -> str:
        return self.host.rpartition(":")[0] or self.host

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.host}"

    @property
    def agent(self) -> str:
        return self.headers.get("user-agent", "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    status: int = 200
    headers: Headers = ()
    body: bytes = b""

    def with_headers(self, *more: tuple[str, str]) -> "Response":
        return replace(self, headers=self.headers + more)

    def header(self, name: str) -> str | None:
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)


class Site(Protocol):
    """One outside service. A new one (a broker, a mail server's API) is one more of these."""

    @property
    def name(self) -> str: ...

    def answer(self, request: Request, now: float) -> Response:
        """What the service says to this at this moment; the same whenever it is asked again."""
        ...

    def refuse(self, status: int) -> Response:
        """An error in the words of this service, for faults."""
        ...


def html(text: str, status: int = 200, *, charset: str = "utf-8") -> Response:
    kind = ("Content-Type", f"text/html; charset={charset}")
    return Response(status=status, headers=(kind,), body=text.encode(charset, "xmlcharrefreplace"))


def plain(text: str, status: int = 200, kind: str = "text/plain") -> Response:
    headers = (("Content-Type", f"{kind}; charset=utf-8"),)
    return Response(status=status, headers=headers, body=text.encode())


def json_bytes(body: bytes, status: int = 200) -> Response:
    return Response(status=status, headers=(("Content-Type", "application/json"),), body=body)
