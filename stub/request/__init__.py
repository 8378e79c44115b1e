"""A request in the stub.

- `faults`, `outcome`: the fault, and the response that replaces that of the view.
- `entry`, `journal`: the record of a request.
- `promises`, `findings`, `coverage`: the rules that it breaks, and the counts.
"""
