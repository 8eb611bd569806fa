"""Two simulations in virtual time: faults, to find bugs by seed; plans, to size a fleet."""
