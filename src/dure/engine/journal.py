"""What a node says in its log: few lines, each an event with fields.

The logger is `dure`; what is done with its lines is the program's own choice. Fields are
in the record's `fields`; `JsonLines` writes them as one JSON object a line.
"""

import logging
from datetime import UTC, datetime
from typing import Final

import msgspec

LOG: Final = logging.getLogger("dure")
LOG.addHandler(logging.NullHandler())


def tell(
    event: str, level: int = logging.INFO, *, log: logging.Logger = LOG, **fields: object
) -> None:
    """One event in the log: `node.started worker=3 slots=100`. `log` may be a program's own."""
    if log.isEnabledFor(level):
        text = " ".join(f"{name}={value}" for name, value in fields.items())
        log.log(level, "%s %s", event, text, extra={"event": event, "fields": fields})


def listen_at(level: str) -> None:
    """Follow the setting `log.level`."""
    LOG.setLevel(level.upper())


class JsonLines(logging.Formatter):
    """Each record as one line of JSON: time, level, logger, event_type, message, its fields.

    `logging.getLogger("dure").addHandler(handler)` with `handler.setFormatter(JsonLines())`.
    Records of other libraries, which have no event, are of the event_type `log`.
    """

    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, "fields", {})
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event_type": getattr(record, "event", "log"),
            "message": record.getMessage(),
        }
        line.update((name, value) for name, value in fields.items() if name not in line)
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line, enc_hook=str).decode()
