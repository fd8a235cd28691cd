"""The Model Context Protocol without any I/O: messages, versions, and the rules of its transports."""
