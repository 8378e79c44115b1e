"""Checks a log, in this order:

- `checks`: a check, and the walk through a schema and a body that `parts` and `drift` share.
- `rules`: the fixed parts of the contract, a function each.
- `parts`: all parts of the contract, and their verdicts.
- `drift`: the responses by the forms of a profile.
- `unseen`: what the run should have seen.
"""
