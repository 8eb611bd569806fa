"""What a node does in the background: its lease, due work, dead workers, schedules, batches."""
