"""From Python type hints to JSON schemas, and from JSON to what the hints promise.

    docstrings    what a docstring says of each parameter
    shapes        which hints are understood, and what each is in JSON
    fields        the fields of attrs classes, dataclasses and TypedDicts
    json_schema   the schema of a hint
    scalars       strict structuring of single values
    structuring   strict structuring of everything else, with cattrs
    problems      what is wrong, by path
    functions     all of it for the parameters of a function
    jsonable      the way back: values as JSON

Nothing here does I/O or knows of tools and agents. The modules are imported from when they are needed: only the errors
are loaded with the package.
"""

from .errors import ArgumentError, SchemaError

__all__ = ["ArgumentError", "SchemaError"]
