"""Push parsers: bytes go in as they arrive, events come out."""
