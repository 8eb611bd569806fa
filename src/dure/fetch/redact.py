"""What must not be seen: secrets in addresses, headers and texts."""

import re
from collections.abc import Iterable
from typing import Final

HIDDEN: Final = "***"

_WORDS: Final = (
    "access_token",
    "api_key",
    "apikey",
    "appkey",
    "appsecret",
    "approval_key",
    "auth",
    "auth_key",
    "authorization",
    "client_secret",
    "cookie",
    "crtfc_key",
    "encparam",
    "id_token",
    "jsessionid",
    "key",
    "passwd",
    "password",
    "proxy-authorization",
    "pw",
    "refresh_token",
    "secret",
    "secretkey",
    "servicekey",
    "session",
    "sessionid",
    "set-cookie",
    "sig",
    "signature",
    "token",
    "x-api-key",
)
_ALTERNATIVES: Final = "|".join(sorted(map(re.escape, _WORDS), key=len, reverse=True))
_QUERY: Final = re.compile(
    rf"(?i)(?<![A-Za-z0-9])((?:[a-z0-9]+[_.-])*(?:{_ALTERNATIVES}))(=)[^&;#\s\"'<>]*"
)
_FIELD: Final = re.compile(
    rf"(?i)([\"']?)((?<![A-Za-z0-9])(?:[a-z0-9]+[_.-])*(?:{_ALTERNATIVES}))\1(\s*:\s*)"
    r"(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|(?:(?:Bearer|Basic|Digest)\s+)?[^\s,;&}\]\"']+)"
)
_SCHEME: Final = re.compile(r"(?i)\b(Bearer|Basic)\s+[A-Za-z0-9._~+/=-]{6,}")
_USER: Final = re.compile(r"(?i)(\b[a-z][a-z0-9+.-]*://)[^/?#\s@\"']*@")
_SECRET_NAME: Final = re.compile(rf"(?i)(?:[a-z0-9]+[_.-])*(?:{_ALTERNATIVES})")


def is_secret(name: str) -> bool:
    """Whether a header, a query parameter or a field of this name holds a secret."""
    return _SECRET_NAME.fullmatch(name) is not None


def redact_url(url: str) -> str:
    """An address that can be shown: without the values of secret parameters and without a login."""
    if "=" not in url and "@" not in url:
        return url
    return _QUERY.sub(rf"\1\2{HIDDEN}", _USER.sub(rf"\1{HIDDEN}@", url))


def redact(text: str) -> str:
    """A text that can be shown: secrets in addresses, JSON, headers and forms are hidden."""
    text = _QUERY.sub(rf"\1\2{HIDDEN}", _USER.sub(rf"\1{HIDDEN}@", text))
    text = _FIELD.sub(rf"\1\2\1\3{HIDDEN}", text)
    return _SCHEME.sub(rf"\1 {HIDDEN}", text)


def redact_headers(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Headers that can be shown."""
    return [(name, HIDDEN if is_secret(name) else redact_url(value)) for name, value in headers]
