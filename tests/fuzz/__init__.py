"""Inputs that nobody thought of, for everything that reads what came over the wire.

    python -m tests.fuzz openai-stream --minutes 10     (or: make fuzz PARSER=openai-stream MINUTES=10)

`targets` says what must hold for any bytes at all, `mutation` makes new inputs of known ones, `corpus` holds the inputs
that once broke something or that led into a corner, and the seeds are the wire cases of `tests/cases`. The driver is
`__main__`; it is guided by coverage where atheris is installed. `tests/property/test_fuzz_corpus.py` replays seeds and
corpus in the ordinary suite.
"""
