"""A bound on how large this process may make a file, until a signal lifts it."""

import os
import resource
import signal


def limit_files() -> None:
    """Does nothing when no bound is asked for."""
    size = os.environ.get("DURE_FILE_BYTES_MAX")
    if size is None:
        return
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(
        signal.SIGUSR1, lambda *_: resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    )
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(size), hard))
