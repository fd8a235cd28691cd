"""The version of kova, read by the build and by `kova.__version__`."""

__version__ = "0.1.0"
