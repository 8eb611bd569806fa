"""A fleet of real nodes on one real store, while a seeded dice breaks what can break."""
