"""What goes wrong on request: which fault strikes whom, when, and what it does to an answer."""
