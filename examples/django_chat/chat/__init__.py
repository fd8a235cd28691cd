"""A chat with a model: the whole site."""
