"""The one hand-written twin layer: `aio` (asyncio and trio) and `threads` have the same names and signatures.

Code in `kova/_async` imports only `from .._runtime import aio as rt`; the generator turns that into `threads`.
"""
