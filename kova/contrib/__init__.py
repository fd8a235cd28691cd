"""Kova at home in other frameworks. Nothing here is loaded before it is imported, and each part needs its extra."""
