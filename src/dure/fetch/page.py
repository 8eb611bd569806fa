"""A page: what was asked, what was answered, and the body as bytes and as text."""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dure.fetch.charset import decode
from dure.fetch.failure import BodyBroken
from dure.fetch.wire import Headers


@dataclass(frozen=True, slots=True)
class Validators:
    """What a server said about a version of a page; sent back, it may answer 304."""

    etag: str | None = None
    last_modified: str | None = None

    def __bool__(self) -> bool:
        return self.etag is not None or self.last_modified is not None


class Page:
    """One answer, complete. Its text is decoded when it is first asked for."""

    def __init__(
        self,
        *,
        asked: str,
        url: str,
        status: int,
        headers: Headers,
        body: bytes,
        elapsed: float = 0.0,
    ) -> None:
        self.asked = asked
        """The address that was asked for."""
        self.url = url
        """The address that answered, after redirects."""
        self.status = status
        self.headers = headers
        self.body = body
        """Decompressed; empty for 304."""
        self.elapsed = elapsed
        """Seconds from sending to the last byte, waiting for the host's turn not included."""

    @cached_property
    def _decoded(self) -> tuple[str, str]:
        return decode(self.body, self.headers.get("Content-Type", ""))

    @property
    def text(self) -> str:
        """The body as text: header, BOM, meta, strict UTF-8, strict CP949, then a guess."""
        return self._decoded[0]

    @property
    def charset(self) -> str:
        """The charset the text was decoded with."""
        return self._decoded[1]

    @property
    def is_not_modified(self) -> bool:
        """Whether it is the version whose validators were sent."""
        return self.status == 304

    @property
    def validators(self) -> Validators:
        """What to send next time to be told that nothing changed."""
        return Validators(self.headers.get("ETag"), self.headers.get("Last-Modified"))

    def json(self) -> Any:
        """The body as JSON. Raises BodyBroken."""
        try:
            return json.loads(self.text)
        except ValueError as error:
            raise BodyBroken(f"The answer is not JSON: {error}", url=self.url, page=self) from error

    def __repr__(self) -> str:
        return f"<page {self.status} {len(self.body)} bytes>"
