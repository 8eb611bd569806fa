"""The way of a page through a stage on one node: queues, and the workers between them."""
