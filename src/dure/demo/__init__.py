"""A demonstration that hurts itself: lanes, a limit, a failing tenant, a killed worker."""
