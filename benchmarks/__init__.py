"""What kova costs, beside the same work done by hand on plain httpx: `python -m benchmarks`.

Read `measurements.py` for what is measured and the targets, `by_hand.py` and `with_kova.py` for the two sides,
`works.py` for what is timed, and docs/performance.md for what the numbers mean.
"""
