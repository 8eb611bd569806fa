"""Deciding what this node takes next, and taking it: permits before claims."""
