"""Grease (after RFC 8701): vary, from a seed, what the contract marks as free, axis by axis.

Each variation is a function of the seed, the axis and a key. The key is that of the resource, or
else the method and the path of the request. Where a part of the contract names no axis in
`x-grease`, nothing of it varies. A varied response is still valid against the contract, but for
the status of `success-code`.
"""
