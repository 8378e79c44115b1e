"""Grease (after RFC 8701): vary, from a seed, what the contract marks in `x-grease`, axis by axis.

Each variation is a function of the seed, the axis, the part and a key: that of the resource, or
else of the request. A varied response is valid against the contract, but for `success-code`.
"""
