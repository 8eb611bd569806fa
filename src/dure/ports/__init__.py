"""What the engine needs from the outside, as protocols and plain rows."""
