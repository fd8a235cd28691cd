"""The MCP client: connections to servers, and what is said over them."""
