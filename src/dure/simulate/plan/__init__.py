"""Capacity planning: arrivals, durations, limits, lanes and workers in; waiting times out."""
