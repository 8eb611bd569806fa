"""What a test or a benchmark needs to run Dure against the real thing."""
