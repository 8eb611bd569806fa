"""Measurements of this engine, on whatever store and machine they are asked for."""
