"""Running attempts: slots, threads and child processes, and recording how each one ended."""
