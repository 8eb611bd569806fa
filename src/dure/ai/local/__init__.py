"""A model without a key: deterministic, versioned, extractive, Korean first."""
