"""A shop of any size: list pages and product pages, drawn when they are asked for."""
