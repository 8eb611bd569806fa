"""Everything Dure raises, as one tree.

    DureError
    ├── ConfigError          SettingInvalid · KindUnknown · KindInvalid · UrlInvalid
    ├── NotFound
    ├── Conflict             IllegalTransition · StaleVersion
    ├── Refused              QueueFull · BatchRunning · TooLarge · Unauthenticated · Forbidden
    └── StoreError           StoreUnavailable · StoreFull · StoreDenied · StoreCorrupt ·
                         SchemaBehind · SchemaAhead

Each class has a stable `code`; the command line maps it to an exit code.
"""

from typing import ClassVar


class DureError(Exception):
    """Base of all errors; never raised itself."""

    code: ClassVar[str] = "error"
    exit_code: ClassVar[int] = 1
    retryable: ClassVar[bool] = False

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class ConfigError(DureError):
    code = "config"
    exit_code = 2


class SettingInvalid(ConfigError):
    code = "setting_invalid"


class KindUnknown(ConfigError):
    code = "kind_unknown"


class KindInvalid(ConfigError):
    code = "kind_invalid"


class UrlInvalid(ConfigError):
    code = "url_invalid"


class NotFound(DureError):
    code = "not_found"
    exit_code = 3


class Conflict(DureError):
    code = "conflict"
    exit_code = 5


class IllegalTransition(Conflict):
    code = "illegal_transition"


class StaleVersion(Conflict):
    code = "stale_version"


class Refused(DureError):
    code = "refused"
    exit_code = 4


class QueueFull(Refused):
    code = "queue_full"
    retryable = True


class BatchRunning(Refused):
    code = "batch_running"


class TooLarge(Refused):
    code = "too_large"


class Unauthenticated(Refused):
    """Nobody we know asks."""

    code = "unauthenticated"


class Forbidden(Refused):
    """Who asks may not do this."""

    code = "forbidden"


class StoreError(DureError):
    code = "store"
    exit_code = 6


class StoreUnavailable(StoreError):
    """The store did not answer; what was asked may or may not have happened."""

    code = "store_unavailable"
    retryable = True


class StoreFull(StoreError):
    """No room left on the store's disk. Nothing was written."""

    code = "store_full"
    retryable = True


class StoreDenied(StoreError):
    """The store refuses us a right. Nothing was written; somebody may grant it."""

    code = "store_denied"
    retryable = True


class StoreCorrupt(StoreError):
    """The store's file is damaged: going on could only make it worse."""

    code = "store_corrupt"


class SchemaBehind(StoreError):
    code = "schema_behind"
    exit_code = 7


class SchemaAhead(StoreError):
    code = "schema_ahead"
    exit_code = 7
