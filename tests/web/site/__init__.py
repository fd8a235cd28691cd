"""The example project with a few things more, by which the tests see what goes on inside."""
