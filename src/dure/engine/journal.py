"""What a node says in its log: few lines, each an event with fields.

The logger is `dure`; what is done with its lines is the program's own choice. Fields are
in the record's `fields`, so that a formatter can write them as JSON.
"""

import logging
from typing import Final

LOG: Final = logging.getLogger("dure")
LOG.addHandler(logging.NullHandler())


def tell(event: str, level: int = logging.INFO, **fields: object) -> None:
    """One event in the log: `node.started worker=3 slots=100`."""
    if LOG.isEnabledFor(level):
        text = " ".join(f"{name}={value}" for name, value in fields.items())
        LOG.log(level, "%s %s", event, text, extra={"event": event, "fields": fields})


def listen_at(level: str) -> None:
    """Follow the setting `log.level`."""
    LOG.setLevel(level.upper())
