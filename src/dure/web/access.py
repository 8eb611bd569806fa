"""Who may do what: bearer tokens from the configuration, each with a name and a role.

Tokens are kept as digests and compared in constant time, all of them at each request, so that
neither the time of an answer nor a dump of the memory helps to guess one. Without any
token everything that needs one is refused.
"""

import hmac
import re
from collections.abc import Sequence
from enum import StrEnum
from hashlib import sha256
from typing import Final, NamedTuple, Self

from starlette.requests import Request

from dure.core.errors import ConfigError, Forbidden, Unauthenticated

TOKEN_LENGTH_MIN: Final = 16
_ENTRY: Final = re.compile(r"([\w.@-]{1,100}):([a-z]+):([\x21-\x7e]+)")


class Role(StrEnum):
    """What a token allows."""

    ADMIN = "admin"
    """Look, and change things."""
    READER = "reader"
    """Look only."""


class Actor(NamedTuple):
    """Who asks; the name is what the audit shows."""

    name: str
    role: Role


class _Token(NamedTuple):
    digest: bytes
    actor: Actor


class Access:
    """The tokens of one surface."""

    def __init__(self, tokens: Sequence[_Token] = ()) -> None:
        self._tokens = tuple(tokens)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Tokens as a configuration holds them: `NAME:ROLE:TOKEN`, separated by spaces or commas.

        Raises ConfigError, which names the entry by its place: it may hold a secret.
        """
        tokens: list[_Token] = []
        for place, entry in enumerate(re.split(r"[\s,]+", text.strip()) if text.strip() else (), 1):
            match = _ENTRY.fullmatch(entry)
            if match is None or match[2] not in set(Role):
                raise ConfigError(
                    f"Access token number {place} cannot be read.",
                    f"Write NAME:ROLE:TOKEN; roles are {' and '.join(Role)}.",
                )
            if len(match[3]) < TOKEN_LENGTH_MIN:
                raise ConfigError(
                    f"The access token of {match[1]!r} is shorter than {TOKEN_LENGTH_MIN} "
                    "characters.",
                    "Make one with `python -c 'import secrets; print(secrets.token_urlsafe())'`.",
                )
            tokens.append(_Token(_digest(match[3]), Actor(match[1], Role(match[2]))))
        return cls(tokens)

    def actor(self, request: Request, *, needs: Role = Role.ADMIN) -> Actor:
        """Who asks. Raises Unauthenticated, and Forbidden when the role does not suffice."""
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        digest = _digest(token.strip())
        found: Actor | None = None
        for known in self._tokens:
            if hmac.compare_digest(known.digest, digest):
                found = known.actor
        if found is None or scheme.lower() != "bearer":
            raise Unauthenticated(
                "This needs an access token.", "Send `Authorization: Bearer TOKEN`."
            )
        if needs is Role.ADMIN and found.role is not Role.ADMIN:
            raise Forbidden(
                f"{found.name} may look but not change anything.", "Use a token of role admin."
            )
        return found


def _digest(token: str) -> bytes:
    return sha256(token.encode()).digest()
