"""The async twin, from which `scripts/unasync.py` makes the blocking one in `kova/_sync`."""
