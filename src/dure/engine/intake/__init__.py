"""How jobs get in: one, many, in a caller's transaction, in a batch, from synchronous code."""
