"""What the engine does to a store beside the hot path: transactions as generators."""
