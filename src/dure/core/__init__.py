"""What Dure decides, as pure functions over plain values."""
