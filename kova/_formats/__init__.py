"""What each provider's API understands and sends, as pure functions: a folder a provider, and what they share."""
