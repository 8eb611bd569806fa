"""A shop crawled in five stages: bounded, resumable, steered while it runs."""
